import pathlib
import subprocess
from typing import Callable, Iterator, List

import pytest

from support import REPOSITORY, Daemon, Proxy, program


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "behaviour(id): a row of Protocols/Clients/behaviours.md")


@pytest.fixture
def start(tmp_path: pathlib.Path) -> Iterator[Callable[..., Daemon]]:
    """Starts daemons, in folders of their own."""
    if program("telltaled") is None:
        pytest.skip("there is no telltaled: build it, or set TELLTALED")
    started: List[Daemon] = []

    def make(*options: str) -> Daemon:
        folder = tmp_path / f"daemon-{len(started)}"
        folder.mkdir()
        started.append(Daemon(folder, *options))
        return started[-1]

    yield make
    for daemon in started:
        daemon.stop()


@pytest.fixture
def daemon(start: Callable[..., Daemon]) -> Daemon:
    return start()


@pytest.fixture
def proxy(daemon: Daemon) -> Iterator[Proxy]:
    proxy = Proxy(daemon.port)
    yield proxy
    proxy.close()


@pytest.fixture
def certificates(tmp_path: pathlib.Path) -> Callable[[str], pathlib.Path]:
    """Makes an authority, and a certificate of it for localhost and 127.0.0.1."""
    script = REPOSITORY / "Tools/package/dev-certificates"
    if not script.exists():
        pytest.skip("Tools/package/dev-certificates is not here: this is no clone of the repository")

    def make(name: str) -> pathlib.Path:
        folder = tmp_path / name
        subprocess.run([str(script), str(folder)], check=True, capture_output=True)
        return folder

    return make
