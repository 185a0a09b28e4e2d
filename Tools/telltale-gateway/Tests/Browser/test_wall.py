"""The wall says what the rows say, at once, whatever becomes of the gateway."""

import json
import signal

import pytest
from playwright.sync_api import expect

from lives import LIVES, live, post
from previews import SAID, check_wall, listen, open_wall, pairs_of_frames, row, texts, wait_for_state, wait_for_told, wait_for_value
from support import Line, eventually, free_port


def test_each_preview_says_what_its_row_says(page, gateway, kind):
    key = f"{kind}/whole-life"
    open_wall(page, gateway, key)
    for type, data in LIVES[kind]:
        state = post(gateway, key, type, data)["state"]
        wait_for_state(page, state)
        check_wall(page, gateway, key)
    expect(page.locator(".view[data-testid]").first).to_have_attribute("data-state", state)


def test_the_compact_island_leaves_the_camera_the_time_and_the_signs_free(page, gateway, kind):
    key = f"{kind}/island"
    open_wall(page, gateway, key)
    for type, data in LIVES[kind]:
        wait_for_state(page, post(gateway, key, type, data)["state"])
        covered = """() => {
            const phone = document.querySelector('[data-place="island-compact"]');
            const pill = phone?.querySelector('.pill[data-form="compact"]');
            if (!pill) return [];
            const box = node => node.getBoundingClientRect();
            const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1;
            const camera = box(pill.querySelector(".camera"));
            const found = [...pill.querySelectorAll(".region > *")].filter(one => meet(box(one), camera)).map(one => one.textContent);
            for (const name of [".time", ".signs"]) if (meet(box(phone.querySelector(name)), box(pill))) found.push(name);
            const middle = box(phone.querySelector(".screen"));
            if (Math.abs((camera.left + camera.right) - (middle.left + middle.right)) > 2) found.push("the camera is not in the middle");
            return found;
        }"""
        wait_for_value(page, covered, [])


@pytest.mark.parametrize("traits", [["locked:yes"], ["light:low"], ["standby:tapped"], ["dashboard:hidden"]])
def test_a_situation_is_the_daemons(page, gateway, traits):
    key = "bistro-order/situation"
    live(gateway, key, 5)
    open_wall(page, gateway, key)
    chip = {"locked:yes": "Locked", "light:low": "Night", "standby:tapped": "StandBy tapped", "dashboard:hidden": "Car on another screen"}
    page.get_by_role("button", name=chip[traits[0]]).click()
    expected = {
        "locked:yes": '[data-testid="wall-lockscreen"] [data-key="leave-at-door/situation"][data-dead]',
        "light:low": ".scene[data-night]", "standby:tapped": ".filled [data-testid='wall-standby']",
        "dashboard:hidden": ".car .nothing"}
    page.wait_for_selector(expected[traits[0]])


def test_a_dark_room_is_dark_by_the_row_alone(page, gateway):
    key = "bistro-order/dark"
    live(gateway, key, 5)
    open_wall(page, gateway, key)
    page.route("**/v1/stream**", lambda route: route.abort())
    page.get_by_role("button", name="Night").click()
    page.wait_for_selector('[data-testid=link][data-state="reconnecting"]')
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    expect(page.locator(".scene[data-night]")).to_have_count(0)
    page.unroute_all()
    page.wait_for_selector(".scene[data-night]")


def test_a_bar_is_as_long_as_its_value(page, gateway):
    key = "parcel/bar"
    live(gateway, key, 1)
    open_wall(page, gateway, key)
    for type, part in [("approved", 0.3), ("handed_to_carrier", 0.7), ("delivered", 1)]:
        wait_for_state(page, post(gateway, key, type, {})["state"])
        page.wait_for_function(
            """part => {
                const bar = document.querySelector('[data-testid="wall-watch"] .bar');
                const filled = parseFloat(getComputedStyle(bar.querySelector(".part"), "::before").width);
                return Math.abs(filled / bar.querySelector(".part").clientWidth - part) < 0.02;
            }""", arg=part)


def test_an_alert_is_told_for_a_moment(page, gateway):
    key = "coffee-order/alert"
    live(gateway, key, 3)
    open_wall(page, gateway, key)
    listen(page)
    post(gateway, key, "ready", {"content-state": {"shelf": "B"}})
    wait_for_told(page, "Flat white is ready", "Shelf B", '[data-testid="wall-standby-banner"]', ".car.is-alerting")
    page.wait_for_selector(".watch-alert", state="detached")
    page.wait_for_selector('[data-testid="wall-standby-banner"]', state="detached")


def test_the_panel_is_the_one_that_opens(page, gateway):
    key = "coffee-order/panel"
    live(gateway, key, 3)
    open_wall(page, gateway, key)
    opened = gateway.get(f"/v1/entities/{key}/open?surface=desktop").json
    expect(page.locator('[data-testid="wall-panel"] .title')).to_have_text(opened["view"]["title"])


def test_the_newest_panel_wins(page, gateway):
    """One request is under way, and one more follows the last row, however many rows came meanwhile."""
    key = "parcel/panels"
    live(gateway, key, 1)
    held = []
    page.route("**/open?**", lambda route: held.append(route))
    open_wall(page, gateway, key)
    page.wait_for_selector('[data-testid="wall-menubar"]')
    old = gateway.get(f"/v1/entities/{key}/open?surface=desktop").json
    for index in range(4):
        rev = post(gateway, key, "update", {"content-state": {"index": index}})["rev"]
        page.wait_for_function("rev => Number(document.querySelector('[data-testid=wall-menubar]').dataset.rev) >= rev", arg=rev)
    assert len(held) == 1
    state = post(gateway, key, "approved", {})["state"]
    wait_for_state(page, state)
    with page.expect_request("**/open?**"):
        held.pop().fulfill(json=old)
    page.wait_for_function("() => document.querySelector('[data-testid=wall-panel]')")
    eventually("the panel is asked for once more", lambda: held, pause=lambda _: page.wait_for_timeout(10))
    held.pop().continue_()
    new = gateway.get(f"/v1/entities/{key}/open?surface=desktop").json
    assert texts(new["view"]) != texts(old["view"])
    page.wait_for_function(
        f"texts => JSON.stringify(({SAID})(document.querySelector('[data-testid=wall-panel]'))) === texts",
        arg=json.dumps(texts(new["view"]), ensure_ascii=False, separators=(",", ":")))
    assert held == []


def test_the_timeline_goes_on(page, gateway):
    key = "coffee-order/timeline"
    live(gateway, key, 2)
    open_wall(page, gateway, key)
    page.wait_for_function("() => document.querySelectorAll('[data-testid=timeline-row]').length === 2")
    post(gateway, key, "brew", {})
    page.wait_for_function("() => document.querySelectorAll('[data-testid=timeline-row]').length === 3")
    newest = page.locator("[data-testid=timeline-row]").first
    expect(newest).to_have_attribute("data-verdict", "applied")
    for text in ["brew", "gateway"]:
        expect(newest).to_contain_text(text)


@pytest.mark.nightly
def test_a_post_is_seen_within_200_ms(page, gateway):
    """From the answer to a post until the preview has changed: the 95th percentile of 50."""
    key = "parcel/latency"
    live(gateway, key, 1)
    open_wall(page, gateway, key)
    page.wait_for_selector('[data-testid="wall-watch"]')
    taken = page.evaluate(
        """async key => {
            const preview = () => document.querySelector('[data-testid="wall-watch"]');
            const taken = [];
            for (let index = 0; index < 50; index++) {
                const answer = await fetch(`/v1/entities/${key}/events/update`, { method: "POST", body: JSON.stringify({ "content-state": { index } }) });
                const { rev } = await answer.json();
                const start = performance.now();
                while (!(Number(preview()?.dataset.rev) >= rev)) await new Promise(requestAnimationFrame);
                taken.push(performance.now() - start);
            }
            return taken.sort((one, other) => one - other);
        }""", key)
    frames = pairs_of_frames(page)
    print(f"post to changed preview: p50 {taken[24]:.0f} ms, p95 {taken[47]:.0f} ms; two frames p95 {frames:.0f} ms")
    # Two frames take 33 ms on a machine that keeps up.
    assert taken[47] < max(200, 6 * frames)


def test_a_gateway_that_comes_back_brings_the_newest_state(page, world):
    daemon = world.daemon()
    port = free_port()
    gateway = world.gateway(listen=f"http://127.0.0.1:{port}")
    key = "coffee-order/restart"
    live(gateway, key, 3)
    open_wall(page, gateway, key)
    wait_for_state(page, "brewing")
    page.evaluate("window.isTheSamePage = true")
    gateway.process.send_signal(signal.SIGKILL)
    gateway.process.wait()
    page.wait_for_selector('[data-testid=link][data-state="reconnecting"]')
    line = Line(daemon.port)
    assert line.ask(f"EVT {key} type=ready").startswith("OK")
    line.close()
    gateway = world.gateway(listen=f"http://127.0.0.1:{port}")
    wait_for_state(page, "ready")
    page.wait_for_selector('body[data-live="true"]')
    wait_for_value(page, "window.isTheSamePage", True)
    check_wall(page, gateway, key)
    assert row(gateway, key, "full")["row"]["state"] == "ready"


def test_events_of_the_state_have_buttons(page, gateway):
    key = "coffee-order/buttons"
    open_wall(page, gateway, key)
    page.get_by_role("button", name="confirm", exact=True).click()
    wait_for_state(page, "queued")
    for name, count in [("brew", 1), ("ready", 0)]:
        expect(page.get_by_test_id("event").get_by_text(name, exact=True)).to_have_count(count)


def test_any_event_can_be_posted(page, gateway):
    key = "coffee-order/by-hand"
    open_wall(page, gateway, key)
    page.get_by_text("Any other event").click()
    page.get_by_label("Type").fill("CONFIRMED")
    page.get_by_label("Data (JSON)").fill('{"attributes":{"item":"Cortado"}}')
    page.get_by_role("button", name="Post", exact=True).click()
    wait_for_state(page, "queued")
    page.get_by_label("Type").fill("nothing")
    page.get_by_label("Data (JSON)").fill("no JSON")
    page.get_by_role("button", name="Post", exact=True).click()
    expect(page.locator(".said").last).to_contain_text("body")


DRAWING = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 40" onload="window.broken=1">
<script>window.broken = 1</script><a href="javascript:window.broken=1"><text>x</text></a>
<g data-testid="diagram-state" data-state="queued"><rect width="40" height="20"/></g>
<g data-testid="diagram-state" data-state="brewing"><rect x="50" width="40" height="20"/></g>
<g class="edge" data-event="brew" data-from="queued" data-to="brewing"><path d="M40 10h10"/></g></svg>"""


def test_a_drawing_of_the_states_is_lit_and_harmless(page, gateway):
    key = "coffee-order/lit"
    live(gateway, key, 2)
    page.route("**/diagram", lambda route: route.fulfill(content_type="image/svg+xml", body=DRAWING))
    open_wall(page, gateway, key)
    page.wait_for_selector('[data-testid="diagram-state"][data-state="queued"][data-active="true"]')
    listen(page)
    post(gateway, key, "brew", {})
    page.wait_for_selector('[data-testid="diagram-state"][data-state="brewing"][data-active="true"]')
    wait_for_told(page, "flash brew")
    former = page.locator('[data-testid="diagram-state"][data-state="queued"]')
    expect(former).to_have_attribute("data-active", "false")
    expect(page.locator(".diagram script, .diagram a, .diagram [onload]")).to_have_count(0)
    wait_for_value(page, "window.broken", None)


def test_without_a_drawing_there_is_no_room_for_one(page, gateway):
    key = "coffee-order/unlit"
    live(gateway, key, 2)
    page.route("**/diagram", lambda route: route.fulfill(status=404, body="{}"))
    asked = []
    page.on("requestfinished", lambda request: asked.append(request.url.endswith("/diagram")))
    with page.expect_event("requestfinished", lambda request: request.url.endswith("/diagram")):
        open_wall(page, gateway, key)
    # A row later the page has long dealt with the answer, and has not asked again.
    wait_for_state(page, post(gateway, key, "brew", {})["state"])
    expect(page.locator("#diagram-title")).to_have_count(1)
    expect(page.locator("#diagram-title")).to_be_hidden()
    assert sum(asked) == 1
