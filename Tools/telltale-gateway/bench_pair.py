"""The programs that bench.py measures, and the readers of their streams."""

import os
import pathlib
import re
import select
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import urllib.request

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
TICKS = os.sysconf("SC_CLK_TCK")
KEYS = 50


class Programs:
    """Programs in a folder of their own. Where one does not start, or what follows fails, none of them is left."""

    def __init__(self, *arguments, **options):
        self.folder, self.processes = tempfile.mkdtemp(prefix="telltale-bench-"), []
        try:
            self.begin(*arguments, **options)
        except BaseException:
            self.close()
            raise

    def start(self, arguments):
        """A program, and the line that says it serves."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TELLTALE")}
        process = subprocess.Popen([str(word) for word in arguments], stdout=subprocess.PIPE, env=environment)
        self.processes.append(process)
        ready = process.stdout.readline().decode()
        assert ready, f"{arguments[0]} does not start"
        return process, ready

    def cpu(self, process):
        """Seconds of CPU that a process has used."""
        if process is None:
            return 0.0
        fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def close(self):
        # The last one is connected to those before it.
        hung = []
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                hung.append(process.args[0])
        shutil.rmtree(self.folder)
        assert not hung, f"{hung} do not end"


class Pair(Programs):
    """The two programs; or the bare relay alone, in place of the gateway."""

    daemon = None

    def begin(self, relay=False):
        kinds = pathlib.Path(self.folder) / "kinds"
        kinds.mkdir()
        for name in ["Protocols/Line/kinds", "Protocols/Kinds/examples"]:
            for file in (REPOSITORY / name).glob("*.json"):
                shutil.copy(file, kinds)
        daemon = os.environ.get("TELLTALED", REPOSITORY / ".build/release/telltaled")
        gateway = os.environ.get(
            "TELLTALE_GATEWAY", REPOSITORY / "Tools/telltale-gateway/.build/release/telltale-gateway")
        if relay:
            self.gateway, ready = self.start(
                [os.environ.get("BARE_RELAY", REPOSITORY / "Tools/telltale-gateway/.build/release/bare-relay")])
            self.port = int(re.search(r"http=\S+:(\d+)", ready)[1])
            return
        self.daemon, _ = self.start(
            [daemon, "--data", f"{self.folder}/data", "--kinds", kinds, "--listen", "none", "--socket", f"{self.folder}/s"])
        self.gateway, ready = self.start(
            [gateway, "--connect", f"unix:{self.folder}/s", "--listen", "http://127.0.0.1:0",
             "--ops-listen", "127.0.0.1:0", "--log-level", "warning"])
        self.port = int(re.search(r"http=\S+:(\d+)", ready)[1])
        for key in range(KEYS):
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/errand/{key}/start", data=b"{}").close()

    def resident(self):
        """KiB of memory that the gateway holds."""
        return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{self.gateway.pid}/status").read_text())[1])

    def close(self):
        if self.daemon is None and self.processes:
            # The relay would wait for its streams to end.
            self.processes[-1].kill()
        super().close()


class Streams:
    """Open streams, read by one epoll loop in a thread."""

    def __init__(self, port, count, watched, shared, small_buffer=None):
        self.sockets = []
        self.rows = 0
        self.latencies = []
        self.poll = select.epoll()
        self.watched = set()
        self.by_number = {}
        for number in range(count):
            pattern = "errand/*" if shared else f"errand/{number % KEYS}"
            peer = socket.socket()
            if small_buffer:
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, small_buffer)
            peer.connect(("127.0.0.1", port))
            peer.sendall(f"GET /v1/stream?sub={pattern} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            self.sockets.append(peer)
        for number, peer in enumerate(self.sockets):
            text = b""
            while b"event: live" not in text:
                text += peer.recv(65_536)
            peer.setblocking(False)
            self.poll.register(peer, select.EPOLLIN)
            self.by_number[peer.fileno()] = peer
            if number % max(1, count // watched) == 0:
                self.watched.add(peer.fileno())

    def read_on(self):
        threading.Thread(target=self.read, daemon=True).start()
        return self

    def read(self):
        while self.by_number:
            for number, _ in self.poll.poll(1):
                data = self.by_number[number].recv(262_144) if number in self.by_number else b""
                self.rows += data.count(b"event: row")
                if number in self.watched:
                    now = time.monotonic_ns()
                    self.latencies += [now - int(sent) for sent in re.findall(rb'"note":"(\d+)', data)]

    def close(self):
        self.by_number = {}
        for peer in self.sockets:
            peer.close()


def percentile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * part))] / 1e6 if values else float("nan")


def post_at(pair, rate, seconds, filler=""):
    """Posts at a steady rate, keep-alive; how many were posted."""
    peer = socket.create_connection(("127.0.0.1", pair.port))
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    begin, count = time.monotonic(), 0
    while time.monotonic() - begin < seconds:
        body = b'{"content-state":{"note":"%d%s"}}' % (time.monotonic_ns(), filler.encode())
        peer.sendall(b"POST /errand/%d/update HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (
            count % KEYS, len(body)) + body)
        answer = b""
        while b"}" not in answer:
            answer += peer.recv(4_096)
        assert b'"verdict"' in answer, answer
        count += 1
        time.sleep(max(0.0, begin + count / rate - time.monotonic()))
    peer.close()
    return count
