"""The requests without asyncio. Made by make_sync.py."""

from typing import Any, List, Mapping, Optional, Sequence, TypeVar, Union

from . import _calls
from .values import Decided, GalleryWidget, HistoryEntry, JSONObject, Kind, Posted, Reloaded, Row, Tapped

T = TypeVar("T")


class Requests:
    """The requests.

    Each raises `InvalidRequest` before anything is sent, `Refused` for an `ERR` of the server, `Unreachable`,
    `TimedOut` and `ConnectionLost`. Requests are made again after a lost connection, until the time limit of the client;
    events and taps have an event id, so that they take effect once.
    """

    _eids: _calls.EventIDs

    def _call(self, call: "_calls.Call[T]") -> T:
        raise NotImplementedError

    def post(
        self,
        key: str,
        type: str,
        *,
        attributes: Optional[Mapping[str, Any]] = None,
        content: Optional[Mapping[str, Any]] = None,
        alert: Optional[Mapping[str, str]] = None,
        data: Optional[Mapping[str, Any]] = None,
        accounts: Union[str, Sequence[str], None] = None,
        eid: Optional[str] = None,
        src: Optional[str] = None,
        at: Optional[int] = None,
        ver: Optional[int] = None,
    ) -> Posted:
        """Posts an event of one activity. When this returns, the event is on disk.

        `content` is the member `content-state` of the tail, `data` the whole tail. `accounts` are those whose devices
        may show it, told when it starts. `at` is when it happened, in Unix ms; `ver` the sender's version of this key.
        """
        return self._call(
            _calls.post(
                key,
                type,
                eid=eid or self._eids.next(),
                attributes=attributes,
                content=content,
                alert=alert,
                data=data,
                accounts=accounts,
                src=src,
                at=at,
                ver=ver,
            )
        )

    def set(self, key: str, value: Union[bool, str], *, if_rev: Optional[int] = None, eid: Optional[str] = None) -> Tapped:
        """Asks for a value of a toggle. `if_rev` is the `rev` of the row that the person saw; `StaleTap` if it changed."""
        return self._call(_calls.set_value(key, value, eid=eid or self._eids.next(), if_rev=if_rev))

    def press(self, key: str, *, eid: Optional[str] = None) -> Tapped:
        """Presses a button."""
        return self._call(_calls.press(key, eid=eid or self._eids.next()))

    def tile(
        self,
        key: str,
        do: str,
        *,
        widget: Optional[str] = None,
        configuration: Optional[Mapping[str, object]] = None,
        family: Optional[str] = None,
        stack: Optional[str] = None,
        placement: Optional[str] = None,
        mounting: Optional[str] = None,
        scale: Optional[int] = None,
        theme: Optional[str] = None,
        pos: Optional[int] = None,
        smart: Optional[bool] = None,
        suggest: Optional[bool] = None,
        if_rev: Optional[int] = None,
        eid: Optional[str] = None,
    ) -> Decided:
        """Arranges a board: `tile("@alice-car/t1", "add", widget="kitchen", configuration={"shop": "Hoegi"})`.

        `do` is add, configure, stack, move, pin, unpin, show, keep or remove; Protocols/Widgets/boards.md has the rest.
        """
        call = _calls.tile(
            key,
            do,
            eid=eid or self._eids.next(),
            widget=widget,
            family=family,
            stack=stack,
            placement=placement,
            mounting=mounting,
            scale=scale,
            theme=theme,
            pos=pos,
            smart=smart,
            suggest=suggest,
            if_rev=if_rev,
            configuration=configuration,
        )
        return self._call(call)

    def get(self, key: str, view: Optional[str] = None) -> Row:
        """One key once. `view` is a surface or `full`."""
        return self._call(_calls.get(key, view))

    def list(self, pattern: str = "*", view: Optional[str] = None) -> List[Row]:
        """Every key of a pattern once: `*`, `kind/*` or `kind/id`."""
        return self._call(_calls.list_rows(pattern, view))

    def history(self, key: str) -> "List[HistoryEntry]":
        """The events of one key, oldest first."""
        return self._call(_calls.history(key))

    def kinds(self) -> "List[Kind]":
        """The kinds that the server has loaded."""
        return self._call(_calls.kinds())

    def gallery(self, view: Optional[str] = None, placement: Optional[str] = None) -> "List[GalleryWidget]":
        """The widgets that a person can place on a surface. `full` has all families, and no previews."""
        return self._call(_calls.gallery(view, placement))

    def reload(self, key: str) -> Decided:
        """Lets a widget ask its provider anew: `deferred` where it asked within the last minutes."""
        return self._call(_calls.reload(key))

    def reload_all(self, pattern: str) -> Reloaded:
        """Lets all widgets of a pattern, `kind/*` or `*`, ask their provider anew. It returns when all are decided."""
        return self._call(_calls.reload_all(pattern))

    def stats(self) -> JSONObject:
        """The server's own figures."""
        return self._call(_calls.stats())

    def ping(self) -> None:
        """Returns once all earlier requests of this connection are answered and on disk."""
        self._call(_calls.ping())

    def open(self, key: str) -> JSONObject:
        """The view of a selected activity: its Lock Screen presentation and its deep link."""
        return self._call(_calls.open_key(key))

    def dismiss(self, key: str) -> Decided:
        """Swipes an activity away, on all devices of this account."""
        return self._call(_calls.dismiss(key))

    def seen(self, key: str, rev: int) -> Decided:
        """The alert of that `rev` was seen, and need not alert this account's other devices."""
        return self._call(_calls.seen(key, rev))

    def trait(self, **values: str) -> None:
        """The situation of this device, such as `locked="yes"`. It is said again after a reconnect."""
        self._call(_calls.traits(values))
