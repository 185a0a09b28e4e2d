"""The processes of a cluster under torture: servers of NATS and daemons, which a fault may kill, stop and start again."""

import datetime
import json
import os
import platform
import shutil
import signal
import subprocess
import threading
import time
import urllib.request

from cluster.network import free_ports
from torture.wire import Failure, tail

NAME = "torture"


class Process:
    """One process, with what it may suffer."""

    def __init__(self, name, words, log, environment=None):
        self.name, self.words, self.log, self.environment = name, words, log, environment
        self.process = None
        self.is_stopped = False
        self.lines = []  # (when, line) of its standard output

    def start(self):
        setpriv = shutil.which("setpriv")
        words = [setpriv, "--pdeathsig", "KILL", *self.words] if setpriv else self.words
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
                                            env=self.environment, start_new_session=True)
        self.is_stopped = False
        threading.Thread(target=self.read, args=(self.process,), daemon=True).start()

    def read(self, process):
        for line in process.stdout:
            self.lines.append((time.monotonic(), line.decode("utf-8", "replace").rstrip("\n")))

    @property
    def is_alive(self):
        return self.process is not None and self.process.poll() is None

    def signal(self, which):
        if self.is_alive:
            self.process.send_signal(which)
            self.is_stopped = which == signal.SIGSTOP or (self.is_stopped and which == signal.SIGTERM)

    def kill(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def end(self, seconds=30):
        """SIGTERM, and its exit status."""
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failure(f"{self.name} does not end: {tail(self.log)}") from None


class Cluster:
    """Three servers of the engine and three daemons, or three daemons over a file."""

    def __init__(self, arguments, folder, network, kinds, options=(), disks=None):
        self.folder, self.network, self.disks = folder, network, disks
        self.is_file = arguments.engine.startswith("file")
        hosts = [network.host(index) if network else "127.0.0.1" for index in range(3)]
        ports = [] if network else free_ports(12)
        clients, monitors, routes, daemons = (
            [default] * 3 if network else ports[3 * place:3 * place + 3]
            for place, default in enumerate((4222, 8222, 6222, 7878)))
        self.monitors = list(zip(hosts, monitors))
        self.addresses = {f"n{index + 1}": (hosts[index], daemons[index]) for index in range(3)}
        environment = dict(os.environ)
        peers = os.path.join(arguments.root, ".build", "peers", "usr", "lib", f"{platform.machine()}-linux-gnu")
        environment["LD_LIBRARY_PATH"] = ":".join(filter(None, [peers, environment.get("LD_LIBRARY_PATH")]))
        environment.update(arguments.environment)
        self.engines, self.nodes = [], []
        if not self.is_file:
            everyone = ", ".join(f"nats://{host}:{port}" for host, port in zip(hosts, routes))
            for index in range(3):
                self.engines.append(self.engine(
                    arguments.server, index, hosts[index], clients[index], monitors[index], routes[index], everyone))
        for index, (name, (host, port)) in enumerate(self.addresses.items()):
            engine = [f"file:{folder}/log"] if self.is_file else [
                ",".join(f"nats://{host}:{port}" for host, port in zip(hosts, clients)), "--engine-monitor",
                ",".join(f"http://{host}:{port}" for host, port in self.monitors)]
            words = [arguments.daemon, "--data", f"{folder}/{name}", "--kinds", kinds, "--listen",
                     f"{'plain://' if network else ''}{host}:{port}", "--cluster",
                     NAME, "--node", name, "--advertise", f"{host}:{port}", "--log-level", "info", "--engine", *engine, *options]
            self.nodes.append(Process(name, self.within(index) + words, f"{folder}/{name}.log", environment))

    def elected(self, stream, since, but):
        """How long after a moment of the wall clock a server has said that it leads a stream, in seconds; `None` where none had to."""
        found = []
        for engine in self.engines:
            if engine is but:
                continue
            with open(engine.log, errors="replace") as log:
                for line in log:
                    if f"new stream leader for '$G > TT_{NAME}_{stream}'" in line:
                        words = line.split()
                        at = datetime.datetime.strptime(f"{words[1]} {words[2]}", "%Y/%m/%d %H:%M:%S.%f").timestamp()
                        found += [at - since] if at > since else []
        return min(found, default=None)

    def within(self, index):
        return self.network.within(index) if self.network else []

    def engine(self, server, index, host, client, monitor, route, everyone):
        file = os.path.join(self.folder, f"engine{index + 1}.conf")
        with open(file, "w") as out:
            out.write(
                f'server_name: engine{index + 1}\nlisten: "{host}:{client}"\nhttp: "{host}:{monitor}"\n'
                f'jetstream {{ store_dir: "{self.folder}/engine{index + 1}", sync_interval: always }}\n'
                f'cluster {{ name: torture, listen: "{host}:{route}", routes: [{everyone}],\n'
                '  ping_interval: "2s", ping_max: 2, write_deadline: "2s" }\n')
        return Process(f"engine{index + 1}", self.within(index) + [server, "-c", file], f"{self.folder}/engine{index + 1}.log")

    @property
    def processes(self):
        return self.engines + self.nodes

    def start(self):
        for process in self.processes:
            process.start()

    def kill(self):
        for process in self.processes:
            process.kill()

    def start_the_dead(self):
        for process in self.processes:
            process.signal(signal.SIGCONT)
            if not process.is_alive:
                process.start()

    def check_ends(self):
        """A daemon ends by itself only where it must."""
        for node in self.nodes:
            if not node.is_alive and node.process.returncode not in (0, -signal.SIGKILL):
                raise Failure(f"{node.name} ended with {node.process.returncode}: {tail(node.log)}")

    # Which is which.

    def greeting(self, name, seconds=1.0):
        """The first line of a daemon, as attributes; `None` where there is none."""
        from cluster.wire import greeting
        return greeting(self.addresses[name], seconds)

    def leader(self):
        """The node that says that it leads, of the highest term; `None` where none says so."""
        told = [(self.greeting(node.name), node) for node in self.nodes if node.is_alive and not node.is_stopped]
        leading = [(int(line["term"]), node) for line, node in told if line and line.get("role") == "leader"]
        return max(leading, key=lambda pair: pair[0])[1] if leading else None

    def await_leader(self, seconds=60):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.check_ends()
            found = self.leader()
            if found:
                return found
            time.sleep(0.05)
        raise Failure(f"no node leads within {seconds} s: {tail(self.nodes[0].log)}")

    def stream_leader(self):
        """The server of the engine that leads the log's stream; `None` where no server can tell."""
        stream = self.stream()
        return stream and next(engine for engine in self.engines if engine.name == stream["leader"])

    def is_whole(self):
        """Whether every server of the engine has the whole log, and the beats: behind a cut that takes the engine up to half a minute."""
        if not self.engines:
            return True
        told = self.streams()
        replicas = [told.get(stream, {}).get("replicas", []) for stream in ("LOG", "BEAT")]
        return all(len(each) == 2 for each in replicas) and all(
            one.get("current") and not one.get("lag") and one.get("active", 0) < 2_000_000_000 for each in replicas for one in each)

    def stream(self):
        """The log's stream, as the monitor of its leader tells it; `None` where none does."""
        return self.streams().get("LOG")

    def streams(self):
        """The streams that have a leader, as the monitor of each tells it, by the last word of their names."""
        found = {}
        for host, port in self.monitors if self.engines else []:
            try:
                with urllib.request.urlopen(f"http://{host}:{port}/jsz?accounts=true&streams=true", timeout=1) as reply:
                    told = json.load(reply)
            except (OSError, ValueError):
                continue
            for account in told.get("account_details", []):
                for stream in account.get("stream_detail", []):
                    told = stream.get("cluster", {})
                    # Others have the leader among its replicas, and do not know which is current.
                    if told.get("leader") not in (None, "", *(each["name"] for each in told.get("replicas", []))):
                        found[stream["name"].rsplit("_", 1)[-1]] = told
        return found
