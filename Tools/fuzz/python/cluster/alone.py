"""A daemon by itself: it loads nothing of the engine, and costs what another build of it costs (K-14)."""

import os
import shutil
import statistics
import tempfile
import time

from cluster import load
from cluster.network import free_ports
from cluster.nodes import Process
from cluster.rounds import make_kinds
from torture.wire import check, tail

NAME = "K-14"
SECONDS = 3  # Of posting, and of idleness.

# Of each figure: its name, whether more is better, and by how much it may differ.
FIGURES = [("events/s", True, 0.1), ("CPU µs an event", False, 0.1), ("start ms", False, 0.2), ("idle MiB", False, 0.1),
           ("idle CPU ms a second", False, 0.5)]


def libraries(process):
    """The engine's libraries that a process has loaded."""
    with open(f"/proc/{process.process.pid}/maps") as file:
        return sorted({os.path.basename(line.split()[-1]) for line in file if "nats" in os.path.basename(line.split()[-1])})


def start(daemon, folder, kinds, environment=None):
    """A daemon without --cluster. Returns its process, its address and how long it took to be ready, in seconds."""
    address = ("127.0.0.1", free_ports(1)[0])
    words = [daemon, "--data", f"{folder}/alone", "--kinds", kinds, "--listen", f"{address[0]}:{address[1]}"]
    process = Process("alone", words, f"{folder}/alone.log", environment)
    began = time.monotonic()
    process.start()
    while not any(line.startswith("ready") for _, line in process.lines):
        check(time.monotonic() < began + 10, f"it does not start: {tail(process.log)}")
        time.sleep(0.001)
    return process, address, process.lines[0][0] - began


def resident(process):
    """Memory of a process, in MiB."""
    with open(f"/proc/{process.process.pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024


def measure(daemon, data):
    """The figures of one life of a daemon on an empty folder, in the order of FIGURES."""
    folder = tempfile.mkdtemp(prefix="telltale-alone-", dir=data)
    process, address, span = start(daemon, folder, make_kinds(folder))
    try:
        time.sleep(0.5)
        before = load.cpu(process)
        time.sleep(SECONDS)
        idle, memory = (load.cpu(process) - before) / SECONDS, resident(process)
        before = load.cpu(process)
        rate, _ = load.producers(address, 4, 1_000, SECONDS, "a")
        # A second of posting goes before the counted ones.
        spent = (load.cpu(process) - before) / (rate * (SECONDS + 1))
    finally:
        process.kill()
    shutil.rmtree(folder)
    return rate, 1e6 * spent, 1_000 * span, memory, 1_000 * idle


def compare(arguments):
    """This build and another, by turns. Returns whether this one costs no more."""
    lives = {arguments.daemon: [], arguments.against: []}
    for number in range(arguments.rounds):
        for daemon, told in lives.items() if number % 2 == 0 else reversed(lives.items()):
            told.append(measure(daemon, arguments.data))
        print(f"  {NAME} {number + 1}: {', '.join(f'{told[-1][0]:,.0f} events/s' for told in lives.values())}", flush=True)
    is_kept = True
    for place, (figure, is_more, share) in enumerate(FIGURES):
        own, base = (statistics.median(life[place] for life in told) for told in lives.values())
        # A tick of the processor's clock is 10 ms.
        slack = 4 if figure.startswith("idle CPU") else 0
        kept = own >= base * (1 - share) if is_more else own <= base * (1 + share) + slack
        is_kept = is_kept and kept
        print(f"{NAME}: {figure}: {own:,.2f}, and {base:,.2f} of {arguments.against}{'' if kept else ': MISSED'}")
    return is_kept


def main(arguments, make_bench):
    """That it loads nothing of the engine, where a node of a cluster does; and what it costs, beside another build."""
    with make_bench() as bench:
        process, _, _ = start(arguments.daemon, bench.folder, f"{bench.folder}/kinds", bench.cluster.nodes[0].environment)
        found, node = libraries(process), libraries(bench.cluster.nodes[0])
        process.kill()
    check(node, "a node has loaded nothing of the engine: this check means nothing")
    check(not found, f"a daemon by itself has loaded {found}")
    print(f"{NAME}: a daemon by itself has loaded nothing of the engine, a node {' '.join(node)}")
    return 0 if not arguments.against or compare(arguments) else 1
