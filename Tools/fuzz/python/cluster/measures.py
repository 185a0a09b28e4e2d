"""The figures of a cluster, each by a fault that is repeated: the median and the worst of them, beside what is promised."""

import os
import random
import shutil
import signal
import statistics
import tempfile
import time

from cluster import alone, load, network, oracle
from cluster.clients import Producer
from cluster.crowd import takeover
from cluster.nodes import Cluster
from cluster.rounds import make_kinds, tokens
from cluster.wire import NodeLines
from torture.wire import Failure, attributes, check


class Bench:
    """A cluster with one producer that posts one event after another, and waits for each answer."""

    def __init__(self, arguments, boxes=None, patience=None):
        self.arguments, self.boxes = arguments, boxes
        self.folder = tempfile.mkdtemp(prefix="telltale-torture-", dir=arguments.data)
        kinds = make_kinds(self.folder)
        self.cluster = Cluster(arguments, self.folder, boxes, kinds, [*tokens(arguments, self.folder, boxes), *arguments.option])
        self.pulse = Producer("pulse", list(self.cluster.addresses.values()), random.Random(arguments.seed), 0.002, 1)
        if patience:
            self.pulse.patience = patience

    def __enter__(self):
        self.cluster.start()
        self.cluster.await_leader()
        self.pulse.start()
        return self

    def __exit__(self, kind, *_):
        self.pulse.stop.set()
        self.pulse.abort.set()
        if hasattr(self, "wall"):
            self.wall.end()
        self.cluster.kill()
        if self.boxes:
            self.boxes.remove()
        if kind is None and not self.arguments.keep:
            shutil.rmtree(self.folder)
        else:
            print(f"  the folder is {self.folder}", flush=True)

    def steady(self):
        """Everything runs, every node stands where the leader stands and hears the others, each server of the engine has the whole log,
        and events are acknowledged. Returns the leader."""
        self.cluster.start_the_dead()
        oracle.level(self.cluster, slack=500)
        deadline = time.monotonic() + 90
        while not self.cluster.is_whole():
            check(time.monotonic() < deadline, f"the engine is not whole within 90 s: {self.cluster.streams()}")
            time.sleep(0.2)
        self.acknowledged(time.monotonic())
        # Where a node does not beat, its lease is not what the next fault measures.
        oracle.beating(self.cluster)
        time.sleep(random.Random(self.arguments.seed).uniform(0.5, 1.5))
        self.pulse.longest = 0.0
        self.pulse.errors.clear()
        return self.cluster.await_leader()

    def acknowledged(self, since, seconds=90):
        """Waits for an OK behind this moment. Returns when it came."""
        deadline = time.monotonic() + seconds
        while self.pulse.last <= since:
            self.pulse.check()
            check(time.monotonic() < deadline, f"no OK within {seconds} s")
            time.sleep(0.005)
        return self.pulse.last

    def first_of_another(self, term, since, seconds=90):
        """Waits for an OK of a later term. Returns how long after `since` the first one came."""
        deadline = time.monotonic() + seconds
        while not any(later > term for later in self.pulse.began):
            self.pulse.check()
            check(time.monotonic() < deadline, f"no other node acknowledged within {seconds} s")
            time.sleep(0.005)
        return min(at for later, at in self.pulse.began.items() if later > term) - since

    def led(self, since, but):
        """When another node has said that it leads, in seconds behind `since`."""
        for _ in range(9_000):
            found = [at for node in self.cluster.nodes if node is not but for at, line in node.lines
                     if at > since and line.startswith("leading")]
            if found:
                return min(found) - since
            time.sleep(0.01)
        raise Failure("no other node leads within 90 s")

    def term(self, leader):
        return int(self.cluster.greeting(leader.name)["term"])

    def verify(self):
        """The oracle of the producer and of the nodes' folders."""
        self.pulse.end()
        oracle.ledgers([self.pulse])
        oracle.level(self.cluster)
        oracle.log(self.cluster.addresses[self.cluster.await_leader().name], [self.pulse], [])
        return oracle.hashes(self.cluster, self.arguments.telltale)


def k1(bench):
    leader = bench.steady()
    term, start = bench.term(leader), time.monotonic()
    leader.kill()
    return bench.first_of_another(term, start)


def k2(bench):
    leader = bench.steady()
    start = time.monotonic()
    leader.signal(signal.SIGTERM)
    bench.led(start, leader)
    bench.acknowledged(time.monotonic())
    check(set(bench.pulse.errors) <= {"not_leader"}, f"the producer was told {dict(bench.pulse.errors)}")
    return bench.pulse.longest


def k3(bench):
    leader = bench.steady()
    address = bench.cluster.addresses[leader.name]
    screen, provider, writer = (NodeLines(address) for _ in range(3))
    screen.send("SUB *\n")
    provider.send("SERVE lamp\n")
    time.sleep(0.2)
    term, start = bench.term(leader), time.monotonic()
    leader.signal(signal.SIGSTOP)
    # Bytes of before are read now; all later ones are sent when it goes on.
    sockets = [lines.socket for lines in (screen, provider, writer)]
    for each in sockets:
        drain(each)
    writer.send("EVT tally/late type=tick eid=late src=late\nGET tally/pulse-0\nSET lamp/a value=on\n")
    led = bench.led(start, leader)
    time.sleep(max(0.0, start + 10 - time.monotonic()))
    began = first_rev(bench, term)
    going_on = time.monotonic()
    leader.signal(signal.SIGCONT)
    leader.is_stopped = False
    for each in sockets:
        each.settimeout(5)
        told = b""
        while True:
            try:
                piece = each.recv(65536)
            except ConnectionResetError:
                break
            if not piece:
                break
            told += piece
        wrong = [line for line in told.decode().splitlines() if line and not may_follow(line, began)]
        check(not wrong, f"{leader.name} was deposed, went on and wrote {wrong[:3]}")
        each.close()
    closed = time.monotonic() - going_on
    check(closed <= 0.5, f"{leader.name} closed its connections {closed:.2f} s after it went on")
    return led


def first_rev(bench, term):
    """The first position that a later term acknowledged."""
    bench.first_of_another(term, 0)
    return min(ack.rev for ack in list(bench.pulse.acknowledged.values()) if ack.term > term and ack.verdict == "applied")


def may_follow(line, began):
    """Whether a leader that was stopped and is deposed may say so. One that was stopped between two writes of a turn goes on with
    the next: a row that was stored before, and that the log has in front of the next term."""
    line = attributes(line)
    return line["verb"] in ("MARK", "BYE") or (line["verb"] in ("UPD", "SNAP") and int(line["rev"]) < began)


def drain(connection):
    connection.settimeout(0.2)
    try:
        while connection.recv(65536):
            pass
    except TimeoutError:
        pass


def k4(bench, which=signal.SIGKILL):
    bench.steady()
    engine = bench.cluster.stream_leader()
    check(engine is not None, "no server of the engine tells which leads the stream")
    connections, leads = bench.pulse.connections, leadings(bench.cluster)
    engine.signal(which)
    engine.process.wait(30)
    bench.acknowledged(time.monotonic() + 0.5)
    check(bench.pulse.connections == connections, "the producer's connection was closed")
    check(leadings(bench.cluster) == leads, "another node leads")
    return bench.pulse.longest


def leadings(cluster):
    return sum(line.startswith("leading") for node in cluster.nodes for _, line in node.lines)


def k5(bench):
    bench.steady()
    bench.cluster.kill()
    start, wall = time.monotonic(), time.time()
    bench.cluster.start_the_dead()
    served = bench.acknowledged(start) - start
    led = min(at for node in bench.cluster.nodes for at, line in node.lines if at > start and line.startswith("leading")) - start
    tell_engine(bench.cluster, wall, None)
    print(f"  a node led after {led:.2f} s", flush=True)
    return served


def tell_engine(cluster, wall, but):
    """Prints the engine's part, by its own log: nothing can be appended, and no lease ages, before that."""
    told = {stream: cluster.elected(stream, wall, but) for stream in ("LOG", "BEAT")}
    print("  the engine's own part: " + ", ".join(
        f"{stream} led after {span:.2f} s" if span else f"{stream} needed no election" for stream, span in told.items()), flush=True)


def k6(bench, victim="leader"):
    leader = bench.steady()
    cluster = bench.cluster
    engine = cluster.stream_leader()
    box = cluster.nodes.index(leader) if victim == "leader" else cluster.engines.index(engine)
    print(f"  box {box + 1} is cut off; {leader.name} leads, and {engine.name if engine else 'no server'} leads the stream", flush=True)
    term, start, wall = bench.term(leader), time.monotonic(), time.time()
    bench.boxes.cut(box)
    if cluster.nodes.index(leader) == box:
        served = bench.first_of_another(term, start)
    else:
        served = bench.acknowledged(start + 0.2) - start
        time.sleep(5)
        served = max(served, bench.pulse.longest)
    time.sleep(max(0.0, start + 30 - time.monotonic()))
    tell_engine(cluster, wall, cluster.engines[box])
    bench.boxes.heal()
    return served


# name: (the fault, what the figure is, the median and the worst that are promised, in seconds, the boxes it needs, its producer waits so long)
MEASURES = {
    "K-1": (k1, "from kill -9 of the leader to the first OK of another", 1.5, 4.0, False, None),
    "K-2": (k2, "without an OK around SIGTERM of the leader", 1.0, 1.0, False, None),
    "K-3": (k3, "from SIGSTOP of the leader until another leads", 4.0, 4.0, False, None),
    "K-4": (k4, "without an OK around kill -9 of the stream's leader", 10.0, None, False, 60),
    "K-4-term": (lambda bench: k4(bench, signal.SIGTERM), "without an OK around SIGTERM of the stream's leader", 1.0, 1.0, False, 60),
    "K-5": (k5, "from the start behind kill -9 of everything to the first OK", 15.0, 15.0, False, None),
    "K-8": (takeover, "from `leading` until 1,000 screens of ten orders are current", 3.0, 3.0, False, None),
    "K-6": (k6, "from the cut of the leader's box to the first OK of another", 15.0, 15.0, True, None),
    "K-6-stream": (lambda bench: k6(bench, "stream"), "without an OK around the cut of the stream leader's box", 15.0, 15.0, True, None),
}


LOADS = ("K-9", "K-10")  # See load.
def main(arguments):
    name = arguments.measure
    if name in (alone.NAME, *LOADS):
        try:
            if name == alone.NAME:
                return alone.main(arguments, lambda: Bench(arguments))
            return load.main(arguments, lambda: Bench(arguments), name)
        except Failure as failure:
            print(f"torture: {name} FAILED: {failure}", flush=True)
            return 1
    fault, what, median, worst, needs_boxes, patience = MEASURES[name]
    if needs_boxes and not arguments.boxes:
        print(f"torture: {name} is skipped: {arguments.why_no_boxes}")
        return 77
    figures = []
    try:
        with Bench(arguments, network.Network(3) if arguments.boxes else None, patience) as bench:
            for number in range(arguments.rounds):
                figures.append(fault(bench))
                print(f"  {name} {number + 1}: {figures[-1]:.2f} s", flush=True)
            bench.cluster.start_the_dead()
            bench.acknowledged(time.monotonic())
            bench.verify()
    except (Failure, network.Unavailable) as failure:
        print(f"torture: {name} FAILED: {failure}", flush=True)
        return 1
    figures.sort()
    # 19 of 20.
    last = figures[-1] if worst is not None else figures[max(0, len(figures) - 1 - len(figures) // 20)]
    is_kept = statistics.median(figures) <= median and last <= (worst or median)
    print(f"{name}: {what}: median {statistics.median(figures):.2f} s, worst {figures[-1]:.2f} s of {len(figures)}"
          f" (promised {median} s, {f'at worst {worst} s' if worst else '19 of 20 times'}){'' if is_kept else ': MISSED'}")
    return 0 if is_kept else 1
