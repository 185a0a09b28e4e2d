"""The tiles of a device's board over HTTP, and the gallery of what can be placed."""

import json

import pytest

from support import Stream


def tile(gateway, key, body, query="", **headers):
    return gateway.post(f"/v1/entities/{key}/tile{query}", body, headers)


def test_a_tile_is_placed_configured_moved_and_removed(gateway):
    add = {"do": "add", "widget": "kitchen", "configuration": {"shop": "Hoegi"}}
    placed = tile(gateway, "@a-car/t1", add, **{"Idempotency-Key": "place-1"})
    assert (placed.status, placed.json["state"], placed.json["verdict"]) == (200, "placed", "applied")
    assert placed.json["key"] == "@a-car/t1" and placed.headers["etag"] == f'"{placed.json["rev"]}"'
    again = tile(gateway, "@a-car/t1", add, **{"Idempotency-Key": "place-1"})
    assert (again.json["verdict"], again.headers["idempotent-replayed"]) == ("duplicate", "true")
    assert tile(gateway, "@a-car/t1", add).code == "bad_action"

    seen = gateway.get("/v1/entities/@a-car/t1").headers["etag"]
    moved = tile(gateway, "@a-car/t1", {"do": "configure", "configuration": {"shop": "Central"}}, **{"If-Match": seen})
    assert moved.status == 200
    stale = tile(gateway, "@a-car/t1", {"do": "remove"}, **{"If-Match": seen})
    assert (stale.status, stale.code, stale.headers["etag"]) == (412, "stale_rev", moved.headers["etag"])
    row = gateway.get("/v1/entities/@a-car/t1?surface=carplay").json["row"]
    assert (row["widget"], row["order"], row["presentation"]) == ("kitchen/Central", 1, "systemSmall")

    assert tile(gateway, "@a-car/left", {"do": "stack", "smart": True, "suggest": False}).json["state"] == "stack"
    assert tile(gateway, "@a-car/t1", {"do": "move", "stack": "left", "pos": 1}).status == 200
    assert tile(gateway, "@a-car/t1", {"do": "pin", "pos": 1}).status == 200
    full = gateway.get("/v1/entities/@a-car/t1?view=full").json["row"]
    assert (full["stack"], full["position"], full["pinned"]) == ("left", 1, 1)
    assert tile(gateway, "@a-car/left", {"do": "remove"}).json["state"] == "gone"
    assert gateway.get("/v1/entities/@a-car/t1").status == 404


@pytest.mark.parametrize("body, path", [
    ({}, "do"), ({"do": "dance"}, "do"), ({"do": 7}, "do"), ({"do": "add", "widget": 7}, "widget"), ({"do": "add", "widget": "a b"}, "widget"),
    ({"do": "add", "widget": "kitchen\nBYE"}, "widget"), ({"do": "move", "pos": "1"}, "pos"), ({"do": "move", "pos": 1.5}, "pos"),
    ({"do": "move", "pos": -1}, "pos"), ({"do": "stack", "smart": "yes"}, "smart"), ({"do": "configure", "configuration": []}, "configuration"),
    ({"do": "remove", "colour": "red"}, "colour"), ({"do": "add", "widget": "kitchen", "configuration": {"shp": "x"}}, "configuration.shp")])
def test_a_faulty_body_is_told_by_its_member(gateway, body, path):
    answer = tile(gateway, "@faulty/t1", body)
    assert (answer.status, answer.code, answer.json["path"]) == (400, "bad_attr", path), answer.text


def test_what_the_board_does_not_allow(gateway):
    assert tile(gateway, "coffee-order/7", {"do": "remove"}).code == "bad_key"
    assert tile(gateway, "@none/t1", {"do": "remove"}).code == "unknown_key"
    assert tile(gateway, "@none/t1", {"do": "add", "widget": "kitchen/Hoegi", "family": "systemLarge"}).status == 422
    assert tile(gateway, "@none/t1", {"do": "add", "widget": "kitchen/Hoegi", "pos": 1000}).code == "bad_attr"
    assert gateway.post("/v1/entities/@none/t1/tile", "[]").code == "bad_json"
    assert gateway.ask("PUT", "/v1/entities/@none/t1/tile", {"do": "remove"}, checks=False).status == 405
    assert tile(gateway, "@none/t1", {"do": "remove"}, **{"If-Match": "*"}).code == "bad_request"


def test_a_board_is_its_accounts(gateway):
    add = {"do": "add", "widget": "kitchen", "configuration": {"shop": "Hoegi"}}
    assert tile(gateway, "@alice-phone/t1", add, "?account=alice").status == 200
    assert tile(gateway, "@alice-phone/t1", {"do": "remove"}, "?account=bob").code == "unknown_key"
    assert gateway.get("/v1/entities/@alice-phone/t1?account=bob").status == 404

    def seen(query):
        return [entity["key"] for entity in gateway.get(f"/v1/entities?{query}").json["entities"] if entity["key"].startswith("@alice")]
    assert seen("caps=widgets&account=alice&view=full") == ["@alice-phone/t1"]
    assert seen("caps=widgets&account=bob&view=full") == [] == seen("account=alice&view=full")
    assert gateway.get("/v1/entities?caps=wings", checks=False).code == "bad_attr"


def test_a_board_is_followed(gateway):
    stream = Stream(gateway, "sub=@live-car/*,carplay")
    stream.until("live")
    tile(gateway, "@live-car/t1", {"do": "add", "widget": "kitchen", "configuration": {"shop": "Hoegi"}})
    row = stream.until("row")[-1][1]
    assert (row["key"], row["row"]["widget"]) == ("@live-car/t1", "kitchen/Hoegi")
    tile(gateway, "@live-car/t1", {"do": "remove"})
    assert stream.until("gone")[-1][1]["key"] == "@live-car/t1"
    stream.close()


def test_the_gallery_tells_what_can_be_placed(gateway):
    everything = {one["name"]: one for one in gateway.get("/v1/gallery").json["widgets"]}
    assert set(everything["kitchen"]["families"]) >= {"systemSmall", "systemMedium"} and "previews" not in everything["kitchen"]
    assert everything["kitchen"]["parameters"][0]["name"] == "shop"
    car = gateway.get("/v1/gallery?surface=carplay").json
    assert car["count"] == len(car["widgets"]) and all(one["families"] == ["systemSmall"] for one in car["widgets"])
    assert all(preview["sample"] for one in car["widgets"] for preview in one["previews"])
    lock = gateway.get("/v1/gallery?view=phone&placement=lockScreen").json["widgets"]
    assert lock and all(family.startswith("accessory") for one in lock for family in one["families"])
    assert gateway.get("/v1/gallery?placement=nowhere&surface=phone").code == "bad_attr"


def test_pages_of_boards_are_pages(gateway):
    for path in ["/boards", "/boards/@alice-car", "/boards/%40alice-car"]:
        page = gateway.get(path, headers={"Accept": "text/html"})
        assert page.status == 200 and "default-src 'self'" in page.headers["content-security-policy"]
    assert json.loads(gateway.get("/openapi.json").text)["paths"]["/v1/entities/{kind}/{id}/tile"]
