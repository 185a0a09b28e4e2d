"""Conversations with a daemon of its own, and the judgement of its answers."""

import collections
import json
import os
import re
import select
import shutil
import socket
import struct
import subprocess
import tempfile
import time

PATIENCE = 30
REPLIES = (b"OK", b"ERR", b"PONG")
PUSHES = (b"SNAP", b"UPD", b"DEL", b"LIVE", b"RESET", b"MARK", b"MILE", b"ALERT", b"DO", b"BYE", b"#", b"HIST", b"KIND", b"WIDGET", b"TELLTALE")
CONTROL = re.compile(rb"[\x00-\x1f\x7f]")
FATAL_CODES = ("bad_utf8", "bad_line", "line_too_long")


class Failure(Exception):
    """The daemon did what it must not do."""


class Daemon:
    """A daemon in a folder of its own. Its kinds' clocks run fast, so that activities end and go while the lines come."""

    def __init__(self, program, kinds):
        self.folder = tempfile.mkdtemp(prefix="telltale-fuzz-")
        self.log = open(os.path.join(self.folder, "log"), "wb")
        self.process = subprocess.Popen(
            [program, "--data", os.path.join(self.folder, "data"), "--kinds", kinds, "--listen", "127.0.0.1:0",
             "--clock-speed", "3600", "--retention", "2", "--sync", "off", "--log-level", "error"],
            stdout=subprocess.PIPE, stderr=self.log)
        ready = self.process.stdout.readline().decode()
        if not ready.startswith("ready"):
            raise Failure(f"the daemon does not start: {self.errors()}")
        self.port = int(ready.split("tcp=")[1].split()[0].rsplit(":", 1)[1])

    def errors(self):
        with open(self.log.name, "rb") as file:
            return file.read()[-1500:].decode(errors="replace")

    def memory(self):
        with open(f"/proc/{self.process.pid}/status") as file:
            return next(int(line.split()[1]) // 1024 for line in file if line.startswith("VmRSS"))

    def check(self):
        time.sleep(0)
        if self.process.poll() is not None:
            raise Failure(f"the daemon ended with {self.process.returncode}: {self.errors()}")

    def stop(self):
        """Its exit code after SIGTERM."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.process.stdout.close()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        return code


class Tally:
    """The counts of a run: every line is in one of them."""

    def __init__(self):
        self.lines = 0
        self.verbs = collections.defaultdict(collections.Counter)
        self.codes, self.verdicts = collections.Counter(), collections.Counter()

    def total(self, what):
        return sum(counter[what] for counter in self.verbs.values())

    def json(self):
        return {"lines": self.lines, **{what: self.total(what) for what in ("processed", "refused", "fatal", "silent", "cut")},
                "verbs": {verb: dict(counter) for verb, counter in sorted(self.verbs.items())},
                "codes": dict(self.codes.most_common()), "verdicts": dict(self.verdicts.most_common())}


def verb_of(line):
    if not line or line.startswith(b"#"):
        return "nothing"
    verb = line.split(b" ", 1)[0]
    return verb.decode().upper() if verb.isalpha() and len(verb) <= 12 and verb.isascii() else "no verb"


class Conversation:
    """Plays one case, and counts what became of each line."""

    def __init__(self, daemon, case, lines, tally):
        self.daemon, self.case, self.lines, self.tally = daemon, case, lines, tally
        self.socket = socket.create_connection(("127.0.0.1", daemon.port), timeout=PATIENCE)
        self.buffer = b""
        self.waiting = collections.deque(line for line in lines if line and not line.startswith(b"#"))
        self.has_ended = self.is_over = self.is_fatal = False
        self.seen = 0

    def play(self):
        try:
            self.converse()
        except (ConnectionError, TimeoutError) as error:
            self.daemon.check()
            raise Failure(f"the connection broke: {error}") from error
        finally:
            self.socket.close()
        for line in self.lines:
            if not line or line.startswith(b"#"):
                self.count("silent", line)
        for line in self.waiting:
            self.count("cut", line)
        self.tally.lines += len(self.lines)

    def converse(self):
        case = self.case
        barrier = b"" if case.end in ("reset", "fatal") else b"PING id=barrier\n"
        output = b"".join(line + b"\n" for line in self.lines) + barrier
        pieces = [output[at:at + 700] for at in range(0, len(output), 700)] if case.slices else [output]
        for piece in pieces:
            self.exchange(piece)
        if case.end == "reset":
            return self.reset()
        while not self.is_over and not self.has_ended:
            self.exchange(b"")
        if self.is_fatal or self.has_ended:
            while not self.has_ended:
                self.exchange(b"")
            if not self.is_fatal:
                raise Failure("the daemon closed a connection without a reason")
        elif case.end == "fatal":
            raise Failure(f"a fatal line was answered as if it were none: {self.lines[-1][:80]!r}")
        elif case.end == "cut":
            self.socket.sendall(case.rest)
            self.reset()
        elif case.end == "half":
            self.socket.shutdown(socket.SHUT_WR)

    def reset(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def exchange(self, output):
        """Writes all of `output`, reading meanwhile; or reads once."""
        view = memoryview(output)
        while True:
            readable, writable, _ = select.select([self.socket], [self.socket] if view else [], [], PATIENCE)
            if not readable and not writable:
                self.daemon.check()
                raise Failure(f"no answer within {PATIENCE} s; {len(self.waiting)} requests wait")
            if readable:
                piece = self.socket.recv(1 << 18)
                if not piece:
                    self.has_ended = True
                    self.daemon.check()
                    return
                self.read(piece)
                if not view:
                    return
            if writable:
                try:
                    view = view[self.socket.send(view[:1 << 16]):]
                except ConnectionError:
                    # A fatal line ends the connection while later ones are sent; its reason is read first.
                    view = view[:0]
                if not view:
                    return

    def read(self, piece):
        whole = self.buffer + piece
        *lines, self.buffer = whole.split(b"\n")
        for line in lines:
            self.judge(line)

    def judge(self, line):
        if CONTROL.search(line):
            raise Failure(f"a control byte in {line[:200]!r}")
        head = line.split(b" ", 1)[0]
        self.seen += 1
        if head not in REPLIES:
            if head not in PUSHES:
                raise Failure(f"no line of the protocol: {line[:200]!r}")
            if self.seen % 16 == 0 and b" {" in line and head != b"#":
                self.tail(line)
            return
        if line == b"PONG id=barrier":
            self.is_over = True
            if self.waiting:
                raise Failure(f"{len(self.waiting)} requests have no answer; the first is {self.waiting[0][:300]!r}")
            return
        if not self.waiting:
            raise Failure(f"an answer to nothing: {line[:200]!r}")
        request = self.waiting.popleft()
        tail = self.tail(line)
        words = dict(word.split("=", 1) for word in line.split(b" {", 1)[0].decode().split(" ")[1:] if "=" in word)
        if head == b"ERR":
            self.tally.codes[words.get("code", "none")] += 1
            # The retention is short here, so a part of a history may be pruned while it is told. The protocol says so.
            is_pruned = verb_of(request) == "HISTORY" and "was pruned while it was told" in tail.get("msg", "")
            if words.get("code") in (None, "internal", "storage_failed") and not is_pruned or "msg" not in tail:
                raise Failure(f"{request[:300]!r} is answered {line[:300]!r}")
            if words.get("fatal"):
                self.is_fatal = True
                if words["code"] not in FATAL_CODES + ("auth_failed",):
                    raise Failure(f"{request[:300]!r} is fatal: {line[:300]!r}")
        else:
            self.tally.verdicts[words.get("verdict", "none")] += 1
        self.count("fatal" if words.get("fatal") else "refused" if head == b"ERR" else "processed", request)

    def count(self, what, line):
        self.tally.verbs[verb_of(line)][what] += 1

    def tail(self, line):
        place = line.find(b" {")
        if place < 0:
            return {}
        try:
            return json.loads(line[place + 1:].split(b"} why=")[0] if line.startswith(b"DEL") else line[place + 1:])
        except ValueError as error:
            raise Failure(f"a tail that is no JSON in {line[:300]!r}") from error
