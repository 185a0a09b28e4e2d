"""Broadcast channels: made, read and deleted by telltale-push at the APNs-shaped endpoint of a second daemon, which shows what is broadcast."""

import pytest

from push_place import Place
from support import eventually
from test_access import Principals
from apns_place import BUNDLE, Place as FarPlace
from world import World


@pytest.fixture
def pair(world):
    far_world = World()
    far = FarPlace(far_world, apps={BUNDLE: {"CoffeeAttributes": {"kind": "coffee-order"}}})
    near = Place(world, far=far, **{"channels-url": f"https://localhost:{far.port}"})
    yield near, far
    far_world.close()


def ask(place, method, query="", body=None, token=None):
    return place.pusher.ask(method, f"/v1/push/channels{query}", body, token)


def test_a_channel_is_made_read_used_and_deleted(pair):
    near, far = pair
    made = ask(near, "POST", body={"kind": "coffee-order", "storage": 1})
    assert made.status == 201, made.text
    channel = made.json["channel"]
    assert made.json == {"kind": "coffee-order", "channel": channel, "storage": 1}
    place = f"?kind=coffee-order&channel={channel.replace('+', '%2B').replace('/', '%2F').replace('=', '%3D')}"
    assert ask(near, "GET", place).json == made.json
    assert ask(near, "GET", "?kind=coffee-order").json == {"kind": "coffee-order", "channels": [channel]}
    # The start of an activity follows the channel, and what is broadcast reaches it.
    start = far.start_token()
    assert near.pusher.ask("PUT", "/v1/push/targets/start", {"kind": "coffee-order", "token": start, "channel": channel}).status == 201
    near.post("coffee-order/1", "start", '{"attributes":{"orderNumber":1}}')
    far_keys = lambda: [push["key"] for push in far.gateway.get("/v1/apns/pushes").json["pushes"] if push.get("key")]  # noqa: E731
    key = eventually("the start arrives", far_keys)[0]
    assert key.startswith("coffee-order/ch-")
    assert near.pusher.ask("PUT", "/v1/push/targets/all", {"key": "coffee-order/1", "channel": channel}).status == 201
    near.post("coffee-order/1", "confirm")
    eventually("queued", lambda: far.gateway.get(f"/v1/entities/{key}").json["row"]["content"].get("status") == "queued")
    assert ask(near, "DELETE", place).status == 204
    for method in ("GET", "DELETE"):
        assert ask(near, method, place).json["code"] == "not_found"
    assert ask(near, "GET", "?kind=coffee-order").json["channels"] == []
    # Nobody follows it any more: its registration goes with the next broadcast.
    near.post("coffee-order/1", "brew")
    near.pusher.wait_until_gone("all")
    assert near.pusher.sent()[0]["reason"] == "ChannelNotRegistered"


def test_requests_about_channels_are_checked(pair):
    near, far = pair
    for method, query, body, status, words in [
        ("POST", "", {"kind": "flight"}, 404, "no app"), ("POST", "", {}, 400, "kind"),
        ("POST", "", {"kind": "coffee-order", "storage": 2}, 400, "storage"),
        ("POST", "", {"kind": "coffee-order", "colour": 1}, 400, "colour"), ("GET", "", None, 400, "kind="),
        ("GET", "?kind=coffee-order&channel=x%0A", None, 400, "base64"), ("DELETE", "?kind=coffee-order", None, 400, "channel="),
        ("PUT", "", {}, 405, "takes"),
    ]:
        answer = ask(near, method, query, body)
        assert (answer.status, words in answer.text) == (status, True), (method, query, answer.text)
    far.gateway.kill()
    assert ask(near, "GET", "?kind=coffee-order").json["code"] == "push_unreachable"


def test_a_service_that_refuses_is_told_with_its_reason(world):
    place = Place(world)
    place.pusher.kill()
    place.more = {"channels-url": f"https://localhost:{place.service.port}"}
    place.pusher = place.start()
    place.service.answer = lambda push: (403, {"reason": "InvalidProviderToken"}, {})
    answer = ask(place, "GET", "?kind=coffee-order")
    assert (answer.status, answer.json["code"]) == (502, "push_refused") and "InvalidProviderToken" in answer.text
    place.service.answer = lambda push: (429, {"reason": "TooManyRequests"}, {})
    assert ask(place, "GET", "?kind=coffee-order").json["code"] == "push_unreachable"
    for answer in [(200, None, {}), (200, {"channels": 1}, {})]:
        place.service.answer = lambda push: answer
        told = ask(place, "GET", "?kind=coffee-order")
        assert (told.status, told.json["code"]) == (502, "push_refused"), told.text
        assert "status 200, and not with what was asked for" in told.text and "refuses" not in told.json["title"]
    place.pusher.kill()
    place.more = {}
    place.pusher = place.start()
    assert "channels-url" in ask(place, "GET", "?kind=coffee-order").json["title"]


def test_channels_are_for_operators(world):
    principals = Principals(world.folder)
    principals.add("push", "read:*", account="*")
    principals.add("owner", "admin", account="*")
    place = Place(world, "--auth", principals.write(), **{"token-file": world.file("token", principals.tokens["push"])})
    place.pusher.kill()
    place.more |= {"channels-url": f"https://localhost:{place.service.port}"}
    place.pusher = place.start()
    place.service.answer = lambda push: (200, {"channels": []}, {})
    assert [ask(place, "GET", "?kind=coffee-order", token=token).status for token in (
        None, principals.tokens["push"], principals.tokens["owner"])] == [401, 403, 200]
    gateway = world.gateway("--push", f"http://127.0.0.1:{place.pusher.port}")
    answer = gateway.get("/v1/push/channels?kind=coffee-order", headers=principals.bearer("owner"))
    assert answer.json == {"kind": "coffee-order", "channels": []}
    assert gateway.post("/v1/push/channels", {"kind": "flight"}, headers=principals.bearer("owner")).code == "unknown_kind"
