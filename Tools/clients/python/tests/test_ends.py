"""Requests that nobody waits for any more, clients that are closed under their threads, and tokens that come late."""

import asyncio
import pathlib
import socket
import threading
import time
from typing import List, Optional

import pytest

from machine import of_type
from support import GREETING, LIMIT, Daemon, Script, Stage, behaviour
from telltale import Action, AsyncTelltale, Backoff, ClientClosed, ConnectionLost, Live, Telltale, Unreachable, token_from_file
from telltale.options import DEFAULT_URL, Options, from_environment
from telltale.protocol import ClientProtocol, Ended

SOON = Backoff(shortest=0.001, longest=0.01)


def test_a_request_that_timed_out_before_it_was_sent_is_never_sent() -> None:
    async def scene(url: str) -> None:
        async with AsyncTelltale(url, timeout=0.05, backoff=SOON) as client:
            for number in range(3):
                with pytest.raises(Unreachable):
                    await client.post(f"errand/{number}", "start")
            client._timeout = None
            given_up = asyncio.ensure_future(client.set("porch-light/front", True))
            await asyncio.sleep(0)
            given_up.cancel()
            await asyncio.wait([given_up])
            assert client._link is not None and client._link.protocol.pending == 0

    # It accepts, and never greets.
    with socket.create_server(("127.0.0.1", 0)) as silent:
        asyncio.run(scene(f"127.0.0.1:{silent.getsockname()[1]}"))


@pytest.mark.parametrize("what", ["ping", "follow", "provide"])
def test_a_thread_that_waits_is_told_when_another_one_closes(what: str) -> None:
    def holds(stage: Stage) -> None:
        stage.greet()
        number = stage.hear({"ping": "PING", "follow": "SUB", "provide": "SERVE"}[what])
        if what == "provide":
            stage.say(f"OK id={number}")
        heard.set()
        stage.hear_end()

    def wait() -> None:
        try:
            if what == "ping":
                client.ping()
            elif what == "follow":
                client.follow("errand/*").next(LIMIT)
            else:
                with client.provide("porch-light", lambda action: None) as provider:
                    provider.wait()
        except (ClientClosed, ConnectionLost):
            pass

    for _ in range(20):
        heard = threading.Event()
        script = Script(holds)
        client = Telltale(script.url, timeout=None)
        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        assert heard.wait(LIMIT)
        client.close()
        thread.join(LIMIT)
        assert not thread.is_alive()
        script.join()


@behaviour("provider-lost")
def test_a_device_with_a_patience_of_its_own_fails_and_is_not_waited_for() -> None:
    def asks(stage: Stage) -> None:
        stage.greet()
        stage.say(f"OK id={stage.hear('SERVE')}")
        for number in range(3):
            stage.say(f"DO op=o{number} key=porch-light/{number} action=press deadline=99999999999999")
            assert stage.hear("FAIL") and "code=error" in stage.heard[-1]

    def act(action: Action) -> Optional[bool]:
        raise socket.timeout("the lamp says nothing")

    script = Script(asks)
    with Telltale(script.url, backoff=SOON) as device, device.provide("porch-light", act) as provider:
        script.join()
        # An operation that has ended is not remembered by its key.
        deadline = time.monotonic() + LIMIT
        while provider._provider._tasks and time.monotonic() < deadline:
            pass
        assert provider._provider._tasks == {}


def test_a_token_that_cannot_be_had_now_is_asked_for_again() -> None:
    raised: List[Exception] = [OSError("no network"), RuntimeError("tt_secret is not ready")]

    def token() -> str:
        if raised:
            raise raised.pop(0)
        return "tt_good"

    machine = ClientProtocol(Options(token=token))
    machine.start()
    for kind in ("OSError", "RuntimeError"):
        machine.connecting(0)
        machine.connected(0)
        machine.received((GREETING.replace("auth=none", "auth=token") + "\n").encode(), 0)
        assert machine.wants_close and machine.close_reason is not None
        assert kind in machine.close_reason and "tt_" not in machine.close_reason
        machine.disconnected(machine.close_reason, 0, 0)
        machine.deadline_reached(100)
        assert not machine.is_over and not of_type(machine.take_events(), Ended)
    machine.connecting(0)
    machine.connected(0)
    machine.received((GREETING.replace("auth=none", "auth=token") + "\n").encode(), 0)
    assert b"tt_good" in machine.take_output(0)


def test_a_program_that_looks_and_does_not_wait_sees_what_is_there(daemon: Daemon) -> None:
    with Telltale(daemon.url) as client:
        follow = client.follow("errand/*")
        deadline = time.monotonic() + LIMIT
        while not isinstance(follow.next(0), Live):
            assert time.monotonic() < deadline


def test_an_empty_variable_counts_as_absent(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    for name in ("CONNECT", "CA", "TOKEN", "TOKEN_FILE"):
        monkeypatch.setenv(f"TELLTALE_{name}", "")
    assert from_environment() == (DEFAULT_URL, None, None)
    empty = tmp_path / "token"
    empty.write_text("\n")
    assert token_from_file(empty)() is None
