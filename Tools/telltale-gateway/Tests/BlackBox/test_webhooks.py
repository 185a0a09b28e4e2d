"""Deliveries of real shops, with their own field names and signatures."""

import csv
import datetime
import http.client
import json
import os
import pathlib
import subprocess
import time
import zlib

import pytest
import standardwebhooks

import signatures
from support import GATEWAY, PATIENCE, REPOSITORY, Daemon, Gateway, eventually

SECRETS = {"shopify": "shopify-secret", "stripe": "stripe-secret", "woocommerce": "woo-secret", "square": "square-secret"}
STANDARD = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OWN = {
    "standard": {"scheme": "standard", "secrets": ["env:STANDARD_OLD", "env:STANDARD"]},
    "github": {"scheme": "github", "secrets": ["file:github.secret"]},
    "till": {"scheme": "hmac", "header": "X-Till-Signature", "encoding": "hex", "prefix": "v=",
             "topic": "{{header.x-till-topic}}", "eid": "{{body.number}}", "secrets": ["env:TILL"]},
}
RULES = [{"on": ["errand.made", "release.published", "made"], "key": "errand/{{body.id}}", "type": "start",
          "data": {"content-state": {"note": "{{body.note}}", "count": "{{body.count}}"}}}]


@pytest.fixture(scope="module")
def shops(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hooks")
    hooks = folder / "hooks"
    hooks.mkdir()
    for file in (REPOSITORY / "Protocols/HTTP/hooks").glob("*.json"):
        (hooks / file.name).write_text(file.read_text())
    for name, verify in OWN.items():
        (hooks / f"{name}.json").write_text(json.dumps({"hook": name, "verify": verify, "rules": RULES}))
    (hooks / "github.secret").write_text("github-secret\n")
    for name, secret in SECRETS.items():
        (folder / name).write_text(secret)
    daemon = Daemon(folder)
    gateway = Gateway(folder, "--hooks", str(hooks), extra={
        "CREDENTIALS_DIRECTORY": str(folder), "STANDARD": STANDARD, "STANDARD_OLD": "whsec_b2xk", "TILL": "till-secret"})
    yield gateway
    gateway.close()
    daemon.close()


def deliver(gateway, hook, body, headers):
    return gateway.post(f"/v1/hooks/{hook}", body, headers)


# Bodies as the senders' own documentation shows them, shortened.
SHOPIFY = {
    "id": 820982911946154508, "admin_graphql_api_id": "gid://shopify/Order/820982911946154508", "name": "#9999",
    "created_at": "2021-12-31T19:00:00-05:00", "updated_at": "2021-12-31T19:00:00-05:00", "cancelled_at": None,
    "currency": "USD", "total_price": "388.00", "financial_status": "voided", "fulfillment_status": "pending",
    "test": True, "line_items": [{"id": 866550311766439020, "title": "IPod Nano - 8GB", "quantity": 1, "price": "199.00"}],
}
WOO = {
    "id": 727, "number": "727", "status": "processing", "currency": "USD", "total": "29.35",
    "date_created_gmt": "2017-03-22T19:28:02", "date_modified_gmt": "2017-03-22T19:28:08",
    "line_items": [{"id": 315, "name": "Woo Single #1", "quantity": 2, "total": "6.00"}],
}
STRIPE = {
    "id": "evt_3MqsxX2eZvKYlo2C1", "object": "event", "api_version": "2022-11-15", "created": 1680064028,
    "type": "payment_intent.succeeded", "livemode": False,
    "data": {"object": {"id": "pi_3MqsxX2eZvKYlo2C1", "object": "payment_intent", "amount": 2000, "currency": "usd",
                        "description": "Order 42", "status": "succeeded", "last_payment_error": None}},
}
SQUARE = {
    "merchant_id": "6SSW7HV8K2ST5", "location_id": "NAQ1FHV6ZJ8YV", "type": "order.fulfillment.updated",
    "event_id": "bc316346-6691-4243-88ed-6d651a0d0c47", "created_at": "2020-04-16T23:14:26.359Z",
    "data": {"type": "order_fulfillment_updated", "id": "eA3vssLHKJrv9H0IdJCM3gNqfdcZY", "object": {
        "order_fulfillment_updated": {
            "created_at": "2020-04-16T23:14:26.129Z", "location_id": "FPYCBCHYMXFK1",
            "order_id": "eA3vssLHKJrv9H0IdJCM3gNqfdcZY", "state": "OPEN", "version": 4,
            "fulfillment_update": [
                {"fulfillment_uid": "bbpNrVjSM5f3yB", "new_state": "PREPARED", "old_state": "RESERVED"}]}}},
}


def test_shopify(shops):
    body = json.dumps(SHOPIFY).encode()
    answer = deliver(shops, "shopify", body, signatures.shopify(body))
    assert answer.json == {"events": [{
        "key": "shop-order/820982911946154508", "type": "placed", "verdict": "applied",
        "rev": answer.json["events"][0]["rev"], "state": "placed"}]}
    again = deliver(shops, "shopify", body, signatures.shopify(body))
    assert again.json["events"][0]["verdict"] == "duplicate"
    row = shops.get("/v1/entities/shop-order/820982911946154508").json["row"]
    assert row["attributes"] == {
        "number": "#9999", "store": "hoegi.myshopify.com", "item": "IPod Nano - 8GB", "total": "388.00 USD"}
    event = shops.get("/v1/entities/shop-order/820982911946154508/history").json["events"][0]
    assert event["src"] == "hook:shopify" and event["eid"] == "b54557e4"
    assert event["at"] == 1640995200000
    shipped = json.dumps(SHOPIFY | {"updated_at": "2022-01-02T10:00:00-05:00", "fulfillment_status": "fulfilled"}).encode()
    answer = deliver(shops, "shopify", shipped, signatures.shopify(shipped, topic="orders/fulfilled", delivery="2"))
    assert answer.json["events"][0]["state"] == "shipped"
    arrived = json.dumps({
        "id": 944956395, "fulfillment_id": 4, "status": "delivered", "order_id": 820982911946154508,
        "happened_at": "2022-01-04T10:00:00-05:00"}).encode()
    answer = deliver(
        shops, "shopify", arrived, signatures.shopify(arrived, topic="fulfillment_events/create", delivery="3"))
    assert answer.json["events"][0]["state"] == "delivered"
    answer = deliver(shops, "shopify", body, signatures.shopify(body, topic="carts/update", delivery="4"))
    assert answer.json == {"events": []}


def test_woocommerce(shops):
    for status, state in [("pending", "placed"), ("processing", "paid"), ("completed", "shipped"), ("refunded", "refunded")]:
        body = json.dumps(WOO | {"status": status}).encode()
        answer = deliver(shops, "woocommerce", body, signatures.woocommerce(body))
        assert answer.json["events"][0]["state"] == state
    row = shops.get("/v1/entities/shop-order/727").json["row"]
    assert row["attributes"]["item"] == "Woo Single #1"
    # The unsigned test that is sent when a webhook is made.
    assert deliver(shops, "woocommerce", b"webhook_id=12", {}).json == {"events": []}
    assert deliver(shops, "woocommerce", b'{"id":1}', {}).code == "bad_signature"


def woo(shops, number, status, minute=0, **more):
    """The one event of a delivery; all of them in one second, by the sender's clock."""
    body = json.dumps(WOO | {"id": number, "status": status, "date_modified_gmt": f"2017-03-22T19:{minute:02}:08"} | more).encode()
    return deliver(shops, "woocommerce", body, signatures.woocommerce(body)).json["events"][0]


def test_woocommerce_orders_of_one_second_are_all_taken(shops):
    assert [woo(shops, 800 + number, "processing")["state"] for number in range(5)] == ["paid"] * 5
    # A retry has another delivery id.
    body = json.dumps(WOO | {"id": 810}).encode()
    assert [deliver(shops, "woocommerce", body, signatures.woocommerce(body, delivery=delivery)).json["events"][0]["verdict"]
            for delivery in ("a", "b")] == ["applied", "duplicate"]


@pytest.mark.parametrize("statuses, states", [
    # A payment that failed is no cancellation, and may be repeated.
    (["pending", "failed", "processing"], ["placed", "payment_failed", "paid"]),
    (["failed", "failed", "pending", "failed", "processing"],
     ["payment_failed", "payment_failed", "placed", "payment_failed", "paid"]),
    (["processing", "failed"], ["paid", "paid"]),
    # The stock timer cancelled it.
    (["pending", "cancelled", "processing"], ["placed", "cancelled", "paid"]),
    (["pending", "cancelled", "failed", "completed"], ["placed", "cancelled", "payment_failed", "shipped"]),
    (["processing", "cancelled", "refunded"], ["paid", "cancelled", "refunded"]),
])
def test_woocommerce_payments(shops, statuses, states):
    number = 1_000_000 + zlib.crc32(repr(statuses).encode()) % 1_000_000
    assert [woo(shops, number, status, minute)["state"] for minute, status in enumerate(statuses)] == states
    last = states[-1]
    # What happened before comes late, and changes nothing.
    assert woo(shops, number, "cancelled" if last == "paid" else "processing", date_modified_gmt="2017-03-22T18:00:00")["verdict"] == "stale"
    assert shops.get(f"/v1/entities/shop-order/{number}").json["row"]["state"] == last


def shopify(shops, topic, delivery, **body):
    body = json.dumps(body).encode()
    return deliver(shops, "shopify", body, signatures.shopify(body, topic=topic, delivery=delivery)).json["events"]


def test_shopify_a_refund_of_a_part_ends_nothing(shops):
    def order(topic, minute, **more):
        at = f"2022-01-01T10:{minute:02}:00Z"
        return shopify(shops, topic, f"refund-{topic}-{minute}", id=17, updated_at=at, created_at="2022-01-01T10:00:00Z", **more)

    assert order("orders/create", 0)[0]["state"] == "placed"
    refund = {"id": 1, "order_id": 17, "created_at": "2022-01-01T10:01:00Z", "refund_line_items": [], "transactions": []}
    assert shopify(shops, "refunds/create", "refund-0", **refund) == []
    assert order("orders/updated", 2, financial_status="partially_refunded") == []
    assert shops.get("/v1/entities/shop-order/17").json["row"]["state"] == "placed"
    assert order("orders/updated", 3, financial_status="refunded")[0]["state"] == "refunded"


@pytest.mark.parametrize("booked", [{"created_at": "2022-01-01T12:00:00Z", "happened_at": "2022-01-01T09:00:00Z"},
                                    {"created_at": None, "happened_at": None}, {}])
def test_shopify_a_delivery_that_is_booked_afterwards(shops, booked):
    number = f"{len(booked)}{booked.get('created_at') is None:d}"
    shopify(shops, "orders/fulfilled", f"booked-{number}", id=number, updated_at="2022-01-01T11:00:00Z")
    told = shopify(shops, "fulfillment_events/create", f"booked-late-{number}", order_id=number, status="delivered", **booked)
    assert (told[0]["verdict"], told[0]["state"]) == ("applied", "delivered")


def square(state, order):
    moved = {"order_id": order, "version": 9, "location_id": "L", "fulfillment_update": [{"new_state": state}]}
    return {"type": "order.fulfillment.updated", "event_id": f"{order}-{state}", "created_at": "2020-04-16T23:20:00Z",
            "data": {"object": {"order_fulfillment_updated": moved}}}


def stripe(type, payment, at):
    return {"id": f"{payment}-{type}", "type": f"payment_intent.{type}", "created": at, "data": {"object": {"id": payment}}}


SHOPIFY_END = {"id": 31, "updated_at": "2022-01-01T11:00:00Z", "financial_status": "refunded"}
SQUARE_CREATED = {"type": "order.created", "event_id": "new", "created_at": "2020-04-16T23:14:00Z", "data": {"object": {
    "order_created": {"order_id": "O", "version": 1, "location_id": "L"}}}}


@pytest.mark.parametrize("hook, key, end, beginning", [
    ("shopify", "shop-order/31", (SHOPIFY_END, {"topic": "orders/cancelled"}),
     (SHOPIFY | {"id": 31}, {"topic": "orders/create"})),
    ("shopify", "shop-order/32", (SHOPIFY_END | {"id": 32}, {"topic": "orders/updated"}),
     (SHOPIFY | {"id": 32}, {"topic": "orders/create"})),
    *[("woocommerce", f"shop-order/{number}", (WOO | {"id": number, "status": status}, {}),
       (WOO | {"id": number, "status": "pending", "date_modified_gmt": "2017-03-22T19:28:02"}, {"topic": "order.created"}))
      for number, status in [(41, "cancelled"), (42, "refunded")]],
    *[("square", f"pickup-order/{state}", (square(state, state), {}),
       (SQUARE_CREATED | {"event_id": f"new-{state}", "data": {"object": {"order_created": {
           "order_id": state, "version": 1, "location_id": "L"}}}}, {}))
      for state in ["CANCELED", "FAILED", "COMPLETED"]],
    ("stripe", "card-payment/pi_1", (stripe("canceled", "pi_1", 1680064030), {}), (stripe("created", "pi_1", 1680064028), {})),
])
def test_a_late_beginning_brings_no_card_of_what_has_ended(shops, hook, key, end, beginning):
    def send(number, body, options):
        body = json.dumps(body).encode()
        if hook in ("shopify", "woocommerce"):
            options = options | {"delivery": f"{key}-{number}"}
        return deliver(shops, hook, body, getattr(signatures, hook)(body, **options)).json["events"][0]

    assert send(1, *end)["verdict"] == "applied"
    assert send(2, *beginning)["verdict"] in ("ignored", "stale")
    assert key not in [entity["key"] for entity in shops.get("/v1/entities?view=phone").json["entities"]]
    assert shops.get(f"/v1/entities/{key}").json["row"]["lifecycle"] == "dismissed"


def test_stripe(shops):
    def post(body, **options):
        return deliver(shops, "stripe", body, signatures.stripe(body, **options))

    failed = STRIPE | {"id": "evt_1", "type": "payment_intent.payment_failed"}
    failed["data"] = {"object": STRIPE["data"]["object"] | {"last_payment_error": {"message": "Your card was declined."}}}
    answer = post(json.dumps(failed).encode())
    assert answer.json["events"][0]["state"] == "failed"
    row = shops.get("/v1/entities/card-payment/pi_3MqsxX2eZvKYlo2C1").json["row"]
    assert row["content"] == {"problem": "Your card was declined."}
    assert row["attributes"] == {"description": "Order 42", "amount": 2000, "currency": "USD"}
    body = json.dumps(STRIPE).encode()
    assert post(body).json["events"][0]["state"] == "paid"
    assert post(body).json["events"][0]["verdict"] == "duplicate"
    for offset in (-301, 400):
        answer = post(body, at=int(time.time()) + offset)
        assert (answer.status, answer.code) == (401, "bad_signature")


def test_square(shops):
    body = json.dumps(SQUARE).encode()
    answer = deliver(shops, "square", body, signatures.square(body))
    assert answer.json["events"][0]["state"] == "ready"
    event = shops.get("/v1/entities/pickup-order/eA3vssLHKJrv9H0IdJCM3gNqfdcZY/history").json["events"][0]
    assert (event["ver"], event["eid"]) == (4, SQUARE["event_id"])
    answer = deliver(shops, "square", body, signatures.square(body, url="https://elsewhere.example.com/"))
    assert answer.code == "bad_signature"


def test_standard_webhooks_by_their_own_library(shops):
    signer = standardwebhooks.Webhook(STANDARD)
    body = json.dumps({"type": "errand.made", "id": "sw-1", "note": "from a library", "count": 3})
    now = datetime.datetime.now(datetime.timezone.utc)
    headers = {"webhook-id": "msg_1", "webhook-timestamp": str(int(now.timestamp())),
               "webhook-signature": signer.sign("msg_1", now, body)}
    answer = deliver(shops, "standard", body, headers)
    assert answer.json["events"][0]["verdict"] == "applied"
    content = shops.get("/v1/entities/errand/sw-1").json["row"]["content"]
    assert content == {"note": "from a library", "count": 3}
    assert deliver(shops, "standard", body + " ", headers).code == "bad_signature"
    old = now - datetime.timedelta(seconds=400)
    headers = {"webhook-id": "msg_2", "webhook-timestamp": str(int(old.timestamp())),
               "webhook-signature": signer.sign("msg_2", old, body)}
    assert deliver(shops, "standard", body, headers).code == "bad_signature"


def test_github_and_a_scheme_of_ones_own(shops):
    body = json.dumps({"action": "published", "id": "gh-1"}).encode()
    answer = deliver(shops, "github", body, signatures.github(body))
    assert answer.json["events"][0]["key"] == "errand/gh-1"
    body = json.dumps({"id": "till-1", "number": "n-1"}).encode()
    headers = {"X-Till-Signature": "v=" + signatures.digest("till-secret", body).hexdigest(), "X-Till-Topic": "made"}
    assert deliver(shops, "till", body, headers).json["events"][0]["verdict"] == "applied"
    assert shops.get("/v1/entities/errand/till-1/history").json["events"][0]["eid"] == "n-1"


def test_what_cannot_be_an_event_is_taken_all_the_same(shops):
    def post(body):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        return deliver(shops, "github", body, signatures.github(body, delivery=str(time.time_ns())))

    for body, code in [
        ({"action": "published", "id": "no key"}, "bad_key"), (b"{", "bad_json"), (b"[]", None),
        ({"action": "published", "id": "big", "note": "x" * 5_000}, "too_large"),
    ]:
        answer = post(body)
        assert answer.status == 200, answer.text
        assert [event.get("code") for event in answer.json["events"]] == ([code] if code else [])
    # A large order is taken, whatever its size is made of.
    large = post({"action": "published", "id": "large", "lines": [{"title": "x" * 50}] * 80_000})
    assert large.json["events"][0]["verdict"] == "applied", large.text
    whole = post({"action": "published", "id": "big", "filler": "x" * 8_400_000})
    assert (whole.status, whole.code) == (413, "too_large")
    post({"action": "published", "id": "no key"})
    listed = shops.get("/hooks").json
    assert "shopify" in listed["hooks"]
    last = listed["deliveries"][0]
    assert (last["hook"], last["result"], last["code"]) == ("github", "refused", "bad_key")
    figures = shops.metrics()
    assert int(figures['telltale_gateway_webhook_deliveries_total{hook="github",result="refused"}']) >= 3
    assert int(figures['telltale_gateway_webhook_deliveries_total{hook="stripe",result="bad_signature"}']) == 2
    for secret in ["till-secret", "shopify-secret", STANDARD[6:], "Hmac", "x" * 100]:
        assert secret not in shops.log()


def test_what_no_rule_reads_loses_no_order(shops):
    for number, value in enumerate([rb'"\ud83d"', b"1e400", b'{"a":1,"a":2}', b"[" * 40 + b"]" * 40]):
        body = b'{"action":"published","x":' + value + b',"id":"unread-%d"}' % number
        answer = deliver(shops, "github", body, signatures.github(body, delivery=f"unread-{number}"))
        assert answer.json["events"][0]["verdict"] == "applied", answer.text


def test_a_form_of_github_says_what_to_change(shops):
    body = b"payload=%7B%22action%22%3A%22published%22%7D"
    head = signatures.github(body, delivery="form") | {"Content-Type": "application/x-www-form-urlencoded"}
    answer = deliver(shops, "github", body, head)
    [event] = answer.json["events"]
    assert (answer.status, event["code"]) == (200, "media_type") and "application/json" in event["title"]


def test_an_encoding_that_is_not_understood_is_told(shops):
    body = json.dumps(SHOPIFY).encode()
    answer = deliver(shops, "shopify", body, signatures.shopify(body) | {"Content-Encoding": "gzip"})
    assert (answer.status, answer.code, answer.headers["accept-encoding"]) == (415, "media_type", "identity")
    head = signatures.shopify(body, delivery="plain") | {"Content-Encoding": "identity"}
    assert deliver(shops, "shopify", body, head).status == 200


def test_the_hint_of_what_is_ignored_is_told(shops):
    body = json.dumps({"id": "hint", "number": "h-1"}).encode()
    head = {"X-Till-Signature": "v=" + signatures.digest("till-secret", body).hexdigest(), "X-Till-Topic": "made"}
    deliver(shops, "till", body, head)
    answer = shops.post("/errand/hint/redy")
    assert (answer.json["verdict"], answer.json["msg"]) == ("ignored", "no state of errand handles redy")


def test_a_daemon_that_says_later_is_told_to_the_sender(world):
    hooks = world.file("hooks/h.json", json.dumps({"hook": "h", "verify": {"scheme": "shopify", "secrets": ["env:H"]},
                                                   "rules": [{"on": ["*"], "key": "errand/{{body.id}}", "type": "start"}]}))
    gateway = world.gateway("--hooks", str(pathlib.Path(hooks).parent), extra={"H": "shopify-secret"})
    body = b'{"id":1}'
    answer = deliver(gateway, "h", body, signatures.shopify(body))
    assert answer.status == 503 and answer.headers["retry-after"]
    world.daemon()
    answer = eventually("200", lambda: (one := deliver(gateway, "h", body, signatures.shopify(body))).status == 200 and one)
    assert answer.json["events"][0]["verdict"] == "applied"


def test_faults_of_hook_files_are_all_told(world):
    world.file("hooks/a.json", '{"hook":"A b","verify":{"scheme":"shopfy","secrets":["hunter2"]},"rules":[]}')
    world.file("hooks/b.json", json.dumps({
        "hook": "b", "verify": {"scheme": "stripe", "secrets": ["hunter2", "env:NOT_SET"]}, "more": 1,
        "rules": [{"on": [], "guard": "content.x == ", "key": "{{attributes.x}}", "type": "{{body.x", "data": []}]}))
    done = subprocess.run([GATEWAY, "--check", "--hooks", f"{world.folder}/hooks"], capture_output=True, text=True)
    assert done.returncode == 78
    for part in ["a.json: hook", "a.json: verify.scheme", "b.json: more", "b.json: verify.secrets.0", "b.json: rules.0.on",
                 "b.json: rules.0.guard", "b.json: rules.0.key", "b.json: rules.0.type", "b.json: rules.0.data"]:
        assert part in done.stderr, part
    assert "hunter2" not in done.stderr


def test_a_delivery_is_tried_without_a_daemon(tmp_path):
    hook = REPOSITORY / "Protocols/HTTP/hooks/shopify.json"
    done = subprocess.run(
        [GATEWAY, "hooks", "try", str(hook), "--header", "X-Shopify-Topic: orders/create"],
        input=json.dumps(SHOPIFY), capture_output=True, text=True)
    event = json.loads(done.stdout)["events"][0]
    assert done.returncode == 0 and event["key"] == "shop-order/820982911946154508" and event["type"] == "placed"
    done = subprocess.run([GATEWAY, "hooks", "try", str(hook)], input="{", capture_output=True, text=True)
    assert done.returncode == 1 and json.loads(done.stdout)["code"] == "bad_json"


def test_hooks_are_read_again(world):
    world.daemon()
    rule = {"on": ["*"], "key": "errand/{{body.id}}", "type": "start"}
    file = {"hook": "h", "verify": {"scheme": "shopify", "secrets": ["env:H"]}, "rules": [rule]}
    folder = pathlib.Path(world.file("hooks/h.json", json.dumps(file))).parent
    gateway = world.gateway("--hooks", str(folder), extra={"H": "shopify-secret"})

    def send(number):
        body = json.dumps({"id": number}).encode()
        return deliver(gateway, "h", body, signatures.shopify(body, delivery=str(number)))

    assert send("a").json["events"][0]["key"] == "errand/a"
    world.file("hooks/h.json", "{")
    gateway.process.send_signal(1)
    gateway.wait_for_log("not read again")
    assert send("b").json["events"][0]["key"] == "errand/b"
    world.file("hooks/h.json", json.dumps(file | {"rules": [rule | {"key": "errand/new-{{body.id}}"}]}))
    gateway.process.send_signal(1)
    gateway.wait_for_log('"msg":"read again"')
    assert send("c").json["events"][0]["key"] == "errand/new-c"


@pytest.mark.parametrize("size", ["500", *(["all"] if "TRACES" in os.environ else [])])
def test_real_orders_posted_as_webhooks_end_as_the_data_says(world, size):
    """500 ship with the repository. TRACES=FOLDER Tools/ci/test-gateway -k real_orders posts all 4,000."""
    file = REPOSITORY / "Tools/telltale-sim/Scenarios/data/olist_orders_500.csv"
    if size == "all":
        file = pathlib.Path(os.environ["TRACES"]) / "olist_orders.csv"
    world.daemon("--sync", "normal")
    hook = {"hook": "olist", "verify": {"scheme": "hmac", "header": "X-Signature", "secrets": ["env:OLIST"],
                                        "topic": "{{body.event}}", "eid": "{{body.delivery}}"},
            "rules": [{"on": ["*"], "key": "parcel/{{body.case}}", "type": "{{body.event}}", "at": "{{body.time}}",
                       "data": {"attributes": {"number": "{{body.case}}"}}}]}
    folder = pathlib.Path(world.file("hooks/olist.json", json.dumps(hook))).parent
    gateway = world.gateway("--hooks", str(folder), "--log-level", "warning", extra={"OLIST": "olist-secret"})
    cases = []
    with open(file, newline="") as rows:
        for index, row in enumerate(csv.DictReader(rows)):
            cases.append((row["case_id"], row["event"], row["timestamp"], index))
    connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=PATIENCE)

    def send(case, event, at, delivery):
        body = json.dumps({"case": case, "event": event, "time": at, "delivery": str(delivery)}).encode()
        connection.request("POST", "/v1/hooks/olist", body, {
            "X-Signature": signatures.digest("olist-secret", body).hexdigest()})
        response = connection.getresponse()
        answer = json.loads(response.read())
        assert response.status == 200 and "verdict" in answer["events"][0], answer
        return answer["events"][0]["verdict"]

    verdicts = [send(*case) for case in cases]
    assert "applied" in verdicts
    assert {send(*case) for case in cases[:50]} == {"duplicate"}
    rows = {entity["key"].split("/")[1]: entity["row"] for entity in
            gateway.get("/v1/entities?pattern=parcel/*", checks=False).json["entities"]}
    order = ["purchased", "approved", "handed_to_carrier", "delivered"]
    reached, newest = {}, {}
    for case, event, at, _ in cases:
        # A step that happened before the newest one is stale: recorded, not shown.
        if at and at < newest.get(case, ""):
            continue
        newest[case] = at or newest.get(case, "")
        reached[case] = max(reached.get(case, 0), order.index(event))
    for case, step in reached.items():
        wanted = "ordered" if step == 0 else order[step]
        state = rows[case]["state"] if case in rows else gateway.get(f"/v1/entities/parcel/{case}").json["row"]["state"]
        assert state == wanted, (case, state)
    connection.close()
