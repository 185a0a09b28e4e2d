"""Toggles and buttons over HTTP."""

import threading

from support import Provider, eventually


def test_a_tap_is_under_way_and_its_end_is_waited_for(gateway, daemon):
    provider = Provider(daemon.port, "porch-light", "porch-light/front value=off")
    path = "/v1/entities/porch-light/front/value"
    seen = gateway.get("/v1/entities/porch-light/front").headers["etag"]

    tap = gateway.ask("PUT", path, "on", {"If-Match": seen, "Idempotency-Key": "tap-1"})
    assert tap.status == 202 and tap.json["phase"] == "pending"
    again = gateway.ask("PUT", path, '{"value":"on"}', {"Idempotency-Key": "tap-1"})
    assert (again.status, again.json["op"], again.json["verdict"]) == (200, tap.json["op"], "duplicate")
    assert again.headers["idempotent-replayed"] == "true"
    other = gateway.ask("PUT", path, "off", {"Idempotency-Key": "tap-1"})
    assert other.code == "dup_mismatch"

    stale = gateway.ask("PUT", path, "off", {"If-Match": seen})
    assert (stale.status, stale.code, stale.json["retry"]) == (412, "stale_rev", "resync")
    assert stale.headers["etag"] == f'"{stale.json["have"]}"' and f'"{stale.json["want"]}"' == seen
    provider.act()

    for wait, answer, result in [("wait=30", "DONE", "confirmed"), ("respond-async, wait=30", "FAIL", "reverted")]:
        acting = threading.Thread(target=provider.act, args=[answer])
        acting.start()
        ended = gateway.ask("PUT", path, "off" if answer == "DONE" else "on", {"Prefer": wait})
        acting.join()
        assert ended.status == 200 and ended.json["result"] == result, ended.text
        assert ended.headers["preference-applied"] == "wait=30"
        assert ended.headers["etag"] == f'"{ended.json["rev"]}"'
    assert ended.json["reason"] == "failed"

    late = gateway.ask("PUT", path, "on", {"Prefer": "wait=1"})
    assert late.status == 202 and "preference-applied" not in late.headers
    provider.act()
    noop = eventually("noop", lambda: (answer := gateway.ask("PUT", path, "on")).json.get("verdict") == "noop" and answer)
    assert noop.status == 200
    provider.close()


def test_faulty_taps(gateway):
    path = "/v1/entities/porch-light/front/value"
    for tag in ["*", 'W/"1"', '"1", "2"', "1", '"x"']:
        assert gateway.ask("PUT", path, "on", {"If-Match": tag}).code == "bad_request"
    for wait in ["wait=31", "wait=x", "wait"]:
        assert gateway.ask("PUT", path, "on", {"Prefer": wait}).code == "bad_request"
    for body in ["yes", "", '{"value":true}', "{"]:
        assert gateway.ask("PUT", path, body).status == 400


def test_nothing_serves_it(world):
    world.daemon()
    answer = world.gateway().ask("PUT", "/v1/entities/porch-light/front/value", "on")
    assert (answer.status, answer.code) == (409, "unavailable")
    assert int(answer.headers["retry-after"]) > 0


def test_a_button(gateway, daemon):
    provider = Provider(daemon.port, "log-coffee", "log-coffee/espresso")
    acting = threading.Thread(target=provider.act)
    acting.start()
    pressed = gateway.post("/v1/entities/log-coffee/espresso/press", None, {"Prefer": "wait=30"})
    acting.join()
    assert pressed.status == 200 and pressed.json["result"] == "confirmed", pressed.text
    provider.close()


def test_a_person_dismisses_for_all_of_their_devices(gateway):
    gateway.post("/coffee-order/mine/start?for=alice", {"attributes": {"item": "Flat white"}})
    nobody = gateway.post("/v1/entities/coffee-order/mine/dismiss")
    assert nobody.status == 403 and "with ?account=NAME" in nobody.json["title"]
    gone = gateway.post("/v1/entities/coffee-order/mine/dismiss?account=alice")
    assert gone.status == 200 and gone.json["verdict"] == "applied"
    listed = gateway.get("/v1/entities?pattern=coffee-order/mine&account=alice").json
    assert listed["count"] == 0
