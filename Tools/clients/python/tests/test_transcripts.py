"""The conversations of the protocol as vectors: each connection's client is the protocol machine, without a socket."""

import json
from collections import deque
from typing import Callable, Deque, Dict, List, Optional, Tuple

import pytest

from telltale import InvalidRequest, _calls
from telltale._requests import Request
from telltale.protocol import ClientProtocol
from telltale.values import Asked, Changed, Connected, Replied
from transcripts import EPOCH, FOLDER, Filler, Step, read

TRANSCRIPTS = read() if FOLDER.exists() else {}
GREETING = f"TELLTALE 1 epoch={EPOCH} seq=1 now=1763719200123 hb=20000 max_line=65536 auth=none server=0.1.0"
#: Refusals of the grammar: no caller of this package can make such a line.
OF_THE_GRAMMAR = {"bad_line", "bad_key", "bad_pattern", "bad_cursor"}


def parts(text: str) -> Tuple[str, List[str], Dict[str, str], Optional[str]]:
    head, brace, tail = text.partition(" {")
    verb, *words = head.split(" ")
    named = dict(word.split("=", 1) for word in words if "=" in word)
    return verb.upper(), [word for word in words if "=" not in word], named, "{" + tail if brace else None


def by_caller(text: str) -> Optional[Request]:
    """The request that a caller of this package makes for a line; `None` for a verb that it does not offer."""
    verb, words, named, tail = parts(text)
    word = words[0] if words else ""

    def number(name: str) -> Optional[int]:
        value = named.get(name)
        if value is not None and not value.isdigit():
            raise InvalidRequest(f"{name}={value} is no number")
        return None if value is None else int(value)

    calls: Dict[str, Callable[[], "_calls.Call[object]"]] = {
        "EVT": lambda: _calls.post(
            word,
            named["type"],
            eid=named.get("eid", "e"),
            data=None if tail is None else json.loads(tail),
            src=named.get("src"),
            at=number("at"),
            ver=number("ver"),
            accounts=named["for"].split(",") if "for" in named else None,
        ),
        "SET": lambda: _calls.set_value(word, named["value"], eid=named.get("eid", "e"), if_rev=number("if")),
        "PRESS": lambda: _calls.press(word, eid=named.get("eid", "e")),
        "TILE": lambda: _calls.tile(
            word,
            named["do"],
            eid=named.get("eid", "e"),
            widget=named.get("widget"),
            family=named.get("family"),
            stack=named.get("stack"),
            placement=named.get("placement"),
            pos=number("pos"),
            if_rev=number("if"),
            configuration=None if tail is None else json.loads(tail)["configuration"],
        ),
        "GET": lambda: _calls.get(word, named.get("view")),
        "LIST": lambda: _calls.list_rows(word or "*", named.get("view")),
        "HISTORY": lambda: _calls.history(word),
        "OPEN": lambda: _calls.open_key(word),
        "DISMISS": lambda: _calls.dismiss(word),
        "SEEN": lambda: _calls.seen(word, number("rev") or 0),
        "SERVE": lambda: _calls.serve(word),
        "REPORT": lambda: _calls.report(word, named.get("value"), number("at")),
        "DONE": lambda: (
            _calls.done(named["op"], named.get("value")) if tail is None else _calls.supply(named["op"], json.loads(tail))
        ),
        "RELOAD": lambda: _calls.reload_all(word) if word.endswith("*") else _calls.reload(word),
        "FAIL": lambda: _calls.fail(named["op"], named.get("code"), json.loads(tail or "{}").get("message")),
        "TRAIT": lambda: _calls.traits(named),
    }
    if verb == "SUB":
        rest = [named.get("view"), named.get("for"), named.get("placement"), number("rate"), named.get("from")]
        command, cursor = _calls.subscribe(word, *rest)  # type: ignore[arg-type]
        return Request("SUB", command + (f" from={cursor}" if cursor else ""))
    return calls[verb]().request if verb in calls else None


class Client:
    """One connection's client, and the requests whose replies are due."""

    def __init__(self) -> None:
        self.machine = ClientProtocol()
        self.machine.start()
        self.machine.connected(0)
        self.due: Deque[Tuple[Optional[int], Optional[InvalidRequest]]] = deque()
        self.cuts = 0
        self.numbers: List[int] = []

    def greet(self, line: str) -> None:
        self.feed(line)
        assert b"HELLO id=1 " in self.machine.take_output(0)
        self.feed("OK id=1 conn=c1 hb=20000")
        assert [type(event) for event in self.machine.take_events()] == [Connected]

    def feed(self, line: str) -> None:
        """In two pieces, cut at another place each time."""
        data = line.encode() + b"\n"
        self.cuts = (self.cuts + 7) % len(data)
        self.machine.received(data[: self.cuts], 0)
        self.machine.received(data[self.cuts :], 0)
        assert self.machine.close_reason is None or line.startswith(("BYE", "ERR")), self.machine.close_reason

    def say(self, text: str) -> None:
        verb, words, named, tail = parts(text)
        problem: Optional[InvalidRequest] = None
        try:
            request = by_caller(text)
        except (InvalidRequest, KeyError, ValueError) as error:
            request, problem = None, error if isinstance(error, InvalidRequest) else InvalidRequest(str(error))
        if request is not None:
            # The caller's line is that of the transcript, but for the order of its words.
            made = parts(f"{request.verb} {request.rest}")
            extra = {name: value for name, value in made[2].items() if name in named}
            assert made[1] == (words or ["*"])[: len(made[1])] and all(named[name] == value for name, value in extra.items())
            if verb == "EVT" and tail is not None and json.loads(tail):
                assert json.loads(made[3] or "null") == json.loads(tail)
        if verb == "SUB" and problem is None:
            rest = " ".join(word for word in text.split(" ")[1:] if not word.startswith(("id=", "from=")))
            self.numbers.append(self.machine.subscribe(rest, named.get("from")))
            number = self.machine._session.queue.unanswered[-1].number
        else:
            rest = " ".join(word for word in text.split(" ")[1:] if not word.startswith("id="))
            number = self.machine.request(Request(verb, rest))
        output = self.machine.take_output(0)
        if not output:
            # Longer than a line may be, with the id that this client adds.
            return self.due.append((None, None))
        assert output.count(b"\n") == 1 and f" id={number}".encode() in output
        self.due.append((number, problem))

    def hear(self, step: Step, line: str) -> None:
        verb, _, named, _ = parts(line)
        if verb in ("OK", "ERR", "PONG") and not (verb == "ERR" and named.get("fatal") == "1"):
            number, problem = self.due.popleft()
            if verb == "ERR" and named["code"] in OF_THE_GRAMMAR:
                assert problem is not None, f"{step.place}: the grammar refuses it, and this client does not"
            if problem is not None:
                assert verb == "ERR", f"{step.place}: {problem}"
            if number is None:
                return
            words = [word for word in line.split(" ") if not word.startswith("id=")]
            line = " ".join([words[0], f"id={number}", *words[1:]])
        self.machine.take_events()
        self.feed(line)
        events = self.machine.take_events()
        if verb in ("OK", "ERR", "PONG") and named.get("fatal") != "1":
            answered = [event.request for event in events if isinstance(event, Replied)]
            assert answered == [number] or number not in answered
        elif verb == "DO":
            assert [event.action.op for event in events if isinstance(event, Asked)] == [named["op"]], step.place
        elif verb in ("SNAP", "UPD", "DEL", "MILE", "ALERT") and named["sub"] != "0":
            changes = [event.change for event in events if isinstance(event, Changed)]
            assert [change.key for change in changes] == [named["key"]], step.place  # type: ignore[union-attr]
            assert [change.rev for change in changes] == [int(named["rev"])], step.place  # type: ignore[union-attr]
        elif verb in ("LIVE", "RESET"):
            assert [type(event.change).__name__.upper() for event in events if isinstance(event, Changed)][-1] == verb


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_the_protocol_machine_holds_the_conversation(name: str) -> None:
    filler = Filler()
    clients: Dict[str, Client] = {}
    for step in TRANSCRIPTS[name]:
        text = filler.fill(step.text)
        if step.speaker == "S" and step.connection == "" and text.startswith("<restart"):
            clients = {}
            continue
        if step.text.startswith(("<close>", "<half-close>")):
            if step.text == "<close>":
                clients.pop(step.connection, None)
            continue
        if step.text.startswith("<") and not step.text.startswith("<hex"):
            continue
        client = clients.get(step.connection)
        if client is None:
            client = clients[step.connection] = Client()
            # A client that is sent elsewhere by the greeting leaves at once; the conversation is that of one that does not.
            client.greet(text.partition(" to=")[0] if text.startswith("TELLTALE ") else GREETING)
            if text.startswith("TELLTALE "):
                continue
        if step.speaker == "S":
            client.hear(step, text)
        elif text.startswith("<hex"):
            # A client's line, or bytes that no client sends and that end the connection.
            data = bytes.fromhex(text[5:-1])
            if data.isascii() and not any(byte < 0x20 and byte not in b"\r\n" for byte in data) and b"BYE" not in data:
                for line in data.decode().split("\n")[:-1]:
                    client.say(line.rstrip("\r"))
        elif text and not text.startswith("#"):
            if step.speaker == "C!":
                refused(client, text)
            else:
                client.say(text)


def refused(client: Client, text: str) -> None:
    """A line that breaks the grammar: no caller of this package can make it."""
    client.due.append((None, InvalidRequest("by the transcript")))
    verb, words, named, tail = parts(text)
    if len(words) == 1 and verb in ("EVT", "GET", "SUB", "LIST") and "" not in named.values():
        with pytest.raises((InvalidRequest, ValueError)):
            by_caller(text)
