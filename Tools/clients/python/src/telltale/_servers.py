"""Which of its servers a client connects to next. The tests execute the tables `servers` and `staying` of Protocols/Clients."""

from dataclasses import dataclass
from enum import Enum
from typing import Optional, Sequence, Set, Tuple

from ._lines import Line
from .values import Greeting

#: The pause before an attempt at the next address, in seconds.
PAUSE = (0.1, 2.0)
MOST_SERVERS = 16
#: How long the first attempt to connect may take where there are other servers, in seconds. TCP repeats a lost
#: first packet after 1 s.
_FIRST_DIAL = 2.0
_MOST_DOUBLINGS = 16
#: Servers that are gone to by the word of another one, without a pause in between.
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
class Redirection:
    """A server's word that another node of the cluster serves this client."""

    #: As the server named it; `None` = the next server that the client knows.
    address: Optional[str]

    @classmethod
    def of(cls, line: Line) -> "Optional[Redirection]":
        """Where an `ERR code=not_leader` or a `BYE` sends the client; `None` where it does not."""
        code = line.attributes.get("code")
        if line.verb == "ERR" and code == "not_leader":
            leader = (line.tail or {}).get("leader")
            return cls(leader if isinstance(leader, str) else None)
        address = line.attributes.get("to") or line.attributes.get("leader")
        if line.verb == "BYE" and (address is not None or code in ("not_leader", "behind")):
            return cls(address)
        return None


def beginning_with(addresses: Sequence[str], random: float) -> Tuple[str, ...]:
    """The same circle of addresses from a random one of them, so that the clients of a list spread over it.

    `random` is from 0 to 1.
    """
    first = min(int(random * len(addresses)), len(addresses) - 1)
    return (*addresses[first:], *addresses[:first])


class ServerList:
    """A client begins with the first address, which `beginning_with` chooses, and stays with a server that serves it.

    A server may name another one, and the client goes there at once, whether it knows that address or not. Where none is named,
    where they name each other, and where a server does not answer, the next of the list is tried.
    """

    def __init__(self, addresses: Sequence[str]) -> None:
        self._own = list(addresses)
        self._index = 0
        #: A server that another one named, and that is not in the list.
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
        self._attempts = 0

    def stayed(self) -> None:
        """The server has served for a while, so that it counts as no part of a circle."""
        self._asked, self._hops = set(), 0

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

    def redirected(self, target: Optional[str], is_delayed: bool = False) -> Step:
        """The server sends the client elsewhere. `target` is as it names it.

        With `is_delayed` it asked for a wait first, in which servers may change their roles: those that were tried before are
        tried again.
        """
        if is_delayed:
            self._asked = set()
        elif self.address is not None:
            self._asked.add(self.address)
        address = self._address_of(target)
        if address is not None and address not in self._asked and self._hops < _MOST_HOPS:
            self._hops += 1
            self._go(address)
            return Step.AT_ONCE
        self._attempts += 1
        self._move_on()
        return Step.PAUSE

    def elsewhere(self, greeting: Greeting, now: float) -> Optional[Tuple[Redirection, str]]:
        """Where the greeting says that this client is not served here: where it is, and a text for people."""
        name = greeting.node or "this server"
        if greeting.to is not None:
            return Redirection(greeting.to), f"{name} sends its clients to other nodes, and names {greeting.to}"
        if greeting.role not in (None, "leader"):
            if greeting.serves:
                return None
            leader = f"names {greeting.leader}" if greeting.leader else "names no leader"
            return Redirection(greeting.leader), f"{name} does not lead, and {leader}"
        if greeting.term is None:
            self._newest, self._lower_since = ("", 0), None
        else:
            epoch, term = self._newest
            if epoch == greeting.epoch and greeting.term < term and not self._is_lower_still(now):
                # It was cut off, and has not noticed yet that another one leads.
                text = f"{name} leads no more: it has term {greeting.term}, and there is a leader of term {term}"
                return Redirection(None), text
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

    def _address_of(self, name: Optional[str]) -> Optional[str]:
        """The way to a named server is encrypted as that to the others is, whatever a server says."""
        if name is None or not self._own or not 1 <= len(name) <= 256 or name.startswith(("unix:", "tls://")):
            return None
        return ("tls://" if self._own[0].startswith("tls://") else "") + name
