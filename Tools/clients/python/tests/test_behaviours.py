"""The list of behaviours with a real daemon and real sockets."""

import asyncio
import re
from typing import Callable

import pytest

from following import SOON, rows, until
from support import GREETING, LIMIT, REPOSITORY, Daemon, Proxy, Script, Stage, behaviour
from telltale import (
    AsyncTelltale,
    Connected,
    ConnectionLost,
    Deletion,
    Disconnected,
    InvalidRequest,
    Live,
    Refused,
    Reset,
    StaleTap,
    Telltale,
    TimedOut,
    Unreachable,
    Update,
)


@behaviour("reconnect")
def test_an_event_whose_reply_is_lost_takes_effect_once(daemon: Daemon, proxy: Proxy) -> None:
    with Telltale(proxy.url, backoff=SOON, timeout=LIMIT) as client:
        client.ping()
        proxy.cut_before(b"OK id=")
        posted = client.post("coffee-order/1", "start")
        assert posted.verdict == "duplicate" and posted.rev is not None
        proxy.cut_before(b"OK id=")
        assert [entry.verdict for entry in client.history("coffee-order/1")] == ["applied"]


@behaviour("reconnect")
def test_requests_wait_for_a_daemon_that_starts_again(daemon: Daemon, proxy: Proxy) -> None:
    with Telltale(proxy.url, backoff=SOON, timeout=LIMIT) as client:
        assert client.post("coffee-order/1", "start").verdict == "applied"
        daemon.kill()
        daemon.start()
        assert client.post("coffee-order/1", "CONFIRMED").verdict == "applied"


@behaviour("reconnect")
def test_without_a_server_the_caller_is_told_after_its_limit(start: Callable[..., Daemon]) -> None:
    daemon = start()
    daemon.stop()
    # On a machine that stands still no attempt may have ended within a short limit.
    for limit in (0.5, 5, 50):
        with Telltale(daemon.url, timeout=limit, backoff=SOON) as client, pytest.raises(Unreachable) as caught:
            client.ping()
        if re.search("[Rr]efused", str(caught.value)):
            break
    assert re.search(f"127.0.0.1:{daemon.port} within {limit} s: .*[Rr]efused", str(caught.value))


@behaviour("reconnect")
def test_a_request_without_an_answer_tells_its_eid() -> None:
    def silent(stage: Stage) -> None:
        stage.greet()
        stage.hear("EVT")
        stage.hear_end()

    # On a machine that stands still nothing may have been sent within a short limit.
    for limit in (1, 10, 100):
        script = Script(silent)
        with Telltale(script.url, timeout=limit) as client, pytest.raises((TimedOut, Unreachable)) as caught:
            client.post("errand/1", "start", eid="e1")
        if isinstance(caught.value, TimedOut):
            break
    assert isinstance(caught.value, TimedOut) and caught.value.sent and caught.value.eid == "e1"
    script.join()


@behaviour("answer-begins-again")
def test_a_list_that_is_cut_is_whole(daemon: Daemon, proxy: Proxy) -> None:
    with Telltale(proxy.url, backoff=SOON, timeout=LIMIT) as client:
        for number in range(5):
            client.post(f"coffee-order/{number}", "start")
        proxy.cut_before(b"SNAP sub=0 key=coffee-order/3")
        listed = [row.key for row in client.list("coffee-order/*")]
        assert listed == [f"coffee-order/{number}" for number in range(5)]


@behaviour("resume")
def test_a_follower_that_was_away_gets_what_changed(daemon: Daemon, proxy: Proxy) -> None:
    with Telltale(daemon.url) as shop, Telltale(proxy.url, backoff=SOON) as screen:
        for number in (1, 2, 3):
            shop.post(f"coffee-order/{number}", "start")
        follow = screen.follow("coffee-order/*")
        assert [key for key, _ in rows(until(follow, Live))] == ["coffee-order/1", "coffee-order/2", "coffee-order/3"]
        proxy.cut()
        confirmed = shop.post("coffee-order/1", "CONFIRMED")
        ended = shop.post("coffee-order/2", "end", data={"dismissal-date": 0})
        away = rows(until(follow, Disconnected))
        # On a fast machine the connection is there again before the changes.
        while len(away) < 2:
            away += rows([follow.next(LIMIT)])
        assert away == [("coffee-order/1", confirmed.rev), ("coffee-order/2", ended.rev)]
        assert sorted(follow.rows) == ["coffee-order/1", "coffee-order/3"]
        assert b" from=" in bytes(proxy.said[1])


@behaviour("torn-line")
def test_a_row_that_is_cut_comes_whole_on_the_next_connection(daemon: Daemon, proxy: Proxy) -> None:
    with Telltale(daemon.url) as shop, Telltale(proxy.url, backoff=SOON) as screen:
        follow = screen.follow("coffee-order/*")
        until(follow, Live)
        proxy.cut_before(b"UPD sub=1")
        posted = shop.post("coffee-order/1", "start")
        assert rows(until(follow, Live)) == [("coffee-order/1", posted.rev)]


@behaviour("resume-elsewhere")
def test_a_stored_cursor_resumes_behind_its_change(daemon: Daemon) -> None:
    with Telltale(daemon.url) as client:
        for number in (1, 2):
            client.post(f"coffee-order/{number}", "start")
        with client.follow("coffee-order/*") as follow:
            assert follow.cursor is None
            until(follow, Live)
            client.post("coffee-order/1", "CONFIRMED")
            until(follow, Update)
            stored = follow.cursor
        later = client.post("coffee-order/2", "CONFIRMED")
    assert stored is not None
    with Telltale(daemon.url) as another, another.follow("coffee-order/*", cursor=stored) as follow:
        assert rows(until(follow, Live)) == [("coffee-order/2", later.rev)]


@behaviour("reset")
def test_another_history_is_told_and_old_keys_go(daemon: Daemon, proxy: Proxy) -> None:
    with Telltale(daemon.url) as shop, Telltale(proxy.url, backoff=SOON) as screen:
        # Two histories, one after the other at the same address.
        for data, keys in (("other", ["coffee-order/2"]), ("data", ["coffee-order/1", "coffee-order/2"])):
            daemon.kill()
            daemon.start(data=data)
            for key in keys:
                shop.post(key, "start")
        follow = screen.follow("coffee-order/*")
        until(follow, Live)
        daemon.kill()
        daemon.start(data="other")
        changes = until(follow, Reset) + until(follow, Live)
        assert [change.why for change in changes if isinstance(change, Reset)] == ["epoch"]
        assert [change.key for change in changes if isinstance(change, Deletion) and change.why == "reset"] == [
            "coffee-order/1"
        ]
        assert sorted(follow.rows) == ["coffee-order/2"]


@behaviour("cut-snapshot")
def test_a_snapshot_that_is_cut_comes_again(daemon: Daemon, proxy: Proxy) -> None:
    with Telltale(daemon.url) as shop, Telltale(proxy.url, backoff=SOON) as screen:
        for number in (1, 2, 3):
            shop.post(f"coffee-order/{number}", "start")
        proxy.cut_before(b"SNAP sub=1 key=coffee-order/2")
        follow = screen.follow("coffee-order/*")
        until(follow, Live)
        assert len(follow.rows) == 3 and b" from=" not in bytes(proxy.said[1])


@behaviour("slow-reader")
def test_a_reader_that_does_not_take_its_changes_gets_the_newest_rows(daemon: Daemon) -> None:
    count = 3000

    async def scene() -> None:
        async with AsyncTelltale(daemon.url, timeout=LIMIT) as client:
            keys = [f"coffee-order/{number}" for number in range(300)]
            await asyncio.gather(*(client.post(key, "start") for key in keys))
            follow = client.follow("coffee-order/*")
            async for change in follow:
                if isinstance(change, Live):
                    break
            posted = await asyncio.gather(
                *(client.post(keys[n % 300], "update", content={"eta": n, "text": "x" * 900}) for n in range(count))
            )
            newest = {answer.key: answer.rev for answer in posted}
            seen, commits = {}, 0
            while any(seen.get(key) != rev for key, rev in newest.items()):
                change = await asyncio.wait_for(follow.__anext__(), LIMIT)
                if isinstance(change, Update):
                    assert change.rev >= seen.get(change.key, 0)
                    seen[change.key] = change.rev
                    commits += 1 + change.skip
            assert commits == count

    asyncio.run(scene())


@behaviour("slow-reader")
def test_requests_of_a_full_follower_are_answered(daemon: Daemon) -> None:
    with Telltale(daemon.url, timeout=LIMIT) as client:
        follow = client.follow("coffee-order/*", receive_buffer=None)
        until(follow, Live)
        for number in range(300):
            client.post(f"coffee-order/{number}", "start")
        assert follow.get("coffee-order/7").rev > 0
        assert follow.post("coffee-order/7", "CONFIRMED").verdict == "applied"


@behaviour("duplicate-eid")
def test_the_same_eid_takes_effect_once(daemon: Daemon) -> None:
    with Telltale(daemon.url) as client, Telltale(daemon.url) as again:
        first = client.post("coffee-order/1", "start", eid="e1", content={"eta": 5})
        second = again.post("coffee-order/1", "start", eid="e1", content={"eta": 5})
        assert (first.verdict, second.verdict, second.rev) == ("applied", "duplicate", first.rev)
        with pytest.raises(Refused) as caught:
            again.post("coffee-order/1", "CONFIRMED", eid="e1")
        assert (caught.value.code, caught.value.retry, caught.value.eid) == ("dup_mismatch", "no", "e1")
        assert caught.value.text in str(caught.value) and caught.value.remedy in str(caught.value)


@behaviour("stale-tap")
def test_a_tap_on_an_old_row_does_nothing(daemon: Daemon) -> None:
    with Telltale(daemon.url) as client:
        with client.provide("porch-light", lambda action: action.value, {"porch-light/front": False}):
            old = client.get("porch-light/front").rev
            follow = client.follow("porch-light/*")
            until(follow, Live)
            client.set("porch-light/front", True, if_rev=old)
            while (
                follow.rows["porch-light/front"].body["phase"] != "settled"
                or not follow.rows["porch-light/front"].body["value"]
            ):
                until(follow, Update)
            with pytest.raises(StaleTap) as caught:
                client.set("porch-light/front", False, if_rev=old)
            assert caught.value.want == old and caught.value.have == follow.rows["porch-light/front"].rev
            assert caught.value.retry == "resync" and "newest row" in caught.value.remedy
            assert client.get("porch-light/front").body["value"] is True


@behaviour("too-long")
def test_a_request_that_is_too_long_leaves_the_connection(daemon: Daemon, proxy: Proxy) -> None:
    with Telltale(proxy.url) as client:
        client.ping()
        with pytest.raises(InvalidRequest, match="65536"):
            client.post("coffee-order/1", "start", content={"text": "x" * 70000})
        with pytest.raises(Refused) as caught:
            client.post("coffee-order/1", "start", content={"text": "x" * 5000})
        assert caught.value.code == "too_large" and len(proxy.said) == 1


@behaviour("lost-once")
def test_a_lost_report_is_told() -> None:
    def cuts(stage: Stage) -> None:
        stage.greet()
        stage.say(f"OK id={stage.hear('SERVE')}")
        stage.hear("REPORT")

    script = Script(cuts)
    with Telltale(script.url) as client, client.provide("porch-light", lambda action: None) as provider:
        with pytest.raises(ConnectionLost, match="lost before the answer"):
            provider.report("porch-light/front", True)
    script.join()


@behaviour("other-version")
def test_a_server_of_another_version_is_told_at_once() -> None:
    script = Script(lambda stage: stage.say(GREETING.replace("TELLTALE 1", "TELLTALE 2")))
    with Telltale(script.url, timeout=LIMIT) as client:
        with pytest.raises(Exception, match="version 2"):
            client.ping()
    script.join()


@behaviour("unknown-words")
def test_verbs_to_come_mean_nothing() -> None:
    def modern(stage: Stage) -> None:
        stage.greet(GREETING + " colour=red")
        number = stage.hear("SUB")
        stage.say("GLOW a=1", f"OK id={number} sub=1 view=full glow=2", 'SNAP sub=1 key=a/1 rev=1 glow=2 {"new":true}')
        stage.say("SPARK {}", "LIVE sub=1 cur=0123456789abcdef:1:b0e4 glow=3")
        stage.hear_end()

    script = Script(modern)
    with Telltale(script.url) as client, client.follow("a/*") as follow:
        assert [type(change) for change in until(follow, Live)] == [Connected, Update, Live]
    script.join()


def test_the_package_has_the_version_of_the_server() -> None:
    import telltale

    release = REPOSITORY / "Sources/TelltaleWire/Release.swift"
    if not release.exists():
        pytest.skip("this is no clone of the repository")
    assert f'version = "{telltale.__version__}"' in release.read_text()
