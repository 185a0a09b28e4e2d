"""A subscription for asyncio."""

import asyncio
from types import TracebackType
from typing import Callable, Mapping, Optional, Tuple, Type, TypeVar

from . import _calls
from ._async_requests import AsyncRequests
from ._changes import MOST_WAITING, ChangeQueue, Taken
from ._link import Link
from .errors import ClientClosed
from .values import Change, Changed, Connected, Disconnected, Ended, Event, Row, SubscriptionEnded

T = TypeVar("T")
Pair = Tuple[Optional[Change], Optional[str]]


class AsyncFollow(AsyncRequests):
    """The changes of one subscription, in order: `async for change in follow`. Made by `AsyncTelltale.follow`.

    It reconnects and resumes by itself; `Connected`, `Disconnected` and `Live` tell where it is. It ends with an
    exception when the server refuses it, as after a revoked token. Requests that are made with it go over its
    connection: a tap is then shown as wanted in its own rows at once. While its reader is busy, rows that it has not
    taken are replaced by newer ones.
    """

    def __init__(
        self,
        open_link: Callable[[Callable[[Event], None]], Link],
        eids: _calls.EventIDs,
        command: str,
        cursor: Optional[str],
        timeout: Optional[float],
    ) -> None:
        self._open_link = open_link
        self._eids = eids
        self._command = command
        self._timeout = timeout
        self._taken = Taken(cursor)
        self._queue = ChangeQueue()
        self._last_cursor = cursor
        self._link: Optional[Link] = None
        self._news: Optional["asyncio.Event"] = None
        self._is_over = False
        self._error: Optional[Exception] = None

    @property
    def cursor(self) -> Optional[str]:
        """The place to resume from after the change that was taken last, also in another process.

        `None` while there is none: until the first `Live`, and from `Reset` to `Live`.
        """
        return self._taken.cursor

    @property
    def rows(self) -> Mapping[str, Row]:
        """The newest row of each key, as far as the changes were taken."""
        return self._taken.rows

    async def __aenter__(self) -> "AsyncFollow":
        self.start()
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.close()

    def __aiter__(self) -> "AsyncFollow":
        return self

    async def __anext__(self) -> Change:
        while True:
            pair = await self._next_pair()
            if pair is None:
                raise StopAsyncIteration
            self._taken.take(*pair)
            if pair[0] is not None:
                return pair[0]

    def start(self) -> None:
        """Connects. The first `async for` does so too."""
        if self._link is None and not self._is_over:
            self._news = asyncio.Event()
            self._link = self._open_link(self._take)
            self._link.protocol.subscribe(self._command, self._taken.cursor)
            self._link.start()

    async def close(self) -> None:
        """Ends the iteration, behind the changes that came before."""
        if self._link is not None:
            await self._link.close()
        self._is_over = True

    async def _next_pair(self) -> Optional[Pair]:
        """The next change with its cursor; `None` at the end."""
        self.start()
        while True:
            pair = self._queue.take()
            if pair is not None:
                self._pace()
                return pair
            if self._is_over:
                if self._error is not None:
                    raise self._error
                return None
            assert self._news is not None
            self._news.clear()
            await self._news.wait()

    async def _call(self, call: "_calls.Call[T]") -> T:
        self.start()
        if self._link is None:
            raise ClientClosed("this subscription is closed")
        return await self._link.call(call, self._timeout)

    def _take(self, event: Event) -> None:
        if isinstance(event, Changed):
            self._last_cursor = event.cursor
            self._queue.put(event.change, event.cursor)
        elif isinstance(event, (Connected, Disconnected)):
            self._queue.put(event, self._last_cursor)
        elif isinstance(event, SubscriptionEnded):
            self._error = event.error
            assert self._link is not None
            self._link.protocol.leave()
        elif isinstance(event, Ended):
            self._error = self._error or event.error
            self._is_over = True
        assert self._news is not None
        self._news.set()
        self._pace()

    def _pace(self) -> None:
        if self._link is not None:
            self._link.throttle(len(self._queue) >= MOST_WAITING)
