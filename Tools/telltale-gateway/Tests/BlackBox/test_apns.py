"""Apple's push requests from outside: frames by PyPI h2, and a real client, PyPI aioapns, with its source untouched."""

import json
import pathlib
import signal
import socket
import subprocess
import sys
import uuid

import pytest

from apns_place import BUNDLE, Place, start, update
from support import PATIENCE, eventually
from test_access import Principals


@pytest.fixture(scope="module")
def place():
    from world import World
    world = World()
    yield Place(world)
    world.close()


def test_an_order_from_its_start_to_its_end(place):
    peer, bearer = place.peer(), place.key.token()
    answer = peer.push(place.start_token(), start(1), bearer)
    assert (answer.status, answer.headers["telltale-verdict"]) == (200, "applied")
    assert place.row("coffee-order/1")["content"] == {"status": "new"}
    token = place.update_token("coffee-order/1")
    for event, state in [("CONFIRMED", "queued"), ("IN_PROGRESS", "brewing"), ("ready", "ready")]:
        answer = peer.push(token, update(event), bearer)
        assert (answer.status, answer.headers["telltale-verdict"]) == (200, "applied"), answer.note
        assert place.row("coffee-order/1")["state"] == state
    answer = peer.push(token, update("x", "end") | {"dismissal-date": 1}, bearer)
    assert answer.status == 200
    gone = peer.push(token, update("ready"), bearer)
    assert (gone.status, gone.reason) == (410, "Unregistered")
    assert json.loads(gone.body)["timestamp"] > 1_700_000_000_000
    peer.close()


def test_the_last_frame_ends_the_stream(place):
    peer, bearer = place.peer(), place.key.token()
    good = peer.push(place.start_token(), start(2), bearer)
    assert good.frames == [("HEADERS", True)]
    bad = peer.push("00", start(2), bearer)
    assert bad.frames == [("HEADERS", False), ("DATA", True)]
    assert bad.reason == "BadDeviceToken"
    peer.close()


@pytest.mark.parametrize("alpn", [None, ["h2"], ["http/1.1"]])
def test_http2_at_once_whatever_alpn_says(place, alpn):
    peer = place.peer(alpn=alpn)
    answer = peer.ask("GET", "/3/device/00", authority="host")
    assert (answer.status, answer.reason) == (405, "MethodNotAllowed")
    peer.ping()
    assert peer.h2.remote_settings.max_concurrent_streams == 1_000
    peer.close()


def test_many_requests_at_once_on_one_connection(place):
    peer, bearer = place.peer(), place.key.token()
    token = place.start_token(account="")
    fields = [("apns-push-type", "liveactivity"), ("apns-topic", f"{BUNDLE}.push-type.liveactivity"),
              ("apns-priority", "5"), ("authorization", f"bearer {bearer}")]
    peer.read()
    streams = [peer.send("POST", f"/3/device/{token}", fields, json.dumps({"aps": start(f"many-{n}")}).encode())
               for n in range(300)]
    assert {peer.wait(stream).status for stream in streams} == {200}
    peer.close()


def test_the_faults_of_the_table_over_the_wire(place):
    token, bearer = place.start_token(), place.key.token()
    topic = f"{BUNDLE}.push-type.liveactivity"
    good = {"apns-push-type": "liveactivity", "apns-topic": topic, "authorization": f"bearer {bearer}"}
    body = json.dumps({"aps": start(3)}).encode()
    cases = [
        ("PUT", token, good, body, 405, "MethodNotAllowed"), ("POST", "", good, body, 400, "MissingDeviceToken"),
        ("POST", f"{token}/x", good, body, 404, "BadPath"),
        ("POST", token, good | {"authorization": "basic x"}, body, 403, "MissingProviderToken"),
        ("POST", token, good | {"authorization": f"bearer {place.key.token(kid='KEY7654321')}"}, body, 403, "InvalidProviderToken"),
        ("POST", token, good | {"authorization": f"bearer {bearer[:-4]}AAAA"}, body, 403, "InvalidProviderToken"),
        ("POST", token, good | {"authorization": f"bearer {place.key.token(age=3700)}"}, body, 403, "ExpiredProviderToken"),
        ("POST", token, good | {"apns-id": "7"}, body, 400, "BadMessageId"),
        ("POST", token, good | {"apns-expiration": "soon"}, body, 400, "BadExpirationDate"),
        ("POST", token, good | {"apns-priority": "1"}, body, 400, "BadPriority"),
        ("POST", token, good | {"apns-collapse-id": "x" * 65}, body, 400, "BadCollapseId"),
        ("POST", token, good | {"apns-push-type": "x"}, body, 400, "InvalidPushType"),
        ("POST", token, good | {"apns-topic": BUNDLE}, body, 400, "BadTopic"),
        ("POST", token, good | {"apns-topic": topic.replace("coffee", "none")}, body, 400, "TopicDisallowed"),
        ("POST", "abcd", good, body, 400, "BadDeviceToken"),
        ("POST", token, good | {"apns-topic": topic.replace("coffee", "store")}, body, 400, "DeviceTokenNotForTopic"),
        ("POST", token, good, b"", 400, "PayloadEmpty"), ("POST", token, good, b" " * 4097, 413, "PayloadTooLarge"),
        ("POST", token, good, b" " * 60_000, 413, "PayloadTooLarge"),
        ("POST", token, good, json.dumps({"aps": update("ready")}).encode(), 400, "DeviceTokenNotForTopic"),
    ]
    peer = place.peer()
    for method, path, headers, data, status, reason in cases:
        answer = peer.ask(method, f"/3/device/{path}", list(headers.items()), data)
        assert (answer.status, answer.reason) == (status, reason)
        assert uuid.UUID(answer.headers["apns-id"])
    twice = [*good.items(), ("apns-topic", topic)]
    assert peer.ask("POST", f"/3/device/{token}", twice, body).reason == "DuplicateHeaders"
    peer.close()


def test_one_team_a_connection_and_no_new_token_within_twenty_minutes(place):
    peer, token = place.peer(), place.start_token()
    assert peer.push(token, start(4), place.key.token(age=1300)).status == 200
    assert peer.push(token, start(4), place.other.token()).reason == "UnrelatedKeyIdInToken"
    assert peer.push(token, start(4), place.key.token(age=60)).status == 200
    assert peer.push(token, start(4), place.key.token()).reason == "TooManyProviderTokenUpdates"
    fresh = place.peer()
    assert fresh.push(token, start(4), place.other.token()).status == 200
    peer.close()
    fresh.close()


def test_what_a_device_drops_in_silence_is_200_with_its_reason(place):
    peer, bearer, token = place.peer(), place.key.token(), place.start_token()
    silent = start(5)  # Nothing begins.
    del silent["alert"]
    answer = peer.push(token, silent, bearer)
    assert answer.status == 200 and "without aps.alert" in answer.note
    assert "telltale-verdict" not in answer.headers
    old = place.start_token(release=17)
    assert "iOS 17" in peer.push(old, start(5, **{"input-push-channel": "Y2hhbm5lbA=="}), bearer).note
    assert "lifecycle" not in place.row("coffee-order/5")
    assert peer.push(token, start(6), bearer).headers["telltale-verdict"] == "applied"
    late = peer.push(place.update_token("coffee-order/6"), update("x", timestamp=1), bearer)
    assert (late.status, late.headers["telltale-verdict"]) == (200, "stale")
    for _ in range(25):
        answer = peer.push(place.update_token("coffee-order/6"), update("x"), bearer, apns_priority="10")
    assert "beyond 20 an hour" in answer.note
    widgets = peer.push(token, {"content-changed": True}, bearer, "widgets", f"{BUNDLE}.push-type.widgets")
    assert widgets.status == 200 and "shows nothing here" in widgets.note
    peer.close()


def test_the_same_push_acts_once_across_a_killed_gateway(place, world):
    own = Place(world)
    peer, bearer, token, number = own.peer(), own.key.token(), own.start_token(), str(uuid.uuid4())
    first = peer.push(token, start(7), bearer, apns_id=number)
    assert first.headers["apns-id"] == number and first.headers["telltale-verdict"] == "applied"
    body = start(7)
    own.gateway.kill()
    own.gateway = world.gateway(*own.options)
    own.port = int(own.gateway.ready["apns"].split(":")[-1])
    peer = own.peer()
    again = peer.push(token, body, bearer, apns_id=number)
    assert again.status == 200
    assert again.headers.get("telltale-verdict") == "duplicate" or "used for another event" in again.note


def test_channels_and_broadcasts(place):
    peer, bearer = place.peer(), place.bearer
    auth, path = place.auth, f"/1/apps/{BUNDLE}/channels"
    channel = place.make_channel(peer)
    read = peer.ask("GET", path, [auth, ("apns-channel-id", channel)])
    assert json.loads(read.body) == {"message-storage-policy": 1, "push-type": "LiveActivity"}
    assert channel in json.loads(peer.ask("GET", f"/1/apps/{BUNDLE}/all-channels", [auth]).body)["channels"]

    for _ in range(2):
        answer = peer.push(place.start_token(), start(8, **{"input-push-channel": channel}), bearer)
        assert answer.status == 200
    assert answer.headers["telltale-verdict"] == "ignored"
    answer = place.broadcast(peer, channel, update("CONFIRMED"))
    assert (answer.status, answer.headers["telltale-verdict"]) == (200, "applied")
    assert uuid.UUID(answer.headers["apns-request-id"])
    begins = place.broadcast(peer, channel, start(9))
    assert begins.status == 200 and "starts no activity" in begins.note
    assert peer.ask("DELETE", path, [auth, ("apns-channel-id", channel)]).status == 204
    assert peer.ask("GET", path, [auth, ("apns-channel-id", channel)]).reason == "ChannelNotRegistered"
    peer.close()


@pytest.mark.parametrize("account", ["a,b", "a b", "a\nEVT coffee-order/9 type=start", "ä", 7, "x" * 300])
def test_an_account_is_one_word(place, account):
    answer = place.gateway.post("/v1/apns/tokens", {"app": BUNDLE, "kind": "coffee-order", "account": account})
    assert (answer.status, answer.code) == (400, "bad_attr")


def test_a_token_is_for_a_kind_of_its_app(place):
    for body, status, code in [({"app": BUNDLE, "kind": "parcel"}, 404, "unknown_kind"), ({"app": BUNDLE}, 400, "bad_json"),
                               ({"app": BUNDLE, "kind": "coffee-order", "release": 256}, 400, "bad_json")]:
        answer = place.gateway.post("/v1/apns/tokens", body)
        assert (answer.status, answer.code) == (status, code)


def test_the_inspector_says_why_nothing_was_shown(place):
    peer, bearer = place.peer(), place.key.token()
    bad = start(10)
    del bad["attributes"]
    peer.push(place.start_token(), bad, bearer)
    last = place.gateway.get("/v1/apns/pushes").json["pushes"][0]
    assert last["status"] == 200 and "aps.attributes" in last["notes"][0]
    assert last["payload"]["aps"]["event"] == "start"
    assert "authorization" not in last["headers"] and bearer not in json.dumps(last)
    assert bearer not in place.gateway.log()
    peer.push(place.start_token(), start(11, **{"attributes-type": "<b>&\""}), bearer)
    page = place.gateway.get("/pushes")
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert "aps.attributes begins nothing" in page.text and "&lt;b&gt;" in page.text and "<b>" not in page.text
    assert bearer not in page.text
    counters = [name for name in place.gateway.metrics() if name.startswith("telltale_gateway_apns_pushes_total")]
    assert any('status="200"' in name and 'reason="-"' in name for name in counters), counters
    peer.close()


def test_a_daemon_that_is_away_is_503(world):
    own = Place(world)
    peer, bearer, token = own.peer(), own.bearer, own.start_token()
    assert peer.push(token, start(1), bearer).status == 200
    own.daemon.kill()
    answer = peer.push(token, start(2), bearer)
    assert (answer.status, answer.reason) == (503, "ServiceUnavailable")
    # A broadcast names no activity, and may concern one all the same.
    answer = own.broadcast(peer, own.make_channel(peer), update("CONFIRMED"))
    assert (answer.status, answer.reason) == (503, "ServiceUnavailable")
    peer.close()


def test_a_stop_says_goaway_and_ends(world):
    own = Place(world)
    peer = own.peer()
    assert peer.ask("GET", "/3/device/00").status == 405
    assert own.gateway.stop() == 0
    peer.close()


def test_a_daemon_with_tokens_wants_provider_tokens_verified(world):
    principals = Principals(world.folder)
    principals.add("gateway", "post:*", "read:*", "stats", account="*", sources=["apns:*"])
    principals.add("owner", "admin", account="*")
    principals.add("reader", "read:*", account="*")
    file = world.file("gateway.token", principals.tokens["gateway"])
    own = Place(world, daemon=["--auth", principals.write()], gateway=["--token-file", file])
    for name, status in [("nobody", 401), ("reader", 403), ("owner", 200)]:
        assert own.gateway.get("/v1/apns/pushes", headers=principals.bearer(name)).status == status
        assert own.gateway.get("/v1/apns/tokens?key=coffee-order/1", headers=principals.bearer(name)).status == status
    token = own.gateway.post("/v1/apns/tokens", {"app": BUNDLE, "kind": "coffee-order", "account": "alice"},
                             principals.bearer("owner")).json["token"]
    peer = own.peer()
    answer = peer.push(token, start(1), own.key.token())
    assert (answer.status, answer.headers.get("telltale-verdict")) == (200, "applied"), answer.note
    assert peer.push(token, start(2), own.key.token()[:-4] + "AAAA").reason == "InvalidProviderToken"
    peer.close()
    pathlib.Path(own.file).write_text('{"auth":"shape"}')
    own.gateway.process.send_signal(signal.SIGHUP)
    fresh = own.peer()
    answer = eventually("the token is refused", lambda: (one := fresh.push(token, start(3), own.key.token())).status != 200 and one)
    assert answer.reason == "InvalidProviderToken" and "verify" in answer.note
    fresh.close()


def test_aioapns_unchanged_in_a_network_of_its_own(world):
    """Daemon, gateway and client in a namespace without a route; the client's constant host is a line of its hosts file."""
    script = pathlib.Path(__file__).with_name("aioapns_world.py")
    tried = subprocess.run(["unshare", "-rnm", "ip", "link", "set", "lo", "up"], capture_output=True)
    if tried.returncode:
        pytest.skip(f"no network namespaces here: {tried.stderr.decode().strip()}")
    done = subprocess.run(["unshare", "-rnm", sys.executable, str(script)], capture_output=True, timeout=3 * PATIENCE)
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads(done.stdout.decode().splitlines()[-1]) == [
        [200, None], [200, None], [200, None], [410, "Unregistered"], [400, "BadDeviceToken"]]


def test_an_answer_that_is_not_taken_is_given_up(place):
    """Otherwise its connection would have a request under way for ever, and give way to nobody."""
    peer = place.peer(window=0)
    stream = peer.send("POST", "/3/device/00", [place.auth], b"{}")
    peer.read_until(lambda: stream in peer.resets)
    assert peer.answers[stream].status == 400 and peer.answers[stream].body == b""
    peer.close()


def test_idle_connections_give_way_to_senders(world):
    """Twice as many as there may be: they keep out no sender, and cost none that is being answered its connection."""
    place = Place(world)
    early, token = place.peer(), place.start_token()
    fields = [("apns-push-type", "liveactivity"), ("apns-topic", f"{BUNDLE}.push-type.liveactivity"), place.auth]
    body = json.dumps({"aps": start(1)}).encode()
    stream = early.begin("POST", f"/3/device/{token}", fields)
    early.ping()
    idle = [socket.create_connection(("127.0.0.1", place.port), timeout=PATIENCE) for _ in range(1_000)]
    late = place.peer()
    assert late.push(place.start_token(), start(2), place.bearer).status == 200
    assert early.finish(stream, body).status == 200
    # On a slow machine some of them are closed before others are taken, since they begin no handshake.
    eventually("idle ones gave way", lambda: int(place.gateway.metrics()["telltale_gateway_connections_refused_total"]) > 0)
    for connection in (*idle, early, late):
        connection.close()
