"""telltale-push from outside: real daemon, real process, and a push service of PyPI h2 that answers as a test says."""

import base64
import json
import pathlib
import threading
import time

import pytest

from apns_peer import openssl
from push_peer import cards
from push_place import BUNDLE, FORM, Place, last, status
from support import PATIENCE, Line, eventually


@pytest.fixture
def place(world):
    return Place(world)


def test_a_start_an_update_an_alert_and_an_end_reach_the_device(place):
    place.pusher.register("alice-start", "aa01", account="alice", kind="coffee-order")
    place.post("coffee-order/1", "start", '{"attributes":{"item":"Flat white"}}', account="alice")
    start = place.service.wait(lambda pushes: pushes)[0]
    assert start.aps["event"] == "start"
    assert start.aps["attributes-type"] == "CoffeeAttributes"
    assert start.aps["attributes"] == {"item": "Flat white"}
    assert start.aps["content-state"] == {"status": "placed"}
    assert start.aps["alert"] == {"title": "Your order", "body": "It is placed"}
    assert start.aps["input-push-token"] == 1
    assert start.headers["apns-topic"] == f"{BUNDLE}.push-type.liveactivity"
    assert start.headers["apns-push-type"] == "liveactivity"
    assert start.headers["apns-priority"] == "10"
    # The app hands in the token of the card.
    place.pusher.register("alice-1", "bb01", account="alice", key="coffee-order/1")
    place.service.wait(lambda pushes: last(pushes, "bb01"))
    place.post("coffee-order/1", "confirm")
    update = place.service.wait(lambda pushes: status(pushes[-1]) == "queued")[-1]
    assert (update.token, update.aps["event"], update.headers["apns-priority"]) == ("bb01", "update", "5")
    assert update.aps["stale-date"] > time.time()
    place.post("coffee-order/1", "brew")
    place.post("coffee-order/1", "ready", '{"content-state":{"shelf":"B"}}')
    ready = place.service.wait(lambda pushes: status(pushes[-1]) == "ready")[-1]
    assert ready.aps["alert"] == {"title": "Flat white is ready", "body": "Shelf B"}
    assert ready.aps["content-state"] == {"status": "ready", "shelf": "B"}
    assert ready.headers["apns-priority"] == "10"
    place.post("coffee-order/1", "collect")
    end = place.service.wait(lambda pushes: pushes[-1].aps["event"] == "end")[-1]
    assert end.aps["dismissal-date"] > time.time()
    assert "alert" not in end.aps
    # The card is over, and its token is forgotten.
    place.pusher.wait_until_gone("alice-1")
    shown = cards(place.service.pushes)
    assert shown["aa01"].started == 1
    assert shown["bb01"].alerts == ["Flat white is ready"]
    sent = place.pusher.sent()
    assert {entry["status"] for entry in sent} == {200}
    assert [entry["event"] for entry in sent][0] == "end"
    assert place.service.connections == 1


def test_no_more_streams_are_open_than_the_service_allows(world):
    place = Place(world, streams=1)
    for number in range(20):
        place.pusher.register(f"r{number}", f"aa{number:02}", account=f"p{number}", kind="coffee-order")
        place.post(f"coffee-order/{number}", "start", account=f"p{number}")
    pushes = place.service.wait(lambda pushes: len(pushes) == 20)
    assert len({push.token for push in pushes}) == 20
    assert (place.service.most, place.service.connections) == (1, 1)


def test_another_account_is_told_nothing(place):
    place.pusher.register("bob-start", "aa02", account="bob", kind="coffee-order")
    place.pusher.register("alice-start", "aa01", account="alice", kind="coffee-order")
    place.post("coffee-order/1", "start", account="alice")
    place.post("coffee-order/2", "start", account="bob")
    pushes = place.service.wait(lambda pushes: len(pushes) == 2)
    assert sorted(push.token for push in pushes) == ["aa01", "aa02"]
    eventually("both are told", lambda: place.pusher.ask("GET", "/v1/push/sent").json["answers"] == {"200": 2})


def test_the_provider_token_is_good(place):
    place.pusher.register("a", "aa01", account="alice", kind="coffee-order")
    place.post("coffee-order/1", "start", account="alice")
    push = place.service.wait(lambda pushes: pushes)[0]
    scheme, token = push.headers["authorization"].split(" ")
    head, claims, signature = token.split(".")
    assert scheme == "bearer"

    def decode(part):
        return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    assert json.loads(decode(head)) == {"alg": "ES256", "kid": place.key.kid}
    assert json.loads(decode(claims))["iss"] == place.key.team
    assert abs(json.loads(decode(claims))["iat"] - time.time()) < 60
    raw = decode(signature)
    assert len(raw) == 64
    der = b""
    for number in (raw[:32], raw[32:]):
        number = number.lstrip(b"\0")
        number = b"\0" + number if number[:1] >= b"\x80" else number
        der += b"\x02" + bytes([len(number)]) + number
    pathlib.Path(place.folder, "signature").write_bytes(b"\x30" + bytes([len(der)]) + der)
    openssl("dgst", "-sha256", "-verify", place.key.public, "-signature", f"{place.folder}/signature", data=f"{head}.{claims}".encode())


@pytest.mark.parametrize("reason, code", [("Unregistered", 410), ("BadDeviceToken", 400), ("DeviceTokenNotForTopic", 400)])
def test_a_token_that_is_no_good_is_retired(place, reason, code):
    place.service.answer = lambda push: (code, {"reason": reason, "timestamp": int(time.time() * 1000) + 60_000}, {})
    place.pusher.register("a", "aa01", account="alice", key="coffee-order/1")
    place.post("coffee-order/1", "start", account="alice")
    place.service.wait(lambda pushes: pushes)
    place.pusher.wait_until_gone("a")
    place.post("coffee-order/1", "confirm")
    assert [entry["reason"] for entry in place.pusher.sent()] == [reason]
    # It may come back.
    place.service.answer = lambda push: (200, None, {})
    place.pusher.register("a", "aa01", account="alice", key="coffee-order/1")
    place.service.wait(lambda pushes: status(pushes[-1]) == "queued")


def test_a_throttled_push_waits_and_then_is_the_newest(place):
    came, posted = threading.Event(), threading.Event()

    def answer(push):
        if came.is_set():
            return 200, None, {}
        came.set()
        # The first push is answered once there is a newer state.
        assert posted.wait(PATIENCE)
        return 429, {"reason": "TooManyRequests"}, {"retry-after": "5"}

    place.service.answer = answer
    place.pusher.register("a", "aa01", account="alice", key="coffee-order/1")
    place.post("coffee-order/1", "start", account="alice")
    assert came.wait(PATIENCE)
    for event in ("confirm", "brew"):
        place.post("coffee-order/1", event)
    posted.set()
    pushes = place.service.wait(lambda pushes: len(pushes) == 2)
    assert [status(push) for push in pushes] == ["placed", "brewing"]
    assert pushes[1].aps["timestamp"] - pushes[0].aps["timestamp"] >= 5


def test_a_service_that_is_away_is_come_back_to_with_the_newest_state_and_its_alert(place):
    place.pusher.register("a", "aa01", account="alice", key="coffee-order/1")
    place.post("coffee-order/1", "start", '{"attributes":{"item":"Tea"}}', account="alice")
    place.service.wait(lambda pushes: pushes)
    place.service.stop()
    for event in ("confirm", "brew", "ready"):
        place.post("coffee-order/1", event)
    place.pusher.wait_for_sent(lambda sent: [entry for entry in sent if entry.get("reason") == "no connection"])
    place.service.listen()
    pushes = place.service.wait(lambda pushes: status(pushes[-1]) == "ready")
    assert cards(pushes)["aa01"].alerts in (["Tea is ready"], [])
    states = [state["status"] for state in cards(pushes)["aa01"].states]
    assert states == sorted(states, key=["placed", "queued", "brewing", "ready"].index)


def test_a_lost_answer_repeats_the_state_and_not_the_alert(place):
    place.pusher.register("a", "aa01", account="alice", key="coffee-order/1")
    place.post("coffee-order/1", "start", '{"attributes":{"item":"Tea"}}', account="alice")
    place.service.wait(lambda pushes: pushes)
    answers = ["close"]
    place.service.answer = lambda push: answers.pop() if answers and "alert" in push.aps else (200, None, {})
    place.post("coffee-order/1", "confirm")
    place.post("coffee-order/1", "brew")
    place.post("coffee-order/1", "ready")
    pushes = place.service.wait(lambda pushes: len([push for push in pushes if status(push) == "ready"]) == 2)
    assert ["alert" in push.aps for push in pushes if status(push) == "ready"] == [True, False]
    assert pushes[-1].connection == 2


def test_an_activity_that_is_dismissed_leaves_the_device(place):
    place.pusher.register("a", "aa01", account="alice", key="coffee-order/1")
    place.post("coffee-order/1", "start", account="alice")
    place.service.wait(lambda pushes: pushes)
    place.post("coffee-order/1", "end", '{"dismissal-date":1}')
    end = place.service.wait(lambda pushes: pushes[-1].aps["event"] == "end")[-1]
    assert end.aps["dismissal-date"] <= time.time()


def test_a_person_who_swipes_it_away_here_does_so_on_the_device(place):
    place.pusher.register("a", "aa01", account="alice", key="coffee-order/1")
    place.post("coffee-order/1", "start", account="alice,bob")
    place.service.wait(lambda pushes: pushes)
    line = Line(place.daemon.port)
    assert line.ask("HELLO client=test account=alice").startswith("OK")
    assert line.ask("DISMISS coffee-order/1").startswith("OK")
    end = place.service.wait(lambda pushes: pushes[-1].aps["event"] == "end")[-1]
    assert end.token == "aa01"
    line.close()


def test_broadcasts_widgets_and_controls(world):
    place = Place(world, apps={
        BUNDLE: {"CoffeeAttributes": FORM, "Sales": {"kind": "sales"}, "Light": {"kind": "porch-light"}}})
    place.pusher.ask("PUT", "/v1/push/targets/everybody", {"key": "coffee-order/1", "channel": "Y2hhbm5lbA=="})
    place.pusher.register("w", "cc01", type="widgets", kind="sales")
    place.pusher.register("c", "dd01", type="controls", kind="porch-light")
    place.post("coffee-order/1", "start")
    push = place.service.wait(lambda pushes: [push for push in pushes if "broadcasts" in push.token])[-1]
    found = [push for push in place.service.pushes if "broadcasts" in push.headers[":path"]][0]
    assert found.headers[":path"] == f"/4/broadcasts/apps/{BUNDLE}"
    assert found.headers["apns-channel-id"] == "Y2hhbm5lbA=="
    assert "apns-topic" not in found.headers
    place.post("sales/Hoegi", "timeline", json.dumps({"entries": [{"date": int(time.time()), "content-state": {"sold": "4"}}]}))
    push = last(place.service.wait(lambda pushes: last(pushes, "cc01")), "cc01")
    assert json.loads(push.body) == {"aps": {"content-changed": True}}
    assert push.headers["apns-topic"] == f"{BUNDLE}.push-type.widgets"
    push = last(place.service.wait(lambda pushes: last(pushes, "dd01")), "dd01")
    assert push.headers["apns-push-type"] == "controls"


def test_a_push_that_is_too_large_is_told_and_not_sent(place):
    place.pusher.register("a", "aa01", account="alice", key="coffee-order/1")
    place.post("coffee-order/1", "start", json.dumps({"content-state": {"shelf": "x" * 4_050}}), account="alice")
    assert place.pusher.wait_for_sent()[0]["reason"] == "too large"
    assert "too large" in place.pusher.log()
    place.post("coffee-order/1", "confirm", '{"content-state":{"shelf":"A"}}')
    pushes = place.service.wait(lambda pushes: pushes)
    assert status(pushes[0]) == "queued"
