"""The clients of a run: producers with ledgers of their own, a churner and a watcher."""

import collections
import json
import threading
import time

from torture.wire import Failure, Lines, attributes

TICKS_PER_KEY = 400  # HISTORY returns 1,000 events at most.


Post = collections.namedtuple("Post", "eid key number line")


class Producer:
    """One sender: its ledger survives the daemon."""

    def __init__(self, name, rng):
        self.name, self.rng = name, rng
        self.next = 1
        self.pending = collections.OrderedDict()
        self.sent = {}  # eid -> Post
        self.acknowledged = {}  # eid -> rev
        self.full = 0
        self.full_before = 0
        self.refused = set()  # eids that did not keep their order, because the disk was full when they came

    def make(self, body=None):
        number = self.next
        self.next += 1
        key = f"tally/{self.name}-{(number - 1) // TICKS_PER_KEY}"
        filler = "x" * self.rng.randrange(0, 300)
        return self.post(number, key, {"n": number, "filler": filler})

    def post(self, number, key, content):
        eid = f"e{number}"
        line = f"EVT {key} type=tick id={eid} src={self.name} eid={eid} {json.dumps({'content-state': content})}\n"
        return Post(eid, key, number, line)

    def run(self, port, stop):
        try:
            lines = Lines(port)
        except OSError:
            return
        try:
            window = self.rng.choice([1, 4, 32, 128])
            # Unanswered events are sent again, first and in order.
            waiting = collections.deque(self.pending.values())
            lines.send("".join(post.line for post in waiting))
            while not stop.is_set() or waiting:
                while len(waiting) < window and not stop.is_set():
                    post = self.make()
                    self.sent[post.eid] = post
                    self.pending[post.eid] = post
                    waiting.append(post)
                    lines.send(post.line)
                if not waiting:
                    break
                reply = attributes(lines.read())
                if reply["verb"] in ("MARK", "BYE"):
                    continue
                post = waiting.popleft()
                if reply.get("id") != post.eid:
                    raise Failure(f"{post.eid} was answered by {reply}")
                if reply["verb"] == "ERR" and reply["code"] in ("storage_full", "shutting_down"):
                    # An event behind the refused one may have been taken, if there was space again. So the producer
                    # starts again with a new connection.
                    self.refused |= {post.eid} | {later.eid for later in waiting}
                    self.full += 1
                    time.sleep(0.02)
                    return
                if reply["verb"] != "OK" or reply["verdict"] not in ("applied", "duplicate"):
                    raise Failure(f"{post.line.strip()} gave {reply}")
                self.acknowledged[post.eid] = int(reply["rev"])
                del self.pending[post.eid]
        except OSError:
            pass
        finally:
            lines.close()

    def full_again(self):
        """Whether the producer has stopped because of a full disk since the last call."""
        again, self.full_before = self.full > self.full_before, self.full
        return again


class Churner:
    """Starts activities and ends them at once, so that there is something to prune."""

    def __init__(self):
        self.next = 1

    def run(self, port, stop):
        try:
            lines = Lines(port)
            while not stop.is_set():
                key = f"tally/gone-{self.next}"
                self.next += 1
                lines.send(f"EVT {key} type=tick\n" + f"EVT {key} type=end " + '{"dismissal-date":1}\n')
                for _ in range(2):
                    lines.read()
                stop.wait(0.01)
            lines.close()
        except OSError:
            pass


class Watcher:
    """One subscriber that remembers the newest rev it was shown."""

    def __init__(self):
        self.newest = 0
        self.rows = 0

    def run(self, port):
        try:
            lines = Lines(port)
            lines.send("SUB tally/* view=full\n")
            while True:
                row = attributes(lines.read())
                if "rev" in row:
                    self.newest = max(self.newest, int(row["rev"]))
                    self.rows += 1
        except OSError:
            pass


def load(port, producers, watcher, body):
    """Lets everybody at the daemon until `body` returns."""
    stop = threading.Event()
    failures = []

    def guarded(target, *arguments):
        try:
            target(*arguments)
        except Exception as error:  # noqa: BLE001 - it is told below
            failures.append(error)

    def produce(producer):
        while not stop.is_set():
            guarded(producer.run, port, stop)
            if failures or not producer.full_again():
                return

    threads = [threading.Thread(target=guarded, args=(produce, producer)) for producer in producers]
    threads.append(threading.Thread(target=guarded, args=(Churner().run, port, stop), daemon=True))
    threads.append(threading.Thread(target=guarded, args=(watcher.run, port), daemon=True))
    for thread in threads:
        thread.start()
    try:
        body()
    finally:
        stop.set()
        for thread in threads[:-2]:
            thread.join()
    if failures:
        raise failures[0]
