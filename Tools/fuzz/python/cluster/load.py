"""Figures of a cluster under full load: events a second, what a standby costs and how far it is behind, how quickly a node joins."""

import json
import multiprocessing
import os
import random
import shutil
import socket
import sqlite3
import statistics
import threading
import time

from cluster import oracle, wire
from torture.wire import attributes, check

EVENT = ('EVT tally/l%d-%d type=tick src=l%d eid=%s%d {"content-state":{"n":%d,"note":"' + "x" * 190 + '"}}\n')
KEYS = 2_500  # Of each producer.
PACE = 50_000  # Events a second of all producers, at which a standby's share is promised.
PAUSE = 0.002  # Of a producer that may not send yet, in seconds.


def produce(address, token, number, run, window, seconds, pace, results):
    """One producer in a process of its own: keeps `window` events without an answer, and sends at most `pace` a second, if it has
    one. Tells how many were acknowledged, and how long each took, in seconds, where it is one at a time."""
    lines = socket.create_connection(address, timeout=30)
    lines.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    lines.sendall(f"HELLO client=load{number}{f' token={token}' if token else ''}\n".encode())
    told = b""
    while told.count(b"\n") < 2:
        told += lines.recv(65536)
    start = time.monotonic()
    begin = start + (1.0 if window > 1 else 0.2)
    end = begin + seconds
    sent, answered, counted, times, refused = 0, 0, 0, [], 0
    while True:
        now = time.monotonic()
        if now < end and sent - answered <= window // 2:
            more = range(sent, min(answered + window, int((now - start) * pace) + 1 if pace else answered + window))
            lines.sendall("".join(EVENT % (number, n % KEYS, number, run, n, n) for n in more).encode())
            sent += len(more)
        if answered == sent:
            if now >= end:
                break
            time.sleep(PAUSE)
            continue
        piece = lines.recv(262_144)
        count = piece.count(b"\n")
        refused += count - piece.count(b"verdict=applied") if window == 1 else 0
        if now >= begin:
            # The answers to the last window come behind the end.
            counted += count if time.monotonic() < end else 0
            if window == 1:
                times.append(time.monotonic() - now)
        answered += count
    lines.close()
    results.put((counted / seconds, times, refused))


def producers(address, count, window, seconds, run, pace=None):
    """Events acknowledged a second, over all producers, and the times of each. `pace` is of all together, in events a second."""
    results = multiprocessing.Queue()
    token = wire.TOKENS[0] if wire.TOKENS else None
    all_of_them = [multiprocessing.Process(target=produce, args=(
        address, token, number, run, window, seconds, pace and pace / count, results))
                   for number in range(count)]
    for each in all_of_them:
        each.start()
    told = [results.get(timeout=seconds + 60) for _ in all_of_them]
    for each in all_of_them:
        each.join()
    check(not any(refused for _, _, refused in told), "an event was not applied")
    return sum(rate for rate, _, _ in told), sorted(span for _, times, _ in told for span in times)


def cpu(process):
    """Processor time of a process, in seconds."""
    with open(f"/proc/{process.process.pid}/stat") as file:
        words = file.read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


class Lag:
    """Posts an event now and then, and looks how long after its answer a screen at a standby has its row."""

    def __init__(self, address, standby):
        self.address, self.standby, self.spans = address, standby, []
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        lines, screen = wire.NodeLines(self.address, 30), wire.NodeLines(self.standby, 30)
        screen.send("SUB tally/lag\n")
        while not self.stop.wait(0.02):
            # The same content again would be no record.
            lines.send('EVT tally/lag type=tick {"content-state":{"n":%d}}\n' % time.monotonic_ns())
            reply = attributes(lines.read())
            at, rev = time.monotonic(), int(reply["rev"])
            while int(attributes(screen.read()).get("rev", 0)) < rev:
                pass
            self.spans.append(max(0, time.monotonic() - at))
        lines.close()
        screen.close()

    def end(self):
        self.stop.set()
        self.thread.join(30)
        return sorted(self.spans)


def place(values, share):
    return values[min(len(values) - 1, int(len(values) * share))]


def measure(bench, with_standby):
    """One round, with a cluster of its own. Returns the figures by their names."""
    cluster = bench.cluster
    leader = bench.steady()
    bench.pulse.end()
    address = cluster.addresses[leader.name]
    standbys = [node for node in cluster.nodes if node is not leader]
    figures = {}
    lag = Lag(address, cluster.addresses[standbys[0].name]) if with_standby else None
    before = [cpu(node) for node in (leader, *standbys)]
    rate, _ = producers(address, 4, 1_000, 5, "a", PACE if with_standby else None)
    spent = [cpu(node) - start for node, start in zip((leader, *standbys), before)]
    figures["paced events/s" if with_standby else "events/s"] = rate
    if not with_standby:
        _, times = producers(address, 1, 1, 3, "b")
        figures["p50 ms"], figures["p99 ms"] = (1_000 * place(times, share) for share in (0.5, 0.99))
        return figures
    spans = lag.end()
    figures["lag p99 ms"] = 1_000 * place(spans, 0.99)
    figures["CPU of a standby, of the leader's"] = max(spent[1:]) / spent[0]
    oracle.level(cluster)
    records = oracle.stats(address)["cluster"]["position"]
    newest = int(cluster.greeting(leader.name)["seq"])
    standbys[1].kill()
    shutil.rmtree(f"{cluster.folder}/{standbys[1].name}")
    standbys[1].start()
    began, first = time.monotonic(), None
    copied = f"file:{cluster.folder}/{standbys[1].name}/journal.sqlite?mode=ro"
    while True:
        check(time.monotonic() < began + 120, f"a node did not join within 120 s: {records} messages")
        try:
            copy = sqlite3.connect(copied, uri=True)
            found = copy.execute("select max(sequence) from record").fetchone()[0]
            copy.close()
            if found and first is None:
                first = (time.monotonic(), found)
            if found and found >= newest:
                break
        except sqlite3.Error:
            pass
        time.sleep(0.02)
    # From its first records on: what comes before is the start of a process and of a connection.
    figures["joins, records/s"] = (newest - first[1]) / max(0.001, time.monotonic() - first[0])
    return figures


# Of each figure: what is promised, and whether more is better.
PROMISED = {
    "events/s": (60_000, True), "p50 ms": (3.0, False), "p99 ms": (12.0, False), "lag p99 ms": (50.0, False),
    "paced events/s": (0.95 * PACE, True), "CPU of a standby, of the leader's": (0.6, False), "joins, records/s": (200_000, True),
}


def report(name, rounds):
    """Prints medians and worsts. Returns whether the medians are as promised."""
    is_kept = True
    for figure in rounds[0]:
        values = [each[figure] for each in rounds]
        promised, is_more = PROMISED[figure]
        median, worst = statistics.median(values), min(values) if is_more else max(values)
        kept = median >= promised if is_more else median <= promised
        is_kept = is_kept and kept
        digits = 0 if promised >= 1_000 else 2
        print(f"{name}: {figure}: median {median:,.{digits}f}, worst {worst:,.{digits}f} of {len(values)} "
              f"(promised {'at least' if is_more else 'at most'} {promised:,}){'' if kept else ': MISSED'}")
    return is_kept


def main(arguments, make_bench, name):
    rounds = []
    for number in range(arguments.rounds):
        arguments.seed = random.Random(arguments.seed).randrange(1 << 32)
        with make_bench() as bench:
            rounds.append(measure(bench, name == "K-10"))
        print(f"  {name} {number + 1}: {json.dumps({key: round(value, 2) for key, value in rounds[-1].items()})}", flush=True)
    return 0 if report(name, rounds) else 1
