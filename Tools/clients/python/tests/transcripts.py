"""The conversations of Protocols/Line/transcripts, with values in the place of their placeholders."""

import re
from dataclasses import dataclass
from typing import Dict, List

from support import REPOSITORY

FOLDER = REPOSITORY / "Protocols/Line/transcripts"
EPOCH = "6f3a91c2d0e4b577"


@dataclass
class Step:
    place: str
    #: `C`, or `C!` for a line that breaks the grammar on purpose, or `S`.
    speaker: str
    connection: str
    text: str


def read() -> Dict[str, List[Step]]:
    return {path.name: _steps(path.name, path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.txt"))}


def _steps(name: str, text: str) -> List[Step]:
    steps = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line or line.startswith(("#", "! ")):
            continue
        speaker, _, said = line.partition(": ")
        count = re.fullmatch(r"([CS])(\d*)(?:\*(\d+))?(!?)", speaker)
        assert count is not None, f"{name}:{number}"
        said = re.sub(r"<([^<>*]+)\*(\d+)>", lambda match: match[1] * int(match[2]), said)
        for _ in range(int(count[3] or 1)):
            steps.append(Step(f"{name}:{number}", count[1] + count[4], count[2], said))
    return steps


class Filler:
    """Gives each placeholder a value. Numbers grow, as those of a server do."""

    def __init__(self) -> None:
        self._names: Dict[str, str] = {}
        self._count = 100

    def fill(self, text: str) -> str:
        text = re.sub(r",?\.\.\.(?=[}\]])", "", text)
        return re.sub(r"<(?:(\w+):)?([a-z]\w*)(?:[+-]\d+)?>", self._value, text)

    def _value(self, match: "re.Match[str]") -> str:
        name, kind = match[1], match[2]
        if name is None and kind in self._names:
            return self._names[kind]
        self._count += 1
        number = str(self._count)
        value = {"int": number, "now": number, "ms": number, "epoch": EPOCH, "selection": "b0e4", "any": ""}.get(
            kind, f"{EPOCH}:{number}:b0e4" if kind == "cursor" else f"w{number}"
        )
        if name is not None:
            self._names[name] = value
        return value
