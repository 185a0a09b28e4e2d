"""The protocol machine alone: no socket, and a clock that the test holds."""

import pytest

from machine import Machine, of_type
from support import GREETING, behaviour
from telltale import Backoff, InvalidRequest, NotAuthenticated, ProtocolViolation, _calls
from telltale.options import Options
from telltale.protocol import ClientProtocol
from telltale.values import Disconnected, Ended, Replied


@behaviour("back-off")
def test_delays_double_up_to_a_limit_and_are_random_in_their_upper_half() -> None:
    machine = ClientProtocol()
    machine.start()
    machine.connecting(0)
    lost = []
    for _ in range(10):
        machine.disconnected("refused", 0, 0.0)
        lost.append(of_type(machine.take_events(), Disconnected)[0].retry_after)
        machine.deadline_reached(1000)
        machine.connecting(0)
    assert lost == [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0]
    assert Backoff().wait(3, 0.0) == 0.4 and Backoff().wait(3, 1.0) == 0.8 and Backoff().wait(3, 0.5) == pytest.approx(0.6)
    assert Backoff().wait(10**9, 1.0) == 10.0


@behaviour("back-off")
def test_a_connection_that_served_for_a_second_begins_the_delays_anew() -> None:
    machine = Machine()
    assert machine.lose(0.9) == 0.05
    machine.greet(machine.come_back())
    assert machine.lose(1.5) == 0.1
    now = machine.come_back()
    machine.greet(now)
    assert machine.lose(now + 1) == 0.05


@behaviour("farewell")
def test_after_bye_the_delay_is_from_its_range() -> None:
    for random, wait in ((0.0, 2.0), (0.5, 3.5), (1.0, 5.0)):
        machine = Machine()
        machine.say(1, "BYE code=shutting_down wait=2000-5000")
        assert machine.wants_close and machine.close_reason == "the server said BYE: shutting_down"
        assert machine.lose(1, random) == wait
    for broken in ("5000-2000", "x-1", "-1", "1-", "", "1-2-3"):
        machine = Machine()
        machine.say(1, f"BYE code=shutting_down wait={broken}")
        assert machine.lose(1) == 0.05


@behaviour("silence")
def test_silence_for_three_heartbeats_ends_a_connection() -> None:
    machine = Machine()
    assert machine.deadline == 60
    machine.say(10, "MARK now=1")
    assert machine.deadline == 70
    machine.deadline_reached(69.9)
    assert not machine.wants_close
    machine.deadline_reached(70)
    assert machine.wants_close and machine.close_reason == "the server fell silent"


@behaviour("silence")
def test_a_client_that_asked_for_heartbeats_gives_signs_of_life() -> None:
    machine = ClientProtocol(Options(heartbeat=2.0))
    machine.start()
    machine.connected(0)
    machine.received((GREETING + "\n").encode(), 0)
    assert b" hb=2000" in machine.take_output(0)
    machine.received(b"OK id=1 conn=c1 hb=2000\n", 1)
    assert machine.deadline == 2
    machine.deadline_reached(2)
    assert machine.take_output(2) == b"PING id=2\n"
    # The server's own signs of life are due as often as was granted.
    assert machine.deadline == 4
    machine.deadline_reached(4)
    assert machine.deadline == 6
    machine.deadline_reached(7)
    assert machine.close_reason == "the server fell silent"


@behaviour("silence")
def test_each_step_of_connecting_has_a_limit() -> None:
    machine = ClientProtocol(Options(greeting_timeout=3))
    machine.start()
    machine.connecting(0)
    machine.deadline_reached(3)
    assert machine.close_reason == "the connection took longer than 3 s"
    machine.disconnected("cut", 3, 0)
    machine.deadline_reached(4)
    machine.connecting(4)
    machine.connected(4)
    machine.deadline_reached(7)
    assert machine.close_reason == "no greeting came; is this a Telltale server?"


@behaviour("silence")
def test_silence_means_nothing_while_the_owner_does_not_read() -> None:
    machine = Machine()
    machine.pause()
    assert machine.deadline is None
    machine.resume(1000)
    assert machine.deadline == 1060


@behaviour("unknown-words")
def test_unknown_verbs_and_attributes_mean_nothing() -> None:
    machine = Machine(greeting=GREETING + " colour=red")
    number = machine.request(_calls.ping().request)
    machine.take_output(0)
    machine.take_events()
    machine.say(1, "GLOW sub=1 key=a/b", "UPD sub=9 key=a/b rev=1 {}", f"PONG id={number} colour=red", "# a comment")
    assert [event.request for event in of_type(machine.take_events(), Replied)] == [number]
    assert not machine.wants_close


@behaviour("other-version")
@pytest.mark.parametrize(
    "first, problem",
    [
        (GREETING.replace("TELLTALE 1", "TELLTALE 2"), "speaks version 2"),
        ("SSH-2.0-OpenSSH_9.2", "no Telltale server"),
        ("HTTP/1.1 400 Bad Request", "no Telltale server"),
        ("OK", "no Telltale server"),
        ("TELLTALE 1 seq=1", "no Telltale server"),
    ],
)
def test_another_server_is_refused_and_not_tried_again(first: str, problem: str) -> None:
    machine = ClientProtocol()
    machine.start()
    number = machine.request(_calls.ping().request)
    machine.connected(0)
    machine.received(first.encode() + b"\n", 0)
    assert machine.wants_close and machine.take_output(0) == b""
    machine.disconnected("closed", 0, 0)
    assert machine.is_over and not machine.wants_connection and machine.deadline is None
    events = machine.take_events()
    assert [type(event) for event in events] == [Replied, Ended] and events[0].request == number  # type: ignore[union-attr]
    with pytest.raises(ProtocolViolation, match=problem):
        raise events[1].error  # type: ignore[misc,union-attr]


def test_a_server_without_room_is_tried_again() -> None:
    machine = ClientProtocol()
    machine.start()
    machine.connected(0)
    machine.received(b'ERR code=limit_conns retry=later fatal=1 {"msg":"full"}\n', 0)
    assert machine.wants_close
    machine.disconnected("closed", 0, 0)
    assert not machine.is_over and machine.deadline is not None


@behaviour("needless-secret")
def test_a_token_is_told_to_a_server_that_asks_for_it_alone() -> None:
    options = Options(token=lambda: "tt_secret")
    for auth, told in (("none", False), ("token", True)):
        machine = ClientProtocol(options)
        machine.start()
        machine.connected(0)
        machine.received((GREETING.replace("auth=none", f"auth={auth}") + "\n").encode(), 0)
        assert (b"tt_secret" in machine.take_output(0)) == told
    assert "tt_secret" not in repr(Options(token="tt_secret"))


def test_a_token_that_is_longer_than_a_word_stands_in_the_tail() -> None:
    for length, told in ((256, "token=" + "t" * 256), (257, '{"token":"' + "t" * 257 + '"}'), (4096, '"' + "t" * 4096 + '"}')):
        machine = ClientProtocol(Options(token="t" * length))
        machine.start()
        machine.connected(0)
        machine.received((GREETING.replace("auth=none", "auth=token") + "\n").encode(), 0)
        assert machine.take_output(0).endswith(f"{told}\n".encode())


@behaviour("needless-secret")
def test_a_token_that_cannot_be_read_is_told_without_it() -> None:
    for token in ("tt bad", "", "tt_\n", "tt" * 2049):
        with pytest.raises(InvalidRequest) as caught:
            Options(token=token)
        assert "tt" not in str(caught.value).replace("the token", "")


@behaviour("revoked-token")
def test_a_token_that_is_not_accepted_ends_the_client() -> None:
    machine = ClientProtocol(Options(token="tt_x"))
    machine.start()
    machine.connected(0)
    machine.received((GREETING.replace("auth=none", "auth=token") + "\n").encode(), 0)
    machine.received(b'ERR id=1 code=auth_failed retry=auth {"msg":"no"}\n', 0)
    machine.disconnected("closed", 0, 0)
    ended = of_type(machine.take_events(), Ended)
    assert machine.is_over and isinstance(ended[0].error, NotAuthenticated) and "tt_x" not in str(ended[0].error)


@behaviour("reconnect")
def test_what_was_not_answered_is_said_again_in_order_with_its_eid() -> None:
    machine = Machine()
    for eid in ("e1", "e2", "e3"):
        machine.request(_calls.post("errand/1", "start", eid=eid).request)
    assert machine.take_output(0).count(b"\n") == 3
    machine.say(1, "OK id=2 verdict=applied rev=3 state=open")
    machine.lose(1)
    said = machine.greet(machine.come_back())
    assert [line.split(b"eid=")[1] for line in said] == [b"e2", b"e3"]


@behaviour("reconnect")
def test_a_server_that_goes_down_is_asked_again() -> None:
    machine = Machine()
    number = machine.request(_calls.press("log-coffee/espresso", eid="p").request)
    machine.take_output(0)
    machine.say(0, f'ERR id={number} code=shutting_down retry=later {{"msg":"going"}}')
    assert of_type(machine.take_events(), Replied) == []
    machine.lose(1)
    assert machine.greet(machine.come_back()) == [b"PRESS id=%d log-coffee/espresso eid=p" % number]


@behaviour("lost-once")
def test_what_must_not_be_repeated_is_told_as_lost() -> None:
    machine = Machine()
    number = machine.request(_calls.done("o18", True).request)
    machine.take_output(0)
    machine.take_events()
    machine.disconnected("cut", 1, 0)
    replies = of_type(machine.take_events(), Replied)
    assert [reply.request for reply in replies] == [number] and "lost" in str(replies[0].error)
    assert machine.greet(machine.come_back()) == []


@behaviour("lost-once")
def test_what_was_not_sent_yet_is_not_lost() -> None:
    machine = Machine()
    machine.lose(1)
    number = machine.request(_calls.done("o18", True).request)
    now = machine.come_back()
    machine.connecting(now)
    assert machine.lose(now) > 0
    assert machine.greet(machine.come_back()) == [b"DONE id=%d op=o18 value=on" % number]


@behaviour("answer-begins-again")
def test_a_cut_answer_begins_again() -> None:
    machine = Machine()
    number = machine.request(_calls.list_rows().request)
    machine.take_output(0)
    machine.say(0, "SNAP sub=0 key=a/1 rev=1 {}")
    machine.lose(1)
    machine.greet(machine.come_back())
    machine.say(2, "SNAP sub=0 key=a/1 rev=1 {}", "SNAP sub=0 key=a/2 rev=2 {}", f"OK id={number} count=2")
    reply = of_type(machine.take_events(), Replied)[0]
    assert [row.key for row in _calls.list_rows().result(reply)] == ["a/1", "a/2"]


@behaviour("too-long")
def test_a_request_longer_than_the_server_takes_is_refused_here() -> None:
    machine = Machine(greeting=GREETING.replace("max_line=65536", "max_line=100"))
    long = machine.request(_calls.post("a/b", "start", eid="e", content={"text": "x" * 100}).request)
    short = machine.request(_calls.ping().request)
    assert machine.take_output(0) == b"PING id=%d\n" % short
    replies = of_type(machine.take_events(), Replied)
    assert [reply.request for reply in replies] == [long] and isinstance(replies[0].error, InvalidRequest)
    assert "100" in str(replies[0].error)


@pytest.mark.parametrize("line", ["OK id=99", "PONG", "OK", "HIST key=a/b rev=1", "SNAP sub=0 key=a/b rev=1 {}"])
def test_an_answer_to_nothing_ends_the_connection(line: str) -> None:
    machine = Machine()
    machine.say(0, line)
    assert machine.wants_close


def test_the_window_is_never_exceeded() -> None:
    machine = Machine(Options(window=3))
    numbers = [machine.request(_calls.ping().request) for _ in range(5)]
    assert machine.take_output(0).count(b"\n") == 3
    machine.say(0, f"PONG id={numbers[0]}")
    assert machine.take_output(0).count(b"\n") == 1


def test_a_withdrawn_request_is_not_told_and_not_sent_again() -> None:
    machine = Machine()
    number = machine.request(_calls.ping().request)
    later = machine.request(_calls.ping().request)
    assert machine.withdraw(later) == (False, None)
    machine.take_output(0)
    machine.take_events()
    assert machine.withdraw(number) == (True, None)
    machine.say(0, f"PONG id={number}")
    assert machine.take_events() == [] and machine.pending == 0
