"""The state diagram that the gateway draws: on the wall, and on the page of a kind."""

import re

from playwright.sync_api import expect

from lives import LIVES, live, post
from previews import listen, open_wall, wait_for_state, wait_for_told, wait_for_value

ACTIVE = "() => [...document.querySelectorAll('[data-testid=diagram-state][data-active=true]')].map(one => one.dataset.state).sort()"


def test_active_states_are_lit_through_a_whole_life(page, gateway, kind):
    key = f"{kind}/drawn"
    open_wall(page, gateway, key)
    page.wait_for_selector("[data-testid=diagram-state]", state="attached")
    for type, data in LIVES[kind]:
        wait_for_state(page, post(gateway, key, type, data)["state"])
        lit = sorted(gateway.get(f"/v1/entities/{key}").json["row"]["configuration"])
        page.wait_for_function(f"lit => JSON.stringify(({ACTIVE})()) === JSON.stringify(lit)", arg=lit)


def test_the_edge_of_the_last_event_is_flashed(page, gateway):
    key = "bistro-order/flash"
    live(gateway, key, 2)
    open_wall(page, gateway, key)
    page.wait_for_selector("[data-testid=diagram-state]", state="attached")
    listen(page)
    post(gateway, key, "main_ready", {})
    wait_for_told(page, "flash main_ready")
    wait_for_value(page, "new Set(window.told).size", 1)


def test_an_event_under_another_name_flashes_the_edge_that_it_took(page, gateway):
    key = "coffee-order/renamed"
    live(gateway, key, 1)
    open_wall(page, gateway, key)
    page.wait_for_selector("[data-testid=diagram-state]", state="attached")
    listen(page)
    post(gateway, key, "CONFIRMED", {})
    wait_for_told(page, "flash confirm")


def test_a_timer_counts_down_at_its_state(page, gateway):
    key = "coffee-order/timer"
    live(gateway, key, 1)
    timers = gateway.get(f"/v1/entities/{key}").json["row"]["timers"]
    assert [(one["state"], one["after"]) for one in timers] == [("placed", 300_000)]
    open_wall(page, gateway, key)
    badge = page.locator(".state-badge.timer text")
    badge.wait_for()
    expect(badge).to_have_attribute("data-timer", str(timers[0]["at"]))
    expect(badge).to_have_text(re.compile(r"^[45]:\d\d$"))
    first = badge.text_content()
    page.wait_for_function("first => document.querySelector('.state-badge.timer text').textContent !== first", arg=first)
    expect(page.locator(".edge.armed[data-from=placed][data-after='300000']")).to_have_count(1)
    post(gateway, key, "confirm", {})
    badge.wait_for(state="detached")
    expect(page.locator(".edge.armed")).to_have_count(0)


def test_nothing_is_refused_on_the_way(page, gateway):
    """No request of a wall fails, and the policy of the page refuses nothing of the drawing."""
    complaints = []
    page.on("console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None)
    page.on("response", lambda answer: complaints.append(answer.url) if answer.status >= 400 else None)
    live(gateway, "coffee-order/quiet", 2)
    open_wall(page, gateway, "coffee-order/quiet")
    page.wait_for_selector("[data-testid=diagram-state]", state="attached")
    page.goto(f"{gateway.url}/porch-light/front")
    page.wait_for_selector('body[data-live="true"]')
    page.wait_for_selector(".placements")
    assert complaints == []


def test_the_page_of_a_kind(page, gateway):
    states = [live(gateway, f"parcel/kind-{index}", 1 + index // 2)["state"] for index in range(3)]
    page.goto(f"{gateway.url}/kinds/parcel")
    for state, count in [(states[0], 2), (states[2], 1)]:
        page.wait_for_selector(f'[data-testid=diagram-state][data-state="{state}"][data-active="true"][data-count="{count}"]')
    wait_for_value(page, "[...new Set([...document.querySelectorAll('.state-badge.count text')].map(one => one.textContent))].sort()", ["1", "2"])
    expect(page.locator(".rules tr", has_text="approved").first).to_contain_text("→")
    page.get_by_role("link", name="kind-2").click()
    wait_for_state(page, states[2])


def test_a_kind_opens_in_the_playground(page, gateway):
    page.goto(f"{gateway.url}/kinds/parcel")
    page.get_by_role("link", name="Open in the playground").click()
    page.wait_for_selector('body[data-live="true"]')
    expect(page.locator("#kind-file")).to_have_value(re.compile('"kind": "parcel"'))
