"""A daemon and a gateway for tests, and the fixtures that start them: for the tests over HTTP and for those in a browser."""

import pathlib
import shutil
import tempfile

import pytest

from support import Daemon, Gateway


class World:
    """A daemon and a gateway in a folder of their own, which goes with them."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="telltale-gateway-")
        self.started = []

    def daemon(self, *arguments, port=0):
        daemon = Daemon(self.folder, port, *arguments)
        self.started.append(daemon)
        return daemon

    def gateway(self, *arguments, **options):
        gateway = Gateway(self.folder, *arguments, **options)
        self.started.append(gateway)
        return gateway

    def file(self, name, text):
        path = pathlib.Path(self.folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return str(path)

    def close(self):
        for program in reversed(self.started):
            program.close()
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture
def world():
    """A world of one test alone."""
    world = World()
    yield world
    world.close()


@pytest.fixture(scope="session")
def gateway_options():
    """Options of the shared gateway; a folder of tests sets its own."""
    return []


@pytest.fixture(scope="module")
def pair(gateway_options):
    """A daemon and a gateway that the tests of one file share."""
    world = World()
    daemon = world.daemon()
    yield daemon, world.gateway(*gateway_options)
    world.close()


@pytest.fixture
def gateway(pair):
    return pair[1]


@pytest.fixture
def daemon(pair):
    return pair[0]
