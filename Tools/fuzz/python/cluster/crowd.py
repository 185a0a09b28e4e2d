"""A thousand screens, each of ten orders, in one thread: what a takeover is for them."""

import asyncio
import random
import resource
import threading
import time

from cluster import wire
from torture.wire import Failure, attributes, check

ORDERS = [f"tally/o{number}" for number in range(10)]
PAUSES = (0.1, 2.0)  # Of a client whose server is gone, in seconds, as the protocol says.


class CrowdScreen:
    """Follows each order by a subscription of its own, and resumes from ten cursors."""

    def __init__(self, addresses, rng):
        self.addresses, self.rng = addresses, rng
        self.place = rng.randrange(len(addresses))
        self.cursors, self.revs, self.orders = {}, {}, {}
        self.reset = None

    async def run(self):
        told = None
        while True:
            address, hint, told = told or self.addresses[self.place], told, None
            # As the client library: behind a loss comes the address behind the one that is lost.
            if address in self.addresses:
                self.place = self.addresses.index(address)
            try:
                reader, writer = await asyncio.wait_for(asyncio.open_connection(*address), 3)
                try:
                    greeting = attributes((await reader.readline()).decode().rstrip("\n"))
                    if greeting.get("role") == "leader":
                        await self.serve(reader, writer)
                    elif "leader" in greeting and hint is None:
                        host, port = greeting["leader"].rsplit(":", 1)
                        told = (host, int(port))
                        continue
                finally:
                    writer.close()
            except (OSError, ValueError, asyncio.TimeoutError, asyncio.IncompleteReadError):
                pass
            self.place = (self.place + 1) % len(self.addresses)
            await asyncio.sleep(self.rng.uniform(*PAUSES))

    async def serve(self, reader, writer):
        words = [f"HELLO client=screen{f' token={wire.TOKENS[0]}' if wire.TOKENS else ''}\n"]
        for place, order in enumerate(ORDERS):
            cursor = self.cursors.get(order)
            words.append(f"SUB {order} view=full id={place}{f' from={cursor}' if cursor else ''}\n")
        writer.write("".join(words).encode())
        self.orders = {}
        while True:
            line = await reader.readline()
            if not line:
                return
            row = attributes(line.decode().rstrip("\n"))
            if row["verb"] == "BYE" or (row["verb"] == "ERR" and row["code"] == "not_leader"):
                return
            if row["verb"] == "OK" and "sub" in row:
                self.orders[row["sub"]] = ORDERS[int(row["id"])]
            order = self.orders.get(row.get("sub"))
            if row["verb"] in ("RESET", "ERR"):
                self.reset = row
            if "rev" in row and order:
                if int(row["rev"]) < self.revs.get(order, 0):
                    self.reset = row
                self.revs[order] = int(row["rev"])
            if "cur" in row and order:
                self.cursors[order] = row["cur"]


class Wall:
    """The screens, on a thread of their own."""

    def __init__(self, cluster, count, seed):
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(65_536, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
        rng = random.Random(seed)
        self.screens = [CrowdScreen(list(cluster.addresses.values()), random.Random(rng.random())) for _ in range(count)]
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        asyncio.set_event_loop(self.loop)
        self.tasks = [self.loop.create_task(screen.run()) for screen in self.screens]
        self.loop.run_until_complete(asyncio.gather(*self.tasks, return_exceptions=True))

    def end(self):
        for task in self.tasks:
            self.loop.call_soon_threadsafe(task.cancel)

    def current(self, revs, seconds=60):
        """Waits until every screen has these revs. Returns when that was."""
        deadline = time.monotonic() + seconds
        while True:
            for screen in self.screens:
                if screen.reset:
                    raise Failure(f"a screen got {screen.reset}")
            late = sum(screen.revs != revs for screen in self.screens)
            if late == 0:
                return time.monotonic()
            check(time.monotonic() < deadline, f"{late} screens are not current within {seconds} s")
            time.sleep(0.02)


def post(bench, count):
    """One event to each order, `count` times. Returns the newest revs."""
    stop = threading.Event()
    lines = wire.Door(list(bench.cluster.addresses.values()), random.Random(0), "orders").connect(stop)
    revs = {}
    try:
        for _ in range(count):
            for order in ORDERS:
                # The same content again would change nothing, and be no row.
                lines.send(f"EVT {order} type=tick " + '{"content-state":{"n":%d}}\n' % time.monotonic_ns())
            for order in ORDERS:
                reply = attributes(lines.read())
                check(reply["verb"] == "OK" and reply["verdict"] == "applied", f"{order} gave {reply}")
                revs[order] = int(reply["rev"])
    finally:
        lines.close()
    return revs


def takeover(bench, count=1_000):
    """kill -9 of the leader under `count` screens. Returns how long behind `leading` all of them are current again."""
    if not hasattr(bench, "wall"):
        bench.steady()
        post(bench, 1)
        bench.wall = Wall(bench.cluster, count, bench.arguments.seed)
    leader = bench.steady()
    bench.wall.current(post(bench, 1))
    # Rows of these are on their way when it dies.
    post(bench, 3)
    start = time.monotonic()
    leader.kill()
    led = bench.led(start, leader)
    return bench.wall.current(post(bench, 1)) - start - led
