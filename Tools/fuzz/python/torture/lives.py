"""The life of one journal: kills under load, a full disk, a stop in order."""

import os
import random
import resource
import signal
import time

from torture.clients import Producer, Watcher, load
from torture.daemon import Daemon
from torture.verify import all_keys, recent_keys, verify
from torture.wire import Lines, attributes, check, tail


PLACES = ["part-written", "batch-written", "batch-synced", "before-reply", "after-reply", "log-copied",
          "chunk-written", "snapshot-finished", "pruned"]
KILLS_PER_JOURNAL = 25  # Then a new journal: a long one only makes each recovery longer.


def disk_full(daemon, producers, watcher, rng, epoch, is_kept):
    """Limits the size of the daemon's files, waits until writers are refused, then lifts the limit."""
    port = daemon.start(snapshot_records=1 << 40)
    data = os.path.join(daemon.folder, "data")
    size = max(os.path.getsize(os.path.join(data, name)) for name in os.listdir(data))
    refused_before = sum(producer.full for producer in producers)

    def body():
        unlimited = resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (size + 100_000, unlimited[1]))
        deadline = time.monotonic() + 300
        while sum(producer.full for producer in producers) < refused_before + 20:
            check(time.monotonic() < deadline, "nobody was refused on a full disk")
            check(daemon.process.poll() is None, f"the daemon left on a full disk: {tail(daemon.log.name)}")
            time.sleep(0.01)
        # Readers go on.
        lines = Lines(port)
        lines.send("LIST tally/*\n")
        while attributes(lines.read())["verb"] == "SNAP":
            pass
        lines.close()
        resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, unlimited)
        acknowledged = sum(len(producer.acknowledged) for producer in producers)
        while sum(len(producer.acknowledged) for producer in producers) < acknowledged + 100:
            check(time.monotonic() < deadline, "nothing was taken when there was space again")
            time.sleep(0.01)

    load(port, producers, watcher, body)
    verify(port, producers, watcher, epoch, rng, recent_keys, daemon.is_pruning, is_kept)
    daemon.kill()
    return sum(producer.full for producer in producers) - refused_before


def torture(arguments, folder, rng, kills, totals):
    """A journal's whole life: kills under load, a full disk, a stop in order."""
    daemon = Daemon(arguments, folder, is_pruning=arguments.place == "pruned" or rng.random() < 0.3)
    producers = [Producer(f"p{index}", random.Random(rng.random())) for index in range(arguments.producers)]
    watcher = Watcher()
    # Without every sync history may lack its end after a kill, for all that the daemon knows: it has to say so.
    is_synced = arguments.sync == "full"
    epoch = None
    end = min(arguments.kills, sum(kills.values()) + KILLS_PER_JOURNAL)
    try:
        while sum(kills.values()) < end:
            places = PLACES if daemon.is_pruning else PLACES[:-1]
            place = arguments.place or (rng.choice(places) if rng.random() < 0.6 else None)
            in_snapshot = place in ("chunk-written", "snapshot-finished", "pruned")
            count = 1 if in_snapshot else rng.choice([1, 2, 3, 10, 40])
            port = daemon.start(place and f"{place}:{count}",
                                snapshot_records=300 if in_snapshot or rng.random() < 0.2 else 20_000)
            if port is None:
                kills[place] += 1
                daemon.kill()
                continue
            totals["longest"] = max(totals["longest"], daemon.recovered)

            def body():
                if place and daemon.wait(1):
                    kills[place] += 1
                else:
                    time.sleep(0 if place else rng.uniform(0, 0.15))
                    kills["at random"] += 1
                check(daemon.process.poll() in (None, -signal.SIGKILL), f"the daemon left: {tail(daemon.log.name)}")
                daemon.kill()

            load(port, producers, watcher, body)
            port = daemon.start()
            epoch, _ = verify(port, producers, watcher, epoch, rng, recent_keys, daemon.is_pruning, is_synced)
            daemon.kill()
        # The one before was killed when it had written nothing.
        totals["refused"] += disk_full(daemon, producers, watcher, rng, epoch, is_synced or None)
        port = daemon.start()
        epoch, events = verify(port, producers, watcher, epoch, rng, all_keys, daemon.is_pruning, is_synced)
        daemon.process.terminate()
        check(daemon.wait(120) and daemon.process.returncode == 0, "the daemon did not stop in order")
        port = daemon.start()
        verify(port, producers, watcher, epoch, rng, all_keys, daemon.is_pruning)
    finally:
        daemon.kill()
    totals["recovered"] += events
    if daemon.is_pruning:
        totals["pruned"] += sum(len(producer.acknowledged) for producer in producers) - events
    totals["acknowledged"] += sum(len(producer.acknowledged) for producer in producers)
    totals["sent"] += sum(len(producer.sent) for producer in producers)
    totals["rows"] += watcher.rows
