"""Programs that stand in pages, with their output."""

import pathlib
import re
from dataclasses import dataclass
from typing import List, Optional


@dataclass
class Program:
    place: str
    text: str
    #: The indented block behind it, if it follows at once.
    output: Optional[str]


def programs(page: pathlib.Path) -> List[Program]:
    text = page.read_text(encoding="utf-8")
    found = []
    for match in re.finditer(r"^```python\n(.*?)^```\n(?:\n((?:    [^\n]*\n)+))?", text, re.MULTILINE | re.DOTALL):
        line = text.count("\n", 0, match.start()) + 1
        output = None if match[2] is None else re.sub(r"^    ", "", match[2], flags=re.MULTILINE)
        found.append(Program(f"{page.name}:{line}", match[1], output))
    return found
