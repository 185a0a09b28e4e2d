"""Bytes of a server, line by line."""

import json
import re
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, NoReturn, Optional, Sized, Tuple

from .errors import ProtocolViolation

LONGEST = 1 << 20
_CONTROL = re.compile(rb"[\x00-\x1f\x7f]")
_NUMBER = re.compile(r"[0-9]{1,16}")
_CURSOR = re.compile(r"[0-9a-f]{16}:([0-9]{1,16}):[0-9a-f]{4}")
_VERB = re.compile(r"[A-Z]{2,12}")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"JSON has no {name}")


@dataclass(frozen=True)
class Line:
    """One line of a server. `words` are those without a `=`, in their order."""

    verb: str
    words: Tuple[str, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)
    tail: Optional[Dict[str, Any]] = None

    @classmethod
    def parse(cls, text: str) -> "Line":
        """Raises `ProtocolViolation` for a line without a verb, or whose JSON tail is broken."""
        if text.startswith("#"):
            return cls("#", (text[1:].strip(" "),))
        head, brace, rest = text.partition(" {")
        verb, *listed = head.split(" ")
        if not _VERB.fullmatch(verb):
            raise ProtocolViolation("the server sent a line without a verb")
        words: List[str] = []
        attributes: Dict[str, str] = {}
        for word in listed:
            name, equals, value = word.partition("=")
            if equals:
                attributes.setdefault(name, value)
            else:
                words.append(word)
        tail: Optional[Dict[str, Any]] = None
        if brace:
            try:
                tail = json.loads("{" + rest, parse_constant=_no_constant)
            except (ValueError, RecursionError):
                raise ProtocolViolation(f"the JSON of a line {verb} of the server is broken") from None
        return cls(verb, tuple(words), attributes, tail)

    def number(self, name: str) -> Optional[int]:
        """An attribute that is a whole number; `None` if it is absent or none."""
        value = self.attributes.get(name)
        return int(value) if value is not None and _NUMBER.fullmatch(value) else None

    @property
    def newest_commit(self) -> int:
        """The newest commit that the line names, by its `rev` or its cursor, which may be older; 0 if it names none."""
        cursor = _CURSOR.fullmatch(self.attributes.get("cur", ""))
        return max(self.number("rev") or 0, int(cursor[1]) if cursor else 0)


class LineDecoder:
    """Splits a stream into lines, in pieces of any size. It keeps an unfinished line alone, 1 MiB at most."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._begun = bytearray()

    def feed(self, data: bytes) -> Iterator[Line]:
        """The lines that these bytes complete.

        Raises `ProtocolViolation` behind the last good line, for bytes that are no lines of the protocol. The stream is
        of no use after that.
        """
        if b"\n" not in data:
            self._begun += data
            complete: List[bytes] = []
        else:
            *complete, rest = (bytes(self._begun) + data).split(b"\n")
            self._begun = bytearray(rest)
        for raw in complete:
            text = self._text(raw[:-1] if raw.endswith(b"\r") else raw)
            if text:
                yield Line.parse(text)
        self._limit(self._begun)

    def _limit(self, raw: Sized) -> None:
        if len(raw) > self._longest:
            raise ProtocolViolation(f"the server sent a line of more than {self._longest} bytes")

    def _text(self, raw: bytes) -> str:
        self._limit(raw)
        if _CONTROL.search(raw):
            raise ProtocolViolation("the server sent a control byte")
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            raise ProtocolViolation("the server sent bytes that are no UTF-8") from None
