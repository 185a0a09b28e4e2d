"""The conversations of the line protocol, held over HTTP: every verdict and every refusal is the same.

Each transcript runs against two daemons at once. One hears its lines; the other hears the same requests over HTTP,
and over the line only what HTTP has no words for: providers.
"""

import json
import re
import time

import pytest

from conftest import World
from support import Line, REPOSITORY, attributes

# Transcripts that belong to the line alone: its grammar, its limits, its greeting, its cursors, its restarts and its clock.
TRANSCRIPTS = ["02-events", "03-machine", "07-look", "08-people", "09-refusals", "14-timers", "15-dates", "16-dismiss",
               "18-controls", "22-whose", "23-lengths", "29-hidden", "30-button-raises", "31-operations"]
PROVIDER = {"SERVE", "REPORT", "DONE", "FAIL"}


class Seat:
    """One client of a transcript: a line to the one daemon, and what its HELLO says over HTTP to the other."""

    def __init__(self, daemon, shadow):
        self.line = Line(daemon.port)
        self.shadow = Line(shadow.port)
        self.client = None
        self.looks = {}


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
    looks = dict(seat.looks)
    if "view" in found:
        looks["view"] = found["view"]
    query = "&".join(f"{name}={value}" for name, value in looks.items())
    headers = {"Idempotency-Key": found["eid"]} if "eid" in found else {}
    if verb == "EVT" and key.count("/") == 1 and "type" in found:
        names = {name: found[name] for name in ("at", "ver", "for") if name in found}
        names["src"] = found.get("src", seat.client or "-")
        query = "&".join(f"{name}={value}" for name, value in names.items())
        return gateway.post(f"/v1/entities/{key}/events/{found['type']}?{query}", body, headers, checks=False)
    if verb == "GET" and key.count("/") == 1:
        return gateway.get(f"/v1/entities/{key}?{query}", checks=False)
    if verb == "LIST":
        return gateway.get(f"/v1/entities?pattern={key or '*'}&{query}", checks=False)
    if verb == "HISTORY" and key.count("/") == 1:
        return gateway.get(f"/v1/entities/{key}/history?{query}", checks=False)
    if verb == "OPEN" and key.count("/") == 1:
        return gateway.get(f"/v1/entities/{key}/open?{query}", checks=False)
    if verb == "DISMISS" and key.count("/") == 1:
        return gateway.post(f"/v1/entities/{key}/dismiss?{query}", checks=False)
    if verb == "SEEN" and key.count("/") == 1 and found.get("rev", "").isdigit():
        return gateway.post(f"/v1/entities/{key}/seen?{query}", {"rev": int(found["rev"])}, checks=False)
    if verb == "SET" and key.count("/") == 1 and found.get("value") in ("on", "off"):
        if "if" in found:
            headers["If-Match"] = f'"{found["if"]}"'
        return gateway.ask("PUT", f"/v1/entities/{key}/value?{query}", found["value"], headers, checks=False)
    if verb == "PRESS" and key.count("/") == 1:
        return gateway.post(f"/v1/entities/{key}/press?{query}", None, headers, checks=False)
    return None


def compare(line, reply, answer):
    found, _ = attributes(reply)
    if reply.startswith("ERR"):
        assert answer.status >= 400, (line, reply, answer.text)
        assert answer.code == found["code"] and answer.json["retry"] == found["retry"], (line, reply, answer.text)
        return
    assert answer.status < 300, (line, reply, answer.status, answer.text)
    for name in ("verdict", "state", "phase"):
        if name in found:
            assert answer.json[name] == found[name], (line, reply, answer.text)
    if "count" in found:
        assert answer.json["count"] == int(found["count"]), (line, reply, answer.text)


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_equal_verdicts(name):
    lines = (REPOSITORY / f"Protocols/Line/transcripts/{name}.txt").read_text().splitlines()
    options = [line[2:].split() for line in lines if line.startswith("! ")]
    arguments = [word for words in options for word in words]
    left, right = World(), World()
    try:
        compared = run(lines, left.daemon(*arguments), right.daemon(*arguments), right.gateway())
    finally:
        left.close()
        right.close()
    assert compared > 0


def run(lines, daemon, shadow, gateway):
    seats = {}
    names, shadow_names = {}, {}
    compared = 0
    for index, text in enumerate(lines):
        match = re.match(r"C(\d*): (.*)$", text)
        if not match:
            if re.match(r"S\d*: <(restart|without|full|SIGTERM|room)", text):
                break  # From here on it is about a daemon that is another one.
            continue
        number, line = match.groups()
        if number not in seats:
            seats[number] = Seat(daemon, shadow)
        seat = seats[number]
        now = int(time.time() * 1000)
        sent, told = substitute(line, names, now), substitute(line, shadow_names, now)
        # Requests that HTTP cannot say: a name that stands for nothing yet, an id, an attribute that stands twice.
        named = re.findall(r" (\w+)=", sent.partition(" {")[0])
        if re.search(r"<[^<>{}]+[:>*]", sent.partition(" {")[0]) or len(named) != len(set(named)):
            continue
        if not re.match(r"[A-Za-z]{2,12}( |$)", sent) or len(sent) > 60_000:
            continue
        verb = sent.split(" ")[0].upper()
        if len(attributes(sent.partition(" {")[0])[0].get("id", "")) > 64:
            continue
        if verb in ("SUB", "UNSUB", "PING", "BYE", "HELP", "STATS", "KINDS"):
            continue
        reply = seat.line.ask(sent)
        if verb == "HELLO" and reply.startswith("OK"):
            found, _ = attributes(sent)
            seat.client = found.get("client", seat.client)
            seat.looks |= {key: found[key] for key in ("surface", "account") if key in found}
            continue
        if verb in PROVIDER:
            remember(lines, index, number, reply, names)
            remember(lines, index, number, seat.shadow.ask(told), shadow_names)
            continue
        answer = over_http(gateway, seat, told)
        if answer is None:
            continue
        compare(line, reply, answer)
        compared += 1
        remember(lines, index, number, reply, names)
        if answer.status < 300 and isinstance(answer.json, dict):
            remember(lines, index, number, "OK " + " ".join(
                f"{key}={value}" for key, value in answer.json.items() if isinstance(value, int | str) and " " not in str(value)),
                shadow_names)
    for seat in seats.values():
        seat.line.close()
        seat.shadow.close()
    return compared


def remember(lines, index, number, reply, names):
    """What the reply that the transcript shows next gives a name to."""
    for text in lines[index + 1:]:
        match = re.match(rf"S{number}: (OK|ERR) (.*)$", text)
        if match:
            found, _ = attributes(reply)
            for name, variable in re.findall(r"(\w+)=<(\w+):\w+>", match[2]):
                if name in found:
                    names[variable] = found[name]
            return
