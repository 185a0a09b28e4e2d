"""The asyncio client: many callers at once, cancellation, the end."""

import asyncio
import threading
import warnings
from typing import List

import pytest

from support import LIMIT, Daemon, Script, Stage, behaviour
from telltale import AsyncTelltale, ClientClosed, ConnectionLost, Live, Telltale, Update
from telltale._changes import MOST_WAITING


def test_requests_of_many_callers_are_under_way_at_once(daemon: Daemon) -> None:
    async def scene() -> None:
        async with AsyncTelltale(daemon.url, timeout=LIMIT) as client:
            posted = await asyncio.gather(*(client.post(f"coffee-order/{n}", "start") for n in range(5000)))
            assert {answer.verdict for answer in posted} == {"applied"}
            assert len({answer.eid for answer in posted}) == 5000
            stats = await client.stats()
            # One connection, and far fewer commits than events: they share their syncs.
            assert stats["connections"] == 1 and stats["commits"] < 2500

    asyncio.run(scene())


def test_a_cancelled_caller_disturbs_no_other() -> None:
    def holds(stage: Stage) -> None:
        stage.greet()
        first, second = stage.hear("GET"), stage.hear("GET")
        stage.hear("PING")
        heard.set()
        assert go_on.wait(LIMIT)
        stage.say(f"OK id={first} key=a/1 rev=1 {{}}", f"OK id={second} key=a/2 rev=2 {{}}", f"PONG id={int(second) + 1}")
        stage.hear_end()

    async def scene(url: str) -> None:
        async with AsyncTelltale(url) as client:
            first = asyncio.ensure_future(client.get("a/1"))
            second = asyncio.ensure_future(client.get("a/2"))
            third = asyncio.ensure_future(client.ping())
            while not heard.is_set():
                await asyncio.sleep(0)
            first.cancel()
            await asyncio.wait([first])
            go_on.set()
            assert (await second).rev == 2
            await third
            with pytest.raises(asyncio.CancelledError):
                await first

    heard, go_on = threading.Event(), threading.Event()
    script = Script(holds)
    asyncio.run(scene(script.url))
    script.join()


def test_two_screens_in_one_program(daemon: Daemon) -> None:
    async def watch(client: AsyncTelltale, view: str) -> List[str]:
        seen: List[str] = []
        async with client.follow("coffee-order/*", view=view) as follow:
            async for change in follow:
                if isinstance(change, Live):
                    await client.post("coffee-order/1", "start", attributes={"item": "Tea"})
                if isinstance(change, Update):
                    seen.append(change.key)
                    break
        return seen

    async def scene() -> None:
        async with AsyncTelltale(daemon.url) as client:
            assert await asyncio.gather(watch(client, "carplay"), watch(client, "watch")) == [["coffee-order/1"]] * 2

    asyncio.run(scene())


@behaviour("slow-reader")
def test_a_follower_whose_reader_is_busy_reads_no_further() -> None:
    count = 5000

    def floods(stage: Stage) -> None:
        stage.greet()
        stage.say(f"OK id={stage.hear('SUB')} sub=1 view=full")
        stage.say(*(f'SNAP sub=1 key=a/{n} rev={n} {{"text":"{"x" * 500}"}}' for n in range(count)))
        stage.say(f"LIVE sub=1 cur=0123456789abcdef:{count}:b0e4")
        stage.hear_end()

    async def scene(url: str) -> None:
        async with AsyncTelltale(url) as client, client.follow("a/*") as follow:

            async def pause() -> None:
                while follow._link is None or not follow._link._is_paused:
                    await asyncio.sleep(0)

            await asyncio.wait_for(pause(), LIMIT)
            # At most one read beyond the limit.
            assert MOST_WAITING <= len(follow._queue) < count / 2
            async for change in follow:
                if isinstance(change, Live):
                    break
            assert len(follow.rows) == count

    script = Script(floods)
    asyncio.run(scene(script.url))
    script.join()


def test_close_ends_what_is_under_way() -> None:
    def silent(stage: Stage) -> None:
        stage.greet()
        stage.hear("PING")
        stage.hear_end()

    async def scene(url: str) -> None:
        client = AsyncTelltale(url, timeout=None)
        waiting = asyncio.ensure_future(client.ping())
        while client._link is None or not client._link.protocol.is_ready:
            await asyncio.sleep(0)
        await client.close()
        with pytest.raises(ConnectionLost):
            await waiting
        with pytest.raises(ClientClosed):
            await client.ping()

    script = Script(silent)
    asyncio.run(scene(script.url))
    script.join()


def test_a_client_that_ends_leaves_nothing_behind(daemon: Daemon) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        client = Telltale(daemon.url)
        client.ping()
        follow = client.follow("*")
        next(follow)
        client.close()
        client.close()
        with pytest.raises(ClientClosed):
            client.ping()
        with pytest.raises(ClientClosed):
            next(follow)
