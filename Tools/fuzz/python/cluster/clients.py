"""The clients of a cluster under torture: producers with ledgers of their own, screens, a finger and providers."""

import collections
import json
import threading
import time

from cluster.wire import PATIENCE, Door
from torture.wire import Failure, attributes

TICKS_PER_KEY = 400  # HISTORY returns 1,000 events at most.
GOES_ON = ("not_leader", "shutting_down", "storage_full")
LAMP = "lamp/a"

Post = collections.namedtuple("Post", "eid key number line")
Ack = collections.namedtuple("Ack", "rev term verdict at")
Do = collections.namedtuple("Do", "at term op")


class Client:
    """Connects again when its connection ends or says nothing, until it is told to stop."""

    def __init__(self, name, addresses, rng, is_anywhere=False):
        self.name, self.rng = name, rng
        self.door = Door(addresses, rng, name, is_anywhere)
        self.position = 0  # The newest commit that it has seen.
        self.after = None  # The same, as EPOCH:SEQ.
        self.stop = threading.Event()  # Begins nothing new.
        self.abort = threading.Event()  # Connects no more.
        self.failure = None
        self.lines = None
        self.connections = 0
        self.thread = threading.Thread(target=self.run, daemon=True)

    def start(self):
        self.thread.start()

    def run(self):
        try:
            while not self.is_done():
                self.lines = self.door.connect(self.abort, self.after)
                if self.lines is None:
                    return
                self.connections += 1
                try:
                    self.serve(self.lines)
                except (OSError, ValueError):
                    pass
                finally:
                    self.lines.close()
        except Failure as failure:
            self.failure = failure
        except Exception as error:  # noqa: BLE001 - it is told by check()
            self.failure = Failure(f"{self.name}: {error!r}")

    def is_done(self):
        return self.stop.is_set()

    def saw(self, position):
        self.position = max(self.position, position)
        self.after = f"{self.lines.greeting['epoch']}:{self.position}"

    def check(self):
        if self.failure:
            raise self.failure

    def end(self, seconds=60):
        self.stop.set()
        self.thread.join(seconds)
        is_late = self.thread.is_alive()
        self.abort.set()
        self.check()
        if is_late:
            raise Failure(f"{self.name} does not come to its end within {seconds} s")

    def rows(self, lines):
        """Lines of the server, one after another. A server that says nothing is asked, and left after PATIENCE."""
        lines.socket.settimeout(PATIENCE / 3)
        last = time.monotonic()
        while not self.stop.is_set():
            try:
                line = attributes(lines.read())
            except TimeoutError:
                if time.monotonic() - last > PATIENCE:
                    return
                lines.send("PING\n")
                continue
            last = time.monotonic()
            if line["verb"] == "BYE" or (line["verb"] == "ERR" and line["code"] in GOES_ON):
                return
            yield line


class Producer(Client):
    """One sender. Its ledger survives every daemon."""

    def __init__(self, name, addresses, rng, pause=0.01, window=None, is_anywhere=False):
        super().__init__(name, addresses, rng, is_anywhere)
        self.pause, self.window = pause, window
        self.next = 1
        self.pending = collections.OrderedDict()
        self.sent = {}  # eid -> Post
        self.acknowledged = {}  # eid -> Ack
        self.newest = {}  # key -> (rev, number)
        self.errors = collections.Counter()
        self.patience = PATIENCE
        self.began = {}  # term -> when it acknowledged the first of this one's events, monotonic seconds
        self.last = 0.0  # When it was acknowledged something new, monotonic seconds.
        self.longest = 0.0  # The longest time without that since it was set to 0, in seconds.

    def is_done(self):
        return self.stop.is_set() and not self.pending

    def make(self):
        number = self.next
        self.next += 1
        key, eid = f"tally/{self.name}-{(number - 1) // TICKS_PER_KEY}", f"e{number}"
        content = {"n": number, "filler": "x" * self.rng.randrange(0, 300)}
        line = f"EVT {key} type=tick id={eid} src={self.name} eid={eid} {json.dumps({'content-state': content})}\n"
        return Post(eid, key, number, line)

    def serve(self, lines):
        window = self.window or self.rng.choice([1, 4, 32])
        lines.socket.settimeout(self.patience)
        # Unanswered events are sent again, first and in order.
        waiting = collections.deque(self.pending.values())
        lines.send("".join(post.line for post in waiting))
        while not self.is_done():
            while len(waiting) < window and not self.stop.is_set():
                post = self.make()
                self.sent[post.eid] = post
                self.pending[post.eid] = post
                waiting.append(post)
                lines.send(post.line)
            reply = attributes(lines.read())
            if reply["verb"] == "MARK":
                continue
            if reply["verb"] == "BYE" or (reply["verb"] == "ERR" and reply["code"] in GOES_ON):
                self.errors[reply.get("code", "-")] += 1
                return
            post = waiting.popleft()
            if reply.get("id") != post.eid:
                raise Failure(f"{post.eid} of {self.name} was answered by {reply}")
            if reply["verb"] != "OK" or reply["verdict"] not in ("applied", "duplicate"):
                raise Failure(f"{post.line.strip()} gave {reply}")
            self.took(post, Ack(int(reply["rev"]), lines.term, reply["verdict"], time.monotonic()))
            if self.pause:
                time.sleep(self.pause)

    def took(self, post, ack):
        self.longest = max(self.longest, ack.at - self.last) if self.last else 0.0
        self.last = ack.at
        self.began.setdefault(ack.term, ack.at)
        self.acknowledged[post.eid] = ack
        self.saw(ack.rev)
        self.newest[post.key] = max(self.newest.get(post.key, (0, 0)), (ack.rev, post.number))
        del self.pending[post.eid]


class Screen(Client):
    """One subscriber, which resumes from its cursor."""

    def __init__(self, name, addresses, rng, pattern="tally/*", is_anywhere=False):
        super().__init__(name, addresses, rng, is_anywhere)
        self.pattern = pattern
        self.cursor = None
        self.newest = {}  # key -> rev
        self.seen = {}  # (key, rev) -> number
        self.resets = 0
        self.is_live = threading.Event()

    def serve(self, lines):
        self.is_live.clear()
        lines.send(f"SUB {self.pattern} view=full{f' from={self.cursor}' if self.cursor else ''}\n")
        for row in self.rows(lines):
            verb = row["verb"]
            if verb == "RESET":
                self.resets += 1
                raise Failure(f"{self.name} got {row} for the cursor {self.cursor}")
            if verb == "DEL" or (verb == "ERR" and self.pattern in ("tally/*", LAMP)):
                raise Failure(f"{self.name} got {row}")
            if verb in ("UPD", "SNAP"):
                self.take(row)
            if "cur" in row:
                self.advance(row["cur"])
            if verb == "LIVE":
                self.is_live.set()

    def take(self, row):
        key, rev = row["key"], int(row["rev"])
        number = row["tail"].get("content", {}).get("n") if row["tail"] else None
        if rev < self.newest.get(key, 0):
            raise Failure(f"{self.name}: {key} was at {self.newest[key]}, and goes back to {rev}")
        if self.seen.setdefault((key, rev), number) != number and key.startswith("tally/"):
            raise Failure(f"{self.name}: {key} at {rev} was {self.seen[key, rev]}, and is {number}")
        self.newest[key] = rev
        self.saw(rev)

    def advance(self, cursor):
        if self.cursor:
            before, after = self.cursor.split(":"), cursor.split(":")
            if before[0] != after[0] or int(after[1]) < int(before[1]):
                raise Failure(f"{self.name}: its cursor was {self.cursor}, and goes to {cursor}")
        self.cursor = cursor
        self.saw(int(cursor.split(":")[1]))


class Provider(Client):
    """Switches the lamp: each operation that it is asked for is done at once."""

    def __init__(self, name, addresses, rng, is_anywhere=False):
        super().__init__(name, addresses, rng, is_anywhere)
        self.asked = []  # Do, in the order of receipt

    def serve(self, lines):
        lines.send("SERVE lamp\n")
        for line in self.rows(lines):
            if line["verb"] == "DO":
                self.asked.append(Do(time.monotonic(), int(line["term"]), line["op"]))
                lines.send(f"DONE op={line['op']} value={line['value']}\n")


class Finger(Client):
    """Taps the lamp, each tap with an id of its own, until it is told the operation."""

    def __init__(self, name, addresses, rng, is_anywhere=False):
        super().__init__(name, addresses, rng, is_anywhere)
        self.count = 0
        self.wanted = None
        self.operations = {}  # eid -> op

    def serve(self, lines):
        while not self.stop.is_set():
            if f"t{self.count}" in self.operations or self.wanted is None:
                self.count += 1
                self.wanted = "on" if self.wanted == "off" else "off"
            eid = f"t{self.count}"
            lines.send(f"SET {LAMP} value={self.wanted} id={eid} eid={eid}\n")
            reply = attributes(lines.read())
            while reply.get("id") != eid:
                if reply["verb"] == "BYE":
                    return
                reply = attributes(lines.read())
            if reply["verb"] == "OK":
                self.operations[eid] = reply.get("op")
            elif reply["code"] in GOES_ON:
                return
            elif reply["code"] != "unavailable":
                raise Failure(f"{self.name}: {eid} gave {reply}")
            self.stop.wait(0.3)
