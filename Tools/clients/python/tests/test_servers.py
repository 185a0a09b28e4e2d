"""A client of several servers, of which one serves."""

from typing import Dict, List, Optional

import pytest

from following import SOON
from machine import Machine, of_type
from support import GREETING, LIMIT, REPOSITORY, Script, Stage, behaviour
from telltale import AsyncTelltale, InvalidRequest, Telltale, _calls
from telltale._requests import Request
from telltale._servers import ServerList, beginning_with
from telltale.options import Options
from telltale.protocol import ClientProtocol
from telltale.values import Disconnected, Replied

TABLES = REPOSITORY / "Protocols/Clients"
EPOCH = GREETING.partition("epoch=")[2].partition(" ")[0]
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
    addresses = [address(text) for text in row[1].split(",")]
    servers = ServerList(addresses)
    step = "nothing"
    for one in row[2].split(";"):
        words = one.split()
        target = words[2] if len(words) == 3 else None
        if words and words[0] == "begin":
            servers = ServerList(beginning_with(addresses, (addresses.index(words[1]) + 0.5) / len(addresses)))
        elif not words or words[0] == "served":
            servers.served()
            servers.stayed()
            step = "nothing"
        elif words[0] == "failed":
            step = servers.failed().value
        elif words[0] == "standby":
            step = servers.redirected(target).value
        else:
            assert words[0] == "bye"
            servers.redirected(target, is_delayed=True)
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
                servers.redirected(words[2] if len(words) == 3 else None)
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


@behaviour("leader")
@pytest.mark.parametrize("row", rows("staying"), ids=lambda row: row[0])
def test_the_table_of_staying(row: List[str]) -> None:
    machine = ClientProtocol(Options(servers=("A", "B", "C")))
    machine.start()
    machine.connecting(0)
    machine.connected(0)
    request = Request("EVT", "a/1 type=start eid=e1", eid="e1") if row[1] == "reader" else _calls.serve("a").request
    if row[2].startswith("TELLTALE"):
        machine.request(request)
        machine.received((row[2] + "\n").encode(), 0)
    else:
        machine.received(f"{STANDBY} serves=1\n".encode(), 0)
        hello = machine.take_output(0).split(b" ")[1].decode()
        machine.received(f"OK {hello} conn=c1\n".encode(), 0)
        number = machine.request(request)
        machine.take_output(0)
        machine.received((row[2].replace("ID", str(number)) + "\n").encode(), 0)
    if not machine.wants_close:
        assert (row[3], row[4], machine.address) == ("A", "nothing", "A")
        return
    machine.disconnected("cut", 0, 0.0)
    assert machine.address == row[3]
    told = of_type(machine.take_events(), Disconnected)
    assert told[-1].retry_after == {"at once": 0, "pause": 0.1, "wait": 0.005}[row[4]]


@behaviour("next-server")
def test_clients_of_one_list_begin_at_each_of_its_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = [beginning_with(("a:1", "b:1", "c:1"), dice)[0] for dice in (0.0, 0.3, 0.34, 0.7, 1.0)]
    assert begun == ["a:1", "a:1", "b:1", "c:1", "c:1"]
    assert beginning_with((), 0.5) == ()
    monkeypatch.setattr("telltale._aio.random.random", lambda: 0.7)
    assert AsyncTelltale("a:1,b:1,c:1")._options.servers == ("c:1", "a:1", "b:1")


@behaviour("leader")
def test_a_client_stays_at_a_node_that_forwards_whoever_leads() -> None:
    machine = Machine(LIST, GREETING + " node=n1 role=leader term=7")
    machine.lose(0)
    now = machine.come_back()
    machine.greet(now, STANDBY + " serves=1")
    assert machine.is_ready
    # The term of a leader that it met before is no other for it.
    machine.lose(now)
    machine.come_back()
    met(machine, GREETING + " node=n2 role=leader term=6")


@behaviour("leader")
@pytest.mark.parametrize("role", ["role=leader term=7", "role=standby leader=b:1 serves=1"])
def test_a_client_goes_where_the_greeting_of_a_server_that_drains_says(role: str) -> None:
    machine = Machine(LIST, f"{GREETING} node=n1 {role} to=c:1")
    assert machine.wants_close and machine.take_output(0) == b""
    assert machine.lose(0) == 0 and machine.address == "c:1"


@behaviour("provider-lost")
def test_a_provider_that_is_refused_goes_to_the_leader_and_serves_at_any_node_that_takes_it() -> None:
    follower = STANDBY + " leader=c:1 serves=1"
    machine = Machine(LIST, follower)
    number = machine.request(_calls.serve("porch-light").request)
    said = machine.take_output(0)
    machine.say(0, f'ERR id={number} code=not_leader retry=now {{"msg":"n1 leads","leader":"c:1"}}')
    assert machine.lose(0) == 0 and machine.address == "c:1"
    assert machine.greet(0, GREETING + " node=n1 role=leader term=3") == said.splitlines()
    machine.say(0, f"OK id={number}")
    machine.lose(5)
    now = machine.come_back()
    assert any(line.startswith(b"SERVE ") for line in machine.greet(now, follower))


@behaviour("leader")
def test_nodes_that_send_a_client_to_each_other_without_serving_it_are_left_for_a_while() -> None:
    machine = Machine(LIST, STANDBY + " serves=1")
    machine.say(0, "BYE code=behind to=b:1")
    assert machine.lose(0) == 0
    machine.greet(0, STANDBY + " serves=1")
    machine.say(0, "BYE code=behind to=a:1")
    assert machine.lose(0) == pytest.approx(0.1)


def hello(machine: Machine, greeting: str) -> str:
    """What a client says that comes back."""
    machine.lose(0)
    now = machine.come_back() if not machine.wants_connection else 0
    machine.connecting(now)
    machine.connected(now)
    machine.say(now, greeting)
    return machine.take_output(now).decode()


@behaviour("resume-elsewhere")
@pytest.mark.parametrize(
    "lines,newest",
    [
        (["OK id=ID verdict=applied rev=41903 state=ready"], 41903),
        (["SNAP sub=1 key=a/1 rev=7 {}", "LIVE sub=1 cur=EPOCH:5:b0e4"], 7),
        (["SNAP sub=1 key=a/1 rev=5 {}", "LIVE sub=1 cur=EPOCH:9:b0e4"], 9),
        (["UPD sub=1 key=a/1 rev=12 {}", "DEL sub=1 key=a/1 rev=11 why=dismissed"], 12),
        (["MARK now=1 sub=1 cur=EPOCH:15:b0e4"], 15),
        (["ALERT sub=1 key=a/1 rev=13 {}"], 13),
        (["CHANGED sub=1 rev=14 count=1"], 14),
    ],
)
def test_a_client_that_comes_back_says_the_newest_commit_that_it_has_seen(lines: List[str], newest: int) -> None:
    machine = Machine(LIST, GREETING + " node=n1 role=leader term=3")
    machine.subscribe("*")
    sub = machine.take_output(0).split(b" ")[1].decode()
    machine.say(0, f"OK {sub} sub=1")
    number = machine.request(Request("EVT", "a/1 type=start eid=e1", eid="e1"))
    machine.take_output(0)
    for line in lines:
        machine.say(0, line.replace("ID", str(number)).replace("EPOCH", EPOCH))
    assert f" after={EPOCH}:{newest}\n" in hello(machine, STANDBY + " serves=1")


@behaviour("resume-elsewhere")
def test_a_commit_is_said_to_nodes_of_its_history_alone() -> None:
    leader = GREETING + " node=n1 role=leader term=3"
    machine = Machine(LIST, leader)
    assert "after=" not in hello(machine, leader)
    machine = Machine(LIST, leader)
    number = machine.request(Request("EVT", "a/1 type=start eid=e1", eid="e1"))
    machine.take_output(0)
    machine.say(0, f"OK id={number} verdict=applied rev=8")
    # This one is in no cluster.
    assert "after=" not in hello(machine, GREETING)
    assert f" after={EPOCH}:8\n" in hello(machine, leader)
    assert "after=" not in hello(machine, leader.replace(EPOCH, "00000000000000bb"))
    # It has not seen this history since.
    assert "after=" not in hello(machine, leader)


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
