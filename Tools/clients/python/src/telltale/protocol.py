"""The client of the line protocol without a socket and without a clock: bytes and times go in, bytes and events come out.

`ClientProtocol` decides everything; `AsyncTelltale` and `Telltale` perform it. It is of use by itself for another event
loop, and for tests.
"""

from enum import Enum
from typing import Dict, List, Optional, Tuple

from . import _words
from ._lines import Line, LineDecoder
from ._opening import USUAL_HEARTBEAT, USUAL_MAX_LINE, farewell_wait, greeting
from ._requests import Repeat, Request
from ._servers import PAUSE, Redirection, ServerList, Step
from ._session import ComesBack, GoesElsewhere, Leaves, Session
from .errors import InvalidRequest, ProtocolViolation, TelltaleError, refusal
from .options import Options
from .values import Connected, Disconnected, Ended, Event, Greeting, Row

VERSION = "1"
#: For how long a connection must serve to begin the back-off anew, in seconds.
STEADY = 1.0


class _Phase(Enum):
    IDLE = "idle"
    WAITING = "waiting"
    CONNECTING = "connecting"
    DIALING = "dialing"
    GREETING = "greeting"
    INTRODUCING = "introducing"
    READY = "ready"
    OVER = "over"


class ClientProtocol:
    """The owner of the socket reports `connecting`, `connected`, `received`, `disconnected` and `deadline_reached`.

    After each of them, and after each request, it looks at `wants_connection`, `take_output`, `wants_close`,
    `take_events` and `deadline`. Times are seconds of one monotonic clock; random numbers are from 0 to 1. Requests that
    are made without a connection wait for it.
    """

    def __init__(self, options: Optional[Options] = None) -> None:
        self.options = options or Options()
        #: That of this connection, or of the one before.
        self.greeting: Optional[Greeting] = None
        #: The owner is to close the connection, and then to call `disconnected`.
        self.wants_close = False
        #: Why.
        self.close_reason: Optional[str] = None
        self._session = Session(dict(self.options.traits), self.options.keeps_rows)
        self._phase = _Phase.IDLE
        self._until = 0.0
        self._decoder = LineDecoder()
        self._failures = 0
        #: The range of the wait that the server's `BYE` asks for, in seconds.
        self._bye: Optional[Tuple[float, float]] = None
        self._servers = ServerList(self.options.servers)
        #: The server of this connection sends the client elsewhere.
        self._redirection: Optional[Redirection] = None
        #: The newest commit of the history that a server has shown to this client; 0 = none yet.
        self._newest = 0
        self._ready_since: Optional[float] = None
        #: The silence after which the server gives a sign of life.
        self._mark_after = USUAL_HEARTBEAT
        self._heard = 0.0
        self._said = 0.0
        self._paused = False
        self._leaves = False
        self._error: Optional[TelltaleError] = None

    # Inputs.
    def start(self) -> None:
        """From now on a connection is wanted."""
        if self._phase is _Phase.IDLE:
            self._phase = _Phase.CONNECTING

    def leave(self, error: Optional[TelltaleError] = None) -> None:
        """Ends: the connection is closed, and none is made again. `error` is why, for `Ended`."""
        self._leaves = True
        self._error = self._error or error
        if self._phase in (_Phase.IDLE, _Phase.WAITING, _Phase.CONNECTING):
            self._end()
        elif self._phase is not _Phase.OVER:
            self._give_up("the client has left" if error is None else str(error))

    def connecting(self, now: float) -> None:
        """An attempt to connect has begun. It is limited by `greeting_timeout`, and to less where there are other servers."""
        if self._phase is _Phase.CONNECTING:
            self._phase, self._until = _Phase.DIALING, now + self._servers.dial_span(self.options.greeting_timeout)
            self.close_reason = None

    def connected(self, now: float) -> None:
        if self._phase not in (_Phase.CONNECTING, _Phase.DIALING):
            return
        self._decoder = LineDecoder()
        self.wants_close = False
        self.close_reason = None
        self._bye = self._redirection = None
        self._paused = False
        self._heard = self._said = now
        self._phase, self._until = _Phase.GREETING, now + self.options.greeting_timeout

    def received(self, data: bytes, now: float) -> None:
        """Bytes of the server, in pieces of any size."""
        self._heard = now
        try:
            for line in self._decoder.feed(data):
                if self.wants_close or self._phase is _Phase.OVER:
                    return
                self._newest = max(self._newest, line.newest_commit)
                if self._phase is _Phase.GREETING and line.verb != "BYE":
                    self._greeted(line, now)
                elif line.verb == "BYE":
                    self._farewell(line)
                else:
                    answer = self._session.handle(line)
                    if answer is not None:
                        self._introduced(answer, now)
        except ProtocolViolation as error:
            if self._phase is _Phase.GREETING:
                self.leave(ProtocolViolation(f"this is no Telltale server: {error}"))
            else:
                self._give_up(str(error))
        except GoesElsewhere as error:
            self._redirection = error.redirection
            self._give_up(str(error))
        except ComesBack as error:
            self._give_up(str(error))
        except Leaves as error:
            self.leave(error.error)

    def disconnected(self, reason: str, now: float, random: float) -> None:
        """The connection could not be made, or is lost."""
        if self._phase in (_Phase.OVER, _Phase.IDLE):
            return
        self.wants_close = False
        reason = self.close_reason or reason
        self._session.lost(reason)
        if self._leaves:
            return self._end()
        if self._ready_since is not None and now - self._ready_since >= STEADY:
            self._failures = 0
            self._servers.stayed()
        wait = self._next_wait(random)
        self._ready_since = None
        self._phase, self._until = _Phase.WAITING if wait > 0 else _Phase.CONNECTING, now + wait
        self._session.events.append(Disconnected(reason, wait))

    def _next_wait(self, random: float) -> float:
        """Chooses the next server, and returns the delay before the attempt."""
        (said, self._redirection), (bye, self._bye) = (self._redirection, None), (self._bye, None)
        step = self._servers.failed() if said is None else self._servers.redirected(said.address, bye is not None)
        backoff, failures = self.options.backoff, self._failures
        self._failures += step is not Step.AT_ONCE
        if bye is None and step is Step.BACK_OFF:
            return backoff.wait(failures, random)
        if bye is None and step is Step.AT_ONCE:
            return 0.0
        shortest, longest = bye or (min(PAUSE[0], backoff.longest), min(PAUSE[1], backoff.longest))
        return shortest + (longest - shortest) * random

    def pause(self) -> None:
        """The owner reads no more for now, so that silence means nothing."""
        self._paused = True

    def resume(self, now: float) -> None:
        self._paused = False
        self._heard = now

    def deadline_reached(self, now: float) -> None:
        """Called at or after `deadline`."""
        deadline = self.deadline
        if deadline is None or now < deadline:
            return
        if self._phase is _Phase.WAITING:
            self._phase = _Phase.CONNECTING
        elif self._phase is _Phase.DIALING:
            self._give_up(f"the connection took longer than {self._servers.dial_span(self.options.greeting_timeout):g} s")
        elif self._phase is _Phase.GREETING:
            self._give_up("no greeting came; is this a Telltale server?")
        elif self._phase is _Phase.INTRODUCING:
            self._give_up("HELLO was not answered")
        elif not self._paused and now >= self._silence:
            self._give_up("the server fell silent")
        else:
            self._said = now
            self._session.say(Request("PING", "", Repeat.OWN))

    # Outputs.

    @property
    def deadline(self) -> Optional[float]:
        """When `deadline_reached` is to be called next."""
        if self.wants_close:
            return None
        if self._phase in (_Phase.WAITING, _Phase.DIALING, _Phase.GREETING, _Phase.INTRODUCING):
            return self._until
        if self._phase is not _Phase.READY:
            return None
        heartbeat = self.options.heartbeat
        if heartbeat is None:
            return None if self._paused else self._silence
        return self._said + heartbeat if self._paused else min(self._silence, self._said + heartbeat)

    @property
    def address(self) -> Optional[str]:
        """The one of `Options.servers`, or the leader that one of those named; `None` without any."""
        return self._servers.address

    @property
    def wants_connection(self) -> bool:
        return self._phase is _Phase.CONNECTING

    @property
    def is_ready(self) -> bool:
        return self._phase is _Phase.READY

    @property
    def is_over(self) -> bool:
        return self._phase is _Phase.OVER

    @property
    def pending(self) -> int:
        """The number of requests without a reply."""
        return self._session.queue.pending

    @property
    def has_events(self) -> bool:
        return bool(self._session.events)

    def take_events(self) -> List[Event]:
        events, self._session.events = self._session.events, []
        return events

    def take_output(self, now: float, limit: int = 65536) -> bytes:
        """The bytes to send now: about `limit`, exceeded by one line at most."""
        if self.wants_close:
            return b""
        max_line = self.greeting.max_line if self.greeting is not None else USUAL_MAX_LINE
        output = self._session.take_output(limit, self.options.window, max_line)
        if output:
            self._said = now
        return output

    # Requests.

    def request(self, request: Request) -> int:
        """Queues a request. Its answer is an event `Replied` with the returned number."""
        number = self._session.request(request)
        if self._phase is _Phase.OVER:
            self._session.end(self._error)
        return number

    def withdraw(self, number: int) -> Tuple[bool, Optional[str]]:
        """Forgets a request: no event about it follows. Returns whether it was sent, and its event id."""
        return self._session.queue.withdraw(number)

    def subscribe(self, command: str, cursor: Optional[str] = None) -> int:
        """Follows across all reconnects. `command` is `SUB` behind its verb, without `from=`."""
        return self._session.subscribe(command, cursor)

    def unsubscribe(self, number: int) -> None:
        self._session.unsubscribe(number)

    def rows(self, number: int) -> Dict[str, Row]:
        """The newest row of each key of a subscription."""
        return self._session.subscriptions[number].rows

    # A connection begins, and ends.
    def _greeted(self, line: Line, now: float) -> None:
        if line.verb == "#":
            return
        if line.verb == "ERR":
            # There is no room for this connection.
            return self._refuse(line)
        version = line.words[0] if line.words else None
        if line.verb != "TELLTALE" or version is None:
            raise ProtocolViolation("it does not greet")
        if version != VERSION:
            return self.leave(ProtocolViolation(f"the server speaks version {version} of the protocol, this client {VERSION}"))
        self.greeting = greeting(line)
        if self.greeting.epoch != self._session.epoch:
            self._session.epoch, self._newest = self.greeting.epoch, 0
        elsewhere = self._servers.elsewhere(self.greeting, now)
        if elsewhere is not None:
            self._redirection, reason = elsewhere
            return self._give_up(reason)
        try:
            hello = self._hello(self.greeting)
        except InvalidRequest as error:
            return self.leave(error)
        except Exception as error:  # Of the app's function it may be any: the next connection asks again.
            return self._give_up(f"the token could not be read ({type(error).__name__})")
        self._session.say(Request("HELLO", hello, Repeat.OWN))
        self._phase, self._until = _Phase.INTRODUCING, now + self.options.greeting_timeout

    def _hello(self, greeting: Greeting) -> str:
        options = self.options
        words = [f"client={options.client}"]
        for name in ("surface", "account", "device"):
            value = getattr(options, name)
            if value is not None:
                words.append(f"{name}={value}")
        if options.heartbeat is not None:
            words.append(f"hb={round(options.heartbeat * 1000)}")
        # Nodes of a cluster may lag behind each other.
        if greeting.node is not None and self._newest > 0:
            words.append(f"after={greeting.epoch}:{self._newest}")
        # A server that asks for no proof is told no secret.
        token = options.current_token() if greeting.auth != "none" else None
        return " ".join(words) + (_words.hello_token(token) if token is not None else "")

    def _introduced(self, line: Line, now: float) -> None:
        if line.verb != "OK":
            return self._refuse(line)
        assert self.greeting is not None
        self._ready_since = now
        self._servers.served()
        granted = line.number("hb")
        self._mark_after = granted / 1000 if granted else self.greeting.heartbeat
        self._phase = _Phase.READY
        self._session.events.append(Connected(self.greeting))
        self._session.begin()

    def _refuse(self, line: Line) -> None:
        """The server has no place for this client now, or for good."""
        error = refusal(line.attributes, line.tail)
        if error.retry == "later":
            self._give_up(str(error))
        else:
            self.leave(error)

    def _farewell(self, line: Line) -> None:
        """The server closes the connection after this line."""
        code = line.attributes.get("code", "")
        self._bye = farewell_wait(line.attributes.get("wait"))
        self._redirection = Redirection.of(line)
        self._give_up(f"the server said BYE: {code}")

    @property
    def _silence(self) -> float:
        """When silence means that the connection is lost."""
        return self._heard + 3 * self._mark_after

    def _give_up(self, reason: str) -> None:
        self.close_reason = reason
        self.wants_close = True

    def _end(self) -> None:
        self._phase = _Phase.OVER
        self._session.end(self._error)
        self._session.events.append(Ended(self._error))
