"""The conversations of the line protocol, held over HTTP: every verdict and every refusal is the same.

Each transcript runs against two daemons at once. One hears its lines; the other hears the same requests over HTTP,
and over the line only what HTTP has no words for: providers.
"""

import json
import pathlib
import re
import resource
import shutil
import signal
import time

import pytest

from support import Line, REPOSITORY, attributes, eventually
from world import World

LINE = REPOSITORY / "Protocols/Line"
# Nothing in these is a request that HTTP has words for: the grammar, greetings, heartbeats, cursors and ends of a line.
OF_THE_LINE = {"01-greeting", "06-future-cursor", "10-fatal-control-byte", "19-drain", "20-heartbeats"}
# HTTP has no words for how a widget is shown.
OF_WIDGETS = {"38-widgets", "39-derived-widgets", "41-asked-timelines", "42-budget", "43-relevance", "46-notices", "49-visits"}
# HANDOVER and DRAIN are an operator's words to a cluster.
OF_CLUSTERS = {"48-handover", "56-out-of-service"}
TRANSCRIPTS = sorted({path.stem for path in (LINE / "transcripts").glob("*.txt")} - OF_WIDGETS - OF_CLUSTERS)
PROVIDER = {"SERVE", "REPORT", "DONE", "FAIL"}
COMPARED = {"EVT", "GET", "LIST", "HISTORY", "OPEN", "DISMISS", "SEEN", "SET", "PRESS", "TILE", "GALLERY", "KINDS", "STATS"}


class Side:
    """One daemon of the two, as a transcript wants it."""

    def __init__(self, arguments):
        self.world = World()
        self.arguments = []
        self.start(arguments)

    def start(self, arguments):
        for argument in arguments:
            if argument.endswith(".json"):
                copy = pathlib.Path(self.world.folder) / argument
                shutil.copy(LINE / argument, copy)
                copy.chmod(0o600)
                argument = str(copy)
            self.arguments.append(argument)
        self.daemon = self.world.daemon(*self.arguments)

    def restart(self, arguments):
        assert self.daemon.stop() == 0
        self.start(arguments)

    def fill_disk(self, is_full):
        limit = 0 if is_full else resource.RLIM_INFINITY
        hard = resource.prlimit(self.daemon.process.pid, resource.RLIMIT_FSIZE)[1]
        resource.prlimit(self.daemon.process.pid, resource.RLIMIT_FSIZE, (limit, hard))

    def forget(self, kind):
        (pathlib.Path(self.world.folder) / f"kinds/{kind}.json").unlink()
        self.daemon.process.send_signal(signal.SIGHUP)
        line = Line(self.daemon.port)
        eventually(f"{kind} is forgotten", lambda: not self.is_known(line, kind))
        line.close()

    @staticmethod
    def is_known(line, kind):
        line.send("KINDS")
        known = False
        while (told := line.receive()).split(" ")[0] != "OK":
            known = known or f" name={kind} " in told
        return known


class Seat:
    """One client of a transcript: a line to the one daemon, and what its HELLO says over HTTP to the other."""

    def __init__(self, daemon, shadow):
        self.line = Line(daemon.port)
        self.shadow = Line(shadow.port)
        self.wants_tokens = "auth=token" in self.line.greeting
        self.client = None
        self.token = None
        self.looks = {}
        self.traits = {}

    def hello(self, line):
        found, tail = attributes(line)
        self.client = found.get("client", self.client)
        self.token = found.get("token") or (tail or {}).get("token") or self.token
        self.looks |= {name: found[name] for name in ("surface", "account") if name in found}

    @property
    def query(self):
        return "&".join([f"{name}={value}" for name, value in self.looks.items()]
                        + [f"trait={name}:{value}" for name, value in self.traits.items()])

    def close(self):
        self.line.close()
        self.shadow.close()


def substitute(text, names, now):
    text = re.sub(r"<(now|ms)([+-]\d+)?>", lambda m: str(
        (now // 1000 if m[1] == "now" else now) + int(m[2] or 0) * (1 if m[1] == "now" else 1000)), text)
    text = re.sub(r"<([^<>*]*)\*(\d+)>", lambda m: (m[1]) * int(m[2]), text)
    return re.sub(r"<(\w+)>", lambda m: names.get(m[1], m[0]), text)


def over_http(gateway, seat, line):
    """The request that a line is; None where HTTP has no words for it."""
    head, _, tail = line.partition(" {")
    words = head.split(" ")
    found, _ = attributes(head)
    verb = words[0].upper()
    key = next((word for word in words[1:] if "=" not in word), "")
    body = "{" + tail if tail else ""
    query = seat.query
    if "view" in found:
        query += f"&view={found['view']}"
    headers = {"Idempotency-Key": found["eid"]} if "eid" in found else {}
    if seat.token:
        headers["Authorization"] = f"Bearer {seat.token}"

    def ask(method, path, body=None):
        return gateway.ask(method, path, body, headers, checks=False)

    if verb == "LIST":
        return ask("GET", f"/v1/entities?pattern={key or '*'}&{query}")
    if verb == "KINDS":
        return ask("GET", "/v1/kinds")
    if verb == "GALLERY":
        place = f"&placement={found['placement']}" if "placement" in found else ""
        return ask("GET", f"/v1/gallery?{query}{place}")
    if verb == "STATS":
        return ask("GET", "/v1/stats")
    if key.count("/") != 1:
        return None
    path = f"/v1/entities/{key}"
    if verb == "EVT" and "type" in found:
        names = {name: found[name] for name in ("at", "ver", "for", "src") if name in found}
        if not seat.wants_tokens:
            names.setdefault("src", seat.client or "-")
        named = "&".join(f"{name}={value}" for name, value in names.items())
        return ask("POST", f"{path}/events/{found['type']}?{named}", body)
    if verb == "GET":
        return ask("GET", f"{path}?{query}")
    if verb in ("HISTORY", "OPEN"):
        return ask("GET", f"{path}/{verb.lower()}?{query}")
    if verb == "DISMISS":
        return ask("POST", f"{path}/dismiss?{query}")
    if verb == "SEEN" and found.get("rev", "").isdigit():
        return ask("POST", f"{path}/seen?{query}", {"rev": int(found["rev"])})
    if verb == "TILE":
        if "if" in found:
            headers["If-Match"] = f'"{found["if"]}"'
        return ask("POST", f"{path}/tile?{query}", arrangement(found) | json.loads(body or "{}"))
    if verb == "SET" and found.get("value") in ("on", "off"):
        if "if" in found:
            headers["If-Match"] = f'"{found["if"]}"'
        return ask("PUT", f"{path}/value?{query}", found["value"])
    if verb == "PRESS":
        return ask("POST", f"{path}/press?{query}")
    return None


def arrangement(found):
    """The attributes of a TILE as members of a body."""
    body = {}
    for name, value in found.items():
        if name in ("smart", "suggest"):
            body[name] = value == "yes"
        elif name not in ("id", "if", "eid"):
            body[name] = int(value) if name in ("pos", "scale") else value
    return body


def compare(line, reply, answer):
    found, tail = attributes(reply)
    place = (line, reply, answer.status, answer.text)
    if reply.startswith("ERR"):
        assert answer.status >= 400, place
        assert answer.code == found["code"] and answer.json["retry"] == found["retry"], place
        assert {"need", "path"} & set(tail or {}) <= set(answer.json), place
        return
    assert answer.status < 300, place
    for name in ("verdict", "state", "phase"):
        if name in found:
            assert answer.json[name] == found[name], place
    if "count" in found:
        assert answer.json["count"] == int(found["count"]), place


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_equal_verdicts(name):
    lines = (LINE / f"transcripts/{name}.txt").read_text().splitlines()
    arguments = [word for line in lines if line.startswith("! ") for word in line[2:].split()]
    left, right = Side(arguments), Side(arguments)
    try:
        compared = Conversation(lines, left, right, right.world.gateway("--log-level", "warning")).hold()
    finally:
        left.world.close()
        right.world.close()
    assert (compared > 0) == (name not in OF_THE_LINE), compared


class Conversation:
    def __init__(self, lines, left, right, gateway):
        self.lines, self.gateway = lines, gateway
        self.left, self.right = left, right
        self.seats = {}
        self.names, self.shadow_names = {}, {}

    def hold(self):
        compared = 0
        for index, text in enumerate(self.lines):
            if stage := re.match(r"S\d*: <(restart|without|full disk|room again|SIGTERM|end)(.*)>$", text):
                if not self.direct(stage[1], stage[2].split()):
                    break
            elif said := re.match(r"C(\d*): (.*)$", text):
                compared += self.say(index, *said.groups())
        self.leave()
        return compared

    def direct(self, stage, words):
        """What happens to the server. False where nothing that HTTP has words for comes behind it."""
        if stage == "SIGTERM":
            return False
        if stage == "restart":
            self.leave()
        for side in (self.left, self.right):
            if stage == "restart":
                side.restart(words)
            elif stage == "without":
                side.forget(words[0])
            elif stage != "end":
                side.fill_disk(stage == "full disk")
        return True

    def leave(self):
        for seat in self.seats.values():
            seat.close()
        self.seats = {}

    def say(self, index, number, line):
        """How many answers were compared."""
        if line == "<close>":
            if number in self.seats:
                self.seats.pop(number).close()
            return 0
        self.look_up(line)
        now = int(time.time() * 1000)
        sent, told = substitute(line, self.names, now), substitute(line, self.shadow_names, now)
        head = sent.partition(" {")[0]
        named = re.findall(r" (\w+)=", head)
        # Requests that HTTP cannot say: a name that stands for nothing yet, an id, an attribute that stands twice.
        if re.search(r"<[^<>{}]+[:>*]", head) or len(named) != len(set(named)) or len(sent) > 60_000:
            return 0
        verb = head.split(" ")[0].upper()
        if verb not in COMPARED | PROVIDER | {"HELLO", "TRAIT"}:
            return 0
        if len(attributes(head)[0].get("id", "")) > 64:
            return 0
        seat = self.seat(number)
        reply = seat.line.ask(sent)
        if verb in ("HELLO", "TRAIT") or verb in PROVIDER:
            shadow = seat.shadow.ask(told)
            if verb == "HELLO" and reply.startswith("OK"):
                seat.hello(sent)
            if verb == "TRAIT" and reply.startswith("OK"):
                seat.traits |= attributes(head)[0]
                seat.traits.pop("id", None)
            self.remember(index, number, reply, shadow)
            return 0
        answer = over_http(self.gateway, seat, told)
        if answer is None:
            return 0
        compare(line, reply, answer)
        told = "OK"
        if answer.status < 300 and isinstance(answer.json, dict):
            told = "OK " + " ".join(f"{key}={value}" for key, value in answer.json.items()
                                    if isinstance(value, int | str) and " " not in str(value))
        self.remember(index, number, reply, told)
        return 1

    def seat(self, number):
        if number not in self.seats:
            self.seats[number] = Seat(self.left.daemon, self.right.daemon)
        return self.seats[number]

    def look_up(self, line):
        """A rev that a row told, and no reply: both daemons are asked for theirs."""
        match = re.match(r"SET (\S+) .*if=<(\w+)>", line)
        if match and match[2] not in self.names:
            reader = Line(self.left.daemon.port)
            self.names[match[2]] = attributes(reader.ask(f"GET {match[1]}"))[0]["rev"]
            reader.close()
            row = self.gateway.get(f"/v1/entities/{match[1]}", checks=False).json
            self.shadow_names[match[2]] = str(row["rev"])

    def remember(self, index, number, reply, shadow):
        """What the reply that the transcript shows next gives a name to."""
        for text in self.lines[index + 1:]:
            match = re.match(rf"S{number}: (OK|ERR) (.*)$", text)
            if match:
                for told, names in [(reply, self.names), (shadow, self.shadow_names)]:
                    found, _ = attributes(told)
                    names |= {variable: found[name] for name, variable in re.findall(r"(\w+)=<(\w+):\w+>", match[2])
                              if name in found}
                return
