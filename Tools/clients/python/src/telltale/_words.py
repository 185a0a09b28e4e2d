"""The grammar of requests (Protocols/Line/line-protocol.abnf). No value of a caller reaches a line unchecked."""

import json
import re
from typing import Any, List, Mapping, Optional, Sequence, Union

from .errors import InvalidRequest

LARGEST = 2**53 - 1
DEEPEST = 32

_SEGMENT = r"[A-Za-z0-9._~:@-]{1,64}"
_SEGMENT_TEXT = "1 to 64 of A-Z a-z 0-9 . _ ~ : @ -"
_KEY = re.compile(f"{_SEGMENT}/{_SEGMENT}")
_TILE_KEY = re.compile(rf"@[A-Za-z0-9._~:@-]{{1,63}}/{_SEGMENT}")
_PATTERN = re.compile(rf"\*|{_SEGMENT}/(\*|{_SEGMENT})")
_MANY = re.compile(rf"\*|{_SEGMENT}/\*")
_KIND = re.compile(_SEGMENT)
_EVENT = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,15}")
_VALUE = re.compile(r"[\x21-\x7e]{1,256}")
_TOKEN = re.compile(r"[\x21-\x7e]{1,4096}")
_CURSOR = re.compile(r"[0-9a-f]{16}:(0|[1-9][0-9]{0,15}):[0-9a-f]{4}")
_CODE = re.compile(r"[a-z0-9_]{1,64}")


def shown(value: object) -> str:
    """A value of a caller in an error: quoted, without control characters, and short."""
    text = ascii(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _checked(name: str, value: object, grammar: "re.Pattern[str]", wanted: str) -> str:
    if isinstance(value, str) and grammar.fullmatch(value):
        return value
    raise InvalidRequest(f"{name} {shown(value)} is not sent: {wanted}")


def key(value: str) -> str:
    return _checked("the key", value, _KEY, f"a key is kind/id, each {_SEGMENT_TEXT}")


def tile_key(value: str) -> str:
    return _checked("the key", value, _TILE_KEY, f"the key of a tile is @board/id, each {_SEGMENT_TEXT}")


def pattern(value: str) -> str:
    return _checked("the pattern", value, _PATTERN, f"a pattern is *, kind/* or kind/id, each {_SEGMENT_TEXT}")


def many(value: str) -> str:
    return _checked("the pattern", value, _MANY, f"a pattern of many keys is * or kind/*, the kind {_SEGMENT_TEXT}")


def kind(value: str) -> str:
    return _checked("the kind", value, _KIND, f"a kind is {_SEGMENT_TEXT}")


def event_type(value: str) -> str:
    return _checked("the event type", value, _EVENT, "an event type is 1 to 64 of A-Z a-z 0-9 _ . : -")


def cursor(value: str) -> str:
    return _checked("the cursor", value, _CURSOR, "a cursor is given by a server, as EPOCH:SEQ:SELECTION")


def code(value: str) -> str:
    return _checked("the code", value, _CODE, "a code is 1 to 64 of a-z 0-9 _")


def name(value: str) -> str:
    return _checked("the name", value, _NAME, "a name is a lower-case letter, then up to 15 of a-z 0-9 _")


def text(what: str, value: str) -> str:
    """An attribute's value."""
    return _checked(what, value, _VALUE, "a value is 1 to 256 visible ASCII characters, without a blank")


def secret(value: str) -> str:
    """A token. The error does not show it."""
    if isinstance(value, str) and _TOKEN.fullmatch(value):
        return value
    raise InvalidRequest("the token is not sent: a token is 1 to 4,096 visible ASCII characters, without a blank")


def hello_token(value: str) -> str:
    """The word, or the tail, in which a token stands in `HELLO`, with its blank: a word holds 256 bytes alone."""
    return f" token={value}" if _VALUE.fullmatch(value) else tail({"token": value})


def names(what: str, values: Union[str, Sequence[str]]) -> str:
    """A list of words, comma-separated."""
    listed = [values] if isinstance(values, str) else list(values)
    for value in listed:
        text(what, value)
        if "," in value:
            raise InvalidRequest(f"{what} {shown(value)} is not sent: a name in this list has no comma")
    return text(what, ",".join(listed))


def number(what: str, value: int, least: int = 0, most: int = LARGEST) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
        return str(value)
    raise InvalidRequest(f"{what} {shown(value)} is not sent: a whole number from {least} to {most} is wanted")


def switch(what: str, value: Union[bool, str]) -> str:
    """`on` or `off`."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if value in ("on", "off"):
        return value
    raise InvalidRequest(f"{what} {shown(value)} is not sent: True, False, 'on' or 'off' is wanted")


def tail(value: Optional[Mapping[str, Any]]) -> str:
    """A JSON object as the end of a line, with its blank; nothing for `None`.

    Raises `InvalidRequest` for a value that is no I-JSON (RFC 7493).
    """
    if value is None:
        return ""
    if not isinstance(value, Mapping):
        raise InvalidRequest(f"the JSON tail {shown(value)} is not sent: an object (a dict) is wanted")
    json_text = json.dumps(_plain(value, "", 1), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # DEL is a control byte on a line, and no escape of json.dumps.
    return " " + json_text.replace("\x7f", "\\u007f")


def _plain(value: object, path: str, depth: int) -> object:
    """The value in the types of JSON alone."""
    where = f"the member {shown(path)}" if path else "the JSON tail"
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _unicode(value, where)
    if isinstance(value, int):
        if abs(value) > LARGEST:
            raise InvalidRequest(f"{where} is not sent: a whole number is within ±{LARGEST}")
        return value
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise InvalidRequest(f"{where} is not sent: JSON has no {value}")
        return value
    if depth > DEEPEST:
        raise InvalidRequest(f"{where} is not sent: objects and arrays are nested {DEEPEST} deep at most")
    if isinstance(value, Mapping):
        members = {}
        for member, inner in value.items():
            if not isinstance(member, str):
                raise InvalidRequest(f"{where} is not sent: the name {shown(member)} of a member is no text")
            members[_unicode(member, where)] = _plain(inner, f"{path}.{member}" if path else member, depth + 1)
        return members
    if isinstance(value, (list, tuple)):
        items: List[object] = [_plain(inner, f"{path}[{index}]", depth + 1) for index, inner in enumerate(value)]
        return items
    raise InvalidRequest(f"{where} is not sent: JSON has no {type(value).__name__}")


def _unicode(value: str, where: str) -> str:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidRequest(f"{where} is not sent: half a surrogate pair is no text") from None
    return value
