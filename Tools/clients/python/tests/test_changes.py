"""The changes that wait for their reader."""

from typing import Any, List

from support import behaviour
from telltale._changes import ChangeQueue
from telltale.values import Alert, Deletion, Live, Milestone, Reset, Update


def taken(queue: ChangeQueue) -> List[Any]:
    changes = []
    while (pair := queue.take()) is not None:
        changes.append(pair)
    return changes


@behaviour("slow-reader")
def test_a_newer_row_takes_the_place_of_the_waiting_one() -> None:
    queue = ChangeQueue()
    queue.put(Update("a/1", 1, {"n": 1}), "c1")
    queue.put(Update("a/2", 2, {}), "c2")
    queue.put(Update("a/1", 3, {"n": 3}, skip=2), "c3")
    queue.put(Update("a/1", 4, {"n": 4}), "c4")
    assert taken(queue) == [
        # A resume from here does not miss a/2.
        (Update("a/1", 4, {"n": 4}, skip=4, why="slow"), "c1"),
        (Update("a/2", 2, {}), "c2"),
        (None, "c4"),
    ]


@behaviour("slow-reader")
def test_a_deletion_is_folded_and_what_follows_it_too() -> None:
    queue = ChangeQueue()
    queue.put(Update("a/1", 1, {}), "c1")
    queue.put(Deletion("a/1", 2, "dismissed"), "c2")
    assert taken(queue) == [(Deletion("a/1", 2, "dismissed", skip=1), "c1"), (None, "c2")]
    queue.put(Deletion("a/1", 3, "hidden"), "c3")
    queue.put(Update("a/1", 4, {}), "c4")
    assert taken(queue) == [(Update("a/1", 4, {}, skip=1, why="slow"), "c3"), (None, "c4")]


@behaviour("slow-reader")
def test_the_queue_is_no_longer_than_what_there_is_to_tell() -> None:
    queue = ChangeQueue()
    for rev in range(10_000):
        queue.put(Update(f"a/{rev % 10}", rev, {}), f"c{rev}")
    assert len(queue) == 11
    changes = taken(queue)
    assert sum(change.skip + 1 for change, _ in changes if change is not None) == 10_000
    assert changes[-1] == (None, "c9999")


@behaviour("slow-reader")
def test_milestones_and_alerts_stay_before_their_row() -> None:
    queue = ChangeQueue()
    queue.put(Update("a/1", 1, {}), None)
    queue.put(Milestone("a/1", 2, "ready", 5), None)
    queue.put(Alert("a/1", 2, {}), None)
    queue.put(Update("a/1", 2, {}), None)
    queue.put(Update("a/1", 3, {}), None)
    kinds = [(type(change), change.rev) for change, _ in taken(queue) if change is not None]
    assert kinds == [(Update, 1), (Milestone, 2), (Alert, 2), (Update, 3)]


@behaviour("slow-reader")
def test_nothing_is_folded_across_a_reset() -> None:
    queue = ChangeQueue()
    for change in (Update("a/1", 5, {}), Reset("epoch"), Update("a/1", 1, {}, snapshot=True), Live()):
        queue.put(change, None)
    assert [type(change) for change, _ in taken(queue)] == [Update, Reset, Update, Live]


def test_the_same_rev_again_is_no_further_commit() -> None:
    queue = ChangeQueue()
    queue.put(Update("a/1", 5, {"order": 1}, snapshot=True), None)
    queue.put(Update("a/1", 5, {"order": 2}), None)
    assert taken(queue)[0] == (Update("a/1", 5, {"order": 2}, snapshot=True, skip=0, why="slow"), None)
