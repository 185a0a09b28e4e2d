"""Requests, and the two queues in which they wait: to be sent, and to be answered."""

from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from typing import Deque, List, Mapping, Optional, Tuple

from ._lines import Line


class Repeat(Enum):
    """The fate of a request whose connection is lost before the reply."""

    SAFE = "safe"
    """It is sent again: it changes nothing, or has an event id."""
    ONCE = "once"
    """It is reported as lost."""
    OWN = "own"
    """It belongs to the connection: a new one says it anew."""


@dataclass
class Request:
    """A line without its `id=`: `VERB id=N REST`."""

    verb: str
    rest: str
    repeat: Repeat = Repeat.SAFE
    eid: Optional[str] = None
    #: Of `SERVE`: the kind; of `TRAIT`: the values. A connection says them again.
    serves: Optional[str] = None
    traits: Optional[Mapping[str, str]] = None
    #: Of `SUB`: the number of the subscription, and whether it resumes.
    subscription: Optional[int] = None
    resumes: bool = False
    number: int = 0
    was_sent: bool = False
    is_withdrawn: bool = False
    items: List[Line] = field(default_factory=list)

    @property
    def line(self) -> bytes:
        rest = f" {self.rest}" if self.rest else ""
        return f"{self.verb} id={self.number}{rest}\n".encode()


class RequestQueue:
    """Keeps the order of requests across connections."""

    def __init__(self) -> None:
        self.unsent: Deque[Request] = deque()
        self.unanswered: Deque[Request] = deque()
        #: Refused because the server goes down; they wait for the next connection.
        self.postponed: List[Request] = []

    @property
    def pending(self) -> int:
        """The number of requests of the owner without a reply."""
        waiting = len(self.unsent) + len(self.postponed)
        return waiting + sum(1 for one in self.unanswered if one.repeat is not Repeat.OWN and not one.is_withdrawn)

    def settle(self) -> List[Request]:
        """After the connection is lost: queues the repeatable requests again, and returns the lost ones."""
        again: List[Request] = list(self.postponed)
        lost: List[Request] = []
        for request in self.unanswered:
            request.items = []
            if request.repeat is Repeat.OWN or request.is_withdrawn:
                continue
            (again if request.repeat is Repeat.SAFE else lost).append(request)
        self.postponed = []
        self.unanswered.clear()
        self.unsent.extendleft(reversed(again))
        return lost

    def withdraw(self, number: int) -> Tuple[bool, Optional[str]]:
        """Forgets a request. Returns whether it was sent, so that it may have taken effect, and its event id."""
        for waiting in (self.unsent, self.postponed):
            for request in waiting:
                if request.number == number:
                    waiting.remove(request)
                    return request.was_sent, request.eid
        for request in self.unanswered:
            if request.number == number:
                # Its reply still comes, and is passed over.
                request.is_withdrawn = True
                request.items = []
                return True, request.eid
        return False, None
