"""Which of its servers a client connects to next. `Protocols/Clients/servers.table` is executed by the tests."""

from dataclasses import dataclass
from enum import Enum
from typing import Optional, Sequence, Set, Tuple

from .values import Greeting

#: The pause before an attempt at the next address, in seconds.
PAUSE = (0.1, 2.0)
MOST_SERVERS = 16
#: How long the first attempt to connect may take where there are other servers, in seconds. TCP repeats a lost
#: first packet after 1 s.
_FIRST_DIAL = 2.0
_MOST_DOUBLINGS = 16
#: Leaders that are gone to without a pause in between.
_MOST_HOPS = 4
#: In seconds. A leader that was deposed is gone long before. A lower term that is still the answer then is that of a log that
#: was set back.
_LOWER_TERM_PATIENCE = 60.0


class Step(Enum):
    """How to go to the next server."""

    AT_ONCE = "at once"
    PAUSE = "pause"
    BACK_OFF = "back-off"


@dataclass(frozen=True)
class NotLeader:
    """A server's word that another one leads."""

    leader: Optional[str]
    #: It was said in a `BYE`, whose `wait=` holds.
    is_farewell: bool = False


class ServerList:
    """A server of a cluster that does not lead names the leader, and the client goes there at once, whether it knows that
    address or not. Where none is named, where they name each other, and where a server does not answer, the next of the list is
    tried."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self._own = list(addresses)
        self._index = 0
        #: A leader that is not in the list.
        self._named: Optional[str] = None
        #: The servers that were asked since the last pause.
        self._asked: Set[str] = set()
        self._hops = 0
        #: Since a server last served.
        self._attempts = 0
        self._newest: Tuple[str, int] = ("", 0)
        #: Since when only leaders of lower terms were met.
        self._lower_since: Optional[float] = None

    @property
    def address(self) -> Optional[str]:
        """Where to connect; `None` for an empty list."""
        return self._named or (self._own[self._index] if self._own else None)

    def served(self) -> None:
        """The server answered `HELLO`."""
        self._asked, self._hops, self._attempts = set(), 0, 0

    def dial_span(self, limit: float) -> float:
        """How long an attempt to connect may take, in seconds, where a single server would get `limit`. A machine that is gone
        answers nothing, so a client of several servers goes on after 2 s; each round through its list gives every server twice
        as long."""
        if len(self._own) < 2 and self._named is None:
            return limit
        return min(limit, _FIRST_DIAL * 2.0 ** min(self._attempts // max(1, len(self._own)), _MOST_DOUBLINGS))

    def failed(self) -> Step:
        """The server did not answer, or the connection was lost."""
        self._attempts += 1
        is_alone = len(self._own) < 2 and self._named is None
        self._move_on()
        return Step.BACK_OFF if is_alone else Step.PAUSE

    def is_not_leader(self, leader: Optional[str]) -> Step:
        """The server does not lead. `leader` is as it names it."""
        if self.address is not None:
            self._asked.add(self.address)
        target = self._address_of(leader)
        if target is not None and target not in self._asked and self._hops < _MOST_HOPS:
            self._hops += 1
            self._go(target)
            return Step.AT_ONCE
        self._attempts += 1
        self._move_on()
        return Step.PAUSE

    def resigned(self, leader: Optional[str]) -> None:
        """The server ends the connection because it does not lead any more."""
        target = self._address_of(leader)
        if target is None:
            self._move_on()
        else:
            self._go(target)
        self._asked, self._hops = set(), 0

    def elsewhere(self, greeting: Greeting, now: float) -> Optional[Tuple[NotLeader, str]]:
        """Where the greeting says that requests are answered elsewhere: that, and a text for people."""
        name = greeting.node or "this server"
        if greeting.role not in (None, "leader"):
            leader = f"names {greeting.leader}" if greeting.leader else "names no leader"
            return NotLeader(greeting.leader), f"{name} does not lead, and {leader}"
        if greeting.term is None:
            self._newest, self._lower_since = ("", 0), None
        else:
            epoch, term = self._newest
            if epoch == greeting.epoch and greeting.term < term and not self._is_lower_still(now):
                # It was cut off, and has not noticed yet that another one leads.
                text = f"{name} leads no more: it has term {greeting.term}, and there is a leader of term {term}"
                return NotLeader(None), text
            self._newest, self._lower_since = (greeting.epoch, greeting.term), None
        return None

    def _is_lower_still(self, now: float) -> bool:
        """A leader of a lower term was met. Whether no other one was for so long that it counts."""
        if self._lower_since is None:
            self._lower_since = now
        return now - self._lower_since >= _LOWER_TERM_PATIENCE

    def _go(self, target: str) -> None:
        if target in self._own:
            self._index, self._named = self._own.index(target), None
        else:
            self._named = target

    def _move_on(self) -> None:
        self._named = None
        if self._own:
            self._index = (self._index + 1) % len(self._own)
        self._asked, self._hops = set(), 0

    def _address_of(self, leader: Optional[str]) -> Optional[str]:
        """The way to a leader is encrypted as that to the others is, whatever a server says."""
        if leader is None or not self._own or not 1 <= len(leader) <= 256 or leader.startswith(("unix:", "tls://")):
            return None
        return ("tls://" if self._own[0].startswith("tls://") else "") + leader
