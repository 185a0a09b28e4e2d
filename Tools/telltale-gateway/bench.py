#!/usr/bin/env python3
"""Measures a gateway: streams and posts, with the release builds of daemon and gateway.

    Tools/telltale-gateway/bench.py streams [--streams 1000] [--rate 200] [--seconds 10] [--shared] [--runs 3]
    Tools/telltale-gateway/bench.py stuck                                       (streams beside readers that have stopped)
    Tools/telltale-gateway/bench.py posts [--seconds 10] [--connections 64]     (needs wrk, a Debian package)
    Tools/telltale-gateway/bench.py posts --h2load                              (the same with h2load, of nghttp2-client)
    Tools/telltale-gateway/bench.py soak [--seconds 600]
    Tools/telltale-gateway/bench.py kinds [--seconds 10]                        (lint, diagrams and plays, hostile ones too)
    Tools/telltale-gateway/bench.py pushes [--devices 2000] [--seconds 10]      (telltale-push to an HTTP/2 receiver of this machine)

Every stream follows one of 50 keys, so that an event goes to a fiftieth of them; with --shared each follows them all.
Figures are the medians of the runs, a name and a value a line, with the machine in front. The reader of the streams is one
process that looks for row events in what it is sent; --readers of the streams are looked at for latency.

posts and streams take --relay: bare-relay of the same package is measured, which is Hummingbird with nothing behind it.
"""

import argparse
import json
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

sys.dont_write_bytecode = True
from bench_pair import REPOSITORY, KEYS, Pair, Streams, percentile, post_at  # noqa: E402
from bench_push import pushes  # noqa: E402


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


def posts_by_h2load(pair, options):
    """One body and one path, since h2load makes none of its own: an event of one key, each with a commit."""
    body = f"{pair.folder}/body.json"
    pathlib.Path(body).write_text('{"content-state":{"note":"x"}}')
    before, daemon_before = pair.cpu(pair.gateway), pair.cpu(pair.daemon)
    done = subprocess.run(
        ["h2load", "--h1", "-t2", f"-c{options.connections}", f"-D{options.seconds}", "-d", body,
         f"http://127.0.0.1:{pair.port}/errand/1/update"], capture_output=True, text=True, check=True).stdout
    # With -D it counts what came after the warm-up, which is none.
    count = int(re.search(r"(\d+) done", done)[1])
    return {
        "posts_a_second": float(re.search(r"([\d.]+) req/s", done)[1]),
        "not_2xx": int(re.search(r"status codes: \d+ 2xx, (\d+) 3xx", done)[1])
        + sum(map(int, re.search(r"3xx, (\d+) 4xx, (\d+) 5xx", done).groups())),
        "gateway_cpu_a_post_us": (pair.cpu(pair.gateway) - before) * 1e6 / count,
        "daemon_cpu_a_post_us": (pair.cpu(pair.daemon) - daemon_before) * 1e6 / count}


def posts(pair, options):
    if options.h2load:
        return posts_by_h2load(pair, options)
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
    parser.add_argument("what", choices=["streams", "stuck", "posts", "soak", "kinds", "pushes"])
    parser.add_argument("--streams", type=int, default=1_000)
    parser.add_argument("--readers", type=int, default=50, help="streams whose latency is looked at (50)")
    parser.add_argument("--rate", type=int, default=200, help="posts a second (200)")
    parser.add_argument("--relay", action="store_true", help="the bare relay in place of gateway and daemon")
    parser.add_argument("--h2load", action="store_true", help="posts by h2load in place of wrk")
    parser.add_argument("--shared", action="store_true", help="each stream follows all keys")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--devices", type=int, default=2_000, help="devices with a card of their own (2000)")
    parser.add_argument("--runs", type=int, default=1)
    options = parser.parse_args()
    if options.relay and options.what not in ["posts", "streams"]:
        parser.error("--relay goes with posts and streams")
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65_536), hard))
    print(f"machine: {machine()}", flush=True)
    runs = []
    for _ in range(options.runs):
        if options.what == "pushes":
            runs.append(pushes(options))
            continue
        pair = Pair(options.relay)
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
