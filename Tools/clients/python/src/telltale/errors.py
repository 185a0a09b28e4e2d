"""The exceptions of this package. All of them are `TelltaleError`s."""

from typing import Any, Dict, Mapping, Optional, Type

REMEDIES = {
    "no": "change the request, the same one will be refused again",
    "now": "send it again",
    "later": "send it again after a pause",
    "auth": "connect with a token that the server accepts",
    "resync": "look at the newest row, then ask again",
}


class TelltaleError(Exception):
    """The root of all errors of this package."""


class InvalidRequest(TelltaleError, ValueError):
    """A value of the caller cannot stand in a request. Nothing was sent."""


class ClientClosed(TelltaleError):
    """The client was closed before the answer, or is used after its end."""


class Unreachable(TelltaleError):
    """No server answered at the address within the time limit. Nothing was sent."""


class CertificateRefused(Unreachable):
    """The server's certificate is of an authority that is not trusted, or of another name. It is not tried again."""


class ConnectionLost(TelltaleError):
    """The connection was lost before the reply to a request that must not be repeated. It may have taken effect."""


class TimedOut(TelltaleError, TimeoutError):
    """The server did not answer in time.

    `sent` tells whether the request was sent, so that it may have taken effect. `eid` is its event id, where it has
    one: the same request with the same `eid=` takes effect once, so it may be made again.
    """

    def __init__(self, message: str, *, sent: bool, eid: Optional[str]) -> None:
        super().__init__(message)
        self.sent = sent
        self.eid = eid


class ProtocolViolation(TelltaleError):
    """The peer is no Telltale server, or one that this client does not understand."""


class Refused(TelltaleError):
    """The server answered `ERR`.

    `code` is stable, for programs; `text` is the server's sentence, for people. `retry` is an instruction for programs:
    `no`, `now`, `later`, `auth` or `resync`; `remedy` is that as a sentence. `details` are further members of the
    answer, such as `need` or `wait`. `eid` is the event id of the refused request, where it has one: an id is not used
    up by a refusal.
    """

    def __init__(
        self, code: str, text: str, retry: str = "no", details: Optional[Mapping[str, Any]] = None, *, fatal: bool = False
    ) -> None:
        self.code = code
        self.text = text
        self.retry = retry
        self.remedy = REMEDIES.get(retry, REMEDIES["no"])
        self.details: Dict[str, Any] = dict(details or {})
        self.fatal = fatal
        self.eid: Optional[str] = None
        super().__init__(f"{code}: {text} ({self.remedy})")


class NotAuthenticated(Refused):
    """`auth_required` or `auth_failed`: the server wants a token, or does not accept this one."""


class Forbidden(Refused):
    """`forbidden`: this client may not do that. `details["need"]` names the scope that it lacks, if it is one."""


class UnknownKey(Refused):
    """`unknown_key`: there is no such activity or control, or this account does not see it."""


class StaleTap(Refused):
    """`stale_rev`: the control has changed since the row that the person saw. Nothing was done."""

    @property
    def have(self) -> Optional[int]:
        """The `rev` of the control now."""
        value = self.details.get("have")
        return value if isinstance(value, int) else None

    @property
    def want(self) -> Optional[int]:
        """The `rev` of `if_rev`."""
        value = self.details.get("want")
        return value if isinstance(value, int) else None


class Unavailable(Refused):
    """`unavailable`: no provider acts for this control now."""


CLASSES: Dict[str, Type[Refused]] = {
    "auth_required": NotAuthenticated,
    "auth_failed": NotAuthenticated,
    "forbidden": Forbidden,
    "unknown_key": UnknownKey,
    "stale_rev": StaleTap,
    "unavailable": Unavailable,
}


def refusal(attributes: Mapping[str, str], tail: Optional[Mapping[str, Any]]) -> Refused:
    """The exception for a line `ERR code= retry= {"msg":…}`."""
    code = attributes.get("code", "internal")
    details = dict(tail or {})
    text = details.pop("msg", None)
    return CLASSES.get(code, Refused)(
        code,
        text if isinstance(text, str) else "the server gave no reason",
        attributes.get("retry", "no"),
        details,
        fatal=attributes.get("fatal") == "1",
    )
