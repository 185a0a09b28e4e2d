"""The client for programs without asyncio: the same one, on a loop in a thread of its own."""

import asyncio
import inspect
import os
import ssl
import threading
from concurrent.futures import CancelledError, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from types import TracebackType
from typing import Any, Callable, Coroutine, Iterator, Mapping, Optional, Type, TypeVar, Union

from . import _calls
from ._aio import FOLLOWER_BUFFER, AsyncTelltale
from ._changes import Taken
from ._follow import AsyncFollow, Pair
from ._provider import AsyncProvider, Outcome, Value
from ._sync_requests import Requests
from .errors import ClientClosed
from .options import DEFAULT_URL, Backoff, Token, from_environment
from .values import Action, Change, Decided, Row

T = TypeVar("T")
#: Performs an action, and may block. It returns the value that the device has then, or `None` if it cannot tell.
SyncAct = Callable[[Action], Outcome]
SyncReport = Union[Mapping[str, Value], Callable[[], Mapping[str, Value]], None]
#: Actions of one provider that run at once.
MOST_ACTIONS = 16


class _Loop:
    """An event loop in a thread, which ends with the process."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="telltale", daemon=True)
        self._thread.start()
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._is_over = False

    def run(self, work: "Coroutine[Any, Any, T]", timeout: Optional[float] = None) -> T:
        """Raises `concurrent.futures.TimeoutError` after `timeout` seconds; the work is cancelled then."""
        if self._process != os.getpid():
            work.close()
            raise ClientClosed("this client belongs to the process that made it; make another one after a fork")
        with self._lock:
            if self._is_over:
                work.close()
                raise ClientClosed("this client is closed")
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(timeout)
        except CancelledError:
            raise ClientClosed("this client is closed") from None
        except BaseException:
            future.cancel()
            raise

    def stop(self) -> None:
        if self._process != os.getpid():
            return
        with self._lock:
            # Behind this nothing comes to the loop that it would not end.
            was_over, self._is_over = self._is_over, True
        if not was_over:
            asyncio.run_coroutine_threadsafe(self._settle(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    async def _settle(self) -> None:
        """Other threads wait for what is under way: it ends before the loop does."""
        others = asyncio.all_tasks() - {asyncio.current_task()}
        if others:
            _, late = await asyncio.wait(others, timeout=1)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        # The threads are told of the end in the next turn.
        await asyncio.sleep(0)


class Telltale(Requests):
    """A client of a server, or of several of which one serves. It connects at the first request, and again whenever the
    connection is lost.

    `url` is `HOST:PORT`, `tls://HOST:PORT` or `unix:PATH`, or several with commas between, of which any may answer: the
    client begins at a random one. `ca` is a PEM file of the authorities that are trusted for `tls://`, by default the system's.
    `token` is a text, or a function that is called at each connection. `timeout` limits a request, reconnects
    included, in seconds; `None` waits for ever.

    It may be used by several threads at once, and not behind a fork. It runs in a thread of its own, which ends with
    `close`, or with the process.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        token: Token = None,
        ca: Union[str, "os.PathLike[str]", None] = None,
        client: str = "telltale-python",
        surface: Optional[str] = None,
        account: Optional[str] = None,
        device: Optional[str] = None,
        traits: Optional[Mapping[str, str]] = None,
        heartbeat: Optional[float] = None,
        timeout: Optional[float] = 10.0,
        backoff: Optional[Backoff] = None,
        ssl_context: Optional[ssl.SSLContext] = None,
    ) -> None:
        self._client = AsyncTelltale(
            url,
            token=token,
            ca=ca,
            client=client,
            surface=surface,
            account=account,
            device=device,
            traits=traits,
            heartbeat=heartbeat,
            timeout=timeout,
            backoff=backoff,
            ssl_context=ssl_context,
        )
        self._eids = _calls.EventIDs()
        self._loop = _Loop()

    @classmethod
    def from_environment(cls, **options: Any) -> "Telltale":
        """As the command line: `TELLTALE_CONNECT`, `TELLTALE_CA`, `TELLTALE_TOKEN_FILE`, `TELLTALE_TOKEN`."""
        url, ca, token = from_environment()
        return cls(options.pop("url", url), **{"ca": ca, "token": token, **options})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({','.join(map(str, self._client._endpoints))!r})"

    def __enter__(self) -> "Telltale":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes this client, with its followers and providers."""
        try:
            self._loop.run(self._client.close())
        except ClientClosed:
            return
        self._loop.stop()

    def follow(
        self,
        pattern: str = "*",
        *,
        view: Optional[str] = None,
        account: Optional[str] = None,
        placement: Optional[str] = None,
        rate: Optional[int] = None,
        cursor: Optional[str] = None,
        deliver: Optional[str] = None,
        receive_buffer: Optional[int] = FOLLOWER_BUFFER,
    ) -> "Follow":
        """Follows a pattern, on a connection of its own: `for change in client.follow("coffee-order/*")`.

        `view` is a surface or `full`. `rate` is the most rows a second for each key, `placement` says where a control is
        drawn. `cursor` is the `cursor` of an earlier `Follow`, also of another process: the changes since then come.
        With `deliver="notice"` no rows come: one `Notice` for all that changed, and the next one for what changes after it
        was read by `list` or `get` of the follower itself.
        `receive_buffer` is that of the socket in bytes; `None` leaves the system's.
        """
        follow = self._client.follow(
            pattern,
            view=view,
            account=account,
            placement=placement,
            rate=rate,
            cursor=cursor,
            deliver=deliver,
            receive_buffer=receive_buffer,
        )
        return Follow(follow, self._loop, self._eids)

    def provide(self, kind: str, act: SyncAct, report: SyncReport = None) -> "Provider":
        """Acts for the controls of a kind: `with client.provide("porch-light", act, report) as provider:`.

        `act` is given an `Action`, in a thread, and returns the value that the device has then, or raises
        `ActionFailed`. `report` tells the keys and their values, at first and after each reconnect.
        """
        return Provider(self._client, self._loop, kind, act, report)

    def serve(self, kind: str, act: SyncAct, report: SyncReport = None) -> None:
        """As `provide`, until the server refuses or the program is interrupted."""
        with self.provide(kind, act, report) as provider:
            provider.wait()

    def _call(self, call: "_calls.Call[T]") -> T:
        return self._loop.run(self._client._call(call))


class Follow(Requests):
    """The changes of one subscription, in order: `for change in follow`. See `AsyncFollow`."""

    def __init__(self, follow: AsyncFollow, loop: _Loop, eids: _calls.EventIDs) -> None:
        self._follow = follow
        self._loop = loop
        self._eids = eids
        self._taken = Taken(follow.cursor)

    @property
    def cursor(self) -> Optional[str]:
        """The place to resume from after the change that was taken last, also in another process."""
        return self._taken.cursor

    @property
    def rows(self) -> Mapping[str, Row]:
        """The newest row of each key, as far as the changes were taken."""
        return self._taken.rows

    def __enter__(self) -> "Follow":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[Change]:
        return self

    def __next__(self) -> Change:
        while True:
            pair = self._loop.run(self._follow._next_pair())
            if pair is None:
                raise StopIteration
            self._taken.take(*pair)
            if pair[0] is not None:
                return pair[0]

    def next(self, timeout: float) -> Optional[Change]:
        """The next change; `None` when none came within `timeout` seconds, or at the end."""
        while True:
            try:
                pair: Optional[Pair] = self._loop.run(asyncio.wait_for(self._follow._next_pair(), max(timeout, 0.001)))
            except (asyncio.TimeoutError, FutureTimeout):
                return None
            if pair is None:
                return None
            self._taken.take(*pair)
            if pair[0] is not None:
                return pair[0]

    def close(self) -> None:
        try:
            self._loop.run(self._follow.close())
        except ClientClosed:
            return

    def _call(self, call: "_calls.Call[T]") -> T:
        return self._loop.run(self._follow._call(call))


class Provider:
    """Acts for the controls of one kind until it is closed. See `AsyncProvider`.

    An action that blocks beyond its deadline is no longer waited for; its thread goes on.
    """

    def __init__(self, client: AsyncTelltale, loop: _Loop, kind: str, act: SyncAct, report: SyncReport) -> None:
        self._loop = loop
        self._threads = ThreadPoolExecutor(MOST_ACTIONS, thread_name_prefix="telltale-action")

        async def act_in_thread(action: Action) -> Outcome:
            value = await asyncio.get_running_loop().run_in_executor(self._threads, act, action)
            if inspect.isawaitable(value):
                raise TypeError("the function of a Provider is no coroutine; use AsyncTelltale")
            return value

        async def report_in_thread() -> Mapping[str, Value]:
            if callable(report):
                return await asyncio.get_running_loop().run_in_executor(self._threads, report)
            return report or {}

        self._provider: AsyncProvider = client.provide(kind, act_in_thread, report_in_thread)

    def __enter__(self) -> "Provider":
        self.start()
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def start(self, timeout: Optional[float] = None) -> None:
        """Returns once the server has accepted this provider. Raises `Refused`, or `Unreachable` after `timeout` seconds."""
        self._loop.run(self._provider.start(timeout))

    def report(self, key: str, value: Value = None, at: Optional[int] = None) -> Decided:
        """Tells that the real thing changed by itself, or exists. `at` is when it was seen, in Unix ms."""
        return self._loop.run(self._provider.report(key, value, at))

    def wait(self) -> None:
        """Returns when the provider is closed. Raises the reason if it ends otherwise."""
        self._loop.run(self._provider.wait())

    def close(self) -> None:
        try:
            self._loop.run(self._provider.close())
        except ClientClosed:
            pass
        self._threads.shutdown(wait=False)
