"""Client of Telltale, the live-activity and control server.

`Telltale` is for programs without asyncio, `AsyncTelltale` for those with it. Both run `telltale.protocol.ClientProtocol`,
which has no socket and no clock.
"""

from ._aio import AsyncTelltale
from ._follow import AsyncFollow
from ._provider import ActionFailed, AsyncProvider
from ._sync import Follow, Provider, Telltale
from ._version import __version__
from .errors import (
    CertificateRefused,
    ClientClosed,
    ConnectionLost,
    Forbidden,
    InvalidRequest,
    NotAuthenticated,
    ProtocolViolation,
    Refused,
    StaleTap,
    TelltaleError,
    TimedOut,
    Unavailable,
    UnknownKey,
    Unreachable,
)
from .options import Backoff, token_from_file
from .values import (
    Action,
    Alert,
    Change,
    Connected,
    Decided,
    Deletion,
    Disconnected,
    GalleryWidget,
    HistoryEntry,
    Kind,
    Live,
    Milestone,
    Notice,
    Posted,
    Reset,
    Row,
    Tapped,
    Update,
)

__all__ = [
    "Action",
    "ActionFailed",
    "Alert",
    "AsyncFollow",
    "AsyncProvider",
    "AsyncTelltale",
    "Backoff",
    "CertificateRefused",
    "Change",
    "ClientClosed",
    "Connected",
    "ConnectionLost",
    "Decided",
    "Deletion",
    "Disconnected",
    "Follow",
    "Forbidden",
    "GalleryWidget",
    "HistoryEntry",
    "InvalidRequest",
    "Kind",
    "Live",
    "Milestone",
    "NotAuthenticated",
    "Notice",
    "Posted",
    "ProtocolViolation",
    "Provider",
    "Refused",
    "Reset",
    "Row",
    "StaleTap",
    "Tapped",
    "Telltale",
    "TelltaleError",
    "TimedOut",
    "Unavailable",
    "UnknownKey",
    "Unreachable",
    "Update",
    "__version__",
    "token_from_file",
]
