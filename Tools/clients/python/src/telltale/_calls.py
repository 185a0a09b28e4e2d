"""Each request of a caller: its checked line, and the meaning of its reply. Both clients share it."""

import uuid
from dataclasses import dataclass
from typing import Any, Callable, Dict, Generic, List, Mapping, Optional, Sequence, Tuple, TypeVar, Union

from . import _words
from ._lines import Line
from ._requests import Repeat, Request
from .errors import InvalidRequest, ProtocolViolation
from .values import Decided, GalleryWidget, HistoryEntry, JSONObject, Kind, Posted, Reloaded, Replied, Row, Tapped

T = TypeVar("T")


@dataclass(frozen=True)
class Call(Generic[T]):
    request: Request
    result: Callable[[Replied], T]


class EventIDs:
    """Event ids of one client: no other client makes the same."""

    def __init__(self) -> None:
        self._prefix = uuid.uuid4().hex
        self._count = 0

    def next(self) -> str:
        self._count += 1
        return f"{self._prefix}-{self._count}"


def _attributes(**values: Optional[str]) -> str:
    return "".join(f" {name.rstrip('_')}={value}" for name, value in values.items() if value is not None)


def _number(what: str, value: Optional[int]) -> Optional[str]:
    return None if value is None else _words.number(what, value)


def _word(what: str, value: Optional[str]) -> Optional[str]:
    return None if value is None else _words.text(what, value)


def _integer(attributes: Mapping[str, str], name: str) -> Optional[int]:
    return Line("OK", (), attributes).number(name)


def _required(line: Line, name: str) -> int:
    value = line.number(name)
    if value is None:
        raise ProtocolViolation(f"the server sent a {line.verb} without {name}=")
    return value


def post(
    key: str,
    type: str,
    *,
    eid: str,
    attributes: Optional[Mapping[str, Any]] = None,
    content: Optional[Mapping[str, Any]] = None,
    alert: Optional[Mapping[str, str]] = None,
    data: Optional[Mapping[str, Any]] = None,
    src: Optional[str] = None,
    at: Optional[int] = None,
    ver: Optional[int] = None,
    accounts: Union[str, Sequence[str], None] = None,
) -> Call[Posted]:
    members: Dict[str, Any] = {}
    if data is not None:
        if not isinstance(data, Mapping):
            raise InvalidRequest("data is not sent: an object (a dict) is wanted")
        members.update(data)
    for name, value in (("attributes", attributes), ("content-state", content), ("alert", alert)):
        if value is None:
            continue
        if name in members:
            raise InvalidRequest(f"{name} is not sent: data has it too")
        members[name] = value
    rest = f"{_words.key(key)} type={_words.event_type(type)}" + _attributes(
        eid=_words.text("the eid", eid),
        src=None if src is None else _words.text("src", src),
        at=_number("at", at),
        ver=_number("ver", ver),
        for_=None if accounts is None else _words.names("the account", accounts),
    )

    def result(reply: Replied) -> Posted:
        listed = reply.attributes.get("ignored", "")
        message = (reply.tail or {}).get("msg")
        return Posted(
            key=key,
            verdict=reply.attributes.get("verdict", ""),
            rev=_integer(reply.attributes, "rev"),
            state=reply.attributes.get("state"),
            eid=eid,
            ignored=tuple(listed.split(",")) if listed else (),
            message=message if isinstance(message, str) else None,
        )

    return Call(Request("EVT", rest + _words.tail(members or None), eid=eid), result)


def _tap(verb: str, key: str, rest: str, eid: str) -> Call[Tapped]:
    request = Request(verb, f"{_words.key(key)}{rest}" + _attributes(eid=_words.text("the eid", eid)), eid=eid)

    def result(reply: Replied) -> Tapped:
        told = reply.attributes
        return Tapped(key, told.get("op"), told.get("phase"), told.get("verdict"), _integer(told, "rev"), eid)

    return Call(request, result)


def set_value(key: str, value: Union[bool, str], *, eid: str, if_rev: Optional[int] = None) -> Call[Tapped]:
    rest = f" value={_words.switch('the value', value)}" + _attributes(if_=_number("if_rev", if_rev))
    return _tap("SET", key, rest, eid)


def press(key: str, *, eid: str) -> Call[Tapped]:
    return _tap("PRESS", key, "", eid)


def tile(
    key: str,
    do: str,
    *,
    eid: str,
    widget: Optional[str] = None,
    family: Optional[str] = None,
    stack: Optional[str] = None,
    placement: Optional[str] = None,
    mounting: Optional[str] = None,
    scale: Optional[int] = None,
    theme: Optional[str] = None,
    pos: Optional[int] = None,
    smart: Optional[bool] = None,
    suggest: Optional[bool] = None,
    if_rev: Optional[int] = None,
    configuration: Optional[Mapping[str, object]] = None,
) -> Call[Decided]:
    rest = _words.tile_key(key) + _attributes(
        do=_words.text("do", do),
        widget=_word("widget", widget),
        family=_word("family", family),
        stack=_word("stack", stack),
        placement=_word("placement", placement),
        mounting=_word("mounting", mounting),
        scale=_number("scale", scale),
        theme=_word("theme", theme),
        pos=_number("pos", pos),
        smart=None if smart is None else ("yes" if smart else "no"),
        suggest=None if suggest is None else ("yes" if suggest else "no"),
        if_=_number("if", if_rev),
        eid=_words.text("eid", eid),
    )
    tail = None if configuration is None else {"configuration": configuration}
    return Call(Request("TILE", rest + _words.tail(tail)), _decided)


def _decided(reply: Replied) -> Decided:
    return Decided(reply.attributes.get("verdict"), _integer(reply.attributes, "rev"))


def dismiss(key: str) -> Call[Decided]:
    return Call(Request("DISMISS", _words.key(key)), _decided)


def seen(key: str, rev: int) -> Call[Decided]:
    return Call(Request("SEEN", f"{_words.key(key)} rev={_words.number('rev', rev)}"), _decided)


def get(key: str, view: Optional[str] = None) -> Call[Row]:
    rest = _words.key(key) + _attributes(view=None if view is None else _words.text("the view", view))

    def result(reply: Replied) -> Row:
        return Row(key, _integer(reply.attributes, "rev") or 0, reply.tail or {})

    return Call(Request("GET", rest), result)


def list_rows(pattern: str = "*", view: Optional[str] = None) -> Call[List[Row]]:
    rest = _words.pattern(pattern) + _attributes(view=None if view is None else _words.text("the view", view))

    def result(reply: Replied) -> List[Row]:
        return [Row(line.attributes.get("key", ""), _required(line, "rev"), line.tail or {}) for line in reply.items]

    return Call(Request("LIST", rest), result)


def history(key: str) -> Call[List[HistoryEntry]]:
    def result(reply: Replied) -> List[HistoryEntry]:
        return [
            HistoryEntry(
                key,
                _required(line, "rev"),
                _required(line, "at"),
                _required(line, "heard"),
                line.attributes.get("type", ""),
                line.attributes.get("verdict", ""),
                line.tail or {},
            )
            for line in reply.items
        ]

    return Call(Request("HISTORY", _words.key(key)), result)


def kinds() -> Call[List[Kind]]:
    def result(reply: Replied) -> List[Kind]:
        return [
            Kind(
                line.attributes.get("name", ""),
                line.attributes.get("type", ""),
                _required(line, "version"),
                line.tail or {},
            )
            for line in reply.items
        ]

    return Call(Request("KINDS", ""), result)


def gallery(view: Optional[str] = None, placement: Optional[str] = None) -> Call[List[GalleryWidget]]:
    rest = _attributes(
        view=None if view is None else _words.text("the view", view),
        placement=None if placement is None else _words.text("the placement", placement),
    )

    def result(reply: Replied) -> List[GalleryWidget]:
        return [
            GalleryWidget(line.attributes.get("name", ""), line.attributes.get("families", "").split(","), line.tail or {})
            for line in reply.items
        ]

    return Call(Request("GALLERY", rest.strip()), result)


def stats() -> Call[JSONObject]:
    return Call(Request("STATS", ""), lambda reply: reply.tail or {})


def ping() -> Call[None]:
    return Call(Request("PING", ""), lambda reply: None)


def open_key(key: str) -> Call[JSONObject]:
    return Call(Request("OPEN", _words.key(key)), lambda reply: reply.tail or {})


def traits(values: Mapping[str, str]) -> Call[None]:
    if not values:
        raise InvalidRequest("no trait is sent: one at least is wanted")
    words = [f"{_words.name(name)}={_words.text(f'the trait {name}', value)}" for name, value in values.items()]
    return Call(Request("TRAIT", " ".join(words), traits=dict(values)), lambda reply: None)


def subscribe(
    pattern: str,
    view: Optional[str],
    account: Optional[str],
    placement: Optional[str],
    rate: Optional[int],
    cursor: Optional[str],
    deliver: Optional[str] = None,
) -> Tuple[str, Optional[str]]:
    """`SUB` behind its verb, and the cursor to resume from."""
    command = _words.pattern(pattern) + _attributes(
        view=None if view is None else _words.text("the view", view),
        for_=None if account is None else _words.text("the account", account),
        placement=None if placement is None else _words.text("the placement", placement),
        rate=None if rate is None else _words.number("the rate", rate, 1, 1_000_000),
        deliver=None if deliver is None else _words.text("the delivery", deliver),
    )
    return command, None if cursor is None else _words.cursor(cursor)


# Of a provider. A lost answer is not sent again: the server asks again, or has asked another provider.


def serve(kind: str) -> Call[None]:
    return Call(Request("SERVE", _words.kind(kind), serves=kind), lambda reply: None)


def report(key: str, value: Union[bool, str, None] = None, at: Optional[int] = None) -> Call[Decided]:
    rest = _words.key(key) + _attributes(
        value=None if value is None else _words.switch("the value", value), at=_number("at", at)
    )
    return Call(Request("REPORT", rest, Repeat.ONCE), _decided)


def done(op: str, value: Union[bool, str, None] = None) -> Call[Decided]:
    rest = f"op={_words.text('the op', op)}" + _attributes(value=None if value is None else _words.switch("the value", value))
    return Call(Request("DONE", rest, Repeat.ONCE), _decided)


def supply(op: str, timeline: Dict[str, object]) -> Call[Decided]:
    return Call(Request("DONE", f"op={_words.text('the op', op)}" + _words.tail(timeline), Repeat.ONCE), _decided)


def reload(key: str) -> Call[Decided]:
    return Call(Request("RELOAD", _words.key(key)), _decided)


def reload_all(pattern: str) -> Call[Reloaded]:
    def result(reply: Replied) -> Reloaded:
        counts = [_integer(reply.attributes, name) or 0 for name in ("applied", "deferred", "noop")]
        return Reloaded(*counts)

    return Call(Request("RELOAD", _words.many(pattern)), result)


def fail(op: str, code: Optional[str] = None, message: Optional[str] = None) -> Call[Decided]:
    rest = f"op={_words.text('the op', op)}" + _attributes(code=None if code is None else _words.code(code))
    tail = _words.tail(None if message is None else {"message": message})
    return Call(Request("FAIL", rest + tail, Repeat.ONCE), _decided)
