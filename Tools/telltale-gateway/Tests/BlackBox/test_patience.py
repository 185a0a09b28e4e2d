"""Streams on which nothing happens for long: of a quiet key, and of a reader that has stopped."""

from support import Line, Stream


def test_silence_is_marked_and_a_reader_that_takes_nothing_for_30_s_is_let_go(world):
    daemon = world.daemon()
    gateway = world.gateway()
    line = Line(daemon.port)
    gateway.post("/errand/stuck/start")
    stuck = Stream(gateway, "sub=errand/stuck", receive_buffer=4_096)
    stuck.until("live")
    for number in range(600):
        line.ask(f'EVT errand/stuck type=update {{"content-state":{{"note":"{number} {"x" * 3_000}"}}}}')
    quiet = Stream(gateway, "sub=errand/quiet")
    quiet.until("live")
    # Its silence is the clock of this test: a mark each quarter of a minute, by the stamps of the server itself.
    marks = [quiet.until("mark")[-1][1]["now"]]
    while gateway.metrics()["telltale_gateway_streams"] != "1":
        marks.append(quiet.until("mark")[-1][1]["now"])
        assert len(marks) <= 6, "the reader that has stopped still has its stream"
    assert len(marks) > 1 and all(later - former > 10_000 for former, later in zip(marks, marks[1:])), marks
    # It comes back with its position, and is told the newest state alone.
    again = Stream(gateway, "sub=errand/stuck", {"Last-Event-ID": stuck.last_id})
    rows = [event[1]["row"] for event in again.until("live") if event[0] == "row"]
    assert [row["content"]["note"].split(" ")[0] for row in rows] == ["599"]
    for end in (stuck, quiet, again, line):
        end.close()
