"""telltale-push as a service: registrations, rights, secrets, its configuration, and kills."""

import http.client
import json
import pathlib
import shutil
import subprocess

import pytest

from apns_peer import Key
from push_peer import cards
from push_place import BUNDLE, FORM, PUSH, Place, last, status
from support import PATIENCE, Line, environment
from test_access import Principals


@pytest.fixture
def place(world):
    return Place(world)


def test_no_secret_is_told(place):
    token = "deadbeef" * 8
    place.pusher.register("a", token, account="alice", key="coffee-order/1")
    place.post("coffee-order/1", "start", account="alice")
    place.service.wait(lambda pushes: pushes)
    answers = [place.pusher.ask("GET", path).text for path in (
        "/v1/push/targets", "/v1/push/targets/a", "/v1/push/sent")]
    place.pusher.wait_for_sent()
    bearer = place.service.pushes[0].headers["authorization"].split(" ")[1]
    secret = pathlib.Path(place.key.private).read_text().splitlines()[1]
    for text in [*answers, place.pusher.ask("GET", "/v1/push/sent").text, place.pusher.log()]:
        assert token not in text
        assert bearer not in text
        assert secret not in text
    file = pathlib.Path(place.folder, "push/push.sqlite")
    assert file.stat().st_mode & 0o077 == 0


def test_registrations_are_checked(place):
    for body, words in [
        ({"token": "aa"}, "key or kind"), ({"token": "xyz", "kind": "coffee-order"}, "hexadecimal"),
        ({"token": "aa", "key": "coffee-order"}, "kind/id"), ({"kind": "coffee-order"}, "token"),
        ({"token": "aa", "kind": "flight"}, "no app"), ({"token": "aa", "kind": "coffee-order", "color": 1}, "color"),
        ({"channel": "!", "key": "coffee-order/1"}, "base64"), ({"token": "aa", "kind": "coffee-order", "type": "fax"}, "type"),
    ]:
        answer = place.pusher.ask("PUT", "/v1/push/targets/a", body)
        assert answer.status in (400, 404, 422), (body, answer.status)
        assert words in answer.text, (body, answer.text)
    assert place.pusher.ask("PUT", "/v1/push/targets/a", {"token": "a" * 9_000, "kind": "coffee-order"}).status == 413
    assert place.pusher.ask("POST", "/v1/push/targets/a", {}).status == 405
    assert place.pusher.ask("GET", "/v1/push").status == 404
    assert place.pusher.ask("GET", "/healthz").text == "ok\n"
    assert place.pusher.register("a", "aa", kind="coffee-order").status == 201
    assert place.pusher.register("a", "aa", kind="coffee-order").status == 200
    assert place.pusher.ask("DELETE", "/v1/push/targets/a").status == 204
    assert place.pusher.ask("DELETE", "/v1/push/targets/a").status == 404


def test_no_page_of_a_browser_asks(place):
    def ask(**headers):
        connection = http.client.HTTPConnection("127.0.0.1", place.pusher.port, timeout=PATIENCE)
        connection.request("GET", "/v1/push/targets", headers=headers)
        status = connection.getresponse().status
        connection.close()
        return status
    assert ask() == 200
    assert ask(Host="localhost:7884") == 200
    assert ask(Host="evil.example.com") == 403
    assert ask(Origin="http://127.0.0.1") == 403


def test_a_daemon_that_has_lost_its_history_is_followed_from_its_beginning(world):
    place = Place(world)
    place.pusher.register("a", "aa01", account="alice", key="coffee-order/1")
    for number in range(20):
        place.post(f"coffee-order/x{number}", "start")
    place.post("coffee-order/1", "start", account="alice")
    place.service.wait(lambda pushes: pushes)
    port = place.daemon.port
    place.line.close()
    place.daemon.kill()
    shutil.rmtree(f"{world.folder}/data")
    place.daemon = world.daemon(port=port)
    place.line = Line(port)
    place.pusher.wait_for_log("another history")
    place.post("coffee-order/1", "start", account="alice")
    place.post("coffee-order/1", "confirm")
    place.service.wait(lambda pushes: status(pushes[-1]) == "queued")


def test_a_configuration_that_is_wrong_says_what_and_where(world):
    def run(settings, *flags):
        path = world.file("push.json", json.dumps(settings))
        return subprocess.run(
            [PUSH, "--config", path, "--check-config", *flags], capture_output=True, text=True, env=environment())
    key = Key(world.folder)
    good = {"state": "push", "team": key.team, "kid": key.kid, "key": key.private, "apns-url": "https://localhost:1",
            "apps": {BUNDLE: {"CoffeeAttributes": FORM}}}
    assert run(good).stdout == "the configuration is good\n"
    assert not pathlib.Path(world.folder, "push").exists()
    for change, words in [
        ({"team": "short"}, "team: takes 10"), ({"key": "nowhere.p8"}, "nowhere.p8 cannot be read"),
        ({"key": key.public}, "no private key"), ({"apns-url": "http://localhost"}, "https://"),
        ({"colour": "red"}, "colour: no such setting"), ({"apps": {}}, "apps: names no app"),
        ({"apps": {BUNDLE: {"A": {"kind": "coffee-order", "contents": []}}}}, "contents: no such member"),
        ({"apns-ca": "none.pem"}, "none.pem holds no certificates"), ({"listen": "tcp:7"}, "listen: takes unix:PATH"),
        ({"token-file": "none"}, "cannot be read"),
    ]:
        done = run(good | change)
        assert done.returncode == 78, (change, done)
        assert words in done.stderr, (change, done.stderr)
    # Channels are Apple's: they need all that pushes to Apple need, beside Web Push too.
    web = {"state": "push", "web-push": {"key": key.private, "subject": "mailto:ops@example.com", "hosts": ["localhost"]}}
    assert run(web).returncode == 0
    done = run(web | {"channels-url": "https://localhost:1"})
    assert done.returncode == 78 and "--apns-url: says where pushes go" in done.stderr, done
    assert "telltale-push: " in run({}).stderr
    done = subprocess.run([PUSH, "--bogus"], capture_output=True, text=True)
    assert done.returncode == 78 and "--bogus" in done.stderr
    done = subprocess.run([PUSH, "--help"], capture_output=True, text=True)
    assert "--apns-url" in done.stdout


# MARK: Who may


def test_a_daemon_with_tokens_decides_who_registers(world):
    principals = Principals(world.folder)
    principals.add("push", "read:*", account="*")
    principals.add("alice", "read:coffee-order/*", account="alice")
    principals.add("backend", "read:*", account="*")
    principals.add("operator", "admin")
    principals.add("shop", "post:*")
    place = Place(world, "--auth", principals.write(), **{
        "token-file": world.file("token", principals.tokens["push"])})
    token = principals.tokens
    assert place.line.ask(f"HELLO client=shop token={token['shop']}").startswith("OK")

    def put(name, caller, body):
        return place.pusher.ask("PUT", f"/v1/push/targets/{name}", body, token.get(caller))
    mine = {"token": "aa01", "account": "alice", "kind": "coffee-order"}
    assert put("a", None, mine).status == 401
    assert place.pusher.ask("PUT", "/v1/push/targets/a", mine, "tt_aaaaaaaa_" + "x" * 43).status == 401
    assert put("a", "alice", mine | {"account": "bob"}).status == 403
    assert put("a", "shop", mine).status == 403
    assert put("a", "alice", mine).status == 201
    assert put("b", "backend", mine | {"account": "bob", "token": "bb01"}).status == 201
    # Activities of all accounts are for a token that sees them all.
    everybody = {"token": "cc01", "kind": "coffee-order"}
    refused = put("c", "alice", everybody)
    assert (refused.status, refused.json["code"]) == (403, "forbidden") and '"account":"alice"' in refused.json["title"]
    assert put("c", "alice", {"token": "cc01", "key": "coffee-order/bobs"}).status == 403
    assert put("c", "backend", everybody).status == 201
    for method in ("GET", "DELETE"):
        assert place.pusher.ask(method, "/v1/push/targets/c", None, token["alice"]).status == 403
    refused = put("c", "alice", mine)
    assert refused.status == 403 and "for all accounts" in refused.json["title"]
    # The device that has the push token may narrow its own.
    assert put("c", "alice", mine | {"token": "cc01"}).status == 200
    assert place.pusher.ask("GET", "/v1/push/targets/c", None, token["alice"]).json["account"] == "alice"
    assert place.pusher.ask("DELETE", "/v1/push/targets/c", None, token["alice"]).status == 204
    # Neither read, nor replaced, nor removed by another.
    assert place.pusher.ask("GET", "/v1/push/targets/b", None, token["alice"]).status == 403
    assert put("b", "alice", mine).status == 403
    assert place.pusher.ask("DELETE", "/v1/push/targets/b", None, token["alice"]).status == 403
    assert place.pusher.ask("GET", "/v1/push/targets", None, token["alice"]).status == 403
    assert place.pusher.ask("GET", "/v1/push/sent", None, token["backend"]).status == 403
    assert place.pusher.ask("GET", "/v1/push/targets/c", None, None).status == 401
    assert place.pusher.ask("GET", "/v1/push/targets", None, token["operator"]).json["count"] == 2
    place.post("coffee-order/1", "start", account="alice")
    assert place.service.wait(lambda pushes: pushes)[0].token == "aa01"
    assert place.pusher.ask("DELETE", "/v1/push/targets/a", None, token["alice"]).status == 204


def test_a_token_that_was_replaced_is_told_of_and_a_good_one_goes_on(world):
    principals = Principals(world.folder)
    principals.add("push", "read:*", account="*")
    principals.add("shop", "post:*")
    place = Place(world, "--auth", principals.write(), **{
        "token-file": world.file("token", principals.tokens["push"])})
    entry = next(entry for entry in principals.principals if entry["name"] == "push")
    assert place.line.ask(f"HELLO client=shop token={principals.tokens['shop']}").startswith("OK")
    assert place.pusher.ask(
        "PUT", "/v1/push/targets/a", {"token": "aa01", "kind": "coffee-order"}, principals.tokens["push"]).status == 201
    place.post("coffee-order/1", "start")
    place.service.wait(lambda pushes: len(pushes) == 1)
    principals.remove("push")
    principals.write()
    place.pusher.wait_for_log("is the token good?")
    place.post("coffee-order/2", "start")
    principals.principals.append(entry)
    principals.write()
    assert len(place.service.wait(lambda pushes: len(pushes) == 2)) == 2


def test_it_serves_on_a_unix_socket_and_stops_when_asked(world):
    place = Place(world)
    place.pusher.kill()
    path = f"{world.folder}/push.sock"
    process = subprocess.Popen(
        [PUSH, "--config", place.config, "--listen", f"unix:{path}"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env=environment())
    assert process.stdout.readline().decode() == f"ready http=unix:{path}\n"
    done = subprocess.run(
        ["curl", "-sS", "--unix-socket", path, "http://localhost/healthz"], capture_output=True, text=True)
    assert done.stdout == "ok\n", done.stderr
    assert pathlib.Path(path).stat().st_mode & 0o007 == 0
    # The registrations are one process's.
    second = subprocess.run([PUSH, "--config", place.config], capture_output=True, text=True, env=environment(), timeout=PATIENCE)
    assert second.returncode == 78
    assert "locked" in second.stderr, second.stderr
    process.terminate()
    assert process.wait(PATIENCE) == 0


# MARK: Kills


def test_kills_lose_no_state_and_repeat_no_alert(world):
    place = Place(world)
    keys = [f"coffee-order/k{number}" for number in range(6)]
    for number, key in enumerate(keys):
        place.pusher.register(f"r{number}", f"aa0{number}", account=f"p{number}", key=key)
        place.post(key, "start", json.dumps({"attributes": {"item": key[-2:]}}), account=f"p{number}")
    steps = ["confirm", "brew", "ready"]
    for round, event in enumerate(steps):
        for number, key in enumerate(keys):
            place.post(key, event, json.dumps({"content-state": {"shelf": f"{round}"}}))
            if number % 2 == 0:
                place.restart()
    place.service.wait(lambda pushes: all(
        last(pushes, f"aa0{number}") and status(last(pushes, f"aa0{number}")) == "ready" for number in range(6)))
    for number in range(6):
        card = cards(place.service.pushes)[f"aa0{number}"]
        states = [state["status"] for state in card.states]
        assert states == sorted(states, key=["placed", "queued", "brewing", "ready"].index), states
        assert len(card.alerts) <= 1, card.alerts
    place.line.close()
