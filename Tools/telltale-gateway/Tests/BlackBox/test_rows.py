"""Collapsible reads: the rows of now, and what changed since a cursor, by URLs whose answers caches share."""

import concurrent.futures
import shutil
import socket
import subprocess

import httpx
import pytest

from apns_peer import Peer
from fake_daemon import FakeDaemon
from support import PATIENCE, REPOSITORY, Line, eventually
from test_access import Guarded

PICTURE = "public, max-age=1, stale-while-revalidate=10"
CHANGE = "public, max-age=5, stale-while-revalidate=10"


def read(gateway, sub, cursor=None, wait=None, headers=None):
    query = f"sub={sub}" + (f"&from={cursor}" if cursor else "") + (f"&wait={wait}" if wait is not None else "")
    return gateway.get(f"/v1/rows?{query}", headers=headers)


def notes(answer):
    return {row["key"]: row["row"]["content"]["note"] for row in answer.json["rows"]}


def post(gateway, key, note, event="update"):
    assert gateway.post(f"/{key}/{event}", {"content-state": {"note": note}}).json["verdict"] == "applied"


@pytest.fixture
def later():
    """Runs a read beside the test, and gives what it will answer."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        yield pool.submit


def waiting(gateway, number=1):
    """Returns when the daemon has the subscription of each waiting read, so that its `LIVE` comes before anything that happens next."""
    eventually("the read waits", lambda: gateway.metrics()["telltale_gateway_streams"] == str(number)
               and gateway.get("/v1/stats").json["subscriptions"] == number)


def test_a_picture_has_the_rows_of_the_list_and_a_cursor(gateway):
    post(gateway, "errand/p1", "a", "start")
    answer = read(gateway, "errand/p1")
    assert (answer.status, answer.headers["cache-control"]) == (200, PICTURE)
    assert answer.headers["vary"].split(", ")[0] == "Authorization"
    listed = gateway.get("/v1/entities?pattern=errand/p1").json["entities"]
    assert [{name: row[name] for name in ("key", "rev", "row")} for row in answer.json["rows"]] == listed
    assert answer.json["gone"] == [] and "reset" not in answer.json and answer.json["rows"][0]["sub"] == 1
    assert read(gateway, "errand/none").json["rows"] == []


def test_a_tag_saves_the_body(gateway):
    post(gateway, "errand/t1", "a", "start")
    tag = read(gateway, "errand/t1").headers["etag"]
    again = read(gateway, "errand/t1", headers={"If-None-Match": tag})
    assert (again.status, again.bytes, again.headers["etag"], again.headers["cache-control"]) == (304, b"", tag, PICTURE)
    post(gateway, "errand/t1", "b")
    assert read(gateway, "errand/t1", headers={"If-None-Match": tag}).status == 200


def test_a_change_ends_the_wait(gateway, later):
    post(gateway, "errand/w1", "a", "start")
    cursor = read(gateway, "errand/w1").json["cursor"]
    answer = later(read, gateway, "errand/w1", cursor, 30)
    waiting(gateway)
    post(gateway, "errand/w1", "b")
    answer = answer.result()
    assert notes(answer) == {"errand/w1": "b"} and answer.headers["cache-control"] == CHANGE
    # The cursor is behind the change, and one from before brings it again.
    assert read(gateway, "errand/w1", answer.json["cursor"], 0).json["rows"] == []
    assert notes(read(gateway, "errand/w1", cursor, 0)) == {"errand/w1": "b"}
    waiting(gateway, 0)


def test_all_that_changed_is_one_answer_and_readers_at_different_cursors_meet(gateway, later):
    cursors = []
    for number in range(3):
        post(gateway, f"errand/m{number}", "a", "start")
        cursors.append(read(gateway, "errand/*").json["cursor"])
    assert len(set(cursors)) == 3
    answers = [later(read, gateway, "errand/*", cursor, 30) for cursor in cursors[2:] * 2]
    waiting(gateway, 2)
    post(gateway, "errand/m0", "b")
    assert len({answer.result().json["cursor"] for answer in answers}) == 1
    for note in "cde":
        post(gateway, "errand/m1", note)
    for cursor in cursors[1:]:
        answer = read(gateway, "errand/*", cursor)
        assert notes(answer)["errand/m0"] == "b" and notes(answer)["errand/m1"] == "e"
        assert len(answer.json["rows"]) == len(notes(answer))


def unchanged(answer, cursor):
    """An answer without a change, whose cursor is the same place by another name."""
    body = answer.json
    base, _, time = body.pop("cursor").partition(".")
    return body == {"rows": [], "gone": []} and base == cursor and time.isdigit()


def test_nothing_in_time_is_an_answer_whose_cursor_makes_another_url(gateway):
    cursor = read(gateway, "errand/quiet").json["cursor"]
    for wait in (0, 1):
        answer = read(gateway, "errand/quiet", cursor, wait)
        assert unchanged(answer, cursor) and answer.headers["cache-control"] == CHANGE
    post(gateway, "errand/quiet", "a", "start")
    assert notes(read(gateway, "errand/quiet", answer.json["cursor"])) == {"errand/quiet": "a"}


def test_what_has_gone(gateway, later):
    gateway.post("/coffee-order/g1/start?for=bob", {"attributes": {"item": "Flat white"}})
    view = "coffee-order/*,phone&account=bob"
    cursor = read(gateway, view).json["cursor"]
    answer = later(read, gateway, view, cursor, 30)
    waiting(gateway)
    gateway.post("/v1/entities/coffee-order/g1/dismiss?account=bob")
    gone = answer.result().json["gone"]
    assert [(entry["key"], entry["why"]) for entry in gone] == [("coffee-order/g1", "dismissed")]
    assert answer.result().json["rows"] == []


@pytest.mark.parametrize("cursor, why", [
    ("nonsense", "malformed"), ("-~-", "malformed"), ("0000000000000000:5:abcd", "epoch")])
def test_a_cursor_that_cannot_be_resumed_brings_the_picture(gateway, cursor, why):
    gateway.post("/errand/r1/start", {"content-state": {"note": "a"}})
    answer = read(gateway, "errand/r1", cursor)
    assert answer.json["reset"] == [{"sub": 1, "why": why}] and notes(answer) == {"errand/r1": "a"}


def test_a_restart_is_not_noticed_and_a_lost_history_is(world, later):
    daemon = world.daemon()
    gateway = world.gateway()
    post(gateway, "errand/d1", "a", "start")
    cursor = read(gateway, "errand/d1").json["cursor"]
    answer = later(read, gateway, "errand/d1", cursor, 30)
    waiting(gateway)
    daemon.kill()
    daemon = world.daemon(port=daemon.port)
    post(gateway, "errand/d1", "b")
    answer = answer.result()
    assert notes(answer) == {"errand/d1": "b"} and "reset" not in answer.json
    daemon.kill()
    shutil.rmtree(f"{world.folder}/data")
    daemon = world.daemon(port=daemon.port)
    post(gateway, "errand/d2", "c", "start")
    lost = read(gateway, "errand/*", answer.json["cursor"])
    assert [reset["why"] for reset in lost.json["reset"]] in (["epoch"], ["selection"])
    anew = read(gateway, "errand/*")
    assert notes(lost) == notes(anew) == {"errand/d2": "c"}


def test_an_end_of_the_daemon_or_the_gateway_is_answered_with_the_cursor(world, later):
    daemon = world.daemon()
    gateway = world.gateway()
    cursor = read(gateway, "errand/*").json["cursor"]
    for program in (daemon, gateway):
        answer = later(read, gateway, "errand/*", cursor, 30)
        waiting(gateway)
        assert program.stop() == 0
        assert unchanged(answer.result(), cursor)
        if program is daemon:
            world.daemon(port=daemon.port)


def test_without_the_daemon_rows_are_old_and_the_cursor_stays_good(world):
    daemon = world.daemon()
    gateway = world.gateway()
    cursor = read(gateway, "errand/*").json["cursor"]
    daemon.kill()
    answer = read(gateway, "errand/*", cursor)
    assert (answer.status, answer.json["lost"], answer.headers["cache-control"]) == (200, "daemon_unreachable", CHANGE)
    picture = read(gateway, "errand/*")
    assert (picture.code, picture.headers["cache-control"]) == ("daemon_unreachable", PICTURE)
    world.daemon(port=daemon.port)
    post(gateway, "errand/back", "a", "start")
    assert notes(read(gateway, "errand/*", answer.json["cursor"])) == {"errand/back": "a"}


def test_a_daemon_that_stops_within_a_picture(world, later):
    """One that closes is asked again, and what the first picture had and the second has not is not there. Of one that says no more
    nothing is answered as if it were all."""
    pictures = [["a/1", "a/2"], ["a/2", "a/3"], ["a/2"], ["a/2"]]

    def answer(connection):
        picture = pictures.pop(0)
        connection.send(f"OK{connection.id} sub=1 view=full")
        for number, key in enumerate(picture):
            connection.send(f'SNAP sub=1 key={key} rev={number + 1} {{"state":"on"}}')
        if len(pictures) == 3:
            connection.close()
        elif len(pictures) == 2:
            connection.send("LIVE sub=1 cur=6f3a91c2d0e4b577:4:b0e4")

    world.started.append(FakeDaemon(world.folder, {"SUB": answer}))
    gateway = world.gateway()
    whole = read(gateway, "a/*")
    assert (whole.status, [row["key"] for row in whole.json["rows"]]) == (200, ["a/2", "a/3"]) and "reset" not in whole.json
    cut = [later(read, gateway, "a/*", *more) for more in [(), (whole.json["cursor"], 0)]]
    picture, change = (answer.result() for answer in cut)
    assert (picture.status, picture.code) == (503, "daemon_unreachable")
    assert (change.json["lost"], change.json["rows"]) == ("daemon_unreachable", [])


def test_sixteen_patterns_have_sixteen_cursors(gateway, later):
    query = "&sub=".join(f"errand/sixteen-{number}" for number in range(16))
    post(gateway, "errand/sixteen-3", "a", "start")
    first = read(gateway, query)
    assert first.json["cursor"].count("~") == 15 and [row["sub"] for row in first.json["rows"]] == [4]
    answer = later(read, gateway, query, first.json["cursor"], 30)
    eventually("the read waits", lambda: gateway.get("/v1/stats").json["subscriptions"] == 16)
    post(gateway, "errand/sixteen-15", "b", "start")
    change = answer.result()
    assert (change.status, [(row["sub"], row["key"]) for row in change.json["rows"]]) == (200, [(16, "errand/sixteen-15")])
    again = read(gateway, query, change.json["cursor"], 0)
    assert (again.status, again.json["rows"]) == (200, []) and "reset" not in again.json
    # Of another number of patterns it is none.
    fewer = read(gateway, query.rsplit("&sub=", 1)[0], change.json["cursor"], 0)
    assert {reset["why"] for reset in fewer.json["reset"]} == {"malformed"} and len(fewer.json["reset"]) == 15


def test_a_reader_that_leaves_waits_no_longer(gateway):
    cursor = read(gateway, "errand/left").json["cursor"]
    with socket.create_connection(("127.0.0.1", gateway.port)) as reader:
        reader.sendall(f"GET /v1/rows?sub=errand/left&from={cursor} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        waiting(gateway)
    waiting(gateway, 0)


def test_reads_over_http_2_wait_beside_each_other_and_one_that_is_reset_no_longer(world, later):
    certificates = f"{world.folder}/certs"
    subprocess.run([REPOSITORY / "Tools/package/dev-certificates", certificates], check=True, capture_output=True)
    line = Line(world.daemon().port)
    gateway = world.gateway("--tls-cert", f"{certificates}/leaf.pem", "--tls-key", f"{certificates}/leaf.key.pem", listen="https://127.0.0.1:0")
    address = f"https://127.0.0.1:{gateway.port}/v1/rows?sub=errand/*"

    def wait_for_streams(count):
        eventually(f"{count} wait", lambda: gateway.metrics()["telltale_gateway_streams"] == str(count))

    with httpx.Client(http2=True, verify=f"{certificates}/ca.pem", timeout=PATIENCE) as client:
        address += f"&from={client.get(address).json()['cursor']}"
        reads = [later(client.get, address) for _ in range(3)]
        wait_for_streams(3)
        peer = Peer(gateway.port, f"{certificates}/ca.pem", alpn=["h2"])
        stream = peer.send("GET", address.split(str(gateway.port), 1)[1])
        wait_for_streams(4)
        peer.h2.reset_stream(stream)
        peer.socket.sendall(peer.h2.data_to_send())
        # Before the others, which began earlier, are answered for want of a change.
        wait_for_streams(3)
        assert line.ask('EVT errand/h2 type=start {"content-state":{"note":"a"}}').startswith("OK")
        for read in reads:
            answer = read.result()
            assert (answer.http_version, [row["key"] for row in answer.json()["rows"]]) == ("HTTP/2", ["errand/h2"])
    wait_for_streams(0)
    peer.close()
    line.close()


@pytest.mark.parametrize("query, target", [
    ("?", ""), ("?sub=*", ""), ("?sub=errand%2F*", "?sub=errand/*"), ("?wait=5&sub=errand/*", "?sub=errand/*"),
    ("?wait=25&from=0000000000000000:5:abcd&sub=errand/*,full", "?sub=errand/*&from=0000000000000000:5:abcd")])
def test_another_spelling_is_led_to_the_one_url(gateway, query, target):
    answer = gateway.get(f"/v1/rows{query}")
    assert (answer.status, answer.bytes) == (308, b"")
    assert answer.headers["location"] == f"/v1/rows{target}" and answer.headers["cache-control"] == "public, max-age=86400"
    assert gateway.get(f"/v1/rows{target}").status == 200
    assert gateway.ask("HEAD", f"/v1/rows{query}").status == 308 and gateway.ask("HEAD", f"/v1/rows{target}").status == 200


def test_refusals(gateway):
    for query, code in [("sub=a/b/c", "bad_pattern"), ("sub=errand/*,car", "bad_attr"), ("rate=5", "bad_attr"),
                        ("wait=31", "bad_attr"), ("&".join(["sub=*"] * 17), "limit_subs"), ("access_token=x", "bad_attr")]:
        answer = gateway.get(f"/v1/rows?{query}")
        assert answer.code == code and answer.headers["cache-control"] == "no-store"


def test_rows_that_are_too_many_are_refused(world):
    line = Line(world.daemon().port)
    gateway = world.gateway()
    for number in range(400):
        assert line.ask(f'EVT errand/big{number} type=start {{"content-state":{{"note":"{"x" * 3_000}"}}}}').startswith("OK")
    line.close()
    assert read(gateway, "errand/*").code == "too_large"
    assert list(notes(read(gateway, "errand/big7"))) == ["errand/big7"]


def test_a_token_makes_an_answer_private():
    guarded = Guarded()
    try:
        guarded.ask("owner", "POST", "/errand/own/start?for=alice")
        path = "/v1/rows?sub=errand/*&account=alice"
        answer = guarded.ask("reader", "GET", path)
        assert (answer.status, answer.headers["cache-control"]) == (200, "private, no-store")
        assert answer.headers["vary"] == "Authorization"
        assert [row["key"] for row in answer.json["rows"]] == ["errand/own"]
        moved = guarded.ask("reader", "GET", "/v1/rows?account=alice&sub=errand/*")
        assert (moved.status, moved.headers["cache-control"]) == (308, "private, no-store")
        assert guarded.ask("nobody", "GET", path).headers["cache-control"] == "no-store"
        assert guarded.ask("nobody", "GET", path).code == "auth_required"
        # A browser's session is none: the answer would have to vary by all of its cookies.
        session = guarded.ask("reader", "POST", "/v1/session", {"token": guarded.principals.tokens["reader"]})
        cookie = {"Cookie": session.headers["set-cookie"].split(";")[0]}
        assert guarded.gateway.get("/v1/entities/errand/own?account=alice", headers=cookie).status == 200
        assert guarded.gateway.get(path, headers=cookie).code == "auth_required"
    finally:
        guarded.world.close()
