"""A provider: performs the operations of the controls of one kind."""

import asyncio
import inspect
import logging
import time
from collections import OrderedDict
from types import TracebackType
from typing import Awaitable, Callable, Dict, Mapping, Optional, Set, Type, Union

from . import _calls
from ._link import Link
from .errors import ConnectionLost, Refused, TelltaleError
from .values import Action, Asked, Connected, Decided, Ended, Event, ServiceEnded

Value = Union[bool, str, None]
#: What becomes of an action: the value that the device has then, `None` if that is not known, or a widget's timeline.
Outcome = Union[bool, str, None, Dict[str, object]]
#: Performs an action, or gives the timeline that a widget asks for.
Act = Callable[[Action], Union[Outcome, Awaitable[Outcome]]]
#: Tells the controls that there are, and the value of each: `None` for a button. A toggle of unknown value is left out.
Report = Union[Mapping[str, Value], Callable[[], Union[Mapping[str, Value], Awaitable[Mapping[str, Value]]]], None]

logger = logging.getLogger("telltale")
#: Operations whose answer is remembered, so that one that comes again is not performed again.
REMEMBERED = 256


class ActionFailed(Exception):
    """Raised by the function of a provider: the operation failed. `code` is for programs, `message` for people."""

    def __init__(self, code: str = "failed", message: Optional[str] = None) -> None:
        super().__init__(message or code)
        self.code = code
        self.message = message


Answer = Union["_calls.Call[Decided]", None]


def _answer(action: Action, outcome: Outcome) -> "_calls.Call[Decided]":
    if action.reason is None:
        if isinstance(outcome, dict):
            raise TypeError("a control is answered with its value, not with a timeline")
        return _calls.done(action.op, outcome)
    if not isinstance(outcome, dict):
        raise TypeError("a widget is answered with a timeline: a dict with entries")
    return _calls.supply(action.op, outcome)


class AsyncProvider:
    """Acts for the controls of one kind, across reconnects, until it is closed. Made by `AsyncTelltale.provide`.

    - An action runs until its deadline, and is cancelled then.
    - Actions of one control run one after the other; those of different controls run at once.
    - An operation that is asked for again is answered again, and not performed again.
    """

    def __init__(self, open_link: Callable[[Callable[[Event], None]], Link], kind: str, act: Act, report: Report) -> None:
        self._open_link = open_link
        self._kind = kind
        self._act = act
        self._report = report
        self._link: Optional[Link] = None
        self._tasks: Dict[str, "asyncio.Task[None]"] = {}
        self._reporting: Optional["asyncio.Task[None]"] = None
        self._answers: "OrderedDict[str, Answer]" = OrderedDict()
        self._repeats: Set["asyncio.Task[None]"] = set()
        self._connections = 0
        self._epoch = ""
        self._offset = 0.0
        self._error: Optional[Exception] = None
        _calls.serve(kind)

    async def __aenter__(self) -> "AsyncProvider":
        await self.start()
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.close()

    async def start(self, timeout: Optional[float] = None) -> None:
        """Returns once the server has accepted this provider.

        Raises `Refused` if it does not, `Unreachable` after `timeout` seconds; without one it tries for ever.
        """
        self._link = self._open_link(self._take)
        self._link.start()
        try:
            await self._link.call(_calls.serve(self._kind), timeout)
            try:
                await self._tell_all()
            except ConnectionLost:
                # The next connection tells all.
                pass
        except BaseException:
            await self.close()
            raise

    async def report(self, key: str, value: Value = None, at: Optional[int] = None) -> Decided:
        """Tells that the real thing changed by itself, or exists. `at` is when it was seen, in Unix ms."""
        assert self._link is not None, "start the provider first"
        return await self._link.call(_calls.report(key, value, at), None)

    async def wait(self) -> None:
        """Returns when the provider is closed. Raises the reason if it ends otherwise, such as a revoked token."""
        assert self._link is not None, "start the provider first"
        error = await asyncio.shield(self._link.ended)
        error = self._error or error
        if error is not None:
            raise error

    async def close(self) -> None:
        """Leaves. Actions under way are cancelled; the server hands them to another provider, or ends them."""
        running = [task for task in (*self._tasks.values(), *self._repeats, self._reporting) if task is not None]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        if self._link is not None:
            await self._link.close()

    # Internals.

    def _take(self, event: Event) -> None:
        if isinstance(event, Connected):
            greeting = event.greeting
            # Deadlines are in real time: the server's, unless its clock runs faster than that.
            is_real = greeting.now is not None and greeting.speed == 1
            self._offset = (greeting.now or 0) / 1000 - time.monotonic() if is_real else time.time() - time.monotonic()
            if greeting.epoch != self._epoch:
                self._forget(greeting.epoch)
            self._connections += 1
            if self._reporting is not None:
                self._reporting.cancel()
            if self._connections > 1:
                self._reporting = asyncio.ensure_future(self._tell_all_again())
        elif isinstance(event, Asked):
            self._asked(event.action)
        elif isinstance(event, ServiceEnded):
            self._error = event.error
            assert self._link is not None
            self._link.protocol.leave()
        elif isinstance(event, Ended):
            for task in list(self._tasks.values()):
                task.cancel()

    def _forget(self, epoch: str) -> None:
        """Another history begins: its operations may have the names of those of the last one, and are others."""
        self._epoch = epoch
        self._answers.clear()
        for task in self._tasks.values():
            task.cancel()

    def _asked(self, action: Action) -> None:
        if action.op in self._answers:
            answer = self._answers[action.op]
            if answer is not None:
                repeat = asyncio.ensure_future(self._say(_repeated(answer)))
                self._repeats.add(repeat)
                repeat.add_done_callback(self._repeats.discard)
            return
        self._answers[action.op] = None
        while len(self._answers) > REMEMBERED:
            self._answers.popitem(last=False)
        before = self._tasks.get(action.key)
        if before is not None:
            # The server asks for the next operation of a control once the one before has ended there.
            before.cancel()
        task = asyncio.ensure_future(self._perform(action, before))
        self._tasks[action.key] = task
        task.add_done_callback(lambda ended: self._performed(action.key, ended))

    def _performed(self, key: str, task: "asyncio.Task[None]") -> None:
        if self._tasks.get(key) is task:
            del self._tasks[key]

    async def _perform(self, action: Action, before: Optional["asyncio.Task[None]"]) -> None:
        if before is not None:
            await asyncio.wait([before])
        left = None
        if action.deadline is not None:
            left = action.deadline / 1000 - self._offset - time.monotonic()
            if left <= 0:
                return
        begin = time.monotonic()
        try:
            value = self._act(action)
            if inspect.isawaitable(value):
                value = await asyncio.wait_for(value, left)
            answer = _answer(action, value)
        except asyncio.TimeoutError as error:
            # A device may have a patience of its own, whose end is the same error.
            if left is not None and time.monotonic() - begin >= left:
                logger.warning("%s: %s was not done by its deadline", action.key, action.op)
                return
            logger.exception("%s: the function of this provider raised", action.key)
            answer = _calls.fail(action.op, "error", type(error).__name__)
        except ActionFailed as failure:
            answer = _calls.fail(action.op, failure.code, failure.message)
        except Exception as error:
            logger.exception("%s: the function of this provider raised", action.key)
            answer = _calls.fail(action.op, "error", type(error).__name__)
        if action.op in self._answers:
            self._answers[action.op] = answer
        await self._say(answer)

    async def _say(self, answer: "_calls.Call[Decided]") -> None:
        assert self._link is not None
        try:
            await self._link.call(answer, None)
        except TelltaleError as error:
            logger.info("an answer was lost, the server asks again: %s", error)

    async def _tell_all(self) -> None:
        """Reports each control and the value that the real device has now."""
        values = self._report() if callable(self._report) else self._report
        if inspect.isawaitable(values):
            values = await values
        for key, value in (values or {}).items():
            await self.report(key, value)

    async def _tell_all_again(self) -> None:
        try:
            await self._tell_all()
        except Refused as error:
            logger.error("a report was refused: %s", error)
        except TelltaleError as error:
            logger.info("a report was lost, it follows the next connection: %s", error)


def _repeated(answer: "_calls.Call[Decided]") -> "_calls.Call[Decided]":
    old = answer.request
    request = type(old)(old.verb, old.rest, old.repeat)
    return _calls.Call(request, answer.result)
