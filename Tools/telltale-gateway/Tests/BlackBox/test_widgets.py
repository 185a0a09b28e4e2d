"""Kinds of widget, as far as the gateway knows them: they are listed, checked and shown, and have no machine."""

import json

import pytest

from support import REPOSITORY

WIDGETS = {path.stem: path.read_bytes() for path in sorted((REPOSITORY / "Protocols/Kinds/widgets").glob("*.json"))}


def test_there_are_some():
    assert len(WIDGETS) >= 2


@pytest.mark.parametrize("name", WIDGETS)
def test_a_widget_is_listed_checked_and_not_drawn(gateway, name):
    assert {"name": name, "type": "widget"}.items() <= next(
        kind for kind in gateway.get("/v1/kinds").json["kinds"] if kind["name"] == name).items()
    assert gateway.get(f"/v1/kinds/{name}").json["type"] == "widget"
    diagram = gateway.get(f"/v1/kinds/{name}/diagram")
    assert (diagram.status, diagram.json["code"]) == (404, "not_found") and "no machine" in diagram.json["title"]
    report = gateway.post("/v1/lint?diagram=yes", WIDGETS[name]).json
    assert (report["findings"], report["kind"]["type"], report["diagram"]) == ([], "widget", None)
    play = gateway.post("/v1/play", {"kind": json.loads(WIDGETS[name])})
    assert (play.status, play.json["code"]) == (422, "bad_kind")


def test_a_machine_that_is_too_large_is_refused_each_time(world):
    kind = json.loads((REPOSITORY / "Protocols/Kinds/examples/parcel.json").read_text()) | {
        "kind": "endless", "startsOn": [], "accept": {},
        "machine": {"initial": "s0", "states": {f"s{at}": {"on": {"e": f"s{(at + 1) % 300}"}} for at in range(300)}}}
    world.file("kinds/endless.json", json.dumps(kind))
    world.daemon()
    gateway = world.gateway()
    for _ in range(3):
        diagram = gateway.get("/v1/kinds/endless/diagram")
        assert (diagram.status, diagram.json["code"]) == (422, "too_complex")
