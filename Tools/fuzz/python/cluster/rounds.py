"""Rounds of faults under load, and the checks between and behind them."""

import collections
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

from cluster import network, oracle, wire
from cluster.clients import Finger, Producer, Provider, Screen
from cluster.faults import Faults
from cluster.nodes import Cluster
from torture.wire import Failure, check

KINDS = {
    "tally": {
        "kind": "tally", "type": "activity", "version": 1, "app": "com.example.torture", "title": "Tally",
        "startsOn": ["tick"], "maxActive": "365d",
        "machine": {"initial": "counting", "states": {
            "counting": {"on": {"tick": {}, "stop": "stopped"}}, "stopped": {"type": "final"}}},
    },
    "lamp": {
        "kind": "lamp", "type": "toggle", "version": 1, "app": "com.example.torture", "title": "Lamp", "timeout": "5s",
        "instances": ["a"],
    },
}
BROKEN = ["acknowledgedBeforeStored", "refusalTakenForStored", "silenceTakenForLost"]  # Of the daemon's BrokenLog.
SERVES_AGAIN = 60  # Within so many seconds of the end of a fault every producer is acknowledged something.


def make_kinds(folder):
    path = os.path.join(folder, "kinds")
    os.mkdir(path)
    for name, kind in KINDS.items():
        with open(os.path.join(path, f"{name}.json"), "w") as file:
            json.dump(kind, file)
    return path


def tokens(arguments, folder, boxes):
    """The options of a daemon that other machines reach: without tokens it would refuse their address."""
    if not boxes:
        return []
    file = os.path.join(folder, "principals.json")
    scopes = [word for scope in ("post:*", "read:*", "act:*", "serve:*", "stats") for word in ("--scope", scope)]
    done = subprocess.run([arguments.telltale, "token", "add", "torture", *scopes, "--account", "torture", "--source", "*",
                           "--auth", file], capture_output=True, text=True, check=False)
    check(done.returncode == 0, f"no token: {done.stderr}")
    wire.TOKENS[:] = [done.stdout.strip()]
    return ["--auth", file]


class Crowd:
    """All clients of a run."""

    def __init__(self, cluster, rng, producers=3, screens=3):
        addresses = list(cluster.addresses.values())

        def new(make, name, *more):
            return make(name, addresses, random.Random(rng.random()), *more, is_anywhere=True)

        self.producers = [new(Producer, f"p{index}") for index in range(producers)]
        self.screens = [new(Screen, f"s{index}") for index in range(screens)]
        self.screens += [new(Screen, "lamp", "lamp/a"), new(Screen, "first", "tally/p0-0")]
        self.providers = [new(Provider, f"provider{index}") for index in range(2)]
        self.finger = new(Finger, "finger")

    @property
    def clients(self):
        return self.producers + self.screens + self.providers + [self.finger]

    def start(self):
        for client in self.clients:
            client.start()

    def check(self):
        for client in self.clients:
            client.check()

    def served(self, since, cluster, seconds=SERVES_AGAIN):
        """Waits until every producer was acknowledged something new."""
        deadline = time.monotonic() + seconds
        while min(producer.last for producer in self.producers) < since:
            self.check()
            cluster.check_ends()
            check(time.monotonic() < deadline,
                  f"{seconds} s behind the fault, not every producer is acknowledged: "
                  f"{[(producer.name, dict(producer.errors)) for producer in self.producers]}")
            time.sleep(0.05)

    def abort(self):
        for client in self.clients:
            client.stop.set()
            client.abort.set()


def torture(arguments, rng):
    """`arguments.rounds` faults, one after another, then the whole of the oracle. Returns the totals."""
    folder = tempfile.mkdtemp(prefix="telltale-torture-", dir=arguments.data)
    seed = arguments.seed
    boxes = None
    if arguments.boxes:
        boxes = network.Network(3)
    kinds = make_kinds(folder)
    disks = network.Disks(folder, [f"engine{index + 1}" for index in range(3)]) if boxes and arguments.engine == "nats" else None
    cluster = Cluster(arguments, folder, boxes, kinds, [*tokens(arguments, folder, boxes), *arguments.option], disks)
    crowd = Crowd(cluster, rng)
    done, totals = [], collections.Counter()
    started = time.monotonic()
    try:
        cluster.start()
        cluster.await_leader()
        crowd.start()
        crowd.served(time.monotonic(), cluster)
        faults = Faults(cluster, rng, arguments.fault)
        for number in range(arguments.rounds):
            name = faults.pick()
            print(f"  {number + 1}: {name}", end="", flush=True)
            time.sleep(rng.uniform(0.2, 1.5))
            for producer in crowd.producers:
                producer.longest = 0.0
            words = faults.run(name)
            cluster.start_the_dead()
            if boxes:
                boxes.heal()
            crowd.served(time.monotonic(), cluster)
            done.append(name)
            oracle.ledgers(crowd.producers)
            oracle.providers(crowd.providers)
            leader = cluster.await_leader()
            longest = max(producer.longest for producer in crowd.producers)
            print(f" ({words}): {longest:.1f} s without an OK, {leader.name} leads", flush=True)
            if arguments.seconds and time.monotonic() - started > arguments.seconds:
                break
        totals.update(finish(arguments, cluster, crowd))
        totals["rounds"] = len(done)
    except Failure as failure:
        raise Failure(f"{failure}\n  seed {seed}, {folder}, behind {done[-3:]}") from None
    finally:
        crowd.abort()
        cluster.kill()
        if boxes:
            boxes.remove()
        if disks and not arguments.keep:
            disks.remove()
    if not arguments.keep:
        shutil.rmtree(folder)
    return totals


def finish(arguments, cluster, crowd):
    """Writers end, readers come to the newest state, and everything is compared."""
    for client in [crowd.finger, *crowd.producers]:
        client.end()
    # The lead may move meanwhile.
    oracle.settled(lambda: cluster.addresses[cluster.await_leader().name], crowd.screens, crowd.producers, crowd.finger)
    terms = oracle.ledgers(crowd.producers)
    asked = oracle.providers(crowd.providers)
    for client in crowd.providers + crowd.screens:
        client.end()
    oracle.level(cluster)
    events = oracle.log(cluster.addresses[cluster.await_leader().name], crowd.producers, crowd.screens)
    replayed, state = oracle.hashes(cluster, arguments.telltale)
    return {
        "acknowledged": sum(len(producer.acknowledged) for producer in crowd.producers), "log": events,
        "sent": sum(len(producer.sent) for producer in crowd.producers), "terms": len(terms), "asked": asked,
        "rows": sum(len(screen.seen) for screen in crowd.screens),
        "taps": len(crowd.finger.operations), "records": replayed, "state": int(state, 16),
        "resumes": sum(screen.connections - 1 for screen in crowd.screens),
    }


def main(arguments):
    rng = random.Random(arguments.seed)
    words = "over a file" if arguments.engine.startswith("file") else "three servers of NATS JetStream"
    print(f"torture: a cluster, {words}, {arguments.rounds} rounds, seed {arguments.seed}", flush=True)
    if not arguments.boxes:
        print(f"torture: no faults of the network: {arguments.why_no_boxes}", flush=True)
    started = time.monotonic()
    try:
        totals = torture(arguments, rng)
        if arguments.broken:
            print(f"torture: FAILED: {arguments.broken} was not found in {totals['rounds']} rounds")
            return 1
    except (Failure, network.Unavailable) as failure:
        if arguments.broken and isinstance(failure, Failure):
            print(f"\ntorture: {arguments.broken} is found: {failure}")
            return 0
        print(f"\ntorture: FAILED: {failure}", file=sys.stderr)
        return 1
    print(f"torture: {totals['rounds']} rounds, {totals['terms']} terms that acknowledged, {totals['resumes']} resumes without RESET, "
          f"{totals['rows']} rows seen, {totals['taps']} taps, {totals['asked']} DOs")
    print(f"torture: acknowledged {totals['acknowledged']} <= log {totals['log']} <= sent {totals['sent']}, each once; the three "
          f"nodes have one state, {totals['state']:016x} at {totals['records']} ({time.monotonic() - started:.0f} s)")
    return 0
