"""Providers: lost connections, operations that come again, failures, deadlines."""

import asyncio
import threading
from typing import Callable, List, Optional

import pytest

from support import GREETING, LIMIT, Daemon, Proxy, Script, Stage, behaviour
from telltale import Action, ActionFailed, AsyncTelltale, Backoff, Follow, Live, Refused, Telltale, Unavailable, Update

SOON = Backoff(shortest=0.001, longest=0.01)
KEY = "porch-light/front"


def row_with(follow: Follow, **wanted: object) -> Update:
    """The next row of the light with these members."""
    while True:
        change = follow.next(LIMIT)
        assert change is not None
        if isinstance(change, Update) and all(change.body.get(name) == value for name, value in wanted.items()):
            return change


@behaviour("provider-lost")
def test_a_provider_that_was_lost_is_asked_again_and_reports_its_values(daemon: Daemon, proxy: Proxy) -> None:
    value, asked, go_on = [False], threading.Event(), threading.Event()

    def act(action: Action) -> Optional[bool]:
        asked.set()
        assert go_on.wait(LIMIT)
        value[0] = bool(action.value)
        return action.value

    with Telltale(daemon.url) as person, Telltale(proxy.url, backoff=SOON) as device:
        with device.provide("porch-light", act, lambda: {KEY: value[0]}):
            follow = person.follow("porch-light/*")
            row_with(follow, value=False, available=True)
            op = person.set(KEY, True).op
            assert asked.wait(LIMIT)
            proxy.cut()
            # It serves again, and its answer goes over the new connection.
            proxy.wait_until_said(1, b"REPORT")
            go_on.set()
            last = row_with(follow, value=True, phase="settled").body["last"]
            assert (last["op"], last["result"]) == (op, "confirmed")
        row_with(follow, available=False)
        with pytest.raises(Unavailable) as caught:
            person.set(KEY, False)
        assert caught.value.retry == "later"


@behaviour("asked-again")
def test_an_operation_that_comes_again_is_performed_once() -> None:
    done: List[str] = []

    def first(stage: Stage) -> None:
        stage.greet()
        stage.say(f"OK id={stage.hear('SERVE')}", f"DO op=o1 key={KEY} action=set value=on deadline=99999999999999")
        assert stage.hear("DONE") and stage.heard[-1].endswith("op=o1 value=on")

    def second(stage: Stage) -> None:
        stage.greet()
        stage.say(f"OK id={stage.hear('SERVE')}", f"DO op=o1 key={KEY} action=set value=on deadline=99999999999999")
        stage.say(f"OK id={stage.hear('DONE')}", f"DO op=o2 key={KEY} action=press deadline=99999999999999")
        stage.say(f"OK id={stage.hear('DONE')}")
        assert stage.heard[-1].endswith("op=o2")

    def act(action: Action) -> Optional[bool]:
        done.append(action.op)
        return action.value

    script = Script(first, second)
    with Telltale(script.url, backoff=SOON) as device, device.provide("porch-light", act):
        script.join()
    assert done == ["o1", "o2"]


@behaviour("asked-again")
def test_an_operation_of_another_epoch_is_another_one() -> None:
    done: List[str] = []

    def life(epoch: str, told: str) -> Callable[[Stage], None]:
        def scene(stage: Stage) -> None:
            stage.greet(GREETING.replace("0123456789abcdef", epoch))
            stage.say(f"OK id={stage.hear('SERVE')}", f"DO op=o1 key={KEY} action=set value={told} deadline=99999999999999")
            stage.say(f"OK id={stage.hear('DONE')}")
            assert stage.heard[-1].endswith(f"op=o1 value={told}")

        return scene

    def act(action: Action) -> Optional[bool]:
        done.append(f"{action.op} {action.value}")
        return action.value

    script = Script(life("0123456789abcdef", "on"), life("fedcba9876543210", "off"))
    with Telltale(script.url, backoff=SOON) as device, device.provide("porch-light", act):
        script.join()
    assert done == ["o1 True", "o1 False"]


def test_an_action_beyond_its_deadline_is_not_begun() -> None:
    done: List[str] = []

    def scene(stage: Stage) -> None:
        stage.greet(GREETING)
        now = 1795556623399
        stage.say(f"OK id={stage.hear('SERVE')}", f"DO op=o1 key={KEY} action=press deadline={now - 1}")
        stage.say(f"DO op=o2 key={KEY} action=press deadline={now + 60000}")
        stage.hear("DONE")

    async def run(url: str) -> None:
        acted = asyncio.Event()

        def act(action: Action) -> None:
            done.append(action.op)
            acted.set()

        async with AsyncTelltale(url, backoff=SOON) as device, device.provide("porch-light", act):
            await asyncio.wait_for(acted.wait(), LIMIT)
            await asyncio.get_running_loop().run_in_executor(None, script.join)

    script = Script(scene)
    asyncio.run(run(script.url))
    assert done == ["o2"]


def test_what_fails_is_told_with_its_reason(daemon: Daemon) -> None:
    def act(action: Action) -> bool:
        if action.value:
            raise ActionFailed("jammed", "It is\njammed")
        raise RuntimeError("a secret of the device")

    with Telltale(daemon.url) as client, client.provide("porch-light", act, {KEY: False}) as provider:
        follow = client.follow("porch-light/*")
        client.set(KEY, True)
        last = row_with(follow, phase="settled", value=False).body.get("last") or row_with(follow, phase="settled").body["last"]
        assert (last["result"], last["code"], last["message"]) == ("reverted", "jammed", "It is\njammed")
        provider.report(KEY, True)
        row_with(follow, value=True)
        client.set(KEY, False)
        row_with(follow, phase="pending")
        last = row_with(follow, phase="settled").body["last"]
        assert (last["code"], last["message"]) == ("error", "RuntimeError")


def test_a_kind_that_there_is_not_is_refused_at_once(daemon: Daemon) -> None:
    with Telltale(daemon.url) as client, pytest.raises(Refused) as caught:
        client.serve("levitation", lambda action: None)
    assert caught.value.code == "unknown_kind"


def test_an_asyncio_provider_is_cancelled_at_its_deadline() -> None:
    cancelled = []
    # Milliseconds. On a machine that stands still an operation may be too late to begin with.
    spans = {"o1": 50, "o2": 500, "o3": 5_000, "o4": 50_000}

    def scene(stage: Stage) -> None:
        stage.greet(GREETING)
        stage.say(f"OK id={stage.hear('SERVE')}")
        for op, span in spans.items():
            stage.say(f"DO op={op} key=porch-light/{op} action=press deadline={1795556623399 + span}")
        stage.say(f"DO op=last key=porch-light/back action=press deadline={1795556623399 + 600_000}")
        stage.say(f"OK id={stage.hear('DONE')}")
        stage.hear_end()

    async def run(url: str) -> None:
        ended = asyncio.Event()

        async def act(action: Action) -> None:
            if action.op in spans:
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    cancelled.append(action.op)
                    ended.set()
                    raise

        async with AsyncTelltale(url) as client, client.provide("porch-light", act):
            await asyncio.wait_for(ended.wait(), LIMIT)

    script = Script(scene)
    asyncio.run(run(script.url))
    script.join()
    # The client's end cancels the others.
    assert cancelled[0] in spans


def test_a_tap_is_shown_as_wanted_where_it_was_made(daemon: Daemon) -> None:
    go_on = threading.Event()

    def act(action: Action) -> Optional[bool]:
        assert go_on.wait(LIMIT)
        return action.value

    with Telltale(daemon.url, surface="carplay") as car, Telltale(daemon.url) as device:
        with device.provide("porch-light", act, {KEY: False}), car.follow("porch-light/*") as follow:
            while not isinstance(follow.next(LIMIT), Live):
                pass
            assert follow.rows[KEY].body["shown"] is False
            follow.set(KEY, True, if_rev=follow.rows[KEY].rev)
            assert row_with(follow, phase="pending").body["shown"] is True
            go_on.set()
            assert row_with(follow, phase="settled").body["value"] is True
