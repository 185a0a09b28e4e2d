"""The state between a client and its server that outlives a connection: requests, subscriptions, services."""

from typing import Dict, List, Optional

from ._lines import Line
from ._requests import Repeat, Request, RequestQueue
from ._servers import Redirection
from ._subscription import Subscription
from .errors import ConnectionLost, InvalidRequest, ProtocolViolation, Refused, TelltaleError, refusal
from .values import Action, Asked, Changed, Event, Replied, ServiceEnded, SubscriptionEnded

_PUSHES = ("SNAP", "UPD", "DEL", "MILE", "ALERT", "LIVE", "RESET", "CHANGED", "MARK")


class ComesBack(Exception):
    """The connection is to be given up, and made again after a pause."""


class GoesElsewhere(Exception):
    """The server does not lead its cluster: another one is asked, at once if the address of the leader is known."""

    def __init__(self, error: Refused, redirection: Redirection) -> None:
        super().__init__(str(error))
        self.redirection = redirection


class Leaves(Exception):
    """The server refused this client for good."""

    def __init__(self, error: TelltaleError) -> None:
        super().__init__(str(error))
        self.error = error


class Session:
    def __init__(self, traits: Dict[str, str], keeps_rows: bool) -> None:
        self.events: List[Event] = []
        self.output: List[bytes] = []
        self.subscriptions: Dict[int, Subscription] = {}
        self.queue = RequestQueue()
        self.is_ready = False
        self.epoch = ""
        self._traits = traits
        self._keeps_rows = keeps_rows
        self._by_server: Dict[int, int] = {}
        self._served: List[str] = []
        self._numbers = 0

    # Of the owner.

    def request(self, request: Request) -> int:
        self._numbers += 1
        request.number = self._numbers
        self.queue.unsent.append(request)
        return request.number

    def subscribe(self, command: str, cursor: Optional[str]) -> int:
        self._numbers += 1
        number = self._numbers
        self.subscriptions[number] = Subscription(command, cursor, self._keeps_rows)
        if self.is_ready:
            self._say_subscribe(number)
        return number

    def unsubscribe(self, number: int) -> None:
        subscription = self.subscriptions[number]
        if not subscription.is_wanted:
            return
        subscription.is_wanted = False
        subscription.rows = {}
        # Without a number `SUB` is not answered yet; `UNSUB` follows its answer.
        if subscription.number is not None:
            self._say_unsubscribe(subscription.number)

    def say(self, request: Request) -> None:
        """Sends a request of the connection itself, ahead of the waiting ones."""
        self._numbers += 1
        request.number = self._numbers
        self.output.append(request.line)
        self.queue.unanswered.append(request)

    def take_output(self, limit: int, window: int, max_line: int) -> bytes:
        pieces, self.output = self.output, []
        size = sum(map(len, pieces))
        queue = self.queue
        while self.is_ready and size < limit and queue.unsent and len(queue.unanswered) < window:
            request = queue.unsent.popleft()
            line = request.line
            if len(line) - 1 > max_line:
                # The server would close the connection for it, again and again.
                text = f"the request is a line of {len(line) - 1} bytes, and this server takes {max_line}"
                self.events.append(Replied(request.number, {}, None, error=InvalidRequest(text)))
                continue
            request.was_sent = True
            queue.unanswered.append(request)
            pieces.append(line)
            size += len(line)
        return b"".join(pieces)

    # Of the connection.

    def begin(self) -> None:
        """`HELLO` was answered: says the traits, the services and the subscriptions."""
        self.is_ready = True
        if self._traits:
            self.say(Request("TRAIT", " ".join(f"{name}={value}" for name, value in self._traits.items()), Repeat.OWN))
        for kind in self._served:
            self.say(Request("SERVE", kind, Repeat.OWN, serves=kind))
        for number, subscription in self.subscriptions.items():
            if subscription.is_wanted:
                self._say_subscribe(number)

    def lost(self, reason: str) -> None:
        """The connection is lost."""
        self.is_ready = False
        self.output = []
        self._by_server = {}
        for request in self.queue.settle():
            self.events.append(Replied(request.number, {}, None, error=_lost(reason)))
        for subscription in self.subscriptions.values():
            subscription.connection_lost()

    def end(self, error: Optional[TelltaleError]) -> None:
        """No connection follows."""
        for request in self.queue.unsent:
            self.events.append(Replied(request.number, {}, None, error=error or _lost("the client has left")))
        self.queue.unsent.clear()

    def handle(self, line: Line) -> Optional[Line]:
        """Processes a line behind the greeting; returns the answer to `HELLO`. Unknown verbs mean nothing.

        Raises `ProtocolViolation`, `ComesBack` or `Leaves`.
        """
        if line.verb in ("OK", "ERR", "PONG"):
            return self._reply(line)
        if line.verb in ("KIND", "WIDGET", "HIST") or (line.verb == "SNAP" and line.number("sub") == 0):
            if not self.queue.unanswered:
                raise ProtocolViolation(f"the server sent a {line.verb} that answers nothing")
            if not self.queue.unanswered[0].is_withdrawn:
                self.queue.unanswered[0].items.append(line)
        elif line.verb in _PUSHES:
            self._push(line)
        elif line.verb == "DO":
            self.events.append(Asked(_action(line)))
        return None

    def _reply(self, line: Line) -> Optional[Line]:
        if line.verb == "ERR" and "id" not in line.attributes:
            # An error of the connection itself: each request of this client has an id.
            raise ComesBack(str(refusal(line.attributes, line.tail)))
        if not self.queue.unanswered:
            raise ProtocolViolation(f"the server sent an {line.verb} that answers nothing")
        request = self.queue.unanswered[0]
        if line.attributes.get("id") != str(request.number):
            raise ProtocolViolation(f"the server answered id={line.attributes.get('id')} where id={request.number} was due")
        redirection = Redirection.of(line)
        if redirection is not None:
            refused = refusal(line.attributes, line.tail)
            if request.repeat is Repeat.ONCE:
                self.queue.unanswered.popleft()
                self.events.append(Replied(request.number, dict(line.attributes), line.tail, error=refused))
            # Every other request stays unanswered, and is said again where the leader is.
            raise GoesElsewhere(refused, redirection)
        self.queue.unanswered.popleft()
        if request.verb == "HELLO" and request.repeat is Repeat.OWN:
            return line
        error = refusal(line.attributes, line.tail) if line.verb == "ERR" else None
        if request.subscription is not None:
            self._subscribed(request, line, error)
        elif request.repeat is Repeat.OWN:
            self._own_answered(request, error)
        elif request.is_withdrawn:
            pass
        elif error is not None and error.code == "shutting_down" and request.repeat is Repeat.SAFE:
            request.items = []
            self.queue.postponed.append(request)
        else:
            if error is not None:
                error.eid = request.eid
            else:
                self._remember(request)
            items = tuple(request.items)
            self.events.append(Replied(request.number, dict(line.attributes), line.tail, items, error))
        return None

    def _own_answered(self, request: Request, error: Optional[Refused]) -> None:
        if error is None:
            return
        if error.retry == "later":
            raise ComesBack(str(error))
        if request.serves is not None:
            self._served.remove(request.serves)
            self.events.append(ServiceEnded(request.serves, error))
        elif request.verb == "TRAIT":
            raise Leaves(error)

    def _remember(self, request: Request) -> None:
        if request.serves is not None and request.serves not in self._served:
            self._served.append(request.serves)
        if request.traits is not None:
            self._traits.update(request.traits)

    # Subscriptions.

    def _say_subscribe(self, number: int) -> None:
        subscription = self.subscriptions[number]
        cursor = f" from={subscription.cursor}" if subscription.cursor else ""
        resumes = subscription.cursor is not None
        self.say(Request("SUB", subscription.command + cursor, Repeat.OWN, subscription=number, resumes=resumes))

    def _say_unsubscribe(self, server_number: int) -> None:
        self._by_server.pop(server_number, None)
        self.say(Request("UNSUB", f"sub={server_number}", Repeat.OWN))

    def _subscribed(self, request: Request, line: Line, error: Optional[Refused]) -> None:
        assert request.subscription is not None
        subscription = self.subscriptions[request.subscription]
        if error is not None:
            if request.resumes and error.code == "bad_cursor":
                # The cursor may be of another kind of server: a new snapshot is asked for.
                subscription.cursor = None
                return self._say_subscribe(request.subscription)
            if error.retry == "later":
                raise ComesBack(str(error))
            subscription.is_wanted = False
            self.events.append(SubscriptionEnded(request.subscription, error))
            return
        number = line.number("sub")
        if number is None:
            raise ProtocolViolation("the server answered SUB without sub=")
        if not subscription.is_wanted:
            return self._say_unsubscribe(number)
        self._by_server[number] = request.subscription
        subscription.started(number, request.resumes)

    def _push(self, line: Line) -> None:
        server_number = line.number("sub")
        number = self._by_server.get(server_number) if server_number is not None else None
        # Rows of a subscription that has ended may still arrive.
        if number is None or not self.subscriptions[number].is_wanted:
            return
        subscription = self.subscriptions[number]
        before = subscription.cursor
        changes = subscription.take(line, self.epoch)
        for change in changes[:-1]:
            self.events.append(Changed(number, change, before))
        if changes or subscription.cursor != before:
            self.events.append(Changed(number, changes[-1] if changes else None, subscription.cursor))


def _lost(reason: str) -> ConnectionLost:
    return ConnectionLost(f"the connection was lost before the answer: {reason}")


def _action(line: Line) -> Action:
    op, key, value = line.attributes.get("op"), line.attributes.get("key"), line.attributes.get("value")
    if op is None or key is None:
        raise ProtocolViolation("the server sent a DO without op= or key=")
    wanted = value == "on" if line.attributes.get("action") == "set" else None
    reason = line.attributes.get("reason", "") if line.attributes.get("action") == "timeline" else None
    return Action(op, key, wanted, line.number("deadline"), reason, line.number("term"))
