"""Pictures of machines, the lint, and plays: what the gateway does by itself with a kind file."""

import concurrent.futures
import gzip
import hashlib
import json
import os
import pathlib
import random
import xml.etree.ElementTree

import pytest

from support import REPOSITORY

EXAMPLES = {path.stem: json.loads(path.read_text()) for path in (REPOSITORY / "Protocols/Kinds/examples").glob("*.json")}
ACTIVITIES = sorted(name for name, kind in EXAMPLES.items() if kind["type"] == "activity")
BEGIN = 1_763_719_200_000


def large(states, steps=(1,)):
    """A kind whose machine has so many states, and transitions that reach so far."""
    return EXAMPLES["parcel"] | {"kind": f"large-{states}-{len(steps)}", "machine": {"initial": "s0", "states": {
        f"s{number}": {"on": {f"e{step}": f"s{(number + step) % states}" for step in steps}} for number in range(states)}}}


# MARK: Pictures


@pytest.mark.parametrize("kind", ACTIVITIES)
def test_a_machine_has_a_picture(gateway, kind):
    answer = gateway.get(f"/v1/kinds/{kind}/diagram")
    assert answer.status == 200 and answer.headers["content-type"] == "image/svg+xml"
    # Attributes and elements alone: the policy of a page forbids styles and scripts in markup.
    root = xml.etree.ElementTree.fromstring(answer.bytes)
    names = {element.tag.split("}")[1] for element in root.iter()}
    assert names <= {"svg", "g", "path", "rect", "circle", "text", "title"}
    assert not any(name in ("style", "href") or name.startswith("on") for element in root.iter() for name in element.attrib)
    states = {element.get("data-state") for element in root.iter()} - {None}
    assert set(EXAMPLES[kind]["machine"]["states"]) <= states
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_a_picture_is_kept_by_its_tag(gateway):
    path = "/v1/kinds/coffee-order/diagram"
    plain = gateway.get(path)
    assert plain.headers["cache-control"] == "private, no-cache"
    again = gateway.get(path, headers={"If-None-Match": plain.headers["etag"]})
    assert again.status == 304 and again.bytes == b"" and again.headers["etag"] == plain.headers["etag"]
    packed = gateway.get(path, headers={"Accept-Encoding": "gzip"})
    assert gzip.decompress(packed.bytes) == plain.bytes and packed.headers["etag"] != plain.headers["etag"]
    assert gateway.ask("HEAD", path).headers["content-length"] == str(len(plain.bytes))


def test_what_has_no_picture_says_why(gateway):
    assert gateway.get("/v1/kinds/porch-light/diagram").code == "not_found"
    assert gateway.get("/v1/kinds/nothing/diagram").code == "unknown_kind"
    assert gateway.get("/v1/kinds/a%20b/diagram").code == "bad_key"
    assert gateway.ask("POST", "/v1/kinds/coffee-order/diagram", "{}").code == "method"


def test_a_large_machine_is_refused_soon(world):
    for states, steps in [(300, (1,)), (150, (1, 2, 3)), (100, (1, 40))]:
        kind = large(states, steps)
        world.file(f"kinds/{kind['kind']}.json", json.dumps(kind))
    folder = pathlib.Path(world.folder) / "kinds"
    for name in ["coffee-order", "coffee-tip"]:
        (folder / f"{name}.json").write_text(json.dumps(EXAMPLES[name]))
    world.daemon()
    gateway = world.gateway()
    for path in sorted(folder.glob("large-*.json")):
        answer = gateway.get(f"/v1/kinds/{path.stem}/diagram")
        assert (answer.status, answer.code) == (422, "too_complex") and "200 states" in answer.json["title"]
    assert gateway.get("/v1/kinds/coffee-order/diagram").status == 200


def test_a_picture_is_for_those_that_may_read_the_kind(world):
    gateway, secret = with_tokens(world, ["read:parcel/*"], "alice")
    bearer = {"Authorization": f"Bearer {secret}"}
    assert gateway.get("/v1/kinds/parcel/diagram", headers=bearer).status == 200
    assert gateway.get("/v1/kinds/coffee-order/diagram", headers=bearer).code == "forbidden"
    assert gateway.get("/v1/kinds/parcel/diagram").code == "auth_required"


def with_tokens(world, scopes, account):
    secret = "tt_abcdefgh_" + "B" * 43
    principals = {"version": 1, "principals": [
        {"name": "reader", "scopes": scopes, "account": account,
         "tokens": [{"id": "abcdefgh", "sha256": hashlib.sha256(secret.encode()).hexdigest()}]}]}
    path = world.file("principals.json", json.dumps(principals))
    os.chmod(path, 0o600)
    world.daemon("--auth", path)
    return world.gateway(), secret


# MARK: Lint


@pytest.mark.parametrize("kind", sorted(EXAMPLES))
def test_shipped_kinds_have_no_findings(gateway, kind):
    text = (REPOSITORY / f"Protocols/Kinds/examples/{kind}.json").read_bytes()
    report = gateway.post("/v1/lint?diagram=yes", text).json
    assert (report["errors"], report["findings"]) == (0, [])
    assert (report["kind"]["name"], report["kind"]["type"]) == (kind, EXAMPLES[kind]["type"])
    assert (report["diagram"] is None) == (kind not in ACTIVITIES)
    assert "diagram" not in gateway.post("/v1/lint", text).json


def test_a_finding_has_its_place(gateway):
    text = json.dumps(EXAMPLES["coffee-order"], indent=2).replace('"brew": "brewing"', '"brew": "brewign"', 1)
    report = gateway.post("/v1/lint", text, {"Content-Type": "application/x-www-form-urlencoded"}).json
    assert report["kind"] is None and report["errors"] == 1
    finding = report["findings"][0]
    line = text.splitlines()[finding["line"] - 1]
    assert line[finding["column"] - 1:].startswith('"brew": "brewign"')
    assert finding["path"] == "machine.states.queued.on.brew" and "state" in finding["advice"]


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"\xff\xfe", b"null", b'{"kind":', b"{}" * 2, b"[" * 60_000, b'{"a":' * 10_000])
def test_any_bytes_have_a_report(gateway, text):
    report = gateway.post("/v1/lint?diagram=yes", text).json
    assert report["kind"] is None and report["errors"] >= 1 and report["findings"][0]["advice"]
    assert report["diagram"] is None


def test_a_large_machine_has_a_report_and_no_picture(gateway):
    report = gateway.post("/v1/lint?diagram=yes", json.dumps(large(700))).json
    assert report["kind"]["name"] == "large-700-1" and report["diagram"] is None


def test_bodies_of_the_playground_are_bounded(gateway):
    assert gateway.post("/v1/lint", b" " * 64_001).code == "too_large"
    assert gateway.post("/v1/play", b" " * 128_001).code == "too_large"
    for path in ["/v1/lint", "/v1/play"]:
        assert gateway.post(path, "{}", {"Content-Type": "multipart/form-data; boundary=x"}).code == "media_type"
        assert gateway.get(path).code == "method"


# MARK: Play


def play(gateway, kind, *steps, **more):
    return gateway.post("/v1/play", {"kind": EXAMPLES[kind], "at": BEGIN, "steps": list(steps)} | more).json


def test_a_play_goes_through_time(gateway):
    played = play(gateway, "coffee-order", {"event": "start", "data": {"attributes": {"item": "Flat white"}}}, {"after": "4m"},
                  {"after": 61_000}, {"event": "brew"}, {"event": "nothing"}, {"event": "ready", "data": {"content-state": {"shelf": "B"}}})
    assert [(one["step"], one["at"] - BEGIN, one["type"], one["verdict"], one["state"]) for one in played["log"]] == [
        (0, 0, "start", "applied", "placed"), (1, 240_000, "deadline", "applied", "placed"),
        (2, 300_000, "deadline", "applied", "unattended"), (3, 301_000, "brew", "applied", "brewing"),
        (4, 301_000, "nothing", "ignored", "brewing"), (5, 301_000, "ready", "applied", "ready")]
    assert played["now"] == BEGIN + 301_000 and played["next"] == BEGIN + 541_000
    assert played["alerts"]["watch"] == {"title": "Flat white is ready", "body": "Shelf B", "style": "alert"}
    assert "carplay" not in played["alerts"] and played["rows"]["carplay"]["highlighted"] is True
    assert played["opened"]["view"]["subtitle"] == "Ready"


def same(row):
    """A row without the dates of its events, without what the moment of an alert adds, and with the room of each control,
    none of which there is in a play."""
    left_out = {"startedAt", "updatedAt", "staleAt", "endedAt", "removeAt", "timers", "banner", "highlighted"}
    if isinstance(row, list):
        return [same(one) for one in row]
    if not isinstance(row, dict):
        return row
    if "control" in row:
        return {"key": row["key"], "interactive": False}
    return {name: same(value) for name, value in row.items() if name not in left_out}


@pytest.mark.parametrize("kind", ACTIVITIES)
def test_a_play_shows_what_the_daemon_shows(gateway, kind):
    """Through its whole life, by the first event that each state takes: the rows of every surface."""
    machine = EXAMPLES[kind]["machine"]
    key, steps = f"{kind}/played", []
    event = (EXAMPLES[kind].get("startsOn") or ["start"])[0]
    data = {"attributes": {"shop": "A", "item": "B", "restaurant": "C"}, "content-state": {"eta": BEGIN}}
    for _ in range(12):
        steps.append({"event": event, "data": data})
        state = gateway.post(f"/v1/entities/{key}/events/{event}", data).json["state"]
        played = gateway.post("/v1/play", {"kind": EXAMPLES[kind], "id": "played", "steps": steps}).json
        assert played["log"][-1]["state"] == state
        for view, row in played["rows"].items():
            shown = gateway.get(f"/v1/entities/{key}?view={view}").json["row"]
            if row is None:
                assert shown["presentation"] is None, view
            else:
                assert same(row) == same(shown), view
        data = {}
        taken = dict(machine.get("on", {}))
        for path in played["rows"]["full"]["configuration"]:
            node = machine
            for name in path.split("."):
                node = node.get("states", {}).get(name) or next(one for one in node.get("regions", []) if one["id"] == name)
            taken = node.get("on", {}) | taken
        if not taken or played["rows"]["full"]["lifecycle"] != "active":
            break
        event = next(iter(taken))
    assert len(steps) > 1


def test_a_control_is_played_with_its_provider(gateway):
    played = play(gateway, "porch-light", {"report": "off"}, {"set": "on"})
    assert played["rows"]["controlCenterMedium"]["phase"] == "pending" and played["next"] == BEGIN + 30_000
    assert [one["state"] for one in played["log"]] == ["settled off", "pending off"]
    for step, shown in [({"done": True}, True), ({"fail": "stuck"}, False), ({"after": "31s"}, False), ({"provider": "gone"}, True)]:
        row = play(gateway, "porch-light", {"report": "off"}, {"set": "on"}, step)["rows"]["controlCenterMedium"]
        assert row["shown"] is shown, step
    played = play(gateway, "coffee-tip", {"press": True}, {"done": True})
    assert "raises tip for coffee-order/1042" in played["log"][-1]["note"]


def test_a_situation_of_a_play(gateway):
    start = {"event": "start"}
    assert play(gateway, "coffee-order", start)["rows"]["carplay"] is not None
    assert play(gateway, "coffee-order", start, traits={"dashboard": "hidden"})["rows"]["carplay"] is None


@pytest.mark.parametrize("body, status, code", [
    ("", 400, "bad_json"), ("[]", 400, "bad_json"), ({}, 400, "bad_json"), ({"kind": 1}, 400, "bad_json"),
    ({"kind": {}}, 422, "bad_kind"), ({"kind": "coffee", "x": 1}, 400, "bad_json"),
    ({"kind": "coffee", "at": -1}, 400, "bad_json"), ({"kind": "coffee", "at": 1.5}, 400, "bad_json"),
    ({"kind": "coffee", "id": "a b"}, 400, "bad_json"), ({"kind": "coffee", "steps": {}}, 400, "bad_json"),
    ({"kind": "coffee", "steps": [{}]}, 400, "bad_json"), ({"kind": "coffee", "steps": [{"jump": 1}]}, 400, "bad_json"),
    ({"kind": "coffee", "steps": [{"event": "a b"}]}, 400, "bad_json"),
    ({"kind": "coffee", "steps": [{"event": "a", "data": 1}]}, 400, "bad_json"),
    ({"kind": "coffee", "steps": [{"event": "a", "data": {"b": 1}}]}, 400, "bad_json"),
    ({"kind": "coffee", "steps": [{"event": "a", "after": 1}]}, 400, "bad_json"),
    ({"kind": "coffee", "steps": [{"after": "soon"}]}, 400, "bad_json"), ({"kind": "coffee", "steps": [{"after": -1}]}, 400, "bad_json"),
    ({"kind": "coffee", "steps": [{"after": "367d"}]}, 400, "bad_json"), ({"kind": "coffee", "steps": [{"set": "x"}]}, 400, "bad_json"),
    ({"kind": "coffee", "steps": [{"press": True}] * 501}, 400, "bad_json"),
    ({"kind": "coffee", "traits": {"locked": "maybe"}}, 400, "bad_json"), ({"kind": "coffee", "traits": {"mood": "good"}}, 400, "bad_json"),
])
def test_a_faulty_play_is_refused(gateway, body, status, code):
    if isinstance(body, dict) and body.get("kind") == "coffee":
        body = body | {"kind": EXAMPLES["coffee-order"]}
    answer = gateway.post("/v1/play", body)
    assert (answer.status, answer.code) == (status, code), answer.text


RESTLESS = EXAMPLES["parcel"] | {"kind": "restless", "startsOn": [], "machine": {"initial": "a", "states": {
    "a": {"after": {"1ms": "b"}, "on": {"stop": "c"}}, "b": {"after": {"1ms": "a"}}, "c": {"type": "final"}}}}


def test_a_restless_machine_is_cut_off_and_stalls_no_other(gateway):
    """Each of these plays takes all the time that a play may take, while others are answered."""
    restless = {"kind": RESTLESS, "steps": [{"event": "start"}, *[{"after": "1h"}] * 400]}
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        plays = [pool.submit(gateway.post, "/v1/play", restless, timeout=300) for _ in range(12)]
        seen = []
        while not all(one.done() for one in plays):
            seen.append(gateway.post("/errand/beside/start").status)
            seen.append(gateway.get("/v1/entities/errand/beside").status)
        for one in plays:
            assert one.result().code in ("too_complex", "busy")
    assert len(seen) > 2 and set(seen) == {200}
    few = gateway.post("/v1/play", {"kind": RESTLESS, "steps": [{"event": "start"}, {"after": "1h"}]}).json
    assert few["log"][-1]["verdict"] == "refused" and len(few["log"]) <= 1_000


def test_more_work_than_waits_is_refused(gateway):
    restless = {"kind": RESTLESS, "steps": [{"event": "start"}, *[{"after": "1h"}] * 400]}
    with concurrent.futures.ThreadPoolExecutor(24) as pool:
        # Each that waits has those before it to wait for, whatever the machine does beside.
        answers = list(pool.map(lambda _: gateway.post("/v1/play", restless, timeout=300), range(24)))
    busy = [answer for answer in answers if answer.code == "busy"]
    assert busy and all(answer.status == 503 and answer.headers["retry-after"] == "1" for answer in busy)


def parts(value, found):
    """Every value inside a JSON value, and it itself."""
    found.append(value)
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else []:
        parts(one, found)
    return found


def shuffled(value, pool, random):
    """A JSON value with another one of the pool in one of its places."""
    if not isinstance(value, dict | list) or not value or random.random() < 0.2:
        return random.choice(pool)
    copy = value.copy()
    place = random.choice(list(copy)) if isinstance(copy, dict) else random.randrange(len(copy))
    copy[place] = shuffled(copy[place], pool, random)
    return copy


ODD = [None, 0, -1, 1e300, 2**53, "", "*", "{{", "\u0000", "99999999999d", [], {}, {"": ""}, {"*": "*"}, {"0ms": "a"}, {"type": "history"}]


@pytest.mark.parametrize("seed", range(4))
def test_kind_files_with_values_in_each_others_place_stop_nothing(gateway, seed):
    """Read, drawn and played, or refused; the gateway goes on in the same process."""
    chance = random.Random(seed)
    pool = [one for kind in EXAMPLES.values() for one in parts(kind, [])] + ODD
    played = 0
    for _ in range(160):
        kind = chance.choice(list(EXAMPLES.values()))
        for _ in range(chance.randint(1, 3)):
            kind = shuffled(kind, pool, chance)
        text = json.dumps(kind)
        report = gateway.post("/v1/lint?diagram=yes", text).json
        assert (report["kind"] is None) == (report["errors"] > 0)
        events = ["start", "confirm", "ordered", "cancel", "brew", "ready", "a"]
        steps = [chance.choice([{"event": chance.choice(events)}, {"after": "6m"}, {"set": "on"}, {"press": True}, {"done": True}]) for _ in range(8)]
        answer = gateway.post("/v1/play", {"kind": kind, "steps": [{"event": "start"}, *steps]})
        assert answer.status in (200, 400, 422), answer.text
        assert (answer.status == 200) == (report["kind"] is not None)
        played += answer.status == 200
    assert played > 10 and gateway.process.poll() is None


def test_the_playground_wants_a_token_where_the_daemon_does(world):
    gateway, secret = with_tokens(world, ["read:*"], "alice")
    for path in ["/v1/lint", "/v1/play"]:
        assert gateway.post(path, {"kind": EXAMPLES["parcel"]}).code == "auth_required"
        assert gateway.post(path, {"kind": EXAMPLES["parcel"]}, {"Authorization": "Bearer nothing"}).code == "auth_failed"
        assert gateway.post(path, {"kind": EXAMPLES["parcel"]}, {"Authorization": f"Bearer {secret}"}).status == 200


def test_the_playground_needs_no_entity_and_leaves_none(gateway):
    play(gateway, "flight", {"event": "scheduled_departure"})
    assert gateway.get("/v1/entities?pattern=flight/1042").json["count"] == 0
