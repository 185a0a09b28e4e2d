"""Boxes of a cluster as network namespaces, and what can happen to the links between them.

Each box has one link to a bridge. Clients are where the bridge is. Everything is done with `ip`, and with `tc` where the kernel has
netem: a direction is cut by a neighbour entry that leads nowhere, which needs no module of the kernel and is silent, as a broken
network is.
"""

import os
import random
import shutil
import socket
import subprocess
import sys

NOWHERE = "02:00:00:00:00:99"
PREFIX = "10.77.0."
INSIDE = "CLUSTER_IN_NAMESPACE"


class Unavailable(Exception):
    """Namespaces cannot be made here."""


def free_ports(count):
    """Ports below those that connections get by themselves, so that one stays free while its process is down."""
    ports = []
    while len(ports) < count:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as each:
            try:
                each.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in ports:
            ports.append(port)
    return ports


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Unavailable(f"{' '.join(words)}: {(done.stderr or done.stdout).strip()}")


def enter():
    """Runs this program again, in a network and a file system of its own: nothing of it stays on the machine.

    Returns where it is inside already.

    Raises Unavailable: with the reason.
    """
    if os.environ.get(INSIDE):
        return
    unshare = shutil.which("unshare")
    if not unshare or not shutil.which("ip") or not shutil.which("nsenter"):
        raise Unavailable("unshare, nsenter or ip is missing (Debian's util-linux and iproute2)")
    words = [unshare, *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "--net", "--mount"]
    # Asked before: behind an exec there is no way back.
    run(*words, "sh", "-c", "mount -t tmpfs tmpfs /run && ip link set lo up && ip link add br0 type bridge && ip netns add x")
    os.environ[INSIDE] = "1"
    os.execv(unshare, [*words, sys.executable, *sys.argv])


class Network:
    """`count` boxes, named `prefix`1 and so on."""

    def __init__(self, count, prefix="box", is_private=True):
        self.count, self.prefix = count, prefix
        self.bridge = f"{prefix}-br"
        self.is_netem = None
        if is_private:
            run("mount", "-t", "tmpfs", "tmpfs", "/run")
            run("ip", "link", "set", "lo", "up")
        # Before anything of another run is removed.
        run("ip", "link", "add", self.bridge, "type", "bridge")
        try:
            self.make()
        except Unavailable:
            self.remove()
            raise

    def make(self):
        run("ip", "address", "add", f"{PREFIX}254/24", "dev", self.bridge)
        run("ip", "link", "set", self.bridge, "up")
        for index in range(self.count):
            box, port = self.name(index), self.port(index)
            run("ip", "netns", "add", box)
            run("ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", box)
            run("ip", "link", "set", port, "master", self.bridge, "up")
            run("ip", "-n", box, "address", "add", f"{self.host(index)}/24", "dev", "eth0")
            run("ip", "-n", box, "link", "set", "lo", "up")
            run("ip", "-n", box, "link", "set", "eth0", "up")

    def name(self, index):
        return f"{self.prefix}{index + 1}"

    def port(self, index):
        return f"{self.prefix}-p{index + 1}"

    def host(self, index):
        return f"{PREFIX}{index + 1}"

    def within(self, index):
        """The words before a command that runs in a box."""
        return ["nsenter", f"--net=/run/netns/{self.name(index)}", "--"]

    def remove(self):
        for index in range(self.count):
            subprocess.run(["ip", "netns", "delete", self.name(index)], capture_output=True, check=False)
        subprocess.run(["ip", "link", "delete", self.bridge], capture_output=True, check=False)

    # Faults, each until heal().

    def cut(self, index):
        """A box is cut off from everything, clients too."""
        run("ip", "link", "set", self.port(index), "down")

    def cut_way(self, source, target):
        """What one box sends another is lost; what comes back arrives."""
        run("ip", "-n", self.name(source), "neighbour", "replace", self.host(target), "lladdr", NOWHERE, "dev", "eth0",
            "nud", "permanent")

    def cut_from_boxes(self, index):
        """A box is cut off from the other boxes, and not from clients."""
        for other in range(self.count):
            if other != index:
                self.cut_way(index, other)
                self.cut_way(other, index)

    def disturb(self, index, rng):
        """Delay and loss, or a slow link where the kernel has no netem. Returns what it is, in words."""
        box = self.name(index)
        delay, loss = rng.choice([(20, 0), (5, 1), (80, 0.1), (1, 5)])
        if self.is_netem is not False:
            try:
                run("tc", "-n", box, "qdisc", "replace", "dev", "eth0", "root", "netem", "delay", f"{delay}ms", f"{delay // 2}ms",
                    "loss", f"{loss}%")
                self.is_netem = True
                return f"{delay} ms, {loss} % lost"
            except Unavailable:
                self.is_netem = False
        rate = rng.choice(["2mbit", "10mbit"])
        run("tc", "-n", box, "qdisc", "replace", "dev", "eth0", "root", "tbf", "rate", rate, "burst", "16k", "latency", "100ms")
        return f"{rate}, as this kernel has no netem"

    def heal(self):
        for index in range(self.count):
            box = self.name(index)
            run("ip", "link", "set", self.port(index), "up")
            for other in range(self.count):
                subprocess.run(["ip", "-n", box, "neighbour", "delete", self.host(other), "dev", "eth0"],
                               capture_output=True, check=False)
            subprocess.run(["tc", "-n", box, "qdisc", "delete", "dev", "eth0", "root"], capture_output=True, check=False)


class Disks:
    """Small file systems of their own, in memory, so that each can be full."""

    MEBIBYTES = 512

    def __init__(self, folder, names):
        self.folders = {name: os.path.join(folder, name) for name in names}
        for path in self.folders.values():
            os.mkdir(path)
            run("mount", "-t", "tmpfs", "-o", f"size={self.MEBIBYTES}m", "tmpfs", path)

    def fill(self, name):
        """Nothing more can be written there."""
        with open(os.path.join(self.folders[name], "filler"), "ab", buffering=0) as file:
            for size in (1 << 20, 4_096, 1):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError:
                    pass

    def empty(self, name):
        os.remove(os.path.join(self.folders[name], "filler"))

    def remove(self):
        for path in self.folders.values():
            subprocess.run(["umount", "--lazy", path], capture_output=True, check=False)
