"""Lines of clients from a seed: most are requests that a daemon processes, many are wrong, a few are fatal."""

import json
import os
import random

NUMBERS = ["0", "1", "-1", "7", "65536", "1763719200000", "9007199254740991", "9007199254740992", "1e3", "0x1f", "01",
           "99999999999999999999", "on", "off", "é", "", "=", "%00", "a" * 257]
NAMES = ["a", "alice", "bob", "alice,bob", "alice,alice", ",", "*", "a/b", "..", "-", "x" * 64, "x" * 65, "é", "~", "@:"]
VALUES = [None, True, False, 0, -1, 1.5, 1e300, 9007199254740991, 9007199254740992, "", "x", "<b>&\"'", "\u202e", "\u0001",
          "☕" * 20, "x" * 3000, [], {}, [[]], {"": ""}, {"a": {"b": [1, None]}}]
MEMBERS = ["content-state", "attributes", "alert", "stale-date", "dismissal-date", "start-date", "relevance-score"]
PIECES = [" ", "=", "/", "{", "}", "[", "]", "\"", ",", ":", "*", "\\", "-", "0", "a", "é", "☕", "id=1", "type=", "null"]
TRAITS = ["locked=no", "locked=no", "locked=yes", "dashboard=hidden", "dashboard=visible", "wrist=down", "light=low", "focus=on",
          "luminance=reduced", "focus=maybe", "moon=full"]
VIEWS = ["full", "phone", "pad", "watch", "carplay", "desktop", "standby", "vision", "tv"]
VERBS = {"EVT": 560, "GET": 60, "SET": 60, "PRESS": 40, "SUB": 12, "UNSUB": 10, "TRAIT": 12, "HELLO": 20, "SERVE": 15,
         "REPORT": 40, "DONE": 25, "RELOAD": 6, "FAIL": 15, "DISMISS": 20, "SEEN": 15, "OPEN": 15, "PING": 30, "HELP": 4, "KINDS": 2,
         "LIST": 2, "HISTORY": 15, "STATS": 2, "LEVITATE": 12, "#": 10, "": 6}
FATAL = [b"\x00", b"EVT \x01", b"PING\tid=1", b"PING \xff", b"\xc3(", b"\xed\xa0\x80", b"\xef\xbb\xbfPING", b"PING \x7f", b"1 2",
         b"{}", b"GET / HTTP/1.1", b"POST /x", b"PROXY TCP4", b"ehlo x", b"PING \rx", b"P", b"PINGPINGPINGX", b"x" * 65_537]


class Kinds:
    """The kinds of a folder: their names by type, and the events of each."""

    def __init__(self, folder):
        self.activities, self.toggles, self.buttons, self.events = [], [], [], {}
        for name in sorted(os.listdir(folder)):
            if not name.endswith(".json"):
                continue
            with open(os.path.join(folder, name)) as file:
                kind = json.load(file)
            {"activity": self.activities, "toggle": self.toggles, "button": self.buttons}[kind["type"]].append(kind["kind"])
            events = sorted(set(self.found(kind.get("machine", {}))) | set(kind.get("accept", {})))
            self.events[kind["kind"]] = events + ["start", "start", "update", "end"]

    def found(self, state):
        for value in state.values():
            if isinstance(value, dict):
                yield from self.found(value)
            elif isinstance(value, list):
                for each in value:
                    if isinstance(each, dict):
                        yield from self.found(each)
        yield from state.get("on", {}) if isinstance(state.get("on"), dict) else ()


class Case:
    """One connection: its lines and its end. The same seed and number give the same case."""

    def __init__(self, known, seed, number):
        self.number = number
        self.random = random.Random(f"{seed}:{number}")
        self.known = known
        self.keys = [f"{self.pick(known.activities)}/{number % 5000}-{index}" for index in range(4)]
        self.controls = [f"{kind}/{self.pick(['front', 'main', 'espresso', str(number % 500)])}"
                         for kind in known.toggles + known.buttons]
        self.posted = 0
        # Most of them find an activity, an account and a control that somebody serves.
        self.lines = [f"EVT {key} type=start".encode() for key in self.keys if self.chance(0.9)]
        if self.chance(0.6):
            self.lines.append(f"HELLO client=fuzz account={self.pick(['alice', 'bob'])}".encode())
        if self.chance(0.5):
            self.lines += [f"SERVE {kind}".encode() for kind in known.toggles + known.buttons]
            self.lines += [f"REPORT {key} value=on".encode() for key in self.controls if key.split("/")[0] in known.toggles]
        self.lines += [self.line() for _ in range(self.random.randrange(20, 400))]
        draw = self.random.random()
        self.end = "fatal" if draw < 0.12 else "reset" if draw < 0.15 else "cut" if draw < 0.35 else \
            "half" if draw < 0.45 else "ping"
        if self.end == "fatal":
            self.lines.append(self.pick(FATAL))
        # A piece of a line that the connection is reset in.
        self.rest = self.line()[:self.random.randrange(1, 60)] or b"E"
        self.slices = self.random.random() < 0.2

    def pick(self, choices):
        return choices[int(self.random.random() * len(choices))]

    def chance(self, share):
        return self.random.random() < share

    def line(self):
        verb = self.random.choices(list(VERBS), list(VERBS.values()))[0]
        if verb == "#":
            return b"# a comment"
        if verb == "":
            return b""
        words = getattr(self, verb.lower(), lambda: [])()
        if self.chance(0.1):
            words.append(f"id={self.pick(['1', '2', 'x' * 64, 'x' * 65])}")
        text = " ".join([verb.lower() if self.chance(0.1) else verb] + words)
        if self.chance(0.1):
            text = self.changed(text, len(verb))
        return text.encode()

    def changed(self, text, start):
        """With a few edits behind the verb. None of them makes the line fatal."""
        for _ in range(self.random.randrange(1, 4)):
            place = self.random.randrange(start, len(text) + 1)
            draw = self.random.random()
            if draw < 0.4:
                text = text[:place] + (" " if place == start else "") + self.pick(PIECES) + text[place:]
            elif draw < 0.7:
                text = text[:place] + text[place + self.random.randrange(1, 6):]
            elif draw < 0.85:
                end = place + self.random.randrange(1, 30)
                text = text[:end] + text[place:end] + text[end:]
            else:
                text = text[:place] + (" " if place == start else "") + self.pick(PIECES) + text[place + 1:]
        # The verb stays a word.
        return text if len(text) == start or text[start] == " " else text[:start] + " " + text[start:]

    def key(self):
        if self.chance(0.03):
            return self.pick(["x/1", "coffee-order", "coffee-order/", "/1", "a/b/c", "coffee-order/" + "x" * 65, "*"])
        return self.pick(self.keys if self.chance(0.7) else self.controls)

    def optional(self, share, name, good, bad=()):
        """An attribute, which is a wrong one at times."""
        if not self.chance(share):
            return []
        return [f"{name}={self.pick(bad if bad and self.chance(0.06) else good)}"]

    def tail(self):
        if self.chance(0.02):
            return self.pick(["{", "{}{}", "{,}", "[1]", '{"a":' * 40 + "1" + "}" * 40, '{"a":1,"a":2}', '{"a":1e999}', "{'a':1}"])
        members = {}
        for _ in range(self.random.randrange(1, 4)):
            name = self.pick(MEMBERS) if self.chance(0.9) else self.pick(["", "<b>", "content", "é", "x" * 300])
            if self.chance(0.02):
                members[name] = self.pick(VALUES)
            elif name == "alert":
                members[name] = {self.pick(["title", "body", "sound"]): self.pick(["x", "", "<b>&\"'", "☕"])}
            elif name in ("content-state", "attributes"):
                members[name] = {self.pick(["eta", "item", "shelf", "title", "rider", "é", ""]): self.pick(VALUES)
                                 for _ in range(self.random.randrange(0, 3))}
            else:
                members[name] = self.pick([0, 1, 1763719200, 1763719200.5, 4102444800])
        text = json.dumps(members, ensure_ascii=self.chance(0.5), separators=(",", ":"))
        return text.replace("\u0001", "\\u0001")

    # One method a verb: its words.

    def evt(self):
        if self.chance(0.15):
            # A new activity takes the place of an old one, which has ended or not.
            place = int(self.random.random() * len(self.keys))
            self.keys[place] = f"{self.pick(self.known.activities)}/{self.number % 5000}-{self.posted + 10}"
            self.posted += 1
            return [self.keys[place], "type=start"] + ([self.tail()] if self.chance(0.4) else [])
        key = self.pick(self.keys) if self.chance(0.93) else self.key()
        events = self.known.events.get(key.split("/")[0], ["start"])
        event = self.pick(events) if self.chance(0.98) else self.pick(["done.x", "", "*", "é", "x" * 65, "nothing"])
        words = [key, f"type={event}"]
        self.posted += 1
        words += self.optional(0.3, "eid", [f"{self.number}-{self.posted}"], ["1", "2", "3"] + NAMES)
        words += self.optional(0.1, "src", ["till", "pos"], NAMES) + self.optional(0.08, "at", ["1763719200000", "0"], NUMBERS)
        words += self.optional(0.08, "ver", ["7", "8", "9", "1000"], NUMBERS) + self.optional(0.06, "for", ["alice", "alice,bob"], NAMES)
        return words + ([self.tail()] if self.chance(0.4) else [])

    def get(self):
        return [self.key()] + self.optional(0.4, "view", VIEWS[:-1], ["tv"])

    open = dismiss = history = lambda self: [self.key()]

    def seen(self):
        return [self.key()] + self.optional(0.95, "rev", ["1", "9007199254740991"], NUMBERS)

    def set(self):
        return [self.pick(self.controls), f"value={self.pick(['on', 'off'])}"] + \
            self.optional(0.3, "eid", ["a", "b", "c", "d"], NAMES) + self.optional(0.1, "if", ["1"], NUMBERS)

    def press(self):
        return [self.pick(self.controls)] + self.optional(0.3, "eid", ["a", "b"], NAMES)

    def sub(self):
        pattern = self.key() if self.chance(0.8) else self.pick(["*", "coffee-order/*", "nothing/*", "*/*", "a*"])
        return [pattern] + self.optional(0.5, "view", VIEWS[:-1], ["tv"]) + \
            self.optional(0.2, "rate", ["1", "1000000"], NUMBERS) + self.optional(0.1, "for", ["alice"], NAMES) + \
            self.optional(0.1, "from", ["6f3a91c2d0e4b577:1:b0e4"], ["0:0:0", "x", "::"])

    def unsub(self):
        return [f"sub={self.pick(['1', '2', '3', '300'] if self.chance(0.9) else NUMBERS)}"]

    def list(self):
        return [self.pick(["flight/*", "nothing/*", "*/1"] if self.chance(0.9) else ["*"])]

    def reload(self):
        return [self.key() if self.chance(0.6) else self.pick(["*", "coffee-order/*", "nothing/*", "*/*", "a*"])]

    def trait(self):
        return [self.pick(TRAITS) for _ in range(self.random.randrange(1, 3))]

    def hello(self):
        return self.optional(0.6, "client", ["till", "nc"], NAMES) + self.optional(0.5, "surface", VIEWS[1:-1], ["full", "tv"]) + \
            self.optional(0.7, "account", ["alice", "bob"], NAMES) + self.optional(0.1, "caps", ["rate", "x", "rate,x"]) + \
            self.optional(0.1, "hb", ["60000"], ["0", "x"]) + self.optional(0.05, "token", NAMES[:5])

    def serve(self):
        return [self.pick(self.known.toggles + self.known.buttons + ["coffee-order", "nothing"])]

    def report(self):
        return [self.pick(self.controls)] + self.optional(0.9, "value", ["on", "off"], ["x"]) + self.optional(0.1, "at", ["1"], NUMBERS)

    def done(self):
        return [f"op=o{self.random.randrange(1, 100000)}"] + self.optional(0.5, "value", ["on", "off"], ["x"])

    def fail(self):
        return [f"op=o{self.random.randrange(1, 100000)}"] + self.optional(0.9, "code", ["jammed"], NAMES) + \
            (['{"message":"<b>"}'] if self.chance(0.3) else [])

    def help(self):
        return [self.pick(["EVT", "SUB", "X"])] if self.chance(0.5) else []
