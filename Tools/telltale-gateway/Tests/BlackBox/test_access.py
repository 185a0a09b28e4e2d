"""A daemon with principals: the gateway has no rights of its own to lend, and tells each refusal as HTTP does."""

import base64
import hashlib
import json
import os
import pathlib
import secrets
import time

import pytest

import signatures
from support import Provider, Stream, eventually
from world import World

HOOK = {"hook": "own", "verify": {"scheme": "shopify", "secrets": ["env:OWN"]},
        "rules": [{"on": ["*"], "key": "errand/{{body.id}}", "type": "start"}]}


class Principals:
    """The file of `--auth`, and the tokens of those in it."""

    def __init__(self, folder):
        self.path = pathlib.Path(folder) / "principals.json"
        self.principals = []
        self.tokens = {}

    def add(self, name, *scopes, **more):
        identifier = base64.b32encode(secrets.token_bytes(5)).decode().lower()
        token = f"tt_{identifier}_{secrets.token_urlsafe(32)}"
        entry = {"id": identifier, "sha256": hashlib.sha256(token.encode()).hexdigest()}
        self.principals.append({"name": name, "scopes": list(scopes), "tokens": [entry]} | more)
        self.tokens[name] = token

    def expire(self, name, at):
        entry = next(principal for principal in self.principals if principal["name"] == name)["tokens"][0]
        entry["expires"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))

    def remove(self, name):
        self.principals = [principal for principal in self.principals if principal["name"] != name]

    def write(self):
        """In one step, and readable by their owner alone."""
        draft = self.path.with_suffix(".draft")
        draft.write_text(json.dumps({"version": 1, "principals": self.principals}))
        draft.chmod(0o600)
        os.replace(draft, self.path)
        return str(self.path)

    def bearer(self, name):
        if name == "nobody":
            return {}
        return {"Authorization": f"Bearer {self.tokens.get(name, 'tt_unknownn_' + 'x' * 43)}"}


class Guarded:
    """A daemon that wants tokens, and a gateway whose own is good for `post:* stats`."""

    def __init__(self):
        self.world = World()
        self.principals = Principals(self.world.folder)
        add = self.principals.add
        add("gateway", "post:*", "stats", sources=["hook:*", "poster"])
        add("poster", "post:errand/*")
        add("reader", "read:*", account="alice")
        add("shelf", "read:errand/*", account="*")
        add("person", "act:*", account="alice")
        add("operator", "stats")
        add("owner", "admin", account="alice")
        add("serving", "serve:*")
        add("courier", "post:coffee-order/*", "read:coffee-order/*", account="*")
        add("hasty", "post:*", rate=2)
        add("steady", "post:*", rate=200)
        self.daemon = self.world.daemon("--auth", self.principals.write())
        hooks = pathlib.Path(self.world.file("hooks/own.json", json.dumps(HOOK))).parent
        self.gateway = self.world.gateway(
            "--hooks", str(hooks), "--token-file", self.world.file("token", self.principals.tokens["gateway"]),
            extra={"OWN": "shopify-secret"})

    def ask(self, name, method, path, body=None, headers=None):
        return self.gateway.ask(method, path, body, self.principals.bearer(name) | (headers or {}))


@pytest.fixture(scope="module")
def guarded():
    guarded = Guarded()
    provider = Provider(guarded.daemon.port, "porch-light", "porch-light/front value=off",
                        token=guarded.principals.tokens["serving"])
    for kind, key in [("errand", "1"), ("coffee-order", "1")]:
        guarded.ask("owner", "POST", f"/{kind}/{key}/start?for=alice")
    yield guarded
    provider.close()
    guarded.world.close()


EVENT = {"specversion": "1.0", "id": "a", "source": "poster", "type": "start", "subject": "errand/ce"}
SMALL = {"kind": "small", "type": "toggle", "version": 1, "app": "com.example", "symbol": {"on": "a", "off": "b"}}
ROUTES = [
    # method, path, body, header fields, those who may, the scope that a refusal names
    ("POST", "/v1/entities/errand/p/events/start", "", {}, {"poster"}, "post:errand/p"),
    ("POST", "/errand/p/start", "", {}, {"poster"}, "post:errand/p"),
    ("POST", "/v1/events", json.dumps(EVENT), {"Content-Type": "application/cloudevents+json"}, {"poster"},
     "post:errand/ce"),
    ("GET", "/v1/entities", None, {}, {"reader"}, "read:*"),
    ("GET", "/v1/entities?pattern=errand/*", None, {}, {"reader", "shelf"}, "read:errand/*"),
    ("GET", "/v1/entities/errand/1", None, {}, {"reader", "shelf"}, "read:errand/1"),
    ("HEAD", "/v1/entities/errand/1", None, {}, {"reader", "shelf"}, "read:errand/1"),
    ("GET", "/v1/entities/errand/1/history", None, {}, {"reader", "shelf"}, "read:errand/1"),
    ("GET", "/v1/entities/errand/1/open?surface=phone", None, {}, {"reader", "shelf"}, "read:errand/1"),
    ("PUT", "/v1/entities/porch-light/front/value", "on", {}, {"person"}, "act:porch-light/front"),
    ("POST", "/v1/entities/log-coffee/espresso/press", None, {}, {"person"}, "act:log-coffee/espresso"),
    ("POST", "/v1/entities/errand/1/seen", '{"rev":1}', {}, {"person"}, "act:errand/1"),
    ("POST", "/v1/entities/coffee-order/1/dismiss", None, {}, {"person"}, "act:coffee-order/1"),
    ("GET", "/v1/kinds", None, {}, {"reader"}, "read:*"),
    ("GET", "/v1/kinds/errand", None, {}, {"reader", "shelf"}, "read:errand/*"),
    ("GET", "/v1/kinds/errand/diagram", None, {}, {"reader", "shelf"}, "read:errand/*"),
    ("POST", "/v1/lint", "{}", {}, {"gateway", "poster", "reader", "shelf", "person", "operator", "serving"}, None),
    ("POST", "/v1/play", json.dumps({"kind": SMALL}), {}, {"gateway", "poster", "reader", "shelf", "person", "operator", "serving"}, None),
    ("GET", "/v1/stats", None, {}, {"gateway", "operator"}, "stats"),
    ("GET", "/hooks", None, {}, {"gateway", "operator"}, "stats"),
    ("GET", "/v1/rows?sub=errand/*", None, {}, {"reader", "shelf"}, "read:errand/*"),
    ("HEAD", "/v1/stream?sub=errand/*", None, {}, None, None),
    ("GET", "/openapi.json", None, {}, None, None),
    ("GET", "/errors", None, {}, None, None),
]
CALLERS = ["nobody", "unknown", "gateway", "poster", "reader", "shelf", "person", "operator", "serving", "owner"]


@pytest.mark.parametrize("method, path, body, headers, allowed, need", ROUTES,
                         ids=[f"{route[0]} {route[1]}" for route in ROUTES])
def test_every_route_with_every_scope(guarded, method, path, body, headers, allowed, need):
    for caller in CALLERS:
        answer = guarded.ask(caller, method, path, body, headers)
        place = (caller, method, path, answer.status, answer.text)
        if allowed is None or caller == "owner" or caller in allowed or (caller == "gateway" and (need or "").startswith("post:")):
            assert answer.status not in (401, 403), place
            continue
        challenge = answer.headers["www-authenticate"]
        if caller == "nobody":
            assert answer.status == 401 and challenge == "Bearer", place
        elif caller == "unknown":
            assert answer.status == 401 and challenge == 'Bearer error="invalid_token"', place
        else:
            assert answer.status == 403, place
            if need:
                assert challenge == f'Bearer error="insufficient_scope", scope="{need}"', place
        if method != "HEAD":
            assert answer.code == {"nobody": "auth_required", "unknown": "auth_failed"}.get(caller, "forbidden"), place
            assert "HELLO" not in answer.json["title"], place


def test_streams_are_the_callers_own(guarded):
    for caller, status in [("nobody", 401), ("unknown", 401), ("poster", 403), ("reader", 200), ("shelf", 200)]:
        stream = Stream(guarded.gateway, "sub=errand/*", guarded.principals.bearer(caller))
        assert stream.status == status, caller
        stream.close()
    assert guarded.ask("shelf", "GET", "/v1/stream?sub=*").code == "forbidden"
    # In the query, where a browser can put no header field; on the stream alone.
    token = guarded.principals.tokens["reader"]
    stream = Stream(guarded.gateway, f"sub=errand/*&access_token={token}")
    assert stream.status == 200 and stream.until("live")
    stream.close()
    assert guarded.gateway.get(f"/v1/kinds?access_token={token}").code == "auth_required"


def test_an_accounts_own_rows(guarded):
    guarded.ask("owner", "POST", "/errand/of-bob/start?for=bob")
    assert guarded.ask("reader", "GET", "/v1/entities/errand/of-bob").code == "unknown_key"
    assert guarded.ask("reader", "GET", "/v1/entities/errand/of-bob?account=bob").code == "forbidden"
    assert guarded.ask("shelf", "GET", "/v1/entities/errand/of-bob?account=bob").status == 200


def test_an_event_has_its_principal_and_no_other_source(guarded):
    assert guarded.ask("poster", "POST", "/errand/by/start").json["verdict"] == "applied"
    event = guarded.ask("shelf", "GET", "/v1/entities/errand/by/history").json["events"][0]
    assert (event["by"], event["src"]) == ("poster", "poster")
    assert guarded.ask("poster", "POST", "/errand/by/update?src=till").code == "forbidden"


def test_the_owner_of_a_kind_goes_from_a_type_for_those_that_may_read_it(guarded):
    event = EVENT | {"type": "com.example.coffee.start", "subject": "coffee-order/ce", "source": "courier"}
    answer = guarded.ask("courier", "POST", "/v1/events", event, {"Content-Type": "application/cloudevents+json"})
    assert answer.json["verdict"] == "applied"
    told = guarded.ask("courier", "GET", "/v1/entities/coffee-order/ce/history").json["events"][0]
    assert (told["type"], told["by"]) == ("start", "courier")


def test_a_caller_that_asks_too_often_is_told_when_to_come_back(guarded):
    answers = [guarded.ask("hasty", "POST", f"/errand/hasty-{number}/start") for number in range(12)]
    limited = [answer for answer in answers if answer.status == 429]
    assert limited and answers[0].status == 200
    assert limited[0].code == "limit_rate" and limited[0].json["wait"] > 0
    assert int(limited[0].headers["retry-after"]) >= 1
    # Another principal is not slowed.
    assert guarded.ask("poster", "POST", "/errand/calm/start").status == 200


def test_a_session_is_the_principals(guarded):
    token = guarded.principals.tokens["reader"]
    assert guarded.gateway.post("/v1/session", {"token": "tt_wrong"}).code == "auth_failed"
    assert guarded.gateway.post("/v1/session", {}).code == "auth_required"
    answer = guarded.gateway.post("/v1/session", {"token": token})
    assert answer.status == 204 and token not in answer.headers["set-cookie"]
    cookie = {"Cookie": answer.headers["set-cookie"].split(";")[0]}
    assert guarded.gateway.get("/v1/entities/errand/1", headers=cookie).status == 200
    assert guarded.gateway.get("/v1/stats", headers=cookie).code == "forbidden"
    both = cookie | guarded.principals.bearer("owner")
    assert guarded.gateway.get("/v1/stats", headers=both).code == "bad_request"


def test_the_gateways_own_token_is_for_hooks_and_figures(guarded):
    body = b'{"id":"hooked"}'
    answer = guarded.gateway.post("/v1/hooks/own", body, signatures.shopify(body))
    assert answer.json["events"][0]["verdict"] == "applied"
    # A delivery is judged by its signature, whatever else comes with it.
    for number, head in enumerate([{"Authorization": "Basic c2hvcDpzZWNyZXQ="}, {"Authorization": "Bearer tt_wrong"},
                                   {"Cookie": "telltale=x", "Origin": "https://shop.example.com"}]):
        more = f'{{"id":"hooked-{number}"}}'.encode()
        answer = guarded.gateway.post("/v1/hooks/own", more, signatures.shopify(more, delivery=f"more-{number}") | head)
        assert answer.status == 200 and answer.json["events"][0]["verdict"] == "applied", answer.text
        assert guarded.gateway.post("/v1/hooks/own", more + b" ", signatures.shopify(more) | head).code == "bad_signature"
    event = guarded.ask("owner", "GET", "/v1/entities/errand/hooked/history").json["events"][0]
    assert (event["by"], event["src"]) == ("gateway", "hook:own")
    assert guarded.gateway.post("/v1/session", {"token": "tt_wrong"}).code == "auth_failed"
    figures = guarded.gateway.metrics()
    assert figures["telltale_up"] == "1" and int(figures["telltale_auth_failures_total"]) > 0
    assert guarded.gateway.get("/readyz", port=guarded.gateway.ops).json == {"ready": True, "auth": "token"}


def test_with_tokens_any_name_of_the_host_is_good(guarded):
    assert guarded.ask("operator", "GET", "/v1/stats", headers={"Host": "gate.example.com"}).status == 200
    page = {"Origin": "https://evil.example"}
    assert guarded.gateway.post("/errand/x/start", "", page).code == "cross_origin"


def test_the_log_names_the_principal_and_no_token(guarded):
    guarded.ask("operator", "GET", "/v1/stats", headers={"X-Request-Id": "who-asks"})
    stream = Stream(guarded.gateway, "sub=errand/*", guarded.principals.bearer("shelf") | {"X-Request-Id": "who-looks"})
    stream.close()
    guarded.ask("unknown", "GET", "/v1/stats", headers={"X-Request-Id": "who-knows"})
    for name in ["who-asks", "who-looks", "who-knows"]:
        guarded.gateway.wait_for_log(f'"{name}"')
    lines = {line.get("request_id"): line for line in map(json.loads, guarded.gateway.log().splitlines())}
    assert lines["who-asks"]["principal"] == "operator"
    assert lines["who-looks"]["principal"] == "shelf"
    assert "principal" not in lines["who-knows"] and lines["who-knows"]["code"] == "auth_failed"
    for token in guarded.principals.tokens.values():
        assert token.split("_", 2)[2] not in guarded.gateway.log()


def test_a_token_that_ends_takes_its_stream_with_it(world):
    principals = Principals(world.folder)
    principals.add("gone", "read:*", account="*")
    principals.add("brief", "read:*", account="*")
    principals.add("stays", "read:*", account="*")
    world.daemon("--auth", principals.write())
    gateway = world.gateway()
    streams = {name: Stream(gateway, "sub=errand/*", principals.bearer(name)) for name in principals.tokens}
    for stream in streams.values():
        stream.until("live")
    principals.remove("gone")
    principals.expire("brief", time.time() + 2)
    principals.write()
    for name, code in [("gone", "auth_revoked"), ("brief", "auth_expired")]:
        assert streams[name].until("bye")[-1][1]["code"] == code
        assert streams[name].next() is None
        again = Stream(gateway, "sub=errand/*", principals.bearer(name))
        assert again.status == 401
        answer = gateway.get("/v1/entities?pattern=errand/*", headers=principals.bearer(name))
        assert (answer.status, answer.code) == (401, "auth_failed")
    assert gateway.get("/v1/entities?pattern=errand/*", headers=principals.bearer("stays")).status == 200
    for stream in streams.values():
        stream.close()


def test_an_own_token_that_is_not_good_is_told_and_may_become_good(world):
    principals = Principals(world.folder)
    principals.add("owner", "admin", account="*")
    path = principals.write()
    world.daemon("--auth", path)
    principals.add("gateway", "post:*", "stats")
    gateway = world.gateway("--token-file", world.file("token", principals.tokens["gateway"]))
    ready = gateway.get("/readyz", port=gateway.ops)
    assert ready.status == 503 and ready.json["why"] == "auth_failed"
    assert gateway.metrics()["telltale_up"] == "0"
    assert gateway.get("/v1/stats", headers=principals.bearer("owner")).status == 200
    principals.write()
    eventually("ready", lambda: gateway.get("/readyz", port=gateway.ops).status == 200)
    eventually("up", lambda: gateway.metrics()["telltale_up"] == "1")


def test_without_a_token_of_its_own_the_gateway_serves_its_callers(world):
    principals = Principals(world.folder)
    principals.add("owner", "admin", account="*")
    world.daemon("--auth", principals.write())
    gateway = world.gateway("--token-file", world.file("token", ""))
    assert gateway.get("/readyz", port=gateway.ops).json == {"ready": True, "auth": "token"}
    assert gateway.get("/v1/stats", headers=principals.bearer("owner")).status == 200


def test_the_webhook_handshake_tells_the_rate_of_the_principal(guarded):
    """Requests a minute, where a token says whose: a handshake needs none."""
    def handshake(name, path="/v1/events"):
        return guarded.ask(name, "OPTIONS", path, headers={"WebHook-Request-Origin": "sender.example.com"})

    for name, rate in [("steady", "12000"), ("poster", "*"), ("nobody", None)]:
        answer = handshake(name)
        assert answer.status == 200 and answer.headers["webhook-allowed-origin"] == "sender.example.com", name
        assert answer.headers.get("webhook-allowed-rate") == rate, name
    assert handshake("unknown").code == "auth_failed"
    # Deliveries of hooks are the gateway's own.
    assert handshake("nobody", "/v1/hooks/own").headers["webhook-allowed-rate"] == "*"
