"""The list of behaviours and the tests name the same ids."""

import pathlib
import re

import pytest

from support import REPOSITORY

PAGE = REPOSITORY / "Protocols/Clients/behaviours.md"


def test_each_behaviour_has_a_test_and_each_test_a_behaviour() -> None:
    if not PAGE.exists():
        pytest.skip("the list of behaviours is not here: this is no clone of the repository")
    listed = re.findall(r"^\| `([a-z-]+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    tested = set()
    for path in pathlib.Path(__file__).parent.glob("test_*.py"):
        tested |= set(re.findall(r'^@behaviour\("([a-z-]+)"\)', path.read_text(encoding="utf-8"), re.MULTILINE))
    assert len(listed) == len(set(listed)) and set(listed) == tested
