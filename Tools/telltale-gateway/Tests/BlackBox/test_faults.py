"""A daemon that is absent, killed, slow or full, and a gateway that is killed."""

import signal
import socket
import threading

from support import PATIENCE, Line, Provider, Stream, attributes, eventually

BEGIN = {"content-state": {"note": "a"}}


def test_a_daemon_that_is_not_there_yet(world):
    gateway = world.gateway()
    assert gateway.ready["daemon"].endswith("daemon.sock")
    answer = gateway.post("/errand/1/start", BEGIN)
    assert (answer.status, answer.code) == (503, "daemon_unreachable")
    assert int(answer.headers["retry-after"]) >= 1
    assert gateway.get("/v1/stream").code == "daemon_unreachable"
    # It may want tokens: nothing that the gateway does by itself is open before that is known.
    assert gateway.post("/v1/lint", {}).code == "daemon_unreachable"
    assert gateway.get("/hooks").code == "daemon_unreachable"
    # Behind one with tokens the gateway may have any name.
    named = {"Host": "shop.example.com"}
    answer = gateway.post("/errand/1/start", BEGIN, named)
    assert (answer.status, answer.code, answer.json["retry"]) == (503, "daemon_unreachable", "later")
    ready = gateway.get("/readyz", port=gateway.ops)
    assert ready.status == 503 and ready.json["ready"] is False and ready.json["why"] == "daemon_unreachable"
    assert gateway.get("/healthz", port=gateway.ops).text.strip() == "ok"
    assert gateway.metrics()["telltale_up"] == "0"
    world.daemon()
    eventually("ready", lambda: gateway.get("/readyz", port=gateway.ops).status == 200)
    assert gateway.post("/errand/1/start", BEGIN).json["verdict"] == "applied"
    assert gateway.post("/errand/1/start", BEGIN, named).code == "wrong_host"


def test_a_daemon_that_is_away_for_a_moment_is_waited_for(world):
    daemon = world.daemon()
    gateway = world.gateway()
    gateway.post("/errand/1/start", BEGIN)
    daemon.kill()
    answers = []
    asking = [threading.Thread(target=lambda number=number: answers.append(
        gateway.post(f"/errand/away-{number}/start", BEGIN))) for number in range(20)]
    for thread in asking:
        thread.start()
    world.daemon()
    for thread in asking:
        thread.join()
    assert [answer.status for answer in answers] == [200] * 20
    assert {answer.json["verdict"] for answer in answers} <= {"applied", "duplicate"}
    count = gateway.get("/v1/entities?pattern=errand/*").json["count"]
    assert count == 21


def test_nothing_was_sent_so_nothing_happens_later(world):
    daemon = world.daemon()
    gateway = world.gateway()
    gateway.post("/errand/1/start", BEGIN)
    daemon.kill()
    answer = gateway.post("/errand/never/start", BEGIN)
    assert (answer.status, answer.code) == (503, "daemon_unreachable")
    world.daemon()
    assert gateway.get("/v1/entities/errand/never").status == 404


def test_an_answer_that_does_not_come_is_an_unknown_outcome(world):
    daemon = world.daemon()
    gateway = world.gateway()
    gateway.post("/errand/1/start", BEGIN)
    daemon.process.send_signal(signal.SIGSTOP)
    answer = gateway.post("/errand/late/start", BEGIN)
    assert (answer.status, answer.code) == (504, "outcome_unknown")
    daemon.process.send_signal(signal.SIGCONT)
    again = gateway.post("/errand/late/start", BEGIN, {"Idempotency-Key": answer.json["eid"]})
    assert (again.status, again.json["verdict"]) == (200, "duplicate")
    assert gateway.get("/v1/entities/errand/late/history").json["count"] == 1


def test_a_daemon_killed_under_load_loses_nothing_that_was_acknowledged(world):
    daemon = world.daemon()
    gateway = world.gateway()
    gateway.post("/errand/0/start", BEGIN)
    acknowledged = set()
    stopping = threading.Event()

    def post(worker):
        number = 0
        while not stopping.is_set():
            key = f"load-{worker}-{number}"
            answer = gateway.post(f"/errand/{key}/start", BEGIN, {"Idempotency-Key": key})
            if answer.status == 200:
                acknowledged.add(key)
            else:
                assert answer.status in (503, 504), answer.text
            number += 1

    workers = [threading.Thread(target=post, args=[worker]) for worker in range(4)]
    for worker in workers:
        worker.start()
    for _ in range(3):
        wanted = len(acknowledged) + 50
        eventually(f"{wanted} are acknowledged", lambda: len(acknowledged) >= wanted)
        daemon.kill()
        daemon = world.daemon()
    stopping.set()
    for worker in workers:
        worker.join()
    there = {entity["key"].split("/")[1] for entity in gateway.get("/v1/entities?pattern=errand/*").json["entities"]}
    assert acknowledged <= there


def test_a_gateway_that_is_killed_loses_nothing_and_no_screen_notices(world):
    daemon = world.daemon()
    line = Line(daemon.port)
    line.ask("SUB errand/*")
    line.wait_for("LIVE")
    gateway = world.gateway()
    first = gateway.post("/errand/g/start", BEGIN, {"Idempotency-Key": "g-1"}).json
    stream = Stream(gateway, "sub=errand/*")
    stream.until("live")
    last = stream.last_id
    gateway.kill()
    line.wait_for("UPD")
    assert line.ask("PING") == "PONG"
    gateway = world.gateway()
    again = gateway.post("/errand/g/start", BEGIN, {"Idempotency-Key": "g-1"}).json
    assert (again["verdict"], again["rev"]) == ("duplicate", first["rev"])
    gateway.post("/errand/g/update", {"content-state": {"note": "b"}})
    events = Stream(gateway, "sub=errand/*", {"Last-Event-ID": last}).until("live")
    assert [event[1]["row"]["content"]["note"] for event in events if event[0] == "row"] == ["b"]
    line.close()


def test_a_request_under_way_is_answered_before_the_gateway_ends(world):
    daemon = world.daemon()
    gateway = world.gateway()
    provider = Provider(daemon.port, "porch-light", "porch-light/front value=off")
    answers = []
    asking = threading.Thread(target=lambda: answers.append(gateway.ask(
        "PUT", "/v1/entities/porch-light/front/value", "on", {"Prefer": "wait=9"})))
    asking.start()
    found, _ = attributes(provider.line.wait_for("DO"))
    gateway.process.send_signal(signal.SIGTERM)
    gateway.wait_for_log('"shutting down"')
    provider.line.send(f"DONE op={found['op']}")
    asking.join()
    assert answers[0].json["result"] == "confirmed"
    assert gateway.process.wait(PATIENCE) == 0
    provider.close()


def test_what_is_no_http_is_answered_and_cut(world):
    world.daemon()
    gateway = world.gateway()
    for request in [b"EVT errand/1 type=start\n\n", b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03" + b"\x00" * 200,
                    b"GET /" + b"x" * 200_000 + b" HTTP/1.1\r\n\r\n",
                    b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: 1\r\n" % number for number in range(500)) + b"\r\n",
                    b"POST /errand/1/start HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}"]:
        with socket.create_connection(("127.0.0.1", gateway.port), timeout=PATIENCE) as peer:
            try:
                peer.sendall(request)
                answer = peer.recv(65_536)
            except ConnectionError:
                answer = b""
            assert answer == b"" or answer.startswith(b"HTTP/1.1 4"), answer
    assert gateway.get("/v1/stats").status == 200
