"""The stream: what a browser, a tool and a slow reader are told."""

import json
import threading

import pytest

from fake_daemon import GREETING, FakeDaemon
from support import PATIENCE, Line, Stream, attempts, attributes, eventually

NOTE = {"content-state": {"note": "x" * 3_000}}


def test_a_picture_then_what_changes(gateway):
    gateway.post("/coffee-order/s1/start", {"attributes": {"item": "Flat white"}})
    stream = Stream(gateway, "sub=coffee-order/s1,carplay&sub=porch-light/*,,lockScreen")
    assert (stream.status, stream.header("Content-Type")) == (200, "text/event-stream")
    assert (stream.header("X-Accel-Buffering"), stream.header("Cache-Control")) == ("no", "no-store")
    assert stream.header("Last-Event-ID") == "earliest"
    assert stream.response.readline() == b"retry: 2000\n" and stream.response.readline() == b"\n"
    name, data, identifier = stream.next()
    assert (name, identifier) == ("hello", None)
    assert data["subs"] == [
        {"sub": 1, "pattern": "coffee-order/s1", "view": "carplay"},
        {"sub": 2, "pattern": "porch-light/*", "view": "full", "placement": "lockScreen"}]
    first = stream.until("live")
    row = next(event for event in first if event[0] == "row")
    assert row[1]["snap"] is True and row[1]["row"]["presentation"] == "small" and row[2] is None
    assert first[-1][1] == {"sub": 1} and first[-1][2].endswith("~-")
    assert stream.until("live")[-1][2].count("~") == 1
    gateway.post("/coffee-order/s1/CONFIRMED")
    name, data, identifier = stream.until("row")[-1]
    assert data["row"]["view"]["title"] and "snap" not in data and identifier == stream.last_id
    stream.close()


def test_every_event_has_the_daemons_own_row(gateway, daemon):
    line = Line(daemon.port)
    line.ask("SUB errand/same")
    line.wait_for("LIVE")
    stream = Stream(gateway, "sub=errand/same")
    stream.until("live")
    for number in range(5):
        gateway.post(f"/errand/same/{'update' if number else 'start'}", {"content-state": {"note": f'"{number}" \\ ü'}})
        found, row = attributes(line.wait_for("UPD"))
        data = stream.until("row")[-1][1]
        assert (data["key"], data["rev"], data["row"]) == (found["key"], int(found["rev"]), row)
    stream.close()
    line.close()


@pytest.mark.parametrize("by", ["header", "query"])
def test_a_reader_that_comes_back_misses_nothing(gateway, by):
    key = f"errand/back-{by}"
    gateway.post(f"/{key}/start", {"content-state": {"note": "0"}})
    stream = Stream(gateway, f"sub={key}")
    stream.until("live")
    seen = []
    # Cut after each event in turn; what changes meanwhile is told by the next connection.
    for number in range(1, 12):
        gateway.post(f"/{key}/update", {"content-state": {"note": str(number)}})
        if number % 3 == 1:
            seen.append(stream.until("row")[-1][1]["row"]["content"]["note"])
        last = stream.last_id
        stream.close()
        if by == "header":
            stream = Stream(gateway, f"sub={key}", {"Last-Event-ID": last})
        else:
            stream = Stream(gateway, f"sub={key}&lastEventID={last}")
        assert stream.header("Last-Event-ID") == last
        events = stream.until("live")
        assert not any(event[0] == "reset" for event in events)
        seen += [event[1]["row"]["content"]["note"] for event in events if event[0] == "row"]
    assert seen[-1] == "11" and seen == sorted(set(seen), key=int)
    stream.close()


@pytest.mark.parametrize("position, why", [
    ("nonsense", "malformed"), ("-~-", "malformed"), ("0000000000000000:5:abcd", "epoch"),
])
def test_what_cannot_be_resumed_is_told_anew(gateway, position, why):
    gateway.post("/errand/anew/start")
    stream = Stream(gateway, "sub=errand/anew", {"Last-Event-ID": position})
    assert stream.status == 200
    events = stream.until("live")
    names = [event[0] for event in events]
    assert names == ["hello", "reset", "row", "live"]
    assert events[1][1] == {"sub": 1, "why": why} and events[2][1]["snap"] is True
    stream.close()


def test_refusals_come_before_the_stream(gateway):
    for query, code in [("sub=a/b/c", "bad_pattern"), ("sub=errand/*,car", "bad_attr"), ("sub=*,,nowhere", "bad_attr"),
                        ("rate=0", "bad_attr"), ("&".join(["sub=*"] * 17), "limit_subs"), ("surface=car", "bad_attr")]:
        assert gateway.get(f"/v1/stream?{query}").code == code
    assert gateway.get("/v1/stream", headers={"Accept": "text/html"}).code == "not_acceptable"
    assert gateway.ask("HEAD", "/v1/stream").headers["content-type"] == "text/event-stream"


def test_the_same_as_lines(gateway):
    gateway.post("/errand/lines/start", {"content-state": {"note": "a"}})
    stream = Stream(gateway, "sub=errand/lines", {"Accept": "application/x-ndjson"})
    assert stream.header("Content-Type") == "application/x-ndjson"
    events = [json.loads(stream.response.readline()) for _ in range(3)]
    assert [event["event"] for event in events] == ["hello", "row", "live"]
    assert events[1]["row"]["content"] == {"note": "a"} and events[2]["id"]
    stream.close()


def test_a_reader_that_stops_is_told_the_newest_state_alone(gateway, daemon):
    line = Line(daemon.port)
    gateway.post("/errand/slow/start", NOTE)
    stream = Stream(gateway, "sub=errand/slow", receive_buffer=4_096)
    stream.until("live")
    other = Stream(gateway, "sub=errand/slow")
    other.until("live")
    total = 600
    told = []
    reading = threading.Thread(target=lambda: told.append(newest(other, total)))
    reading.start()
    for number in range(1, total + 1):
        line.ask(f'EVT errand/slow type=update {{"content-state":{{"note":"{number} {"x" * 3_000}"}}}}')
    # The one that reads has the last row while the other has read nothing.
    reading.join()
    count, skipped = newest(stream, total)
    assert skipped > 0 and count < total, "the daemon was to fold"
    # The buffers between: two kernels' buffers and one of the gateway, not all of the 1.8 MB.
    assert count * 3_000 < 1_200_000
    line.close()
    stream.close()
    other.close()


def newest(stream, wanted):
    """How many rows came until the wanted one, and how many commits were folded into them."""
    count = skipped = 0
    for _ in attempts(f"row {wanted}"):
        _, data, _ = stream.until("row")[-1]
        count += 1
        skipped += data.get("skip", 0)
        if data["row"]["content"]["note"].split(" ")[0] == str(wanted):
            return count, skipped


def test_milestones_and_alerts_come_before_their_row(gateway):
    gateway.post("/parcel/m1/purchased")
    stream = Stream(gateway, "sub=parcel/m1,phone")
    stream.until("live")
    gateway.post("/parcel/m1/handed_to_carrier")
    events = stream.until("row")
    assert [event[0] for event in events] == ["milestone", "alert", "row"]
    assert events[0][1]["state"] == "handed_to_carrier" and events[0][1]["at"] > 0
    assert events[1][1]["title"] == "Your parcel is on its way" and events[1][1]["style"]
    gateway.post("/parcel/m1/delivered")
    stream.until("row")
    stream.close()


def test_what_has_gone(gateway):
    gateway.post("/coffee-order/g1/start?for=bob", {"attributes": {"item": "Flat white"}})
    stream = Stream(gateway, "sub=coffee-order/*,phone&account=bob")
    stream.until("live")
    gateway.post("/v1/entities/coffee-order/g1/dismiss?account=bob")
    name, data, identifier = stream.until("gone")[-1]
    assert (data["key"], data["why"]) == ("coffee-order/g1", "dismissed") and identifier
    stream.close()


def test_a_daemon_that_says_goodbye_ends_it_and_says_when_to_come_back(world):
    daemon = world.daemon()
    gateway = world.gateway()
    stream = Stream(gateway, "sub=errand/*")
    stream.until("live")
    assert daemon.stop() == 0
    raw = stream.response.read().decode()
    assert "event: bye\ndata: " in raw
    data = json.loads(raw.split("data: ")[1])
    assert data["code"] == "shutting_down" and f"retry: {data['wait']}\n" in raw


def test_a_daemon_that_is_killed_is_not_noticed(world):
    daemon = world.daemon()
    gateway = world.gateway()
    gateway.post("/errand/k/start", {"content-state": {"note": "0"}})
    stream = Stream(gateway, "sub=errand/k&sub=parcel/*")
    stream.until("live")
    stream.until("live")
    for number in range(1, 6):
        daemon.kill()
        daemon = world.daemon(port=daemon.port)
        answer = gateway.post("/errand/k/update", {"content-state": {"note": str(number)}})
        assert answer.json["verdict"] == "applied"
        eventually(f"row {number}", lambda: stream.until("row")[-1][1]["row"]["content"]["note"] == str(number))
    stream.close()


def test_a_cluster_in_which_no_node_leads_is_told_in_the_end(world):
    """Each connection is greeted by a standby: none is a new loss, and they are not asked for as fast as they come."""
    daemon = world.daemon()
    gateway = world.gateway()
    stream = Stream(gateway, "sub=errand/*")
    stream.until("live")
    daemon.kill()
    standby = FakeDaemon(world.folder, {}, f"{GREETING} node=n2 role=standby")
    world.started.append(standby)
    assert stream.until("bye")[-1][1]["code"] == "daemon_unreachable"
    # Ten seconds, half a second apart after the first few; the gateway's own connection asks too.
    assert len(standby.connections) < 400
    stream.close()


def test_a_gateway_that_stops_says_goodbye(world):
    daemon = world.daemon()
    line = Line(daemon.port)
    line.ask("SUB errand/*")
    line.wait_for("LIVE")
    gateway = world.gateway()
    streams = [Stream(gateway, "sub=errand/*") for _ in range(5)]
    for stream in streams:
        stream.until("live")
    stuck = Stream(gateway, "sub=errand/*", receive_buffer=4_096)
    assert gateway.stop() == 0
    for stream in streams:
        assert stream.until("bye")[-1][1]["code"] == "shutting_down"
        assert stream.next() is None
    stuck.close()
    # No screen on the line protocol has noticed.
    line.send("PING")
    assert line.receive() == "PONG"
    line.close()


def test_sse_clients_of_others_work_unchanged(gateway):
    import httpx
    import httpx_sse
    import requests
    import sseclient

    gateway.post("/errand/others/start", {"content-state": {"note": "a"}})
    url = f"{gateway.url}/v1/stream?sub=errand/others"
    with requests.get(url, stream=True, timeout=PATIENCE) as response:
        client = sseclient.SSEClient(response)
        events = client.events()
        names = [next(events).event for _ in range(3)]
    assert names == ["hello", "row", "live"]
    with httpx.Client(timeout=PATIENCE) as client, httpx_sse.connect_sse(client, "GET", url) as source:
        # This one tells the block that holds nothing but retry: as an event too.
        events = (event for event in source.iter_sse() if event.data)
        first = [next(events) for _ in range(3)]
    assert [event.event for event in first] == ["hello", "row", "live"]
    assert first[2].id and json.loads(first[1].data)["row"]["content"] == {"note": "a"}
