"""The protocol machine with a clock that the test holds."""

from typing import Any, List, Optional

from support import GREETING
from telltale.options import Options
from telltale.protocol import ClientProtocol
from telltale.values import Changed, Disconnected, Event


class Machine(ClientProtocol):
    """Connected and greeted, at the time 0."""

    def __init__(self, options: Optional[Options] = None, greeting: str = GREETING) -> None:
        super().__init__(options)
        self.start()
        self.greet(0, greeting)

    def greet(self, now: float, greeting: str = GREETING, hello: str = "conn=c1 hb=20000") -> List[bytes]:
        """The lines that the client says after `HELLO`."""
        self.connecting(now)
        self.connected(now)
        self.say(now, greeting)
        said = self.take_output(now)
        if said:
            number = said.split(b" ")[1].decode()
            self.say(now, f"OK {number} {hello}")
        return self.take_output(now).splitlines()

    def say(self, now: float, *lines: str) -> None:
        self.received("".join(line + "\n" for line in lines).encode(), now)

    def lose(self, now: float, random: float = 0.0) -> float:
        """The delay before the next attempt."""
        self.take_events()
        self.disconnected("cut", now, random)
        told = [event for event in self.take_events() if isinstance(event, Disconnected)]
        assert len(told) == 1 and told[0].retry_after is not None
        return told[0].retry_after

    def come_back(self) -> float:
        assert self.deadline is not None
        now = self.deadline
        self.deadline_reached(now)
        assert self.wants_connection
        return now

    def changes(self) -> List[Any]:
        return [event.change for event in self.take_events() if isinstance(event, Changed)]


def of_type(events: List[Event], kind: type) -> List[Any]:
    return [event for event in events if isinstance(event, kind)]
