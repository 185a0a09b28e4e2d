"""The client for asyncio."""

import os
import random
import ssl
from types import TracebackType
from typing import Any, Callable, Mapping, Optional, Set, Type, TypeVar, Union

from . import _calls
from ._async_requests import AsyncRequests
from ._follow import AsyncFollow
from ._link import Link
from ._provider import Act, AsyncProvider, Report
from ._servers import beginning_with
from .errors import ClientClosed
from .options import DEFAULT_URL, Backoff, Endpoint, Options, Token, from_environment, tls_context
from .values import Event

T = TypeVar("T")
#: The receive buffer of a follower's socket, in bytes. The server replaces rows that do not fit by newer ones.
FOLLOWER_BUFFER = 16384


class AsyncTelltale(AsyncRequests):
    """A client of a server, or of several of which one serves. It connects at the first request, and again whenever the
    connection is lost.

    `url` is `HOST:PORT`, `tls://HOST:PORT` or `unix:PATH`, or several with commas between, of which any may answer: the
    client begins at a random one. `ca` is a PEM file of the authorities that are trusted for `tls://`, by default the system's.
    `token` is a text, or a function that is called at each connection. `timeout` limits a request, reconnects
    included, in seconds; `None` waits for ever.
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
        self._endpoints = Endpoint.parse_list(url)
        self._options = Options(
            client=client,
            surface=surface,
            account=account,
            device=device,
            token=token,
            traits=dict(traits or {}),
            heartbeat=heartbeat,
            backoff=backoff or Backoff(),
            # Chosen once, so that requests and followers of one program begin at the same node.
            servers=beginning_with(tuple(map(str, self._endpoints)), random.random()),
        )
        self._context = (ssl_context or tls_context(ca)) if self._endpoints[0].uses_tls else None
        self._timeout = timeout
        self._eids = _calls.EventIDs()
        #: The connection of requests.
        self._link: Optional[Link] = None
        self._links: Set[Link] = set()
        self._is_closed = False

    @classmethod
    def from_environment(cls, **options: Any) -> "AsyncTelltale":
        """As the command line: `TELLTALE_CONNECT`, `TELLTALE_CA`, `TELLTALE_TOKEN_FILE`, `TELLTALE_TOKEN`."""
        url, ca, token = from_environment()
        return cls(options.pop("url", url), **{"ca": ca, "token": token, **options})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({','.join(map(str, self._endpoints))!r})"

    async def __aenter__(self) -> "AsyncTelltale":
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes this client, with its followers and providers. A call without a reply raises `ConnectionLost`."""
        self._is_closed = True
        for link in list(self._links):
            await link.close()

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
    ) -> "AsyncFollow":
        """Follows a pattern, on a connection of its own, until it is closed.

        `view` is a surface or `full`. `rate` is the most rows a second for each key, `placement` says where a control is
        drawn. `cursor` is the `cursor` of an earlier `AsyncFollow`, also of another process: the changes since then come.
        With `deliver="notice"` no rows come: one `Notice` for all that changed, and the next one for what changes after it
        was read by `list` or `get` of the follower itself.
        `receive_buffer` is that of the socket in bytes; `None` leaves the system's.
        """
        command, checked = _calls.subscribe(pattern, view, account, placement, rate, cursor, deliver)

        def open_link(take: Callable[[Event], None]) -> Link:
            return self._open(take, receive_buffer)

        return AsyncFollow(open_link, self._eids, command, checked, self._timeout)

    def provide(self, kind: str, act: Act, report: Report = None) -> AsyncProvider:
        """Acts for the controls of a kind: `async with client.provide("porch-light", act, report) as provider:`.

        `act` is given an `Action`, and returns the value that the device has then, or raises `ActionFailed`. `report`
        tells the keys and their values, at first and after each reconnect.
        """
        return AsyncProvider(self._open, kind, act, report)

    async def serve(self, kind: str, act: Act, report: Report = None) -> None:
        """As `provide`, until the task is cancelled or the server refuses."""
        async with self.provide(kind, act, report) as provider:
            await provider.wait()

    def _open(self, take: Callable[[Event], None], receive_buffer: Optional[int] = None) -> Link:
        if self._is_closed:
            raise ClientClosed("this client is closed")
        link = Link(self._endpoints, self._options, take, context=self._context, receive_buffer=receive_buffer)
        self._links.add(link)
        link.ended.add_done_callback(lambda _: self._links.discard(link))
        return link

    async def _call(self, call: "_calls.Call[T]") -> T:
        if self._link is None or self._link.ended.done():
            # After a refusal the next request tries anew: the token may have been replaced since.
            self._link = self._open(lambda event: None)
            self._link.start()
        return await self._link.call(call, self._timeout)
