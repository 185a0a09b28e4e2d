"""Subscriptions of the protocol machine: resume, reset, order."""

from machine import Machine
from support import GREETING, behaviour
from telltale.values import Changed, Deletion, Live, Notice, Reset, Update


def follow(machine: Machine) -> int:
    number = machine.subscribe("errand/*")
    assert machine.take_output(0) == b"SUB id=3 errand/*\n"
    machine.say(0, "OK id=3 sub=1 view=full", 'SNAP sub=1 key=errand/1 rev=1 {"state":"open"}')
    machine.say(0, "SNAP sub=1 key=errand/2 rev=2 {}", "LIVE sub=1 cur=0123456789abcdef:2:b0e4")
    assert [type(change) for change in machine.changes()] == [Update, Update, Live]
    return number


@behaviour("resume")
def test_the_last_cursor_is_sent_back_as_it_came() -> None:
    machine = Machine()
    number = follow(machine)
    machine.say(1, "UPD sub=1 key=errand/1 rev=3 cur=0123456789abcdef:3:b0e4 {}", "UPD sub=1 key=errand/2 rev=4 {}")
    assert [change.rev for change in machine.changes()] == [3, 4]
    machine.say(1, "MARK now=1 sub=1 cur=0123456789abcdef:5:b0e4")
    assert machine.changes() == [None]
    machine.lose(2)
    said = machine.greet(machine.come_back())
    assert [line.split(b" ", 2)[2] for line in said] == [b"errand/* from=0123456789abcdef:5:b0e4"]
    assert sorted(machine.rows(number)) == ["errand/1", "errand/2"]


@behaviour("cut-snapshot")
def test_a_cut_snapshot_is_asked_for_as_a_whole() -> None:
    machine = Machine()
    machine.subscribe("errand/*")
    machine.take_output(0)
    # A cursor amid a snapshot is none to resume from.
    machine.say(0, "OK id=3 sub=1 view=full", "SNAP sub=1 key=errand/1 rev=1 cur=0123456789abcdef:1:b0e4 {}")
    machine.lose(1)
    said = machine.greet(machine.come_back())
    assert [line.split(b" ", 2)[2] for line in said] == [b"errand/*"]


@behaviour("reset")
def test_at_live_the_keys_that_a_new_snapshot_did_not_bring_are_gone() -> None:
    machine = Machine()
    number = follow(machine)
    machine.lose(1)
    machine.greet(machine.come_back(), GREETING.replace("0123456789abcdef", "fedcba9876543210"))
    machine.take_events()
    # Revs of another history may be smaller.
    machine.say(2, "OK id=5 sub=1 view=full", "RESET sub=1 why=epoch", "SNAP sub=1 key=errand/2 rev=1 {}")
    machine.say(2, "LIVE sub=1 cur=fedcba9876543210:1:b0e4")
    events = [event for event in machine.take_events() if isinstance(event, Changed)]
    assert [type(event.change) for event in events] == [Reset, Update, Deletion, Live]
    assert events[2].change == Deletion("errand/1", 1, "reset")
    # No place to resume from until the rows are complete.
    assert [event.cursor for event in events] == [None, None, None, "fedcba9876543210:1:b0e4"]
    assert sorted(machine.rows(number)) == ["errand/2"]


def test_a_cursor_that_the_server_does_not_take_is_dropped() -> None:
    machine = Machine()
    machine.subscribe("errand/*", "0123456789abcdef:5:b0e4")
    machine.take_output(0)
    machine.say(0, 'ERR id=3 code=bad_cursor retry=no {"msg":"none"}')
    assert machine.take_output(0) == b"SUB id=4 errand/*\n"


@behaviour("rev-goes-back")
def test_a_row_older_than_the_one_before_ends_the_connection() -> None:
    machine = Machine()
    follow(machine)
    machine.say(1, "UPD sub=1 key=errand/1 rev=9 {}")
    machine.changes()
    machine.say(2, "UPD sub=1 key=errand/1 rev=8 {}")
    assert machine.wants_close and machine.close_reason == "the rev of errand/1 went back from 9 to 8"
    assert machine.changes() == []


def test_a_subscription_that_ends_before_its_answer_is_taken_back() -> None:
    machine = Machine()
    number = machine.subscribe("errand/*")
    machine.take_output(0)
    machine.unsubscribe(number)
    machine.say(0, "OK id=3 sub=1 view=full", "SNAP sub=1 key=errand/1 rev=1 {}")
    assert machine.take_output(0) == b"UNSUB id=4 sub=1\n" and machine.changes() == []


def test_notices_tell_that_something_changed() -> None:
    machine = Machine()
    machine.subscribe("errand/* deliver=notice")
    assert machine.take_output(0) == b"SUB id=3 errand/* deliver=notice\n"
    machine.say(0, "OK id=3 sub=1 view=full", "LIVE sub=1 cur=0123456789abcdef:2:b0e4")
    machine.say(0, "CHANGED sub=1 rev=3 count=2", "CHANGED sub=1 rev=9 cur=0123456789abcdef:8:b0e4")
    assert machine.changes() == [Live(), Notice(3, 2), Notice(9, None)]
    machine.lose(1)
    said = machine.greet(machine.come_back())
    assert [line.split(b" ", 2)[2] for line in said] == [b"errand/* deliver=notice from=0123456789abcdef:8:b0e4"]
