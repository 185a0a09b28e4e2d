"""A client of several servers, of which one serves."""

from typing import Dict, List, Optional

import pytest

from following import SOON
from machine import Machine, of_type
from support import GREETING, LIMIT, REPOSITORY, Script, Stage, behaviour
from telltale import InvalidRequest, Telltale
from telltale._servers import ServerList
from telltale.options import Options
from telltale.protocol import ClientProtocol
from telltale.values import Disconnected, Replied

TABLES = REPOSITORY / "Protocols/Clients"
STANDBY = GREETING + " node=n2 role=standby"
LIST = Options(servers=("a:1", "b:1", "c:1"))


def rows(name: str) -> List[List[str]]:
    table = TABLES / f"{name}.table"
    if not table.exists():
        return []
    lines = [line for line in table.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return [[cell.strip() for cell in line.split("|")] for line in lines]


def address(text: str) -> str:
    return "tls://" + text[2:] if text.startswith("t:") else text


@behaviour("next-server")
@pytest.mark.parametrize("row", rows("servers"), ids=lambda row: row[0])
def test_the_table_of_servers(row: List[str]) -> None:
    servers = ServerList([address(text) for text in row[1].split(",")])
    step = "nothing"
    for one in row[2].split(";"):
        words = one.split()
        leader = words[2] if len(words) == 3 else None
        if not words or words[0] == "served":
            servers.served()
            step = "nothing"
        elif words[0] == "failed":
            step = servers.failed().value
        elif words[0] == "standby":
            step = servers.is_not_leader(leader).value
        else:
            assert words[0] == "bye"
            servers.resigned(leader)
            step = "wait"
    assert (servers.address, step) == (address(row[3]), row[4])


@behaviour("next-server")
@pytest.mark.parametrize("row", rows("dialing"), ids=lambda row: row[0])
def test_the_table_of_dialing(row: List[str]) -> None:
    servers = ServerList(row[1].split(","))
    for one in row[2].split(";"):
        words = one.split()
        for _ in range(int(words[1]) if len(words) == 2 else len(words[:1])):
            if words[0] == "failed":
                servers.failed()
            elif words[0] == "standby":
                servers.is_not_leader(words[2] if len(words) == 3 else None)
            else:
                assert words[0] == "served"
                servers.served()
    assert servers.dial_span(float(row[3])) == float(row[4])


@behaviour("next-server")
def test_a_machine_that_is_gone_costs_a_client_of_several_servers_2_s() -> None:
    for options, span in ((LIST, 2), (Options(servers=("a:1",)), 10)):
        machine = ClientProtocol(options)
        machine.start()
        machine.connecting(0)
        assert machine.deadline == span
        machine.deadline_reached(span)
        assert machine.close_reason == f"the connection took longer than {span} s"


def met(machine: ClientProtocol, greeting: str, random: float = 0.0) -> float:
    """What a standby is told, which is nothing; returns the delay before the next attempt."""
    machine.connecting(0)
    machine.connected(0)
    machine.received((greeting + "\n").encode(), 0)
    assert machine.wants_close and machine.take_output(0) == b""
    machine.disconnected("cut", 0, random)
    told = of_type(machine.take_events(), Disconnected)
    assert told[0].retry_after is not None
    return float(told[0].retry_after)


@behaviour("leader")
def test_a_standby_hears_nothing_and_the_leader_that_it_names_is_next() -> None:
    machine = ClientProtocol(LIST)
    machine.start()
    assert met(machine, STANDBY + " leader=c:1") == 0
    assert machine.wants_connection and machine.address == "c:1"


@behaviour("next-server")
def test_where_nobody_leads_the_dice_decide() -> None:
    for random, wait in ((0.0, 0.1), (1.0, 2.0)):
        machine = ClientProtocol(LIST)
        machine.start()
        assert met(machine, STANDBY, random) == pytest.approx(wait)
        assert machine.address == "b:1"


@behaviour("leader")
def test_a_leader_of_an_older_term_is_left() -> None:
    machine = Machine(LIST, GREETING + " node=n1 role=leader term=7")
    machine.lose(0)
    machine.come_back()
    met(machine, GREETING + " node=n2 role=leader term=6")
    machine.deadline_reached(10)
    machine.greet(10, GREETING + " node=n2 role=leader term=7")
    assert machine.is_ready


@behaviour("leader")
def test_a_lower_term_counts_where_it_is_still_the_answer_a_minute_later() -> None:
    def greeting_of(term: Optional[int]) -> str:
        return GREETING if term is None else GREETING + f" node=n1 role=leader term={term}"

    machine = Machine(LIST, greeting_of(7))

    def is_left(term: Optional[int], now: float) -> bool:
        machine.disconnected("cut", now, 0.0)
        machine.deadline_reached(now + 100)
        machine.connecting(now)
        machine.connected(now)
        machine.say(now, greeting_of(term))
        return machine.wants_close

    assert is_left(2, 100) and is_left(2, 159) and not is_left(2, 160)
    # It is the newest now.
    assert not is_left(3, 161) and is_left(2, 162)
    # A higher one begins the minute anew.
    assert not is_left(3, 200) and is_left(2, 230)
    # A server by itself: the history has left its log.
    assert not is_left(None, 231) and not is_left(2, 232)


@behaviour("leader")
def test_a_leader_that_stands_down_says_where_to_and_when() -> None:
    machine = Machine(LIST)
    machine.say(1, "BYE code=not_leader wait=5-5 leader=x:1")
    assert machine.lose(1) == 0.005 and machine.address == "x:1"
    machine = Machine(LIST)
    machine.say(1, "BYE code=not_leader wait=5-5")
    assert machine.lose(1) == 0.005 and machine.address == "b:1"


@behaviour("leader")
def test_a_farewell_in_the_place_of_a_greeting_is_one() -> None:
    machine = ClientProtocol(LIST)
    machine.start()
    assert met(machine, "BYE code=not_leader wait=5-5 leader=c:1") == 0.005
    assert machine.address == "c:1" and not machine.is_over


@behaviour("leader")
def test_a_request_that_a_deposed_leader_refuses_is_asked_of_the_next() -> None:
    from telltale._requests import Request

    machine = Machine(LIST)
    machine.request(Request("PING", ""))
    said = machine.take_output(0)
    machine.say(1, 'ERR id=2 code=not_leader retry=now {"msg":"n3 leads","leader":"c:1"}')
    assert not of_type(machine.take_events(), Replied)
    assert machine.lose(1) == 0 and machine.address == "c:1"
    assert machine.greet(1) == said.splitlines()


@behaviour("leader")
def test_an_event_gets_to_the_leader_that_a_standby_names() -> None:
    urls: Dict[str, str] = {}

    def standby(stage: Stage) -> None:
        stage.say(STANDBY + f" leader={urls['leader']}")
        stage.hear_end()

    def leads(stage: Stage) -> None:
        stage.greet()
        stage.say(f"OK id={stage.hear('EVT')} verdict=applied rev=8 state=queued")

    leader, other = Script(leads), Script(standby)
    urls["leader"] = leader.url
    # The leader is no address of the client's.
    with Telltale(f"{other.url},127.0.0.1:1", backoff=SOON, timeout=LIMIT) as client:
        assert client.post("a/1", "start").rev == 8
    other.join()
    leader.join()


@behaviour("next-server")
def test_behind_a_server_that_is_down_comes_the_next() -> None:
    def serves(stage: Stage) -> None:
        stage.greet()
        stage.say(f"PONG id={stage.hear('PING')}")

    server = Script(serves)
    with Telltale(f"127.0.0.1:1,{server.url}", backoff=SOON, timeout=LIMIT) as client:
        client.ping()
    server.join()


@pytest.mark.parametrize("url", ["a:1,", ",a:1", "a:1,tls://b:1", "a:1, b", ",".join(["a:1"] * 17)])
def test_a_list_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(InvalidRequest):
        Telltale(url)
