"""Answers, rows and changes, as immutable values."""

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple, Union

JSONObject = Dict[str, Any]


@dataclass(frozen=True)
class Greeting:
    """The first line of a server. `heartbeat` is in seconds, `now` in Unix ms, `max_line` in bytes."""

    epoch: str
    now: Optional[int]
    speed: float
    heartbeat: float
    max_line: int
    auth: str
    server: str
    #: Of a server of a cluster: its name, `leader` or `standby`, the number of its leadership, the address of the leader,
    #: whether a standby answers reads and forwards writes, and where a server that drains sends its clients.
    node: Optional[str] = None
    role: Optional[str] = None
    term: Optional[int] = None
    leader: Optional[str] = None
    serves: bool = False
    to: Optional[str] = None


@dataclass(frozen=True)
class Posted:
    """The answer to an event. It is on disk.

    `verdict` is `applied`, `noop`, `duplicate`, `stale`, `ignored` or `deferred`. `rev` is the commit number of the
    key's last change, `state` where its machine is. `eid` is the event id that was used. `message` is for people, where
    the sender probably made a mistake; `ignored` names the members that had no meaning.
    """

    key: str
    verdict: str
    rev: Optional[int]
    state: Optional[str]
    eid: Optional[str]
    ignored: Tuple[str, ...] = ()
    message: Optional[str] = None


@dataclass(frozen=True)
class Tapped:
    """The answer to a tap. It is on disk, and not done yet: the control's row tells how `op` ends.

    `phase` is `pending`, `performing` or `settled`. `verdict` is `duplicate` for an `eid` that has acted before, `noop`
    where nothing was to do, and `None` else.
    """

    key: str
    op: Optional[str]
    phase: Optional[str]
    verdict: Optional[str]
    rev: Optional[int]
    eid: Optional[str]


@dataclass(frozen=True)
class Decided:
    """The answer to `dismiss`, `seen`, `report`."""

    verdict: Optional[str]
    rev: Optional[int]


@dataclass(frozen=True)
class Reloaded:
    """How many widgets ask their provider at once, when they asked long enough ago, and never: they have none."""

    applied: int
    deferred: int
    noop: int


@dataclass(frozen=True)
class Row:
    """One key as a view shows it. `rev` is the commit number of its last change."""

    key: str
    rev: int
    body: JSONObject


@dataclass(frozen=True)
class HistoryEntry:
    """One event of a key. `at` is when it happened and `heard` when the server heard of it, in Unix ms."""

    key: str
    rev: int
    at: int
    heard: int
    type: str
    verdict: str
    details: JSONObject


@dataclass(frozen=True)
class Kind:
    """A kind that the server has loaded. `type` is `activity`, `toggle`, `button` or `widget`."""

    name: str
    type: str
    version: int
    definition: JSONObject


@dataclass(frozen=True)
class GalleryWidget:
    """A kind of widget that a person can place. `body` has `title`, `description`, `parameters`, `recommended`, `previews`."""

    name: str
    families: List[str]
    body: JSONObject


@dataclass(frozen=True)
class Action:
    """An operation that a provider is to perform. `value` is the value to set on a toggle, and `None` for a press.

    `reason` is why a widget asks for a timeline, and `None` for a control: `first`, `atEnd`, `after`, `asked`,
    `configured` or `tapped`. The function of the provider returns the timeline then: `{"entries": [...]}`.

    `deadline` is when the server gives the operation up, in Unix ms of real time.

    `term` is that of the leader of a cluster, and `None` of a server by itself. One that is below another that was seen is of
    a leader that was deposed: do not act on it.
    """

    op: str
    key: str
    value: Optional[bool]
    deadline: Optional[int]
    reason: Optional[str] = None
    term: Optional[int] = None

    @property
    def is_press(self) -> bool:
        return self.value is None and self.reason is None


# Changes of a subscription.


@dataclass(frozen=True)
class Update:
    """A key is new, or has changed: this row replaces the one before.

    `snapshot` tells that the row was there before. `skip` counts the commits that were folded into this row, `why` is
    `slow`, `rate` or `resume`.
    """

    key: str
    rev: int
    body: JSONObject
    snapshot: bool = False
    skip: int = 0
    why: Optional[str] = None


@dataclass(frozen=True)
class Deletion:
    """A key has left the view. `why` is `dismissed`, `hidden`, `removed`, or `reset`: it was not in a new snapshot."""

    key: str
    rev: int
    why: str
    skip: int = 0


@dataclass(frozen=True)
class Milestone:
    """The key has reached a state that no reader misses. It comes before the row. `at` is in Unix ms."""

    key: str
    rev: int
    state: str
    at: Optional[int]


@dataclass(frozen=True)
class Alert:
    """Attention is to be drawn to a key. `body` has texts `title`, `body`, `sound` and a `style`."""

    key: str
    rev: int
    body: JSONObject


@dataclass(frozen=True)
class Notice:
    """Something has changed, of a follower that wants no rows (`deliver="notice"`).

    It comes again when the follower has read by its own `list` or `get`. `count` is how many keys changed, and `None`
    where they are more than the server counts.
    """

    rev: int
    count: Optional[int]


@dataclass(frozen=True)
class Live:
    """The rows are complete and current, for the first time or again."""


@dataclass(frozen=True)
class Reset:
    """The server could not resume: all rows come anew. `why` is `epoch`, `selection`, `expired` or `future`."""

    why: str


@dataclass(frozen=True)
class Connected:
    """The server greeted, at first or again."""

    greeting: Greeting


@dataclass(frozen=True)
class Disconnected:
    """The connection is lost, or could not be made. Rows may be out of date until the next `Live`.

    `retry_after` is in seconds.
    """

    reason: str
    retry_after: Optional[float]


Change = Union[Update, Deletion, Milestone, Alert, Notice, Live, Reset, Connected, Disconnected]

# Events of the protocol machine, for its owner.


@dataclass(frozen=True)
class Replied:
    """A request was answered: `OK`, `PONG`, or an `error`. `items` are the lines of an answer that has several."""

    request: int
    attributes: Dict[str, str]
    tail: Optional[JSONObject]
    items: Tuple[Any, ...] = ()
    error: Optional[Exception] = None


@dataclass(frozen=True)
class Changed:
    """A subscription changed. `cursor` is the place to resume from once this change is processed.

    `change` is `None` where the cursor alone has advanced.
    """

    subscription: int
    change: Optional[Change]
    cursor: Optional[str]


@dataclass(frozen=True)
class SubscriptionEnded:
    """The server refused a subscription."""

    subscription: int
    error: Exception


@dataclass(frozen=True)
class ServiceEnded:
    """The server no longer lets this client serve a kind."""

    kind: str
    error: Exception


@dataclass(frozen=True)
class Asked:
    """A provider is asked to act."""

    action: Action


@dataclass(frozen=True)
class Ended:
    """The protocol machine has ended, and does not connect again. `error` is `None` if it was told to leave."""

    error: Optional[Exception] = field(default=None)


Event = Union[Replied, Changed, SubscriptionEnded, ServiceEnded, Asked, Ended, Connected, Disconnected]
