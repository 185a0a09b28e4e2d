"""One subscription, across connections: its rows, its cursor, its snapshot."""

from typing import Dict, List, Optional, Set, Tuple

from ._lines import Line
from .errors import ProtocolViolation
from .values import Alert, Change, Deletion, Live, Milestone, Notice, Reset, Row, Update


class Subscription:
    def __init__(self, command: str, cursor: Optional[str], keeps_rows: bool) -> None:
        #: `SUB` behind its verb, without `from=`.
        self.command = command
        self.cursor = cursor
        self.rows: Dict[str, Row] = {}
        #: The server's number on this connection.
        self.number: Optional[int] = None
        self.is_wanted = True
        self._keeps_rows = keeps_rows
        #: The keys that the snapshot under way has brought; `None` when there is none.
        self._snapshot: Optional[Set[str]] = None
        #: The history that the revs of the rows are of.
        self._epochs: Dict[str, str] = {}

    def started(self, number: int, resumes: bool) -> None:
        self.number = number
        self._snapshot = None if resumes else set()

    def connection_lost(self) -> None:
        self.number = None
        if self._snapshot is not None:
            # A part of a snapshot is no place to resume from.
            self.cursor = None
        self._snapshot = None

    def take(self, line: Line, epoch: str) -> List[Change]:
        """The changes that a line of this subscription tells. The cursor advances with it.

        Raises `ProtocolViolation` for a line without a key, and when the `rev` of a key goes back.
        """
        if line.verb == "LIVE":
            changes = self._live()
        elif line.verb == "RESET":
            self._snapshot = set()
            self.cursor = None
            changes = [Reset(line.attributes.get("why", ""))]
        elif line.verb == "MARK":
            changes = []
        elif line.verb == "CHANGED":
            rev = line.number("rev")
            if rev is None:
                raise ProtocolViolation("the server sent a CHANGED without rev=")
            changes = [Notice(rev, line.number("count"))]
        else:
            changes = [self._keyed(line, epoch)]
        cursor = line.attributes.get("cur")
        if cursor is not None and self._snapshot is None:
            self.cursor = cursor
        return changes

    def _keyed(self, line: Line, epoch: str) -> Change:
        key, rev = line.attributes.get("key"), line.number("rev")
        if key is None or rev is None:
            raise ProtocolViolation(f"the server sent a {line.verb} without key= or rev=")
        if line.verb == "MILE":
            return Milestone(key, rev, line.attributes.get("state", ""), line.number("at"))
        if line.verb == "ALERT":
            return Alert(key, rev, line.tail or {})
        self._order(key, rev, epoch)
        skip = line.number("skip") or 0
        if line.verb == "DEL":
            self._drop(key)
            return Deletion(key, rev, line.attributes.get("why", ""), skip)
        if self._keeps_rows:
            self.rows[key] = Row(key, rev, line.tail or {})
            self._epochs[key] = epoch
            if self._snapshot is not None:
                self._snapshot.add(key)
        return Update(key, rev, line.tail or {}, line.verb == "SNAP", skip, line.attributes.get("why"))

    def _order(self, key: str, rev: int, epoch: str) -> None:
        known = self.rows.get(key)
        if known is not None and self._epochs.get(key) == epoch and rev < known.rev:
            raise ProtocolViolation(f"the rev of {key} went back from {known.rev} to {rev}")

    def _drop(self, key: str) -> None:
        self.rows.pop(key, None)
        self._epochs.pop(key, None)
        if self._snapshot is not None:
            self._snapshot.discard(key)

    def _live(self) -> List[Change]:
        """Rows that a complete snapshot did not bring are gone."""
        gone: List[Tuple[str, int]] = []
        if self._snapshot is not None and self._keeps_rows:
            gone = sorted((key, row.rev) for key, row in self.rows.items() if key not in self._snapshot)
        self._snapshot = None
        changes: List[Change] = []
        for key, rev in gone:
            self._drop(key)
            changes.append(Deletion(key, rev, "reset"))
        changes.append(Live())
        return changes
