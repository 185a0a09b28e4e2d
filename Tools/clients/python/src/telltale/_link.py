"""Performs one `ClientProtocol` with asyncio: one connection after the other, its timers, and the callers that wait."""

import asyncio
import logging
import os
import random
import socket
import ssl
from typing import Callable, Dict, Optional, Sequence, TypeVar

from ._calls import Call
from .errors import CertificateRefused, ClientClosed, InvalidRequest, TimedOut, Unreachable
from .options import Endpoint, Options
from .protocol import ClientProtocol
from .values import Connected, Disconnected, Ended, Event, Replied

T = TypeVar("T")
logger = logging.getLogger("telltale")
#: Callers whose requests may wait at once; further ones wait for their turn.
MOST_CALLERS = 4096


class _Connection(asyncio.Protocol):
    """One connection of a link. Callbacks of an abandoned connection are passed over."""

    def __init__(self, link: "Link") -> None:
        self._link = link

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._link.connected(self, transport)

    def data_received(self, data: bytes) -> None:
        self._link.received(self, data)

    def connection_lost(self, exc: Optional[Exception]) -> None:
        self._link.lost(self, exc)

    def pause_writing(self) -> None:
        self._link.writable(self, False)

    def resume_writing(self) -> None:
        self._link.writable(self, True)


class Link:
    """Belongs to one event loop. `take` is given each event that is no reply."""

    def __init__(
        self,
        endpoints: Sequence[Endpoint],
        options: Options,
        take: Callable[[Event], None],
        *,
        context: Optional[ssl.SSLContext] = None,
        receive_buffer: Optional[int] = None,
        dice: Callable[[], float] = random.random,
    ) -> None:
        self.protocol = ClientProtocol(options)
        self._first = endpoints[0]
        self.ended: "asyncio.Future[Optional[Exception]]" = asyncio.get_running_loop().create_future()
        self._loop = asyncio.get_running_loop()
        self._take = take
        self._context = context
        self._receive_buffer = receive_buffer
        self._dice = dice
        self._connection: Optional[_Connection] = None
        self._transport: Optional[asyncio.Transport] = None
        self._attempt: Optional["asyncio.Task[None]"] = None
        self._timer: Optional[asyncio.TimerHandle] = None
        self._callers: Dict[int, "asyncio.Future[Replied]"] = {}
        self._turns = asyncio.Semaphore(MOST_CALLERS)
        self._can_write = True
        self._throttled = False
        self._is_paused = False
        self._is_stepping = False
        self._last_reason = ""

    @property
    def endpoint(self) -> Endpoint:
        """That of this connection, or of the next one. Raises `InvalidRequest` for the leader that a server named."""
        address = self.protocol.address
        return self._first if address is None else Endpoint.parse(address)

    @property
    def place(self) -> str:
        return self.protocol.address or str(self._first)

    def start(self) -> None:
        self.protocol.start()
        self.step()

    async def call(self, call: "Call[T]", timeout: Optional[float]) -> T:
        """Sends a request, across reconnects, and waits for its reply.

        Raises `Refused`, `ConnectionLost`, `TimedOut`, `Unreachable` or `ClientClosed`.
        """
        if timeout is None:
            return await self._ask(call)
        try:
            return await asyncio.wait_for(self._ask(call), timeout)
        except asyncio.TimeoutError:
            sent, eid = call.request.was_sent, call.request.eid
            if not sent and not self.protocol.is_ready:
                reason = f": {self._last_reason}" if self._last_reason else ""
                raise Unreachable(f"no server answered at {self.place} within {timeout:g} s{reason}") from None
            raise TimedOut(f"{self.place} did not answer within {timeout:g} s", sent=sent, eid=eid) from None

    async def _ask(self, call: "Call[T]") -> T:
        async with self._turns:
            if self.ended.done():
                raise self.ended.result() or ClientClosed("this client is closed")
            number = self.protocol.request(call.request)
            waiter: "asyncio.Future[Replied]" = self._loop.create_future()
            self._callers[number] = waiter
            try:
                self.step()
                reply = await waiter
            finally:
                # It is not answered: it timed out, or its caller gave it up.
                if self._callers.pop(number, None) is not None:
                    self.protocol.withdraw(number)
        if reply.error is not None:
            raise reply.error
        return call.result(reply)

    def throttle(self, throttled: bool) -> None:
        """While throttled, the link reads only when a caller waits for a reply, and the server folds rows."""
        self._throttled = throttled
        self._pace()

    async def close(self) -> None:
        """Leaves, and returns when nothing of this link is under way."""
        self.protocol.leave()
        self.step()
        await self.ended

    def step(self) -> None:
        """Performs all that the protocol wants. To be called after each input."""
        if self._is_stepping:
            return
        self._is_stepping = True
        try:
            while self._act():
                pass
            if self.protocol.wants_connection and self._attempt is None:
                self.protocol.connecting(self._loop.time())
                self._attempt = self._loop.create_task(self._connect())
            self._pace()
            self._wind()
        finally:
            self._is_stepping = False

    def _act(self) -> bool:
        """Does one thing that the protocol wants. Returns whether to look again."""
        self._tell()
        protocol = self.protocol
        if protocol.wants_close and (self._transport is not None or self._attempt is not None):
            if self._transport is not None:
                self._transport.abort()
            elif self._attempt is not None:
                self._attempt.cancel()
            self._connection = self._transport = self._attempt = None
            self._disconnected(protocol.close_reason or "the connection was closed")
            return True
        if self._transport is not None and self._can_write:
            output = protocol.take_output(self._loop.time())
            if output:
                self._transport.write(output)
            # A request that the server would not take is answered by the protocol machine.
            return bool(output) or protocol.has_events
        return False

    # Of a connection.

    def connected(self, connection: _Connection, transport: asyncio.Transport) -> None:
        self._connection, self._transport = connection, transport
        self._can_write = True
        self._is_paused = False
        self.protocol.connected(self._loop.time())
        self.step()

    def received(self, connection: _Connection, data: bytes) -> None:
        if connection is self._connection:
            self.protocol.received(data, self._loop.time())
            self.step()

    def lost(self, connection: _Connection, error: Optional[Exception]) -> None:
        if connection is self._connection:
            self._connection = self._transport = None
            self._disconnected(str(error) if error else "the server closed the connection")
            self.step()

    def writable(self, connection: _Connection, can_write: bool) -> None:
        if connection is self._connection:
            self._can_write = can_write
            if can_write:
                self.step()

    # Internals.

    def _tell(self) -> None:
        for event in self.protocol.take_events():
            if isinstance(event, Replied):
                waiter = self._callers.pop(event.request, None)
                if waiter is not None and not waiter.done():
                    waiter.set_result(event)
                continue
            if isinstance(event, Disconnected):
                self._last_reason = event.reason
                logger.info("%s: disconnected: %s", self.place, event.reason)
            elif isinstance(event, Connected):
                logger.debug("%s: connected", self.place)
            elif isinstance(event, Ended):
                if self._timer is not None:
                    self._timer.cancel()
                if not self.ended.done():
                    self.ended.set_result(event.error)
            self._take(event)

    def _disconnected(self, reason: str) -> None:
        self.protocol.disconnected(reason, self._loop.time(), self._dice())

    def _pace(self) -> None:
        pauses = self._throttled and self.protocol.pending == 0 and self.protocol.is_ready
        if self._transport is None or pauses == self._is_paused:
            return
        self._is_paused = pauses
        if pauses:
            self.protocol.pause()
            self._transport.pause_reading()
        else:
            self.protocol.resume(self._loop.time())
            self._transport.resume_reading()

    def _wind(self) -> None:
        """Sets the timer, unless it rings early enough."""
        deadline = self.protocol.deadline
        if deadline is None or (self._timer is not None and self._timer.when() <= deadline):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(deadline, self._ring)

    def _ring(self) -> None:
        self._timer = None
        self.protocol.deadline_reached(self._loop.time())
        self.step()

    async def _connect(self) -> None:
        try:
            await self._open()
        except ssl.SSLCertVerificationError as error:
            self._attempt = None
            reason = f"the certificate of {self.place} is refused: {error.verify_message}"
            self.protocol.leave(CertificateRefused(reason))
            self._disconnected(reason)
        except (OSError, ssl.SSLError, InvalidRequest) as error:
            self._attempt = None
            self._disconnected(_reason(error))
        else:
            self._attempt = None
        self.step()

    async def _open(self) -> None:
        loop, endpoint = self._loop, self.endpoint
        if endpoint.path is not None:
            await loop.create_unix_connection(lambda: _Connection(self), endpoint.path)
            return
        infos = await loop.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
        failure: OSError = OSError(f"{endpoint.host} has no address")
        for family, kind, number, _, address in infos:
            connection = socket.socket(family, kind, number)
            try:
                connection.setblocking(False)
                if self._receive_buffer is not None:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._receive_buffer)
                await loop.sock_connect(connection, address)
            except OSError as error:
                connection.close()
                failure = error
                continue
            except BaseException:
                connection.close()
                raise
            name = endpoint.host if self._context is not None else None
            await loop.create_connection(lambda: _Connection(self), sock=connection, ssl=self._context, server_hostname=name)
            return
        raise failure


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError) and (error.errno or 0) > 0:
        return os.strerror(error.errno or 0)
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
