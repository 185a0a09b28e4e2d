#!/usr/bin/env python3
"""Measures a gateway: streams and posts, with the release builds of daemon and gateway.

    Tools/telltale-gateway/bench.py streams [--streams 1000] [--rate 200] [--seconds 10]
    Tools/telltale-gateway/bench.py posts [--seconds 10] [--connections 64]     (needs wrk, a Debian package)
    Tools/telltale-gateway/bench.py soak [--seconds 600]

Everything is printed as name and value, a line each. The reader of the streams is one process that looks for row events in
what it is sent; --readers of the streams are looked at for latency.
"""

import argparse
import os
import pathlib
import re
import resource
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
TICKS = os.sysconf("SC_CLK_TCK")


class Pair:
    """The two programs, in a folder of their own."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="telltale-bench-")
        kinds = pathlib.Path(self.folder) / "kinds"
        kinds.mkdir()
        for name in ["Protocols/Line/kinds", "Protocols/Kinds/examples"]:
            for file in (REPOSITORY / name).glob("*.json"):
                shutil.copy(file, kinds)
        daemon = os.environ.get("TELLTALED", REPOSITORY / ".build/release/telltaled")
        gateway = os.environ.get(
            "TELLTALE_GATEWAY", REPOSITORY / "Tools/telltale-gateway/.build/release/telltale-gateway")
        self.daemon, _ = self.start(
            [daemon, "--data", f"{self.folder}/data", "--kinds", kinds, "--listen", "none", "--socket", f"{self.folder}/s"])
        self.gateway, ready = self.start(
            [gateway, "--connect", f"unix:{self.folder}/s", "--listen", "http://127.0.0.1:0",
             "--ops-listen", "127.0.0.1:0", "--log-level", "warning"])
        self.port = int(re.search(r"http=\S+:(\d+)", ready)[1])

    def start(self, arguments):
        process = subprocess.Popen([str(word) for word in arguments], stdout=subprocess.PIPE)
        return process, process.stdout.readline().decode()

    def cpu(self, process):
        """Seconds of CPU that a process has used."""
        fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def resident(self):
        """KiB of memory that the gateway holds."""
        return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{self.gateway.pid}/status").read_text())[1])

    def close(self):
        for process in (self.gateway, self.daemon):
            process.terminate()
            process.wait(15)
        shutil.rmtree(self.folder)


class Streams:
    """Open streams, read by one epoll loop in a thread."""

    def __init__(self, port, count, watched):
        self.sockets = []
        self.rows = 0
        self.latencies = []
        self.poll = select.epoll()
        self.watched = {}
        for number in range(count):
            peer = socket.create_connection(("127.0.0.1", port))
            peer.sendall(b"GET /v1/stream?sub=errand/* HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.sockets.append(peer)
        for number, peer in enumerate(self.sockets):
            text = b""
            while b"event: live" not in text:
                text += peer.recv(65_536)
            peer.setblocking(False)
            self.poll.register(peer, select.EPOLLIN)
            if number % max(1, count // watched) == 0:
                self.watched[peer.fileno()] = True
        self.by_number = {peer.fileno(): peer for peer in self.sockets}
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        while True:
            for number, _ in self.poll.poll():
                data = self.by_number[number].recv(262_144)
                self.rows += data.count(b"event: row")
                if number in self.watched:
                    now = time.monotonic_ns()
                    self.latencies += [now - int(sent) for sent in re.findall(rb'"note":"(\d+)"', data)]


def tell(**values):
    for name, value in values.items():
        print(f"{name:32} {value:.2f}" if isinstance(value, float) else f"{name:32} {value}", flush=True)


def percentile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * part))] / 1e6 if values else float("nan")


def post_at(pair, rate, seconds):
    """Posts at a steady rate, keep-alive; how many were posted."""
    peer = socket.create_connection(("127.0.0.1", pair.port))
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    begin, count = time.monotonic(), 0
    while time.monotonic() - begin < seconds:
        body = b'{"content-state":{"note":"%d"}}' % time.monotonic_ns()
        kind = b"start" if count < 50 else b"update"
        peer.sendall(b"POST /errand/%d/%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (
            count % 50, kind, len(body)) + body)
        answer = b""
        while b"}" not in answer:
            answer += peer.recv(4_096)
        assert b"applied" in answer, answer
        count += 1
        time.sleep(max(0.0, begin + count / rate - time.monotonic()))
    peer.close()
    return count


def streams(pair, options):
    empty = pair.resident()
    readers = Streams(pair.port, options.streams, options.readers)
    time.sleep(1)
    tell(streams=options.streams, memory_of_an_idle_stream_kib=(pair.resident() - empty) / options.streams)
    before, daemon_before, rows = pair.cpu(pair.gateway), pair.cpu(pair.daemon), readers.rows
    posted = post_at(pair, options.rate, options.seconds)
    time.sleep(1)
    told = readers.rows - rows
    tell(
        posted=posted, rows=told, rows_of_all=told / (posted * options.streams),
        gateway_cpu_an_event_and_stream_us=(pair.cpu(pair.gateway) - before) * 1e6 / max(1, told),
        daemon_cpu_an_event_and_stream_us=(pair.cpu(pair.daemon) - daemon_before) * 1e6 / max(1, told),
        post_to_stream_p50_ms=percentile(readers.latencies, 0.5),
        post_to_stream_p99_ms=percentile(readers.latencies, 0.99))


def posts(pair, options):
    script = f"{pair.folder}/post.lua"
    pathlib.Path(script).write_text("""
        local thread, count = 0, 0
        function setup(t) t:set("number", thread); thread = thread + 1 end
        function request()
            count = count + 1
            return wrk.format("POST", "/errand/" .. number .. "-" .. count .. "/start", nil, '{"content-state":{"note":"x"}}')
        end
        """)
    before = pair.cpu(pair.gateway)
    done = subprocess.run(
        ["wrk", "-t2", f"-c{options.connections}", f"-d{options.seconds}s", "--latency", "-s", script,
         f"http://127.0.0.1:{pair.port}"], capture_output=True, text=True, check=True).stdout
    count = int(re.search(r"(\d+) requests in", done)[1])
    tell(
        posts_a_second=float(re.search(r"Requests/sec:\s+([\d.]+)", done)[1]),
        not_2xx=int((re.search(r"Non-2xx.*: (\d+)", done) or [0, 0])[1]),
        gateway_cpu_a_post_us=(pair.cpu(pair.gateway) - before) * 1e6 / count,
        p50=re.search(r"50%\s+(\S+)", done)[1], p99=re.search(r"99%\s+(\S+)", done)[1])


def soak(pair, options):
    readers = Streams(pair.port, 100, 10)
    post_at(pair, 200, 10)
    first = pair.resident()
    for _ in range(max(1, options.seconds // 60)):
        post_at(pair, 200, min(60, options.seconds))
        tell(memory_kib=pair.resident(), rows=readers.rows)
    tell(growth_kib=pair.resident() - first, post_to_stream_p99_ms=percentile(readers.latencies, 0.99))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["streams", "posts", "soak"])
    parser.add_argument("--streams", type=int, default=1_000)
    parser.add_argument("--readers", type=int, default=20)
    parser.add_argument("--rate", type=int, default=200)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--seconds", type=int, default=10)
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65_536), hard))
    pair = Pair()
    try:
        {"streams": streams, "posts": posts, "soak": soak}[options.what](pair, options)
    finally:
        pair.close()


if __name__ == "__main__":
    sys.exit(main())
