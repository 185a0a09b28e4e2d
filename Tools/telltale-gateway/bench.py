#!/usr/bin/env python3
"""Measures a gateway: streams and posts, with the release builds of daemon and gateway.

    Tools/telltale-gateway/bench.py streams [--streams 1000] [--rate 200] [--seconds 10] [--shared] [--runs 3]
    Tools/telltale-gateway/bench.py stuck                                       (streams beside readers that have stopped)
    Tools/telltale-gateway/bench.py posts [--seconds 10] [--connections 64]     (needs wrk, a Debian package)
    Tools/telltale-gateway/bench.py soak [--seconds 600]
    Tools/telltale-gateway/bench.py kinds [--seconds 10]                        (lint, diagrams and plays, hostile ones too)

Every stream follows one of 50 keys, so that an event goes to a fiftieth of them; with --shared each follows them all.
Figures are the medians of the runs, a name and a value a line, with the machine in front. The reader of the streams is one
process that looks for row events in what it is sent; --readers of the streams are looked at for latency.
"""

import argparse
import json
import os
import pathlib
import re
import resource
import select
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
TICKS = os.sysconf("SC_CLK_TCK")
KEYS = 50


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
        for key in range(KEYS):
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/errand/{key}/start", data=b"{}").close()

    def start(self, arguments):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TELLTALE")}
        process = subprocess.Popen([str(word) for word in arguments], stdout=subprocess.PIPE, env=environment)
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


def observe(pair, options, readers):
    """The figures of some seconds of posts."""
    post_at(pair, options.rate, 1)
    readers.latencies.clear()
    before, daemon_before, rows = pair.cpu(pair.gateway), pair.cpu(pair.daemon), readers.rows
    posted = post_at(pair, options.rate, options.seconds)
    time.sleep(1)
    told = readers.rows - rows
    due = posted * options.streams / (1 if options.shared else KEYS)
    return {
        "posted_a_second": posted / options.seconds, "rows": told, "rows_of_those_due": told / due,
        "gateway_cpu_an_event_and_stream_us": (pair.cpu(pair.gateway) - before) * 1e6 / max(1, told),
        "daemon_cpu_an_event_and_stream_us": (pair.cpu(pair.daemon) - daemon_before) * 1e6 / max(1, told),
        "post_to_stream_p50_ms": percentile(readers.latencies, 0.5),
        "post_to_stream_p99_ms": percentile(readers.latencies, 0.99)}


def streams(pair, options):
    empty = pair.resident()
    readers = Streams(pair.port, options.streams, options.readers, options.shared).read_on()
    time.sleep(1)
    figures = {"streams": options.streams, "memory_of_an_idle_stream_kib": (pair.resident() - empty) / options.streams}
    figures |= observe(pair, options, readers)
    readers.close()
    return figures


def stuck(pair, options):
    readers = Streams(pair.port, options.streams, options.readers, options.shared).read_on()
    alone = observe(pair, options, readers)
    stopped = Streams(pair.port, 20, 1, True, small_buffer=4_096)
    before = pair.resident()
    # More than the buffers of those that have stopped hold.
    post_at(pair, 1_000, 5, "x" * 3_000)
    beside = observe(pair, options, readers)
    figures = {"p99_ms_alone": alone["post_to_stream_p99_ms"], "p99_ms_beside_20_stopped": beside["post_to_stream_p99_ms"],
               "p50_ms_alone": alone["post_to_stream_p50_ms"], "p50_ms_beside_20_stopped": beside["post_to_stream_p50_ms"],
               "memory_of_a_stopped_reader_kib": (pair.resident() - before) / 20}
    stopped.close()
    readers.close()
    return figures


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
    before, daemon_before = pair.cpu(pair.gateway), pair.cpu(pair.daemon)
    done = subprocess.run(
        ["wrk", "-t2", f"-c{options.connections}", f"-d{options.seconds}s", "--latency", "-s", script,
         f"http://127.0.0.1:{pair.port}"], capture_output=True, text=True, check=True).stdout
    count = int(re.search(r"(\d+) requests in", done)[1])

    def milliseconds(part):
        number, unit = re.search(rf"{part}%\s+([\d.]+)(us|ms|s)", done).groups()
        return float(number) * {"us": 0.001, "ms": 1, "s": 1_000}[unit]

    return {
        "posts_a_second": float(re.search(r"Requests/sec:\s+([\d.]+)", done)[1]),
        "not_2xx": int((re.search(r"Non-2xx.*: (\d+)", done) or [0, 0])[1]),
        "gateway_cpu_a_post_us": (pair.cpu(pair.gateway) - before) * 1e6 / count,
        "daemon_cpu_a_post_us": (pair.cpu(pair.daemon) - daemon_before) * 1e6 / count,
        "p50_ms": milliseconds(50), "p99_ms": milliseconds(99)}


def soak(pair, options):
    readers = Streams(pair.port, 100, 10, options.shared).read_on()
    post_at(pair, options.rate, 30)
    first = pair.resident()
    for minute in range(max(1, options.seconds // 60)):
        post_at(pair, options.rate, min(60, options.seconds))
        print(f"minute {minute + 1}: {pair.resident()} KiB, {readers.rows} rows", flush=True)
    figures = {"growth_kib": pair.resident() - first, "rows": readers.rows,
               "post_to_stream_p99_ms": percentile(readers.latencies, 0.99)}
    readers.close()
    return figures


def hostile_files():
    """Kind files of the greatest size that make a lint or a layout work hard."""
    kind = json.loads((REPOSITORY / "Protocols/Kinds/examples/parcel.json").read_text()) | {"startsOn": [], "accept": {}}

    def ring(count, *steps):
        states = {f"s{at}": {"on": {f"e{step}": f"s{(at + step) % count}" for step in steps}} for at in range(count)}
        return kind | {"machine": {"initial": "s0", "states": states}}

    return {
        "widest diagram": ring(199, 1, 2), "1,700 states": ring(1_700, 1),
        "3,500 states": kind | {"machine": {"initial": "s0", "states": {f"s{at}": {} for at in range(3_500)}}},
        "5,000 faults": kind | {f"x{at}": 1 for at in range(5_000)},
        "600 guards": kind | {"machine": {"initial": "a", "states": {"a": {"on": {"e": [
            {"target": "a", "guard": "content.a.b == 1 and content.d == 2 or not content.e"}] * 600}}}}},
    }


def kinds(pair, options):
    """The processor's time for one request, and posts beside plays that take all the time that they may."""
    def ask(path, body):
        request = urllib.request.Request(f"http://127.0.0.1:{pair.port}{path}", data=json.dumps(body).encode())
        try:
            return urllib.request.urlopen(request).read()
        except urllib.error.HTTPError as refusal:
            return refusal.read()

    def cost(path, body, times):
        before = pair.cpu(pair.gateway)
        for _ in range(times):
            ask(path, body)
        return (pair.cpu(pair.gateway) - before) / times * 1_000

    coffee = json.loads((REPOSITORY / "Protocols/Kinds/examples/coffee-order.json").read_text())
    life = {"kind": coffee, "steps": [{"event": name} for name in ["start", "confirm", "brew", "ready", "collect"]]}
    figures = {
        "lint of a shipped file, ms": cost("/v1/lint", coffee, 200),
        "lint and its diagram, ms": cost("/v1/lint?diagram=yes", coffee, 200), "play of a whole life, ms": cost("/v1/play", life, 200)}
    for name, file in hostile_files().items():
        figures[f"lint, {name}, ms"] = cost("/v1/lint?diagram=yes", file, 3)
    restless = {"kind": coffee | {"startsOn": [], "machine": {"initial": "a", "states": {
        "a": {"after": {"1ms": "b"}, "on": {"stop": "c"}}, "b": {"after": {"1ms": "a"}}, "c": {"type": "final"}}}},
        "steps": [{"event": "start"}, *[{"after": "1h"}] * 400]}
    figures["play without rest, ms"] = cost("/v1/play", restless, 3)
    alone = posts_one_by_one(pair, options.seconds)
    is_over = threading.Event()

    def disturb():
        while not is_over.is_set():
            ask("/v1/play", restless)

    threads = [threading.Thread(target=disturb) for _ in range(4)]
    for thread in threads:
        thread.start()
    beside = posts_one_by_one(pair, options.seconds)
    is_over.set()
    for thread in threads:
        thread.join()
    for name, taken in [("alone", alone), ("beside such plays", beside)]:
        figures[f"post {name}, median, ms"], figures[f"post {name}, 99 %, ms"] = percentile(taken, 0.5), percentile(taken, 0.99)
    figures["peak memory, MiB"] = int(re.search(
        r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{pair.gateway.pid}/status").read_text())[1]) / 1024
    return figures


def posts_one_by_one(pair, seconds):
    """How long each post took, in nanoseconds."""
    taken = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.perf_counter_ns()
        urllib.request.urlopen(f"http://127.0.0.1:{pair.port}/errand/1/update", data=b"{}").close()
        taken.append(time.perf_counter_ns() - start)
    return taken


def machine():
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    load = "/".join(f"{value:.1f}" for value in os.getloadavg())
    return f"{model[1] if model else 'unknown'}, {os.cpu_count()} cores, Linux {os.uname().release}, load {load}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["streams", "stuck", "posts", "soak", "kinds"])
    parser.add_argument("--streams", type=int, default=1_000)
    parser.add_argument("--readers", type=int, default=50, help="streams whose latency is looked at (50)")
    parser.add_argument("--rate", type=int, default=200, help="posts a second (200)")
    parser.add_argument("--shared", action="store_true", help="each stream follows all keys")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--runs", type=int, default=1)
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65_536), hard))
    print(f"machine: {machine()}", flush=True)
    runs = []
    for _ in range(options.runs):
        pair = Pair()
        try:
            runs.append({"streams": streams, "stuck": stuck, "posts": posts, "soak": soak, "kinds": kinds}[options.what](pair, options))
        finally:
            pair.close()
    for name in runs[0]:
        values = sorted(run[name] for run in runs)
        median = statistics.median(values)
        spread = f"   ({values[0]:.2f} to {values[-1]:.2f})" if len(values) > 1 else ""
        print(f"{name:36} {median:.2f}{spread}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
