"""What telltale-push answers, by way of the gateway: for apps and browsers, and as a page."""

import base64
import json
import re
import socket
import time

import pytest

from push_place import Place
from support import PATIENCE, free_port
from test_access import Principals


@pytest.fixture
def place(world):
    place = Place(world)
    place.gateway = world.gateway("--push", f"http://127.0.0.1:{place.pusher.port}")
    return place


def put(gateway, name, body, **options):
    return gateway.ask("PUT", f"/v1/push/targets/{name}", body, **options)


def test_a_registration_goes_through_the_gateway(place):
    name, body = "a:phone%40home~1", {"account": "alice", "key": "coffee-order/1", "token": "AA01"}
    assert put(place.gateway, name, body).status == 201
    assert put(place.gateway, name, body).status == 200
    one = place.gateway.get(f"/v1/push/targets/{name}").json
    assert (one["id"], one["account"], one["key"]) == ("a:phone@home~1", "alice", "coffee-order/1")
    assert one == place.pusher.ask("GET", f"/v1/push/targets/{name}").json
    assert place.gateway.get("/v1/push/targets").json == {"targets": [one], "count": 1}
    for path in ("/v1/push/targets", f"/v1/push/targets/{name}", "/v1/push/sent", "/sent"):
        head = place.gateway.ask("HEAD", path)
        assert (head.status, head.bytes) == (200, b"")
    place.post("coffee-order/1", "start", account="alice")
    place.service.wait(lambda pushes: pushes)
    place.pusher.wait_for_sent()
    sent = place.gateway.get("/v1/push/sent?key=coffee-order/1").json
    assert sent == place.pusher.ask("GET", "/v1/push/sent").json and sent["sent"][0]["registration"] == "a:phone@home~1"
    assert place.gateway.get("/v1/push/sent?key=coffee-order/2").json["sent"] == []
    assert place.gateway.ask("DELETE", f"/v1/push/targets/{name}").status == 204
    assert place.gateway.ask("DELETE", f"/v1/push/targets/{name}").code == "not_found"


def test_a_refusal_goes_through_too(place):
    answer = put(place.gateway, "a", {"token": "xyz", "kind": "coffee-order"})
    assert (answer.status, answer.code) == (400, "bad_json") and "hexadecimal" in answer.json["title"]
    assert put(place.gateway, "a", {"token": "aa", "kind": "flight"}).code == "unknown_kind"
    assert put(place.gateway, "a", {"token": "a" * 9_000, "kind": "coffee-order"}).code == "too_large"
    assert put(place.gateway, "a%0D%0AX:%201", {"token": "aa", "kind": "coffee-order"}).code == "bad_json"
    assert place.gateway.get("/v1/push/vapid").code == "not_found"
    assert place.gateway.post("/v1/push/sent", {}).code == "method"


def test_without_it_a_gateway_says_so(gateway):
    for path in ("/v1/push/targets", "/v1/push/targets/a", "/v1/push/sent", "/v1/push/vapid", "/sent"):
        answer = gateway.get(path)
        assert answer.code == "not_found" and "--push" in answer.json["title"]


def test_one_that_is_away_or_says_nothing_is_unreachable(world):
    world.daemon()
    away = world.gateway("--push", f"http://127.0.0.1:{free_port()}")
    answer = away.get("/v1/push/sent")
    assert (answer.status, answer.code) == (503, "push_unreachable") and int(answer.headers["retry-after"]) > 0
    with socket.create_server(("127.0.0.1", 0)) as silent:
        gateway = world.gateway("--push", f"http://127.0.0.1:{silent.getsockname()[1]}")
        assert gateway.get("/v1/push/sent").code == "push_unreachable"


def test_an_answer_without_an_end_is_bounded(world):
    world.daemon()
    with socket.create_server(("127.0.0.1", 0)) as endless:
        gateway = world.gateway("--push", f"http://127.0.0.1:{endless.getsockname()[1]}")
        endless.settimeout(PATIENCE)
        with socket.create_connection(("127.0.0.1", gateway.port), timeout=PATIENCE) as caller:
            caller.sendall(b"GET /v1/push/sent HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
            connection, _ = endless.accept()
            connection.settimeout(PATIENCE)
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n")
            total = 0
            try:
                while total < 64 << 20:
                    total += connection.send(b" " * 65_536)
            except OSError:
                pass
            connection.close()
            assert total < 64 << 20
            assert b" 503 " in caller.recv(65_536)


# The generator of P-256, which is a point of the curve like any key.
POINT = (
    "046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
    "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5")
REMOVED, KEPT = "Its registration is removed", "The registration stays"
WAIT, RENEWED, MAY_HAVE = "sent after a wait", "renews its own token", "It may have arrived"
WRONG, REFUSED, NO_WAY, BIG = "key, its team or its topic is wrong", "refuses this push", "names no way", "no push of this size"
NEXT, NO_START, AWAY = "the next state is tried", "A start is not tried again", "sent when the service is there"
NOTES = [REMOVED, KEPT, WAIT, RENEWED, MAY_HAVE, WRONG, REFUSED, NO_WAY, BIG, NEXT, NO_START, AWAY]


def sections(page):
    """The pushes of the page, by their registrations."""
    found = re.findall(r'<section data-testid="push">.*?</section>', page.text, re.S)
    return {re.search(r"to (phone-[a-z0-9-]+)", text)[1]: text for text in found}


def expect(page, rows):
    """Each push has the answer and the notes that are told, and no other note."""
    told = sections(page)
    assert set(told) == set(rows)
    for name, (answer, notes) in rows.items():
        assert answer in told[name], (name, told[name])
        assert [note for note in NOTES if note in told[name]] == [note for note in NOTES if note in notes], (name, told[name])


def wait_for_sent(place, count):
    place.pusher.wait_for_sent(lambda sent: len({entry["registration"] for entry in sent}) >= count)


def test_the_page_tells_what_became_of_each_push(place):
    later = int(time.time() * 1000) + 60_000
    rows = [
        ((200, None), "200", []),
        ((410, {"reason": "Unregistered", "timestamp": later}), "410 Unregistered", [REMOVED]),
        ((410, {"reason": "Unregistered", "timestamp": 1_000}), "410 Unregistered", [KEPT]),
        ((403, {"reason": "InvalidProviderToken"}), "403 InvalidProviderToken", [WRONG, WAIT]),
        ((503, {"reason": "<b>&\""}), "503 &lt;b&gt;&amp;&quot;", [WAIT]),
        ("close", "no answer", [MAY_HAVE]),
        ((400, {"reason": "BadDeviceToken"}), "400 BadDeviceToken", [REMOVED]),
        ((400, {"reason": "ChannelNotRegistered"}), "400 ChannelNotRegistered", [REMOVED]),
        ((400, {"reason": "BadChannelId"}), "400 BadChannelId", [REMOVED]),
        ((400, {"reason": "BadPriority"}), "400 BadPriority", [REFUSED, NEXT]),
        ((413, {"reason": "PayloadTooLarge"}), "413 PayloadTooLarge", [BIG, NEXT]),
        ((404, {"reason": "BadPath"}), "404 BadPath", [REFUSED, NEXT]),
        ((429, {"reason": "TooManyRequests"}), "429 TooManyRequests", [WAIT]),
        ((403, {"reason": "ExpiredProviderToken"}), "403 ExpiredProviderToken", [RENEWED]),
    ]
    answers = {f"aa{number:02}": answer if answer == "close" else (*answer, {}) for number, (answer, _, _) in enumerate(rows)}
    place.service.answer = lambda push: answers[push.token]
    for number, token in enumerate(answers):
        put(place.gateway, f"phone-{number}", {"key": f"coffee-order/{number}", "token": token})
    # A connection that is closed leaves every push on it without an answer: that one goes last, and alone.
    closing = [number for number, row in enumerate(rows) if row[0] == "close"]
    for number in [number for number in range(len(rows)) if number not in closing]:
        place.post(f"coffee-order/{number}", "start")
    wait_for_sent(place, len(rows) - len(closing))
    for number in closing:
        place.post(f"coffee-order/{number}", "start")
    wait_for_sent(place, len(rows))
    page = place.gateway.get("/sent")
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    expect(page, {f"phone-{number}": row[1:] for number, row in enumerate(rows)})
    for words in ['href="/coffee-order/3"', 'href="/sent?key=coffee-order%2F3"']:
        assert words in page.text, words
    assert '<b>&"' not in page.text and "aa01" not in page.text
    one = place.gateway.get("/sent?key=coffee-order%2F3")
    assert "InvalidProviderToken" in one.text and "phone-1" not in one.text
    assert place.gateway.get("/sent?key=a&key=b").code == "bad_attr"
    # The page is right about registrations.
    kept = {target["id"] for target in place.gateway.get("/v1/push/targets").json["targets"]}
    assert kept == {f"phone-{number}" for number, row in enumerate(rows) if REMOVED not in row[2]}


def test_the_page_tells_what_was_not_sent_and_what_is_not_sent_again(place):
    starts = {"aa01": "close", "aa02": (400, {"reason": "BadPriority"}, {})}
    place.service.answer = lambda push: starts[push.token]
    web = {"key": place.key.private, "subject": "mailto:ops@example.com", "hosts": ["localhost"], "ca": "certs/ca.pem"}

    def restart(**more):
        place.more = more
        place.restart()
        place.gateway = place.world.gateway("--push", f"http://127.0.0.1:{place.pusher.port}")

    restart(**{"web-push": web})
    point = base64.urlsafe_b64encode(bytes.fromhex(POINT)).decode()
    for name, public, port in [("odd", base64.urlsafe_b64encode(b"\x04" + b"\x01" * 64).decode(), 1), ("away", point, free_port()),
                               ("elsewhere", point, free_port())]:
        subscription = {"endpoint": f"https://localhost:{port}/p", "keys": {"p256dh": public, "auth": "AAAAAAAAAAAAAAAAAAAAAA"}}
        assert put(place.gateway, f"phone-{name}", {
            "type": "webpush", "account": "web", "key": f"coffee-order/{name}", "subscription": subscription}).status == 201
    place.post("coffee-order/odd", "start", account="web")
    place.post("coffee-order/away", "start", account="web")
    # The one whose connection is closed goes last: it would leave the other one without an answer.
    for count, (name, token) in enumerate([("wrong", "aa02"), ("silent", "aa01")], start=3):
        put(place.gateway, f"phone-{name}", {"account": name, "kind": "coffee-order", "token": token})
        place.post(f"coffee-order/{name}", "start", account=name)
        wait_for_sent(place, count)
    expect(place.gateway.get("/sent"), {
        "phone-odd": ("is no key", [REMOVED]), "phone-away": ("no connection", [AWAY]),
        "phone-silent": ("no answer", [MAY_HAVE]), "phone-wrong": ("400 BadPriority", [REFUSED, NO_START])})
    for more, reason in [({"web-push": web | {"hosts": ["example.com"]}}, "host not allowed"), ({}, "no web-push")]:
        restart(**more)
        place.post("coffee-order/elsewhere", "start" if more else "confirm", account="web")
        place.pusher.wait_for_sent(
            lambda sent: [entry for entry in sent if entry.get("reason") == reason and "elsewhere" in entry["registration"]])
        page = place.gateway.get("/sent?key=coffee-order%2Felsewhere")
        expect(page, {"phone-elsewhere": (reason, [NO_WAY, NEXT])})


def test_a_daemon_with_tokens_decides_who_asks(world):
    principals = Principals(world.folder)
    principals.add("push", "read:*", account="*")
    principals.add("alice", "read:coffee-order/*", account="alice")
    principals.add("owner", "admin", account="*")
    place = Place(world, "--auth", principals.write(), **{"token-file": world.file("token", principals.tokens["push"])})
    gateway = world.gateway("--push", f"http://127.0.0.1:{place.pusher.port}")
    mine = {"token": "aa01", "account": "alice", "kind": "coffee-order"}
    assert put(gateway, "a", mine).code == "auth_required"
    assert put(gateway, "a", mine | {"account": "bob"}, headers=principals.bearer("alice")).code == "forbidden"
    assert put(gateway, "a", mine, headers=principals.bearer("alice")).status == 201
    for path in ("/v1/push/sent", "/v1/push/targets", "/sent"):
        assert gateway.get(path).headers["www-authenticate"].startswith("Bearer")
        assert gateway.get(path, headers=principals.bearer("alice")).code == "forbidden"
        assert gateway.get(path, headers=principals.bearer("owner")).status == 200
    # A browser that has signed in brings a cookie, and no page of another origin writes by it.
    session = gateway.post("/v1/session", {"token": principals.tokens["owner"]})
    cookie = {"Cookie": session.headers["set-cookie"].split(";")[0]}
    assert gateway.get("/sent", headers=cookie).status == 200
    evil = cookie | {"Origin": "https://evil.example.com", "Sec-Fetch-Site": "cross-site"}
    assert gateway.ask("DELETE", "/v1/push/targets/a", headers=evil).status == 403
    assert json.loads(place.pusher.ask("GET", "/v1/push/targets", None, principals.tokens["owner"]).text)["count"] == 1
