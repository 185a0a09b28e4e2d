"""What happens to a cluster in a round: each fault picks its victims by the seed, and is over when it returns."""

import os
import shutil
import signal
import threading
import time

KILL, STOP, TERM = signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM
SPANS = (0.5, 2.0, 5.0, 9.0)  # Of what is stopped or cut off, in seconds.


class Faults:
    """Those that a cluster of this kind can suffer."""

    def __init__(self, cluster, rng, only=None):
        self.cluster, self.rng = cluster, rng
        victims = ["leader", "standby", "all daemons"]
        if cluster.engines:
            victims += ["stream leader", "follower", "box", "all"]
        self.table = {}
        for victim in victims:
            self.table[f"kill {victim}"] = lambda victim=victim: self.kill(victim, KILL)
            self.table[f"stop {victim}"] = lambda victim=victim: self.stop(victim)
            self.table[f"end {victim}"] = lambda victim=victim: self.kill(victim, TERM)
        self.table["wipe standby"] = lambda: self.wipe("standby")
        self.table["wipe leader"] = lambda: self.wipe("leader")
        self.table["two at once"] = self.two
        if cluster.disks:
            for victim in ("stream leader", "follower", "all engines"):
                self.table[f"fill the disk of {victim}"] = lambda victim=victim: self.fill(victim)
        if cluster.network:
            self.table["cut leader"] = lambda: self.cut("leader")
            self.table["cut leader from boxes"] = lambda: self.cut("leader", "from boxes")
            self.table["cut leader one way"] = lambda: self.cut("leader", "one way")
            self.table["halve the leader's way"] = lambda: self.cut("leader", "half")
            if cluster.engines:
                self.table["cut stream leader"] = lambda: self.cut("stream leader")
                self.table["cut stream leader one way"] = lambda: self.cut("stream leader", "one way")
            self.table["disturb"] = self.disturb
        if only:
            self.table = {name: fault for name, fault in self.table.items() if only in name}

    def pick(self):
        return self.rng.choice(sorted(self.table))

    def run(self, name):
        """Returns more words about it."""
        return self.table[name]() or ""

    # Victims

    def processes(self, victim):
        cluster = self.cluster
        if victim == "all":
            return list(cluster.processes)
        if victim == "all daemons":
            return list(cluster.nodes)
        if victim == "all engines":
            return list(cluster.engines)
        if victim in ("stream leader", "follower"):
            leader = cluster.stream_leader() or cluster.engines[0]
            return [leader] if victim == "stream leader" else [
                self.rng.choice([each for each in cluster.engines if each is not leader])]
        leader = cluster.leader() or self.rng.choice(cluster.nodes)
        if victim == "standby":
            return [self.rng.choice([each for each in cluster.nodes if each is not leader])]
        if victim == "box":
            return [leader, cluster.engines[cluster.nodes.index(leader)]]
        return [leader]

    def box(self, victim):
        process = self.processes(victim)[0]
        return int(process.name.lstrip("engin")) - 1

    # Faults

    def kill(self, victim, which):
        processes = self.processes(victim)
        for process in processes:
            process.signal(which)
        for process in processes:
            try:
                process.process.wait(30)
            except Exception:  # noqa: BLE001 - it hangs; so it is killed, and the log tells
                process.kill()
                return f"{process.name} did not end within 30 s, and was killed"
        time.sleep(self.rng.choice([0, 0.5, 2.0, 5.0]))
        for process in processes:
            process.start()
        return " ".join(process.name for process in processes)

    def stop(self, victim):
        processes, span = self.processes(victim), self.rng.choice(SPANS)
        for process in processes:
            process.signal(STOP)
        time.sleep(span)
        for process in processes:
            process.signal(signal.SIGCONT)
            process.is_stopped = False
        return f"{' '.join(process.name for process in processes)} for {span:.1f} s"

    def wipe(self, victim):
        node = self.processes(victim)[0]
        node.kill()
        shutil.rmtree(os.path.join(self.cluster.folder, node.name))
        time.sleep(self.rng.choice([0, 2.0]))
        node.start()
        return node.name

    def fill(self, victim):
        """A server of the engine whose disk has no room gives its streams up; when there is room it is started again, by its operator."""
        engines, span = self.processes(victim), self.rng.choice(SPANS)
        for engine in engines:
            self.cluster.disks.fill(engine.name)
        time.sleep(span)
        for engine in engines:
            self.cluster.disks.empty(engine.name)
            engine.signal(TERM)
        for engine in engines:
            try:
                engine.process.wait(30)
            except Exception:  # noqa: BLE001 - it hangs; so it is killed
                engine.kill()
            engine.start()
        return f"{' '.join(engine.name for engine in engines)} for {span:.1f} s"

    def two(self):
        names = self.rng.sample([name for name in sorted(self.table) if name.split(" ")[0] in ("kill", "stop", "end")], 2)
        threads = [threading.Thread(target=self.run, args=(name,)) for name in names]
        for thread in threads:
            thread.start()
            time.sleep(self.rng.uniform(0, 1))
        for thread in threads:
            thread.join()
        return ", ".join(names)

    def cut(self, victim, way="off"):
        network, box, span = self.cluster.network, self.box(victim), self.rng.choice(SPANS)
        other = self.rng.choice([each for each in range(3) if each != box])
        if way == "off":
            network.cut(box)
        elif way == "from boxes":
            network.cut_from_boxes(box)
        elif way == "half":
            network.cut_way(box, other)
            network.cut_way(other, box)
        else:
            ways = [(box, each) if self.rng.random() < 0.5 else (each, box) for each in range(3) if each != box]
            for source, target in ways:
                network.cut_way(source, target)
        time.sleep(span)
        network.heal()
        return f"box {box + 1} for {span:.1f} s"

    def disturb(self):
        boxes = self.rng.sample(range(3), self.rng.choice([1, 3]))
        words = [self.cluster.network.disturb(box, self.rng) for box in boxes]
        time.sleep(self.rng.choice(SPANS))
        self.cluster.network.heal()
        return f"{len(boxes)} boxes: {words[0]}"
