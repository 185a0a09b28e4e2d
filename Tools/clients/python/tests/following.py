"""Taking changes of a follower."""

from typing import Any, List

from support import LIMIT
from telltale import Backoff, Deletion, Follow, Update

SOON = Backoff(shortest=0.001, longest=0.01)


def until(follow: Follow, kind: type) -> List[Any]:
    """The changes up to the first of a type."""
    changes: List[Any] = []
    while not changes or not isinstance(changes[-1], kind):
        change = follow.next(LIMIT)
        assert change is not None, f"no {kind.__name__} came: {changes}"
        changes.append(change)
    return changes


def rows(changes: List[Any]) -> List[Any]:
    return [(change.key, change.rev) for change in changes if isinstance(change, (Update, Deletion))]
