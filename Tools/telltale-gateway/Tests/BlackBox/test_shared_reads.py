"""Many anonymous screens behind nginx, with the configuration that the guide has: the gateway is asked once for all of them."""

import collections
import json
import os
import pathlib
import re
import resource
import selectors
import shutil
import socket
import subprocess
import time

import pytest

from support import PATIENCE, REPOSITORY, Line, attempts, eventually, free_port

# Debian has it where the programs of root are.
NGINX = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
# More than nginx can count to with ten bits. 10,000 take a minute and 20,000 descriptors.
SCREENS = int(os.environ.get("TELLTALE_SCREENS", "1100"))
KEY = "errand/shared"


class Nginx:
    """A real nginx in a folder of its own, with the configuration of the page "In a web page"."""

    def __init__(self, folder, gateway):
        self.port = free_port()
        folder = pathlib.Path(folder) / "nginx"
        folder.mkdir()
        page = (REPOSITORY / "Protocols/Guide/web-pages.md").read_text()
        text = re.search(r"<!-- nginx -->\n```nginx\n(.*?)```", page, re.S)[1]
        for old, new in [("/var/cache/nginx/telltale", str(folder / "cache")), ("listen 80;", f"listen 127.0.0.1:{self.port};"),
                         ("127.0.0.1:7880", f"127.0.0.1:{gateway.port}")]:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        paths = "".join(f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (folder / "nginx.conf").write_text(
            f"daemon off; master_process off; pid {folder}/pid; error_log {folder}/errors;"
            f"events {{ worker_connections {2 * SCREENS}; }} http {{ log_format status '$upstream_cache_status $request_uri'; access_log {folder}/access status; {paths}\n{text}}}")
        self.errors, self.log = folder / "errors", folder / "access"
        self.process = subprocess.Popen([NGINX, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(self.errors)])
        eventually("nginx listens", self.listens)

    def listens(self):
        assert self.process.poll() is None, self.errors.read_text()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def missed(self):
        """How often each URL was asked for that the cache did not have."""
        lines = [line.split(" ") for line in self.log.read_text().splitlines()]
        return collections.Counter(url for status, url in lines if status == "MISS")

    def close(self):
        self.process.terminate()
        self.process.wait(PATIENCE)


class Screen:
    """Reads by one connection after another, as the cursor of each answer says, without a look at the others."""

    def __init__(self, port, address):
        self.port = port
        # One address has 28,000 ports, each of which rests for a minute after its connection.
        self.address = address
        self.cursor = self.note = None
        self.hops = 0

    def ask(self, selector):
        query = f"sub={KEY}" + (f"&from={self.cursor}" if self.cursor else "")
        self.bytes = b""
        self.socket = socket.create_connection(("127.0.0.1", self.port), PATIENCE, (self.address, 0))
        self.socket.sendall(f"GET /v1/rows?{query} HTTP/1.0\r\nHost: screens\r\n\r\n".encode())
        selector.register(self.socket, selectors.EVENT_READ, self)

    def take(self, selector):
        """Reads what came. At the end of the answer it is ready to ask again."""
        piece = self.socket.recv(65_536)
        self.bytes += piece
        if piece:
            return False
        selector.unregister(self.socket)
        self.socket.close()
        head, _, body = self.bytes.partition(b"\r\n\r\n")
        assert head.split(b" ")[1] == b"200", self.bytes
        answer = json.loads(body)
        assert "reset" not in answer
        self.cursor = answer["cursor"]
        self.hops += 1
        for row in answer["rows"]:
            self.note = row["row"]["content"]["note"]
        return True


class Screens:
    """All of them, in one thread."""

    def __init__(self, port, number):
        self.selector = selectors.DefaultSelector()
        self.all = [Screen(port, f"127.0.1.{1 + index % 250}") for index in range(number)]
        for screen in self.all:
            screen.ask(self.selector)

    def turn(self, timeout):
        """Takes what has come, and asks again where an answer is whole."""
        for ready, _ in self.selector.select(timeout):
            if ready.data.take(self.selector):
                ready.data.ask(self.selector)

    def until(self, note):
        for _ in attempts(f"{note} on every screen"):
            self.turn(PATIENCE)
            if all(screen.note == note for screen in self.all):
                return

    @property
    def hops(self):
        return sum(screen.hops for screen in self.all)

    def close(self):
        for screen in self.all:
            screen.socket.close()
        self.selector.close()


def asked(gateway):
    """How many reads the gateway has answered."""
    return sum(int(float(value)) for name, value in gateway.metrics().items()
               if name.startswith("telltale_gateway_http_requests_total") and '"/v1/rows"' in name)


@pytest.fixture
def descriptors():
    """One for each screen here, and in nginx up to two: its connection, and the file that it is sent."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * SCREENS
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip(f"a process may open {hard} files alone, and this one needs {wanted}: ulimit -Hn")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.skipif(not NGINX, reason="there is no nginx: Tools/ci/fetch nginx")
def test_screens_behind_nginx_share_their_reads(world, descriptors):
    daemon = world.daemon()
    gateway = world.gateway()
    nginx = Nginx(world.folder, gateway)
    world.started.append(nginx)
    gateway.post(f"/{KEY}/start", {"content-state": {"note": "begun"}})
    screens = Screens(nginx.port, SCREENS)
    start = time.monotonic()
    screens.until("begun")
    counts = [asked(gateway)]
    for number in range(4):
        if number == 2:
            # No screen notices that the daemon is killed.
            daemon.kill()
            daemon = world.daemon(port=daemon.port)
        gateway.post(f"/{KEY}/update", {"content-state": {"note": f"round {number}"}})
        screens.until(f"round {number}")
        counts.append(asked(gateway))
    # As fast as they go.
    line = Line(daemon.port)
    for number in range(300):
        line.ask(f'EVT {KEY} type=update {{"content-state":{{"note":"flow {number}"}}}}')
        screens.turn(0)
    line.close()
    screens.until("flow 299")
    counts.append(asked(gateway))
    hops = screens.hops
    screens.close()
    seconds = time.monotonic() - start
    print(f"{hops} answers to {SCREENS} screens by {counts[-1]} requests to the gateway in {seconds:.0f} s; after each round {counts}")
    assert hops >= 5 * SCREENS
    missed = nginx.missed()
    assert len(missed) >= 6 and set(missed.values()) == {1}, missed
    # Each change is asked for about once. A slow machine, on which answers are old before all have them, asks a little more.
    assert counts[-1] * 20 <= hops
