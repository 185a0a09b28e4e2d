"""Where a server is, and how a client behaves towards it."""

import os
import ssl
from dataclasses import dataclass, field
from typing import Callable, List, Mapping, Optional, Tuple, Union

from . import _words
from ._servers import MOST_SERVERS
from .errors import InvalidRequest

DEFAULT_URL = "127.0.0.1:7878"
Token = Union[str, Callable[[], Optional[str]], None]


@dataclass(frozen=True)
class Backoff:
    """The delay before the next attempt to connect, in seconds. `longest` bounds the pause before the next of several servers.

    It is a random point between half and all of `shortest` × 2^failures, at most `longest`, so that many clients do not
    come back at once.
    """

    shortest: float = 0.1
    longest: float = 10.0

    def wait(self, failures: int, random: float) -> float:
        """`random` is from 0 to 1."""
        whole = min(self.longest, self.shortest * 2.0 ** min(max(failures, 0), 63))
        return whole / 2 + whole / 2 * random


@dataclass(frozen=True)
class Endpoint:
    """An address: `HOST:PORT`, `tcp://HOST:PORT`, `tls://HOST:PORT` or `unix:PATH`. IPv6 hosts stand in brackets."""

    host: str = ""
    port: int = 0
    path: Optional[str] = None
    uses_tls: bool = False

    @classmethod
    def parse(cls, url: str) -> "Endpoint":
        """Raises `InvalidRequest` for a text that is no address."""
        problem = InvalidRequest(
            f"the address {_words.shown(url)} is none: HOST:PORT, tcp://HOST:PORT, tls://HOST:PORT or unix:PATH is wanted"
        )
        if not isinstance(url, str) or any(ord(character) < 0x20 for character in url):
            raise problem
        if url.startswith("unix:"):
            path = url[len("unix:") :]
            if not path:
                raise problem
            return cls(path=path)
        uses_tls = url.startswith("tls://")
        for scheme in ("tls://", "tcp://"):
            if url.startswith(scheme):
                url = url[len(scheme) :]
                break
        host, colon, digits = url.rpartition(":")
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        elif ":" in host:
            raise problem
        if not colon or not host or "/" in host or not (digits.isascii() and digits.isdigit() and int(digits) <= 65535):
            raise problem
        return cls(host=host, port=int(digits), uses_tls=uses_tls)

    @classmethod
    def parse_list(cls, text: str) -> "List[Endpoint]":
        """`ADDRESS,ADDRESS,…`, which are all encrypted, or none of them. Raises `InvalidRequest`."""
        parts = text.split(",") if isinstance(text, str) else [text]
        if len(parts) > MOST_SERVERS:
            raise InvalidRequest(f"there are {len(parts)} addresses; a client takes {MOST_SERVERS}")
        endpoints = [cls.parse(part) for part in parts]
        if len({endpoint.uses_tls for endpoint in endpoints}) > 1:
            raise InvalidRequest("of several addresses all are to be tls://, or none")
        return endpoints

    def __str__(self) -> str:
        if self.path is not None:
            return f"unix:{self.path}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'tls://' if self.uses_tls else ''}{host}:{self.port}"


@dataclass(frozen=True)
class Options:
    """The identity of a client, and its limits. Times are in seconds.

    - `client` is the program and its version, as `head-unit/2.1`.
    - `surface`, `account`, `device` name this device and its owner; without a surface rows are the whole state.
    - `token` proves that to a server that asks for a proof, and is not sent to one that does not. A function is called at
      each connection, so that a rotated token is read again.
    - `heartbeat` is the silence after which the client sends a sign of life; after twice as much the server gives the
      connection up. `None` leaves it to the server's own signs of life.
    - `window` limits requests without a reply; a server stops reading beyond 1,024.
    - `greeting_timeout` limits each step of connecting, in seconds. Where there are several `servers`, an attempt at one of
      them ends after 2 s, and after twice as long in each round through them.
    - `servers` are the addresses of which any may answer; empty where the owner of the socket knows one.
    """

    client: str = "telltale-python"
    surface: Optional[str] = None
    account: Optional[str] = None
    device: Optional[str] = None
    token: Token = field(default=None, repr=False)
    traits: Mapping[str, str] = field(default_factory=dict)
    heartbeat: Optional[float] = None
    backoff: Backoff = Backoff()
    window: int = 1024
    greeting_timeout: float = 10.0
    keeps_rows: bool = True
    servers: Tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _words.text("the client", self.client)
        for name in ("surface", "account", "device"):
            value = getattr(self, name)
            if value is not None:
                _words.text(f"the {name}", value)
        if isinstance(self.token, str):
            _words.secret(self.token)
        for name, value in self.traits.items():
            _words.name(name)
            _words.text(f"the trait {name}", value)
        if self.heartbeat is not None and not 0.1 <= self.heartbeat <= 300:
            raise InvalidRequest(f"the heartbeat {self.heartbeat!r} is not sent: 0.1 to 300 seconds are wanted")
        if not 1 <= self.window <= 1024:
            raise InvalidRequest(f"the window {self.window!r} is none: 1 to 1024 requests are wanted")

    def current_token(self) -> Optional[str]:
        token = self.token() if callable(self.token) else self.token
        return None if token is None else _words.secret(token)


def token_from_file(path: Union[str, "os.PathLike[str]"]) -> Callable[[], Optional[str]]:
    """A token that is read from a file at each connection; an empty one holds none. Raises `OSError` if it cannot be read."""

    def read() -> Optional[str]:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read().strip() or None

    return read


def tls_context(ca: Union[str, "os.PathLike[str]", None]) -> ssl.SSLContext:
    """TLS 1.2 or 1.3 that checks the certificate and its name. `ca` is a PEM file, `None` the system's authorities.

    Raises `OSError` if the file cannot be read or holds no certificate.
    """
    context = ssl.create_default_context(cafile=ca)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def from_environment() -> Tuple[str, Optional[str], Token]:
    """The address, the authorities and the token that the command line takes from the environment too."""
    file = os.environ.get("TELLTALE_TOKEN_FILE")
    token: Token = token_from_file(file) if file else os.environ.get("TELLTALE_TOKEN") or None
    # An empty variable counts as absent.
    return os.environ.get("TELLTALE_CONNECT") or DEFAULT_URL, os.environ.get("TELLTALE_CA") or None, token
