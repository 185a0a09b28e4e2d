"""CloudEvents 1.0, made by their own library."""

import json

import pytest
from cloudevents.v1.http import CloudEvent, to_binary, to_structured

from fake_daemon import FakeDaemon
from support import eventually
from test_access import Principals

BATCH = {"Content-Type": "application/cloudevents-batch+json"}


def made(data=None, **more):
    attributes = {"id": "ce-1", "source": "/till/7", "type": "com.example.coffee.start", "subject": "coffee-order/ce"}
    return CloudEvent(attributes | more, data)


@pytest.mark.parametrize("encode, subject", [(to_structured, "coffee-order/structured"), (to_binary, "coffee-order/binary")])
def test_events_of_the_library_are_taken(gateway, encode, subject):
    event = made({"attributes": {"item": "Flat white", "shop": "Högi"}}, subject=subject, id=subject,
                 time="2026-11-21T10:30:00.5+02:00", sequence="7", telltalefor="alice", unknown="x")
    headers, body = encode(event)
    answer = gateway.post("/v1/events", body, headers)
    assert answer.json["key"] == subject and answer.json["verdict"] == "applied"
    told = gateway.get(f"/v1/entities/{subject}/history").json["events"][0]
    assert (told["type"], told["src"], told["eid"], told["ver"], told["at"]) == (
        "start", "/till/7", subject, 7, 1795249800500)
    again = gateway.post("/v1/events", body, headers)
    assert again.json["verdict"] == "duplicate" and again.headers["idempotent-replayed"] == "true"
    headers, body = encode(made({"attributes": {"item": "Other"}}, subject=subject, id=subject))
    assert gateway.post("/v1/events", body, headers).code == "dup_mismatch"


def test_binary_attributes_may_stand_in_quotes(gateway):
    head = {"ce-specversion": '"1.0"', "ce-id": '"q \\"1\\""', "ce-source": '"/q%20"'.replace("%20", ""), "ce-type": "start",
            "ce-subject": '"errand/quoted"', "ce-telltalefor": '"%61lice"', "Content-Type": "application/json"}
    assert gateway.post("/v1/events", "{}", head).json["key"] == "errand/quoted"
    told = gateway.get("/v1/entities/errand/quoted/history").json["events"][0]
    assert told["src"] == "/q" and told["eid"].startswith("sha256:")
    assert gateway.post("/v1/events", "{}", head | {"ce-id": '"open'}).code == "bad_request"


@pytest.mark.parametrize("identifier", ["two words", "ü", "x" * 257, "42"])
def test_any_id_that_is_not_empty_is_one(gateway, identifier):
    def send(subject, batch=False):
        event = {"specversion": "1.0", "id": identifier, "source": f"/any/{len(identifier)}", "type": "start", "subject": subject}
        if batch:
            return gateway.post("/v1/events", [event], BATCH).json[0]
        return gateway.post("/v1/events", event, {"Content-Type": "application/cloudevents+json"}).json

    key = f"errand/any-{len(identifier)}"
    assert [send(key)["verdict"], send(key)["verdict"]] == ["applied", "duplicate"]
    again = send(key, batch=True)
    assert (again["verdict"], again["id"]) == ("duplicate", identifier)
    assert send(f"{key}-other")["code"] == "dup_mismatch"


def test_the_hint_of_what_is_ignored_is_told(gateway):
    start = {"specversion": "1.0", "id": "h-1", "source": "/h", "type": "start", "subject": "errand/hint"}
    wrong = start | {"id": "h-2", "type": "redy"}
    answer = gateway.post("/v1/events", [start, wrong], BATCH)
    assert [entry.get("msg") for entry in answer.json] == [None, "no state of errand handles redy"]
    answer = gateway.post("/v1/events", wrong | {"id": "h-3"}, {"Content-Type": "application/cloudevents+json"})
    assert answer.json["msg"] == "no state of errand handles redy"


def test_without_data(gateway):
    headers, body = to_binary(made(None, subject="errand/bare", type="start", id="bare"))
    assert gateway.post("/v1/events", body, headers).json["verdict"] == "applied"


@pytest.mark.parametrize("change, status, code", [
    ({"specversion": "0.3"}, 400, "bad_request"), ({"id": None}, 400, "bad_request"), ({"source": ""}, 400, "bad_request"),
    ({"type": None}, 400, "bad_request"), ({"subject": None}, 400, "bad_key"), ({"subject": "a"}, 400, "bad_key"),
    ({"time": "yesterday"}, 400, "bad_request"), ({"data_base64": "AA=="}, 415, "media_type"),
    ({"data": "text"}, 415, "media_type"), ({"source": "a b"}, 400, "bad_attr"), ({"type": "a b"}, 400, "bad_attr"),
    ({"subject": "nope/1"}, 404, "unknown_kind"), ({"x": [1]}, 400, "bad_request"),
])
def test_faulty_events(gateway, change, status, code):
    event = {"specversion": "1.0", "id": "f-1", "source": "/f", "type": "start", "subject": "errand/f"} | change
    event = {name: value for name, value in event.items() if value is not None}
    answer = gateway.post("/v1/events", event, {"Content-Type": "application/cloudevents+json"})
    assert (answer.status, answer.code) == (status, code), answer.text


def test_a_batch_is_tried_in_order_and_may_be_repeated(gateway):
    def event(number, **more):
        return {"specversion": "1.0", "id": f"b-{number}", "source": "/batch", "type": "start",
                "subject": f"errand/b-{number}"} | more

    good = [event(number) for number in range(300)]
    answer = gateway.post("/v1/events", good, BATCH)
    assert answer.status == 200 and len(answer.json) == 300
    assert answer.json[7] == {"id": "b-7", "status": 200, "key": "errand/b-7", "verdict": "applied",
                              "rev": answer.json[7]["rev"], "state": "open"}
    revs = [entry["rev"] for entry in answer.json]
    assert revs == sorted(revs)
    again = gateway.post("/v1/events", good, BATCH)
    assert {entry["verdict"] for entry in again.json} == {"duplicate"}
    mixed = [event(1000), event(1001, subject="nope/1"), event(1002, subject=None), event(1003)]
    answer = gateway.post("/v1/events", json.dumps(mixed), BATCH)
    assert answer.status == 422
    assert [entry.get("verdict", entry.get("code")) for entry in answer.json] == [
        "applied", "unknown_kind", "bad_key", "applied"]
    assert gateway.post("/v1/events", "{}", BATCH).code == "bad_json"
    assert gateway.post("/v1/events", [event(1)] * 1_001, BATCH).code == "too_large"
    assert gateway.post("/v1/events", [], BATCH).json == []


def test_a_batch_without_a_daemon_may_come_later(world):
    event = {"specversion": "1.0", "id": "1", "source": "/b", "type": "start", "subject": "errand/1"}
    answer = world.gateway().post("/v1/events", [event], BATCH)
    assert answer.status == 503 and answer.json[0]["code"] == "daemon_unreachable"


def test_without_the_kinds_owner_no_type_is_guessed(world):
    """Under another type the event would be ignored, and its id used up."""
    posted = []

    def post(connection):
        posted.append(connection)
        connection.send(f"OK{connection.id} verdict=ignored rev=1")

    world.started.append(FakeDaemon(world.folder, {
        "KIND": lambda connection: connection.send(f'ERR{connection.id} code=limit_rate retry=later {{"msg":"too fast"}}'), "EVT": post}))
    gateway = world.gateway()
    event = {"specversion": "1.0", "id": "1", "source": "/b", "type": "com.example.coffee.ready", "subject": "coffee-order/1"}
    answer = gateway.post("/v1/events", event, {"Content-Type": "application/cloudevents+json"})
    assert (answer.status, answer.code) == (429, "limit_rate"), answer.text
    answer = gateway.post("/v1/events", [event, event | {"id": "2", "type": "start"}], BATCH)
    assert [entry.get("verdict", entry.get("code")) for entry in answer.json] == ["limit_rate", "ignored"]
    assert len(posted) == 1


def test_a_token_that_becomes_good_is_good_for_batches(world):
    principals = Principals(world.folder)
    principals.add("owner", "admin", account="*")
    world.daemon("--auth", principals.write())
    gateway = world.gateway()
    principals.add("till", "admin", account="*")
    event = {"specversion": "1.0", "id": "1", "source": "/b", "type": "start", "subject": "errand/1"}
    head = BATCH | principals.bearer("till")
    assert gateway.post("/v1/events", [event], head).json[0]["code"] == "auth_failed"
    principals.write()
    answer = eventually("200", lambda: (one := gateway.post("/v1/events", [event], head)).status == 200 and one)
    assert answer.json[0]["verdict"] == "applied"


def test_the_webhook_handshake(gateway):
    answer = gateway.ask("OPTIONS", "/v1/events", headers={"WebHook-Request-Origin": "eventemitter.example.com"})
    assert answer.status == 200
    assert answer.headers["webhook-allowed-origin"] == "eventemitter.example.com"
    assert answer.headers["webhook-allowed-rate"] == "*" and answer.headers["allow"] == "POST, OPTIONS"
