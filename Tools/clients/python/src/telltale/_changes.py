"""The changes that wait for their reader: the newest state of each key, as the server keeps it for a slow reader."""

from collections import deque
from dataclasses import replace
from typing import Deque, Dict, Optional, Tuple, Union

from .values import Alert, Change, Deletion, Milestone, Reset, Row, Update

#: From this number on a follower reads no further.
MOST_WAITING = 256


class _Entry:
    """A change, and the place to resume from once it is taken. `None` where the place alone has advanced."""

    def __init__(self, change: Optional[Change], cursor: Optional[str]) -> None:
        self.change = change
        self.cursor = cursor


class ChangeQueue:
    """Folds changes that are not taken yet.

    A row replaces the waiting row or deletion of its key, and takes its place in the order, so that no key is starved.
    Milestones and alerts are not folded, and stay before the row that follows them.
    """

    def __init__(self) -> None:
        self._entries: Deque[_Entry] = deque()
        self._rows: Dict[str, _Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, change: Optional[Change], cursor: Optional[str]) -> None:
        if isinstance(change, (Update, Deletion)):
            waiting = self._rows.get(change.key)
            if waiting is not None:
                assert isinstance(waiting.change, (Update, Deletion))
                waiting.change = _folded(waiting.change, change)
                change = None
        elif isinstance(change, (Milestone, Alert)):
            self._rows.pop(change.key, None)
        elif isinstance(change, Reset):
            self._rows.clear()
        if change is None and self._entries and self._entries[-1].change is None:
            self._entries[-1].cursor = cursor
            return
        entry = _Entry(change, cursor)
        self._entries.append(entry)
        if isinstance(change, (Update, Deletion)):
            self._rows[change.key] = entry

    def take(self) -> Optional[Tuple[Optional[Change], Optional[str]]]:
        if not self._entries:
            return None
        entry = self._entries.popleft()
        if isinstance(entry.change, (Update, Deletion)) and self._rows.get(entry.change.key) is entry:
            del self._rows[entry.change.key]
        return entry.change, entry.cursor


def _folded(old: Union[Update, Deletion], new: Union[Update, Deletion]) -> Union[Update, Deletion]:
    # A row that comes again for the same rev is no further commit.
    missed = old.skip + (1 if new.rev != old.rev else 0)
    if isinstance(new, Deletion):
        return replace(new, skip=new.skip + missed)
    snapshot = new.snapshot or (isinstance(old, Update) and old.snapshot)
    return replace(new, skip=new.skip + missed, snapshot=snapshot, why=new.why or "slow")


class Taken:
    """The rows and the cursor of a reader, after the changes that it took."""

    def __init__(self, cursor: Optional[str]) -> None:
        self.cursor = cursor
        self.rows: Dict[str, Row] = {}

    def take(self, change: Optional[Change], cursor: Optional[str]) -> None:
        self.cursor = cursor
        if isinstance(change, Update):
            self.rows[change.key] = Row(change.key, change.rev, change.body)
        elif isinstance(change, Deletion):
            self.rows.pop(change.key, None)
