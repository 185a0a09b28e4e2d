"""The link: a rate, a delay and a queue between a reader and a server, each in a namespace of its own."""

import collections
import ctypes
import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import time

CLONE_NEWNET, CLONE_NEWUSER = 0x40000000, 0x10000000
SERVER_ADDRESS, READER_ADDRESS = "10.9.0.1", "10.9.0.2"
PACKETS = 1000
libc = ctypes.CDLL(None, use_errno=True)


def checked(result, what):
    if result != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def run(*command):
    subprocess.run(command, check=True)


def microseconds():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000


# --- The link --------------------------------------------------------------------------------------------------------

def open_tun(name):
    descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(descriptor, 0x400454CA, struct.pack("16sH", name.encode(), 0x1001))  # TUNSETIFF, without extra bytes
    return descriptor


def set_up(device, own, peer):
    """Addresses, and 127.0.0.1 across the link: a daemon without access control listens there alone."""
    run("ip", "address", "add", own, "peer", peer, "dev", device)
    run("ip", "link", "set", device, "mtu", "1500", "up")
    for interface in ("all", device):
        with open(f"/proc/sys/net/ipv4/conf/{interface}/route_localnet", "w") as file:
            file.write("1")


def route_loopback(device):
    run("ip", "route", "add", "127.0.0.0/8", "dev", device, "src", READER_ADDRESS)


def congestion():
    with open("/proc/sys/net/ipv4/tcp_congestion_control") as file:
        return file.read().strip()


class Direction:
    """Packets on their way: a queue, a rate, a delay."""

    def __init__(self, out, bits_per_second, delay):
        self.out, self.rate, self.delay = out, bits_per_second, delay
        self.free = 0.0
        self.packets = collections.deque()  # (leaves the queue, arrives, bytes)

    def take(self, packet, now):
        while_queued = sum(1 for leaves, _, _ in self.packets if leaves > now)
        if while_queued >= PACKETS:
            return
        self.free = max(self.free, now) + len(packet) * 8 / self.rate
        self.packets.append((self.free, self.free + self.delay, packet))

    def deliver(self, now):
        while self.packets and self.packets[0][1] <= now:
            try:
                os.write(self.out, self.packets.popleft()[2])
            except BlockingIOError:
                pass

    def wait(self, now):
        return max(0.0, self.packets[0][1] - now) if self.packets else 1.0


def emulate(reader, server, options):
    """Until it is killed."""
    rate, delay = options.kbit * 1000, options.delay / 2000
    directions = {server: Direction(reader, rate, delay), reader: Direction(server, rate, delay)}
    while True:
        now = time.monotonic()
        wait = min(direction.wait(now) for direction in directions.values())
        ready, _, _ = select.select(list(directions), [], [], wait)
        now = time.monotonic()
        for descriptor in ready:
            while True:
                try:
                    packet = os.read(descriptor, 65536)
                except BlockingIOError:
                    break
                directions[descriptor].take(packet, now)
        for direction in directions.values():
            direction.deliver(now)


def make_link(options):
    """Puts this process on the reader's side. Returns the process that is on the server's."""
    flags = CLONE_NEWNET if os.geteuid() == 0 else CLONE_NEWNET | CLONE_NEWUSER
    checked(libc.unshare(flags), "could not make a network namespace")
    reader = open_tun("link0") if options.link == "tun" else None
    ready, told = os.pipe()
    holder = os.fork()
    if holder == 0:
        try:
            checked(libc.unshare(CLONE_NEWNET), "could not make a network namespace")
            run("ip", "link", "set", "lo", "up")
            if options.congestion:
                try:
                    with open("/proc/sys/net/ipv4/tcp_congestion_control", "w") as file:
                        file.write(options.congestion)
                except OSError:
                    raise OSError(f"this system does not let a namespace have --congestion {options.congestion}")
            if options.link == "tun":
                server = open_tun("link1")
                set_up("link1", SERVER_ADDRESS, READER_ADDRESS)
                os.write(told, b"1")
                emulate(reader, server, options)
            os.write(told, b"1")
            while True:
                signal.pause()
        except BaseException as error:  # It must never go on as the program itself.
            print(f"measure-slow-link: {error}", file=sys.stderr)
        os._exit(1)
    os.close(told)
    if os.read(ready, 1) != b"1":
        sys.exit(1)
    if options.link == "netem":
        run("ip", "link", "add", "link0", "type", "veth", "peer", "name", "link1", "netns", str(holder))
        inside = ["nsenter", f"--net=/proc/{holder}/ns/net", sys.executable, sys.argv[0], "--inside-set-up"]
        run(*inside)
        for enter in ([], ["nsenter", f"--net=/proc/{holder}/ns/net"]):
            device = "link1" if enter else "link0"
            run(*enter, "tc", "qdisc", "add", "dev", device, "root", "netem", "rate", f"{options.kbit}kbit", "delay",
                f"{options.delay / 2}ms", "limit", str(PACKETS))
    set_up("link0", READER_ADDRESS, SERVER_ADDRESS)
    route_loopback("link0")
    return holder
