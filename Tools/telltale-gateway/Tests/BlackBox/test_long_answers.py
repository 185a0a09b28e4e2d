"""Lists and histories, which are as long as the daemon's state: readers that stop, daemons that go, and too many at once."""

import concurrent.futures
import hashlib
import http.client
import json
import os
import queue
import signal
import socket
import subprocess
import threading

import httpx
import pytest

from fake_daemon import FakeDaemon
from support import PATIENCE, REPOSITORY, Line, attempts, eventually

ROW = f'{{"lifecycle":"active","note":"{"x" * 4_000}"}}'


@pytest.fixture
def fake(world):
    """Starts a daemon that a test plays."""
    def start(answers):
        daemon = FakeDaemon(world.folder, answers)
        world.started.append(daemon)
        return daemon
    return start


def rows(count, end="OK{id} count={count}"):
    def answer(connection):
        identifier = connection.id
        for number in range(count):
            connection.send(f"SNAP{identifier} sub=0 key=errand/{number} rev={number + 1} {ROW}")
        connection.send(end.format(id=identifier, count=count))
    return answer


def one_row(connection):
    connection.send(f"OK{connection.id} key=errand/1 rev=1 {ROW}")


def ask(gateway):
    """A connection whose answer is not read."""
    reader = socket.socket()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    reader.settimeout(2 * PATIENCE)
    reader.connect(("127.0.0.1", gateway.port))
    reader.sendall(b"GET /v1/entities HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return reader


def wait_for_long_answers(gateway, count):
    eventually(f"{count} long answers", lambda: gateway.metrics()["telltale_gateway_long_answers"] == str(count))


def test_long_answers_are_whole(world):
    daemon = world.daemon()
    gateway = world.gateway()
    line = Line(daemon.port)
    for number in range(120):
        line.ask(f'EVT errand/long-{number} type=start {{"content-state":{{"note":"{number} {"x" * 3_000}"}}}}')
        line.ask(f'EVT errand/past type={"update" if number else "start"} {{"content-state":{{"note":"{number} {"y" * 3_000}"}}}}')
    listed = gateway.get("/v1/entities?pattern=errand/*")
    assert "content-length" not in listed.headers and listed.headers["content-type"] == "application/json"
    assert listed.json["count"] == len(listed.json["entities"]) == 121
    assert listed.json["entities"][0] == gateway.get(f"/v1/entities/{listed.json['entities'][0]['key']}").json
    history = gateway.get("/v1/entities/errand/past/history")
    assert "content-length" not in history.headers and history.json["count"] == 120
    told = gateway.get("/v1/entities/errand/past/history", headers={"Accept": "application/x-ndjson"})
    assert [json.loads(line) for line in told.text.splitlines()] == history.json["events"]
    for path in ["/v1/entities?pattern=errand/*", "/v1/entities/errand/past/history"]:
        head = gateway.ask("HEAD", path)
        assert (head.status, head.bytes) == (200, b"")
    wait_for_long_answers(gateway, 0)
    line.close()


def endless(told):
    """An answer of 200 MB. Tells how much of it left before the connection was closed; all of it where it was not."""
    def answer(connection):
        try:
            rows(50_000)(connection)
        except TimeoutError:
            told.put(200 << 20)
        finally:
            told.put(connection.sent)
    return answer


def test_a_reader_that_takes_nothing_is_let_go_and_its_answer_is_held_nowhere(world, fake):
    """The daemon can send as much as the sockets hold, and no more until the gateway closes the connections. One that takes
    10 KB a second meanwhile, of 8 MB, keeps its connection."""
    told, slowly = queue.Queue(), threading.Event()
    fake({"LIST": lambda connection: (rows(2_000) if slowly.is_set() else endless(told))(connection), "GET": one_row})
    gateway = world.gateway()
    slowly.set()
    slow = ask(gateway)
    data = slow.recv(1_000)
    slowly.clear()
    readers = [ask(gateway) for _ in range(2)]
    # The other requests of the caller do not wait behind it.
    assert gateway.get("/v1/entities/errand/1").status == 200
    sizes = []
    for _ in attempts("both readers are let go", 2 * PATIENCE):
        try:
            sizes.append(told.get(timeout=0.1))
        except queue.Empty:
            data += slow.recv(1_000)
        if len(sizes) == len(readers):
            break
    assert all(size < 8 << 20 for size in sizes), sizes
    for reader in readers:
        assert reader.recv(64).startswith(b"HTTP/1.1 200")
        reader.close()
    with slow:
        while not data.endswith(b"\r\n0\r\n\r\n"):
            more = slow.recv(65_536)
            assert more
            data += more
    assert b'"count":2000' in data


def test_a_gateway_that_stops_does_not_wait_for_listings(world, fake):
    """For one that is not read, and one that has not begun."""
    asked = queue.Queue()

    def answer(connection):
        asked.put(connection)
        if asked.qsize() == 1:
            rows(50_000)(connection)

    fake({"LIST": answer})
    gateway = world.gateway()
    with ask(gateway) as stuck:
        eventually("one is asked", lambda: asked.qsize() >= 1)
        with ask(gateway) as waiting:
            eventually("two are asked", lambda: asked.qsize() >= 2)
            gateway.process.send_signal(signal.SIGTERM)
            assert waiting.recv(65_536).startswith(b"HTTP/1.1 503")
            assert gateway.process.wait(PATIENCE) == 0
        assert stuck.recv(64).startswith(b"HTTP/1.1 200")


def test_a_reader_of_http_2_that_takes_nothing_is_let_go(world, fake):
    told = queue.Queue()
    fake({"LIST": endless(told)})
    certificates = f"{world.folder}/certificates"
    subprocess.run([REPOSITORY / "Tools/package/dev-certificates", certificates], check=True, capture_output=True)
    gateway = world.gateway("--tls-cert", f"{certificates}/leaf.pem", "--tls-key", f"{certificates}/leaf.key.pem",
                            listen="https://127.0.0.1:0")
    with httpx.Client(http2=True, verify=f"{certificates}/ca.pem", timeout=PATIENCE) as client:
        with client.stream("GET", f"https://127.0.0.1:{gateway.port}/v1/entities") as answer:
            assert (answer.http_version, answer.status_code) == ("HTTP/2", 200)
            assert told.get(timeout=3 * PATIENCE) < 8 << 20


@pytest.mark.parametrize("end", ["ERR{id} code=internal retry=later {{\"msg\":\"pruned\"}}", None])
def test_an_answer_that_breaks_off_is_seen_to(world, fake, end):
    """Before the first window it is a refusal; behind it the body ends before its time."""
    def answer(connection):
        rows(count, end or "#")(connection)
        if end is None:
            connection.close()

    fake({"LIST": answer})
    gateway = world.gateway()
    count = 100
    with pytest.raises(http.client.IncompleteRead):
        gateway.get("/v1/entities")
    count = 2
    refused = gateway.get("/v1/entities")
    assert (refused.status, refused.code) == ((500, "internal") if end else (503, "daemon_unreachable"))
    assert int(refused.headers["retry-after"]) >= 1
    wait_for_long_answers(gateway, 0)


def test_one_caller_has_a_share_of_the_long_answers(world, fake):
    begun, going_on = queue.Queue(), threading.Event()

    def answer(connection):
        begun.put(connection)
        assert going_on.wait(2 * PATIENCE)
        rows(1)(connection)

    # The figures of the gateway wait for those of the daemon.
    fake({"LIST": answer, "GET": one_row, "STATS": lambda connection: connection.send(f"OK{connection.id} {{}}")})
    gateway = world.gateway()
    gateway.get("/v1/entities/errand/1")
    readers = [ask(gateway) for _ in range(16)]
    for _ in readers:
        begun.get(timeout=PATIENCE)
    wait_for_long_answers(gateway, 16)
    refused = gateway.get("/v1/entities")
    assert (refused.status, refused.code, refused.headers["retry-after"]) == (503, "busy", "1")
    # A short answer comes at once, and a long one that waits is next.
    assert gateway.get("/v1/entities/errand/1").status == 200
    waiting = ask(gateway)
    going_on.set()
    for reader in [*readers, waiting]:
        assert reader.recv(64).startswith(b"HTTP/1.1 200")
        reader.close()


def test_reads_of_many_rows_are_long_answers(world, fake):
    """Each holds its rows until it is answered, so that not everybody may read 1 MiB at once."""
    going_on = threading.Event()

    def answer(connection):
        connection.send(f"OK{connection.id} sub=1 view=full")
        for number in range(40):
            connection.send(f"SNAP sub=1 key=errand/{number} rev={number + 1} {ROW}")
        assert going_on.wait(2 * PATIENCE)
        connection.send("LIVE sub=1 cur=6f3a91c2d0e4b577:40:b0e4")

    fake({"SUB": answer, "GET": one_row, "STATS": lambda connection: connection.send(f"OK{connection.id} {{}}")})
    gateway = world.gateway()
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        reads = [pool.submit(gateway.get, "/v1/rows?sub=errand/*") for _ in range(16)]
        wait_for_long_answers(gateway, 16)
        refused = gateway.get("/v1/rows?sub=errand/*")
        assert (refused.status, refused.code, refused.headers["retry-after"]) == (503, "busy", "1")
        going_on.set()
        assert [len(read.result().json["rows"]) for read in reads] == [40] * 16
    wait_for_long_answers(gateway, 0)
    assert len(gateway.get("/v1/rows?sub=errand/*").json["rows"]) == 40


def test_a_principal_of_one_connection_has_its_list(world):
    """The connection that its other requests went by gives way."""
    secret = "tt_aaaaaaaa_" + "s" * 43
    principals = world.file("principals.json", json.dumps({"version": 1, "principals": [
        {"name": "one", "scopes": ["read:*"], "account": "*", "connections": 1,
         "tokens": [{"id": "aaaaaaaa", "sha256": hashlib.sha256(secret.encode()).hexdigest()}]}]}))
    os.chmod(principals, 0o600)
    world.daemon("--auth", principals)
    gateway = world.gateway()
    headers = {"Authorization": f"Bearer {secret}"}
    assert gateway.get("/v1/kinds/errand", headers=headers).status == 200
    listed = gateway.get("/v1/entities", headers=headers).json
    assert listed["count"] == len(listed["entities"])
