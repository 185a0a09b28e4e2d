"""Web Push from outside: what telltale-push posts is opened with PyPI http-ece, and its sender's token is checked."""

import base64
import http.server
import json
import secrets
import ssl
import threading
import time

import pytest

from apns_peer import Key, b64, certificates
from push_place import Place
from support import PATIENCE

ece = pytest.importorskip("http_ece", reason="http-ece cannot be installed")
ec = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ec", reason="cryptography cannot be installed")
from cryptography.hazmat.primitives import hashes, serialization  # noqa: E402
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature  # noqa: E402


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Browser:
    """A subscription, and the service that takes its pushes."""

    def __init__(self, folder):
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.public = self.key.public_key().public_bytes(
            serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
        self.secret = secrets.token_bytes(16)
        self.requests, self.changed = [], threading.Condition()
        self.answer = 201
        browser = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                self.send_response(browser.answer)
                self.send_header("content-length", "0")
                self.end_headers()
                with browser.changed:
                    browser.requests.append((self.path, dict(self.headers.items()), body))
                    browser.changed.notify_all()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{folder}/leaf.pem", f"{folder}/leaf.key.pem")
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def subscription(self):
        return {"endpoint": f"https://localhost:{self.server.server_port}/wpush/v2/secret-of-the-browser",
                "keys": {"p256dh": b64(self.public), "auth": b64(self.secret)}}

    def wait(self, check):
        with self.changed:
            assert self.changed.wait_for(lambda: check(self.requests), PATIENCE), self.opened()
            return list(self.requests)

    def opened(self):
        return [json.loads(ece.decrypt(body, private_key=self.key, auth_secret=self.secret, version="aes128gcm"))
                for _, _, body in self.requests]


@pytest.fixture
def web(world):
    certificates(f"{world.folder}/certs")
    vapid = Key(world.folder, kid="VAPIDVAPID")
    place = Place(world, **{"web-push": {
        "key": vapid.private, "subject": "mailto:ops@example.com", "hosts": ["localhost"], "ca": "certs/ca.pem"}})
    place.browser = Browser(f"{world.folder}/certs")
    yield place
    place.browser.server.shutdown()


def register(place, name="b", **more):
    return place.pusher.ask("PUT", f"/v1/push/targets/{name}", {
        "type": "webpush", "subscription": place.browser.subscription} | more)


def test_a_browser_is_told_the_text_of_each_change(web):
    assert register(web, account="alice", kind="coffee-order").status == 201
    web.post("coffee-order/1", "start", '{"attributes":{"shop":"Hoegi","item":"Tea"}}', account="alice")
    web.browser.wait(lambda requests: len(requests) == 1)
    for number, event in enumerate(["confirm", "brew"]):
        web.post("coffee-order/1", event)
        web.browser.wait(lambda requests: len(requests) == number + 2)
    web.post("coffee-order/1", "ready", '{"content-state":{"shelf":"B"}}')
    requests = web.browser.wait(lambda requests: len(requests) == 4)
    notices = web.browser.opened()
    assert [notice["body"] for notice in notices] == ["Order placed", "In the queue", "Brewing", "Ready"]
    assert notices[0]["title"] == "Hoegi"
    assert notices[0]["url"] == "https://example.com/orders/1"
    assert notices[3]["alert"] == {"title": "Tea is ready", "body": "Shelf B"}
    paths, fields = {path for path, _, _ in requests}, [fields for _, fields, _ in requests]
    assert paths == {"/wpush/v2/secret-of-the-browser"}
    assert {field["topic"] for field in fields} == {fields[0]["topic"]} and len(fields[0]["topic"]) == 32
    assert [field["urgency"] for field in fields] == ["normal", "normal", "normal", "high"]
    assert fields[0]["content-encoding"] == "aes128gcm"
    assert 60 <= int(fields[0]["ttl"]) <= 240


def test_the_sender_says_who_it_is(web):
    register(web, kind="coffee-order")
    web.post("coffee-order/1", "start")
    _, fields, _ = web.browser.wait(lambda requests: requests)[0]
    scheme, rest = fields["authorization"].split(" ", 1)
    parts = dict(part.strip().split("=", 1) for part in rest.split(","))
    assert scheme == "vapid"
    assert parts["k"] == web.pusher.ask("GET", "/v1/push/vapid").json["key"]
    head, claims, signature = parts["t"].split(".")
    assert json.loads(decode(claims))["aud"] == f"https://localhost:{web.browser.server.server_port}"
    assert json.loads(decode(claims))["sub"] == "mailto:ops@example.com"
    assert 0 < json.loads(decode(claims))["exp"] - time.time() <= 86_400
    raw = decode(signature)
    public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decode(parts["k"]))
    public.verify(
        encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big")),
        f"{head}.{claims}".encode(), ec.ECDSA(hashes.SHA256()))


@pytest.mark.parametrize("status", [404, 410])
def test_a_subscription_that_is_gone_is_removed(web, status):
    web.browser.answer = status
    register(web, kind="coffee-order")
    web.post("coffee-order/1", "start")
    web.browser.wait(lambda requests: requests)
    web.pusher.wait_until_gone("b")


def test_nobody_is_notified_of_what_was_there_before_nor_again_after_a_kill(web):
    # The rows of the kind are known when the browser registers.
    web.pusher.register("other", "aa01", kind="coffee-order")
    web.post("coffee-order/1", "start")
    web.service.wait(lambda pushes: pushes)
    register(web, kind="coffee-order")
    web.post("coffee-order/2", "start")
    web.browser.wait(lambda requests: [notice for notice in web.browser.opened() if notice["key"] == "coffee-order/2"])
    web.pusher.wait_for_sent(lambda sent: [entry for entry in sent if entry["registration"] == "b"])
    web.restart()
    web.post("coffee-order/1", "confirm")
    web.browser.wait(lambda requests: [notice for notice in web.browser.opened() if notice["body"] == "In the queue"])
    assert [(notice["key"], notice["body"]) for notice in web.browser.opened()] == [
        ("coffee-order/2", "Order placed"), ("coffee-order/1", "In the queue")]


def test_a_subscription_goes_to_the_hosts_of_the_configuration_alone(web):
    for change, status, words in [
        ({"endpoint": "https://example.com/push"}, 403, "none of the hosts"),
        ({"endpoint": "http://localhost/push"}, 400, "https"), ({"endpoint": "https://alice@localhost/"}, 400, "https"),
        ({"endpoint": "https://localhost:99999/"}, 400, "https"), ({"endpoint": 7}, 400, "https"),
        ({"keys": {"p256dh": "AAAA", "auth": b64(b"x" * 16)}}, 400, "p256dh"),
        ({"keys": {"p256dh": b64(web.browser.public), "auth": "AAAA"}}, 400, "auth"),
    ]:
        answer = register(web, kind="coffee-order", subscription=web.browser.subscription | change)
        assert (answer.status, words in answer.text) == (status, True), (change, answer.text)
    answer = register(web, kind="coffee-order")
    assert "secret-of-the-browser" not in answer.text
    assert "secret-of-the-browser" not in web.pusher.ask("GET", "/v1/push/targets").text
    # A key that is no point of the curve ends its registration, and nothing else.
    register(web, "c", kind="coffee-order", subscription=web.browser.subscription | {
        "keys": {"p256dh": b64(b"\x04" + b"\x01" * 64), "auth": b64(web.browser.secret)}})
    web.post("coffee-order/1", "start")
    web.browser.wait(lambda requests: requests)
    web.pusher.wait_until_gone("c")
    assert "secret-of-the-browser" not in web.pusher.log()
