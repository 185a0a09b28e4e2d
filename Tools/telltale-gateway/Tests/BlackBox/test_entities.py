"""Events, rows and errors of the HTTP API."""

import http.client
import json
import re

import pytest

from support import Line, attributes

START = {"attributes": {"shop": "Hoegi", "item": "Flat white"}}


def test_an_event_is_answered_with_the_daemons_verdict(gateway):
    answer = gateway.post("/v1/entities/coffee-order/a1/events/start?at=1763719200000&ver=3&src=pos-7", START)
    assert answer.status == 200
    assert answer.json == {
        "key": "coffee-order/a1", "verdict": "applied", "rev": answer.json["rev"], "state": "placed"}
    assert answer.headers["etag"] == f'"{answer.json["rev"]}"'
    event = gateway.get("/v1/entities/coffee-order/a1/history").json["events"][0]
    assert (event["at"], event["ver"], event["src"], event["attributes"]) == (
        1763719200000, 3, "pos-7", START["attributes"])


def test_the_one_line_form_reads_any_body(gateway):
    for index, headers in enumerate([{"Content-Type": "application/x-www-form-urlencoded"}, {}, {"Content-Type": "text/plain"}]):
        answer = gateway.post(f"/coffee-order/one-{index}/start", json.dumps(START), headers)
        assert answer.json["verdict"] == "applied"
    assert gateway.post("/errand/empty/start").json["verdict"] == "applied"
    for kind in ["multipart/form-data; boundary=x", "application/cloudevents+json"]:
        answer = gateway.post("/errand/empty/start", "{}", {"Content-Type": kind})
        assert (answer.status, answer.code) == (415, "media_type")


def test_a_key_acts_once_and_says_so(gateway):
    def post(body, key):
        return gateway.post("/v1/entities/coffee-order/k1/events/start", body, {"Idempotency-Key": key})

    first = post(START, '"order-1"')
    assert first.json["verdict"] == "applied" and "idempotent-replayed" not in first.headers
    for key in ["order-1", '"order-1"']:
        again = post(START, key)
        assert (again.status, again.json["verdict"], again.json["rev"]) == (200, "duplicate", first.json["rev"])
        assert again.headers["idempotent-replayed"] == "true"
    other = post({"attributes": {"item": "Espresso"}}, "order-1")
    assert (other.status, other.code) == (422, "dup_mismatch")
    for key in ['"', '"a" b', "a b", '""', "x" * 257]:
        assert post(START, key).code == "bad_request"


def test_rows_and_their_tags(gateway):
    rev = gateway.post("/coffee-order/tags/start", START).json["rev"]
    full = gateway.get("/v1/entities/coffee-order/tags")
    assert full.headers["etag"] == f'"{rev}"' and full.json["row"]["state"] == "placed"
    assert gateway.get("/v1/entities/coffee-order/tags", headers={"If-None-Match": f'"x", W/"{rev}"'}).status == 304
    car = gateway.get("/v1/entities/coffee-order/tags?view=carplay")
    assert re.fullmatch(rf'W/"{rev}-[0-9a-f]{{16}}"', car.headers["etag"])
    assert car.json["row"]["presentation"] == "small"
    again = gateway.get("/v1/entities/coffee-order/tags?surface=carplay", headers={"If-None-Match": car.headers["etag"]})
    assert again.status == 304 and not again.bytes
    assert gateway.get("/v1/entities/coffee-order/tags?surface=carplay&trait=dashboard:hidden").status == 200
    head = gateway.ask("HEAD", "/v1/entities/coffee-order/tags")
    assert head.status == 200 and not head.bytes and head.headers["content-length"] == str(len(full.bytes))
    listed = gateway.get("/v1/entities?pattern=coffee-order/tags&view=full").json
    assert listed == {"entities": [full.json], "count": 1}
    assert gateway.get("/v1/entities/coffee-order/tags/open?surface=desktop").json["url"].endswith("/orders/tags")


def test_history_as_an_object_and_as_lines(gateway):
    gateway.post("/errand/past/start", {"content-state": {"note": "a"}})
    gateway.post("/errand/past/update", {"content-state": {"note": "b"}})
    whole = gateway.get("/v1/entities/errand/past/history").json
    assert whole["key"] == "errand/past" and whole["count"] == 2
    lines = gateway.get("/v1/entities/errand/past/history", headers={"Accept": "application/x-ndjson"})
    assert lines.headers["content-type"] == "application/x-ndjson"
    assert [json.loads(line) for line in lines.text.splitlines()] == whole["events"]
    assert gateway.get("/v1/entities/errand/past/history", headers={"Accept": "text/csv"}).code == "not_acceptable"


def test_kinds_and_figures(gateway):
    names = {kind["name"] for kind in gateway.get("/v1/kinds").json["kinds"]}
    assert {"coffee-order", "porch-light"} <= names
    assert gateway.get("/v1/kinds/coffee-order").json["app"] == "com.example.coffee"
    assert gateway.get("/v1/kinds/nope").code == "unknown_kind"
    assert gateway.get("/v1/stats").json["kinds"] == len(names)


@pytest.mark.parametrize("method, path, body, status, code", [
    ("GET", "/v1/entities/nope/1", None, 404, "unknown_key"),
    ("POST", "/nope/1/start", "{}", 404, "unknown_kind"),
    ("POST", "/coffee-order/unheard/ready", "{}", 404, "unknown_key"),
    ("POST", "/coffee-order/1/start", "[1]", 400, "bad_json"),
    ("POST", "/coffee-order/1/start", "{", 400, "bad_json"),
    ("POST", "/coffee-order/1/start", '{"a":1,"a":2}', 400, "bad_json"),
    ("POST", "/coffee-order/1/start", '{"attributes":1}', 400, "bad_json"),
    ("POST", "/coffee-order/1/start?at=x", "{}", 400, "bad_attr"),
    ("POST", "/coffee-order/1/start?at=1&at=2", "{}", 400, "bad_attr"),
    ("POST", "/coffee-order/1/start?src=a%20b", "{}", 400, "bad_attr"),
    ("POST", "/coffee-order/1/done.x", "{}", 400, "bad_attr"),
    ("POST", "/coffee-order/1/a%20b", "{}", 400, "bad_attr"),
    ("POST", "/coffee%2Forder/1/start", "{}", 400, "bad_key"),
    ("POST", "/coffee%ZZ/1/start", "{}", 400, "bad_key"),
    ("POST", "/coffee-order/%FF/start", "{}", 400, "bad_key"),
    ("POST", "/coffee-order/a%20b/start", "{}", 400, "bad_key"),
    ("GET", "/v1/entities?pattern=a/b/c", None, 400, "bad_pattern"),
    ("GET", "/v1/entities?view=car", None, 400, "bad_attr"),
    ("GET", "/v1/entities?surface=car", None, 400, "bad_attr"),
    ("GET", "/v1/entities?surface=carplay&trait=dashboard:gone", None, 400, "bad_attr"),
    ("GET", "/v1/entities?x=%FF", None, 400, "bad_request"),
    ("GET", "/v1/nowhere", None, 404, "not_found"),
    ("GET", "/nothing", None, 404, "not_found"),
    ("GET", "/robots.txt", None, 404, "not_found"),
    ("POST", "/v1/hooks/nope", "{}", 404, "unknown_hook"),
    ("DELETE", "/v1/entities/coffee-order/1", None, 405, "method"),
    ("GET", "/coffee-order/1/start", None, 405, "method"),
    ("PUT", "/v1/entities/coffee-order/1/value", "on", 422, "bad_action"),
    ("POST", "/v1/entities/coffee-order/1/dismiss", None, 403, "forbidden"),
    ("POST", "/v1/entities/coffee-order/1/seen", "{}", 400, "bad_attr"),
    ("POST", "/v1/events", "{}", 415, "media_type"),
])
def test_refusals_are_problems(gateway, method, path, body, status, code):
    gateway.post("/coffee-order/1/start", START)
    answer = gateway.ask(method, path, body)
    assert (answer.status, answer.code) == (status, code), answer.text
    assert answer.json["title"] and answer.json["retry"] in ("no", "later", "resync")
    if code == "method":
        assert method not in answer.headers["allow"]


def test_bodies_are_bounded(gateway):
    note = {"content-state": {"note": "x" * 5_000}}
    assert gateway.post("/errand/large/start", note).code == "too_large"
    body = json.dumps({"content-state": {"note": "x" * 64_000}})
    assert gateway.post("/errand/large/start", body).code == "too_large"

    def pieces():
        for _ in range(70):
            yield b" " * 1_024

    connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=30)
    connection.request("POST", "/errand/large/start", body=pieces(), encode_chunked=True,
                       headers={"Transfer-Encoding": "chunked"})
    assert connection.getresponse().status == 413
    connection.close()


def test_requests_have_an_id_and_are_not_kept(gateway):
    answer = gateway.get("/v1/stats")
    assert re.fullmatch("[0-9a-f]{16}", answer.headers["x-request-id"])
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert gateway.get("/v1/stats", headers={"X-Request-Id": "mine-1"}).headers["x-request-id"] == "mine-1"
    assert gateway.get("/v1/stats", headers={"X-Request-Id": "x" * 65}).headers["x-request-id"] != "x" * 65
    gateway.wait_for_log('"mine-1"')
    lines = [json.loads(line) for line in gateway.log().splitlines()]
    mine = next(line for line in lines if line.get("request_id") == "mine-1")
    assert (mine["level"], mine["route"], mine["status"]) == ("info", "/v1/stats", 200)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", mine["ts"]) and mine["ms"] > 0


def test_no_page_of_another_origin_acts(gateway):
    def status(headers, method="POST", path="/errand/origin/start"):
        return gateway.ask(method, path, "{}" if method == "POST" else None, headers).status

    own = f"http://127.0.0.1:{gateway.port}"
    assert status({"Origin": "https://evil.example"}) == 403
    assert status({"Origin": "null"}) == 403
    assert status({"Origin": own}) == 200
    assert status({"Origin": "https://shop.example.com"}) == 200
    assert status({"Origin": "https://evil.example", "Authorization": "Bearer x"}) == 200
    for host, expected in [("evil.example", 421), ("localhost", 200), ("[::1]:80", 200), ("127.9.9.9", 200),
                           ("127.0.0.1.evil.example", 421), ("tunnel.example.com:8080", 200)]:
        assert status({"Host": host}) == expected, host


def test_preflight(gateway):
    asked = {"Origin": "https://shop.example.com", "Access-Control-Request-Method": "PUT"}
    answer = gateway.ask("OPTIONS", "/v1/entities/porch-light/front/value", headers=asked)
    assert answer.status == 204
    assert answer.headers["access-control-allow-origin"] == "https://shop.example.com"
    assert "PUT" in answer.headers["access-control-allow-methods"]
    assert {"If-Match", "Cache-Control"} <= set(answer.headers["access-control-allow-headers"].split(", "))
    asked["Origin"] = "https://evil.example"
    answer = gateway.ask("OPTIONS", "/v1/entities/porch-light/front/value", headers=asked)
    assert answer.code == "cross_origin" and "access-control-allow-origin" not in answer.headers


def test_two_authorizations_are_one_too_many(gateway):
    connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=30)
    connection.putrequest("GET", "/v1/stats")
    connection.putheader("Authorization", "Bearer a")
    connection.putheader("Authorization", "Bearer b")
    connection.endheaders()
    assert connection.getresponse().status == 400
    connection.close()
    query = "/v1/stream?access_token=a"
    assert gateway.get(query, headers={"Authorization": "Bearer b"}).code == "bad_request"


def test_a_session_is_a_cookie_that_no_other_page_uses(gateway):
    answer = gateway.post("/v1/session", {"token": "secret-token"})
    assert answer.status == 204
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("telltale=") and "HttpOnly" in cookie and "SameSite=Strict" in cookie
    assert "secret-token" not in cookie
    value = cookie.split(";")[0]
    assert gateway.get("/v1/stats", headers={"Cookie": value}).status == 200
    post = {"Cookie": value}
    assert gateway.post("/errand/cookie/start", "{}", post).code == "cross_origin"
    assert gateway.post("/errand/cookie/start", "{}", post | {"Sec-Fetch-Site": "same-origin"}).status == 200
    assert gateway.ask("DELETE", "/v1/session").headers["set-cookie"].startswith("telltale=; Max-Age=0")
    assert "secret-token" not in gateway.log()


def test_what_http_posts_the_line_protocol_shows(gateway, daemon):
    line = Line(daemon.port)
    line.ask("SUB errand/shared")
    line.wait_for("LIVE")
    answer = gateway.post("/errand/shared/start", {"content-state": {"note": "over HTTP"}}).json
    found, row = attributes(line.wait_for("UPD"))
    assert (int(found["rev"]), row["content"]) == (answer["rev"], {"note": "over HTTP"})
    line.close()


def test_documents(gateway):
    assert gateway.get("/openapi.json").json["openapi"] == "3.1.0"
    page = gateway.get("/errors")
    assert page.headers["content-type"].startswith("text/html") and 'id="stale_rev"' in page.text
