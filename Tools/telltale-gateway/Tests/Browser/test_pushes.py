"""The pages of the pushes that came in and that went out."""

import json

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from keys import Key, certificates
from pusher import BUNDLE, FORM, Pusher
from support import eventually, free_port
from world import World


@pytest.fixture(scope="module")
def pushes():
    """A gateway that takes what a telltale-push of the same daemon sends: of two devices, one of which has let its app go."""
    world = World()
    world.daemon()
    listener = free_port()
    key = Key(world.folder)
    tls = certificates(f"{world.folder}/certs")
    pusher = Pusher(world.folder, "--config", world.file("push.json", json.dumps({
        "connect": f"unix:{world.folder}/daemon.sock", "state": "push", "team": key.team, "kid": key.kid, "key": key.private,
        "apns-ca": "certs/ca.pem", "apns-url": f"https://localhost:{listener}", "apps": {BUNDLE: {"CoffeeAttributes": FORM}}})))
    world.started.append(pusher)
    gateway = world.gateway(
        "--push", f"http://127.0.0.1:{pusher.port}", "--apns-listen", f"127.0.0.1:{listener}", *tls, "--apns", world.file(
            "apns.json", json.dumps({"auth": "shape", "apps": {BUNDLE: {"CoffeeAttributes": {"kind": "coffee-order"}}}})))
    for name in ("alice", "bob"):
        gateway.post(f"/v1/entities/coffee-order/{name}/events/start", {"attributes": {"item": "Flat white"}})
        token = gateway.get(f"/v1/apns/tokens?key=coffee-order/{name}").json["token"]
        token = token if name == "alice" else token[:-1] + ("1" if token[-1] == "0" else "0")
        assert gateway.ask("PUT", f"/v1/push/targets/{name}-phone", {"key": f"coffee-order/{name}", "token": token}).status == 201
    pusher.wait_for_sent(lambda sent: len(sent) >= 2)
    eventually("a push came in", lambda: gateway.get("/v1/apns/pushes").json["pushes"])
    yield gateway
    world.close()


def test_the_board_leads_to_what_was_sent(page, pushes):
    page.goto(pushes.url)
    page.wait_for_selector('body[data-live="true"]')
    page.get_by_role("navigation").get_by_role("link", name="Pushes").click()
    page.get_by_role("heading", name="Pushes sent").wait_for()
    alice = page.get_by_test_id("push").filter(has_text="to alice-phone").first
    for text in ["200", "update"]:
        expect(alice).to_contain_text(text)
    bob = page.get_by_test_id("push").filter(has_text="to bob-phone").first
    for text in ["400 BadDeviceToken", "Its registration is removed"]:
        expect(bob).to_contain_text(text)
    alice.get_by_role("link", name="all of this activity").click()
    page.wait_for_url("**/sent?key=coffee-order%2Falice")
    expect(page.get_by_test_id("push").filter(has_text="to bob-phone")).to_have_count(0)
    page.get_by_role("navigation").get_by_role("link", name="Pushes received").click()
    page.get_by_role("heading", name="Pushes received").wait_for()
    page.get_by_role("navigation").get_by_role("link", name="Pushes sent").click()
    page.get_by_test_id("push").get_by_role("link", name="coffee-order/alice", exact=True).first.click()
    page.wait_for_selector('body[data-live="true"]')
    expect(page).to_have_url(f"{pushes.url}/coffee-order/alice")


@pytest.mark.parametrize("width", [360, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["sent", "pushes", ""])
def test_everybody_can_read_them(page, pushes, path, scheme, width):
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.goto(f"{pushes.url}/{path}")
    page.wait_for_selector("[data-testid=push]" if path else 'body[data-live="true"]')
    page.wait_for_function("width => document.documentElement.scrollWidth <= width", arg=width)
    found = Axe().run(page).response["violations"] if path else []
    assert [(one["id"], one["nodes"][0]["html"][:200]) for one in found if one["impact"] in ("serious", "critical")] == []


def test_a_board_without_pushes_leads_nowhere(page, gateway):
    page.goto(gateway.url)
    page.wait_for_selector('body[data-live="true"]')
    expect(page.get_by_role("navigation").get_by_role("link", name="Pushes")).to_have_count(0)
