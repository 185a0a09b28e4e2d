"""No value of a caller reaches the wire unchecked."""

import ast
import inspect
import re
from typing import Any, Callable, List

import pytest

from support import Daemon, behaviour
from telltale import AsyncTelltale, InvalidRequest, Telltale, _async_requests, _calls, _sync_requests
from telltale.options import Endpoint, Options

#: Each would end a line, begin another word, or is no key of the grammar.
HOSTILE = [
    "a/b\nBYE",
    "a/b\r",
    "a/b c",
    "a/b\t",
    "a/b\x00",
    "a/ü",
    "",
    "a",
    "a/",
    "/b",
    "a/b/c",
    "*/b",
    "a/b ",
    " a/b",
    "a" * 65 + "/b",
]
WORDS = ["x\ny", "x y", "", "x\x7f", "ü", "x" * 257, "x\u2028y"]


@behaviour("refused-before-the-wire")
@pytest.mark.parametrize("key", [*HOSTILE, None, 5, b"a/b"])
def test_keys(key: Any) -> None:
    calls: List[Callable[[], object]] = [
        lambda: _calls.post(key, "start", eid="e"),
        lambda: _calls.set_value(key, True, eid="e"),
        lambda: _calls.press(key, eid="e"),
        lambda: _calls.get(key),
        lambda: _calls.history(key),
        lambda: _calls.open_key(key),
        lambda: _calls.dismiss(key),
        lambda: _calls.seen(key, 1),
        lambda: _calls.report(key),
    ]
    for call in calls:
        with pytest.raises(InvalidRequest, match="a key is kind/id") as caught:
            call()
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


@behaviour("refused-before-the-wire")
@pytest.mark.parametrize("word", WORDS)
def test_words(word: str) -> None:
    calls: List[Callable[[], object]] = [
        lambda: _calls.post("a/b", word, eid="e"),
        lambda: _calls.post("a/b", "start", eid=word),
        lambda: _calls.post("a/b", "start", eid="e", src=word),
        lambda: _calls.post("a/b", "start", eid="e", accounts=word),
        lambda: _calls.post("a/b", "start", eid="e", accounts=["alice", word]),
        lambda: _calls.set_value("a/b", word, eid="e"),
        lambda: _calls.set_value("a/b", True, eid=word),
        lambda: _calls.press("a/b", eid=word),
        lambda: _calls.get("a/b", word),
        lambda: _calls.list_rows("*", word),
        lambda: _calls.list_rows(word),
        lambda: _calls.subscribe("*", word, None, None, None, None),
        lambda: _calls.subscribe("*", None, word, None, None, None),
        lambda: _calls.subscribe("*", None, None, word, None, None),
        lambda: _calls.subscribe("*", None, None, None, None, word),
        lambda: _calls.serve(word),
        lambda: _calls.done(word),
        lambda: _calls.fail("o1", word),
        lambda: _calls.traits({"locked": word}),
        lambda: _calls.traits({word: "yes"}),
        lambda: Options(client=word),
        lambda: Options(surface=word),
        lambda: Options(account=word),
        lambda: Options(traits={word: "yes"}),
        # A token may be sixteen times as long.
        lambda: Options(token=word * 16),
    ]
    for call in calls:
        with pytest.raises(InvalidRequest) as caught:
            call()
        assert "\n" not in str(caught.value)


@behaviour("refused-before-the-wire")
@pytest.mark.parametrize("number", [-1, 2**53, 1.5, True, "5", float("nan")])
def test_numbers(number: Any) -> None:
    calls: List[Callable[[], object]] = [
        lambda: _calls.post("a/b", "start", eid="e", at=number),
        lambda: _calls.post("a/b", "start", eid="e", ver=number),
        lambda: _calls.set_value("a/b", True, eid="e", if_rev=number),
        lambda: _calls.seen("a/b", number),
        lambda: _calls.subscribe("*", None, None, None, number, None),
    ]
    for call in calls:
        with pytest.raises(InvalidRequest, match="whole number"):
            call()


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return value


@behaviour("refused-before-the-wire")
@pytest.mark.parametrize(
    "value, place",
    [
        ({"a": float("nan")}, "'content-state.a'"),
        ({"a": [1, float("inf")]}, r"'content-state.a\[1\]'"),
        ({"a": 2**53}, "'content-state.a'"),
        ({1: "a"}, "'content-state'"),
        ({"a": {1, 2}}, "'content-state.a'"),
        ({"a": b"x"}, "'content-state.a'"),
        ({"a": "\ud800"}, "'content-state.a'"),
        ({"\ud800": 1}, "'content-state'"),
        (nested(32), "nested"),
        ([1], "object"),
    ],
)
def test_json(value: Any, place: str) -> None:
    with pytest.raises(InvalidRequest, match=place):
        _calls.post("a/b", "start", eid="e", content=value).request  # noqa: B018
        _calls.post("a/b", "start", eid="e", data=value)


def test_data_and_its_members_do_not_contradict() -> None:
    with pytest.raises(InvalidRequest, match="data has it too"):
        _calls.post("a/b", "start", eid="e", content={}, data={"content-state": {}})
    with pytest.raises(InvalidRequest, match="no comma"):
        _calls.post("a/b", "start", eid="e", accounts=["alice,bob"])


@behaviour("refused-before-the-wire")
def test_texts_of_any_kind_arrive_as_they_are(daemon: Daemon) -> None:
    texts = ["line\nbreak", "tab\t, NUL \x00, DEL \x7f", "“ü☕😀”", " {", "\u2028\u2029\ufeff", 'quote " \\ slash', ""]
    with Telltale(daemon.url) as client:
        posted = client.post(
            "coffee-order/1", "start", attributes={"item": "Tea"}, content={"texts": texts, "deep": nested(29)}
        )
        assert posted.verdict == "applied"
        assert client.get("coffee-order/1").body["content"] == {"texts": texts, "deep": nested(29)}
        # Nothing that a caller wrote became a request of its own.
        assert len(client.history("coffee-order/1")) == 1


@pytest.mark.parametrize(
    "url, shown",
    [
        ("127.0.0.1:7878", "127.0.0.1:7878"),
        ("tcp://localhost:1", "localhost:1"),
        ("tls://car.example:7879", "tls://car.example:7879"),
        ("[::1]:7878", "[::1]:7878"),
        ("tls://[::1]:7878", "tls://[::1]:7878"),
        ("unix:/run/telltale/telltaled.sock", "unix:/run/telltale/telltaled.sock"),
    ],
)
def test_addresses(url: str, shown: str) -> None:
    assert str(Endpoint.parse(url)) == shown


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost",
        ":7878",
        "localhost:",
        "localhost:x",
        "localhost:70000",
        "::1:7878",
        "http://a:1",
        "unix:",
        "a:1\n",
        "a/b:1",
        "a:²",
    ],
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(InvalidRequest, match="is wanted"):
        AsyncTelltale(url)


def test_the_two_faces_are_one() -> None:
    """The requests of the sync client are those of the asyncio client, without `async`."""
    asynchronous = inspect.getsource(_async_requests.AsyncRequests)
    bare = re.sub(r"async (?=def)|await ", "", asynchronous).replace("AsyncRequests", "Requests").replace(", as coroutines", "")
    synchronous = inspect.getsource(_sync_requests.Requests)
    assert ast.dump(ast.parse(bare)) == ast.dump(ast.parse(synchronous))
    for name, method in inspect.getmembers(AsyncTelltale, inspect.isfunction):
        if not name.startswith("_") or name == "__init__":
            assert list(inspect.signature(method).parameters) == list(inspect.signature(getattr(Telltale, name)).parameters), (
                name
            )
