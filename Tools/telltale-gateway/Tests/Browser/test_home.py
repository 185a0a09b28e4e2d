"""All activities and controls on one page."""

import itertools
import pathlib

import pytest
from playwright.sync_api import expect

from lives import live, post
from previews import SAID, row, texts, wait_for_value, wait_until_drawn
from support import Line, Provider, attributes


def open_home(page, gateway, query=""):
    page.goto(f"{gateway.url}/{query}")
    wait_until_drawn(page)


def card(page, key):
    return page.locator(f'[data-testid=card][data-key="{key}"]')


def test_cards_and_filters(page, gateway):
    live(gateway, "coffee-order/1", 3)
    live(gateway, "flight/UA1", 3)
    live(gateway, "parcel/over")
    open_home(page, gateway)
    card(page, "coffee-order/1").wait_for()
    wait_for_value(card(page, "coffee-order/1").locator(".view"), SAID, texts(row(gateway, "coffee-order/1", "phone")["row"]["lockScreen"]["view"]))
    page.get_by_label("Kind").select_option("flight")
    expect(card(page, "flight/UA1")).to_be_visible()
    expect(card(page, "coffee-order/1")).not_to_be_visible()
    page.get_by_label("Kind").select_option("")
    page.get_by_label("Life-cycle").select_option("ended")
    expect(card(page, "parcel/over")).to_be_visible()
    expect(card(page, "flight/UA1")).not_to_be_visible()
    page.get_by_label("Life-cycle").select_option("")
    page.get_by_label("Find").fill("blue bottle")
    expect(card(page, "coffee-order/1")).to_be_visible()
    expect(card(page, "parcel/over")).not_to_be_visible()
    page.get_by_label("Find").fill("")
    page.get_by_label("See as").select_option("watch")
    page.wait_for_selector('[data-testid=card][data-key="coffee-order/1"] .view.small')
    page.get_by_label("See as").select_option("standby")
    page.wait_for_selector('[data-testid=card][data-key="coffee-order/1"] .lying .clock-face')
    display, circle = (card(page, "coffee-order/1").locator(one).bounding_box() for one in (".lying .screen", ".lying .view.minimal"))
    assert circle["x"] > display["x"] and circle["x"] + circle["width"] < display["x"] + display["width"]
    page.get_by_label("See as").select_option("watch")
    post(gateway, "coffee-order/1", "ready", {})
    page.wait_for_selector('[data-testid=card][data-key="coffee-order/1"][data-state="ready"]')
    post(gateway, "coffee-order/new", "start", {})
    card(page, "coffee-order/new").wait_for()


def test_a_card_that_comes_to_match_is_shown(page, gateway):
    key = "coffee-order/matching"
    live(gateway, key, 3)
    open_home(page, gateway)
    card(page, key).wait_for()
    page.get_by_label("Life-cycle").select_option("ended")
    card(page, key).wait_for(state="hidden")
    post(gateway, key, "ready", {})
    post(gateway, key, "collect", {})
    card(page, key).wait_for()
    page.wait_for_function("key => document.querySelector(`[data-key='${key}'] .badge`).textContent === 'collected'", arg=key)


def test_a_card_out_of_sight_costs_nothing_while_it_is_as_it_was(page, gateway, daemon):
    line = Line(daemon.port)
    for index in range(60):
        assert line.ask(f"EVT parcel/far-{index} type=purchased").startswith("OK")
    open_home(page, gateway)
    page.wait_for_function("() => document.querySelectorAll('.card[data-key^=\"parcel/far-\"]').length === 60")
    near, far = page.evaluate("() => { const all = document.querySelectorAll('.card[data-key^=\"parcel/far-\"]'); return [all[0].dataset.key, all[59].dataset.key]; }")

    counts = itertools.count()

    def change(key):
        rev = attributes(line.ask(f'EVT {key} type=update {{"content-state":{{"count":{next(counts)}}}}}'))[0]["rev"]
        page.wait_for_function("([key, rev]) => document.querySelector(`[data-testid=card][data-key='${key}']`).dataset.rev === rev", arg=[key, rev])

    change(far)
    page.evaluate("""key => {
        window.written = 0;
        new MutationObserver(found => { window.written += found.length; })
            .observe(document.querySelector(`[data-testid=card][data-key='${key}']`), { attributes: true, childList: true, subtree: true });
    }""", far)
    for _ in range(3):
        change(near)
    # An hour passes in one tick: a text in sight counts on, and one out of sight waits until it comes into it.
    page.evaluate("async () => { const { clock, tick } = await import(document.querySelector('script[type=module]').src.replace('main.js', 'clock.js')); clock.hold(clock.now() + 3660e3); tick(); }")
    said = "key => document.querySelector(`[data-testid=card][data-key='${key}'] [data-ago]`).textContent"
    wait_for_value(page, said, "1 h ago", near)
    wait_for_value(page, "window.written", 0)
    card(page, far).scroll_into_view_if_needed()
    page.wait_for_function(f"key => ({said})(key) === '1 h ago'", arg=far)
    # So it is where nothing has changed but the time.
    away = "key => document.querySelector(`[data-testid=card][data-key='${key}']`).classList.contains('away')"
    page.evaluate("() => scrollTo(0, 0)")
    page.wait_for_function(away, arg=far)
    page.evaluate("async () => { const { clock } = await import(document.querySelector('script[type=module]').src.replace('main.js', 'clock.js')); clock.hold(clock.now() + 3600e3); }")
    card(page, far).scroll_into_view_if_needed()
    page.wait_for_function(f"key => ({said})(key) === '2 h ago'", arg=far)
    page.evaluate("() => scrollTo(0, 0)")
    page.wait_for_function(away, arg=far)
    page.evaluate("() => { window.written = 0; }")
    change(far)
    page.wait_for_function("() => window.written > 0")
    line.close()


@pytest.mark.parametrize("query", ["?as=constructor", "?as=__proto__", "?device=constructor"])
def test_an_address_may_say_anything(page, gateway, query):
    open_home(page, gateway, query)
    expect(page.get_by_label("See as")).to_have_value("lockScreen")


def tile(key):
    return f'[data-testid=control][data-key="{key}"]'


def answer(provider, verb, rest=""):
    """Answers the operation that the provider is asked for."""
    found, _ = attributes(provider.line.wait_for("DO"))
    provider.line.send(f"{verb} op={found['op']} {rest}".rstrip())


def test_a_tap_is_confirmed_or_reverted(page, gateway, daemon):
    key = "porch-light/front"
    provider = Provider(daemon.port, "porch-light", f"{key} value=off")
    open_home(page, gateway)
    page.wait_for_selector(f'{tile(key)}[aria-pressed="false"]')
    page.locator(tile(key)).click()
    page.wait_for_selector(f"{tile(key)}[data-busy]")
    answer(provider, "DONE", "value=on")
    page.wait_for_selector(f'{tile(key)}[data-on][aria-pressed="true"]:not([data-busy])')
    page.locator(tile(key)).click()
    page.wait_for_selector(f"{tile(key)}[data-busy]")
    answer(provider, "FAIL")
    page.wait_for_selector(f"{tile(key)}[data-on]:not([data-busy])")
    expect(page.locator(".said").last).to_contain_text("Porch light")
    provider.close()
    page.wait_for_selector(f"{tile(key)}[data-dead]")


def test_a_stale_tap_is_refused_and_said(page, gateway, daemon):
    key = "porch-light/front"
    provider = Provider(daemon.port, "porch-light", f"{key} value=off")
    open_home(page, gateway)
    page.wait_for_selector(f'{tile(key)}[aria-pressed="false"]')
    # The row that the person saw: the page is not told of the change that comes between.
    seen = page.locator(tile(key)).get_attribute("data-rev")
    assert provider.line.ask(f"REPORT {key} value=on").startswith("OK")
    page.wait_for_selector(f"{tile(key)}[data-on]")
    page.locator(tile(key)).evaluate("(element, rev) => { element.dataset.rev = rev; }", seen)
    page.locator(tile(key)).click()
    expect(page.locator(".said").last).to_contain_text("changed")
    provider.close()


def test_a_button_of_an_activity_acts_from_a_card(page, gateway):
    live(gateway, "coffee-order/tip", 3)
    open_home(page, gateway)
    button = card(page, "coffee-order/tip").locator('[data-key="coffee-tip/tip"]')
    button.click()
    page.wait_for_function(
        "async () => (await (await fetch('/v1/entities/coffee-order/tip')).json()).row.content?.tipped === true")


def test_a_toggle_inside_an_activity_acts_on_what_it_looked_like(page, gateway, daemon):
    key = "leave-at-door/inside"
    provider = Provider(daemon.port, "leave-at-door", f"{key} value=off")
    live(gateway, "bistro-order/inside", 5)
    open_home(page, gateway)
    button = card(page, "bistro-order/inside").locator(f'[data-key="{key}"]:not([data-dead])')
    button.wait_for()
    rev = gateway.get(f"/v1/entities/{key}").json["rev"]
    with page.expect_request(lambda request: request.method == "PUT") as asked:
        button.click()
    assert asked.value.headers["if-match"] == f'"{rev}"'
    answer(provider, "DONE", "value=on")
    page.wait_for_selector(f'[data-key="{key}"][data-on]:not([data-busy])')
    # The row that the person saw: the page is not told of the change that comes between.
    button.evaluate("element => { delete element.dataset.on; }")
    button.click()
    page.locator(".said").get_by_text("it had changed").wait_for()
    provider.close()


def test_a_control_has_a_page_with_every_placement(page, gateway, daemon):
    provider = Provider(daemon.port, "porch-light", "porch-light/front value=off")
    page.goto(f"{gateway.url}/porch-light/front")
    page.wait_for_selector('[data-placement="controlCenterLarge"] [data-testid=control]')
    expect(page.locator("[data-testid=control]")).to_have_count(8)
    provider.close()


def test_one_persons_device(page, world):
    world.daemon()
    gateway = world.gateway()
    gateway.post("/v1/entities/coffee-order/alice/events/start?for=alice", {"attributes": {"item": "Flat white"}})
    gateway.post("/v1/entities/flight/bob/events/scheduled_departure?for=bob", {})
    open_home(page, gateway)
    page.get_by_text("One person's device").click()
    page.get_by_label("Account").fill("alice")
    page.get_by_label("Device", exact=True).select_option("phone")
    page.wait_for_selector('[data-testid=device] .pill[data-form="compact"]')
    for key, count in [("coffee-order/alice", 1), ("flight/bob", 0)]:
        expect(page.locator(f'[data-testid=device] .view.lockScreen[data-key="{key}"]')).to_have_count(count)
    page.get_by_label("locked").select_option("yes")
    page.wait_for_selector('[data-testid=device] .pill[data-form="compact"]', state="detached")
    page.get_by_label("Account").fill("alice and bob")
    page.get_by_label("Account").press("Tab")
    page.locator("[data-testid=device]").get_by_role("alert").get_by_text("account cannot be").wait_for()
    page.get_by_label("Account").fill("bob")
    page.get_by_label("Account").press("Tab")
    page.wait_for_selector('[data-testid=device] [data-key="flight/bob"]')


def test_kinds(page, gateway):
    live(gateway, "coffee-order/k", 3)
    page.goto(f"{gateway.url}/kinds")
    page.get_by_role("link", name="Coffee order").click()
    page.wait_for_selector("h1")
    page.wait_for_function("() => [...document.querySelectorAll('.facts dt')].some(one => one.textContent === 'brewing')")


def test_a_saved_kind_and_its_faults_are_told(page, world):
    """By a daemon that follows its folder (`telltaled --dev`)."""
    world.daemon("--dev")
    gateway = world.gateway()
    file = pathlib.Path(world.folder) / "kinds/parcel.json"
    text = file.read_text()
    open_home(page, gateway)
    file.write_text(text.replace('"Parcel"', '"Package"'))
    page.locator(".said", has_text="Kinds reloaded: parcel version 2").wait_for()
    file.write_text(text[:-9])
    fault = page.get_by_test_id("kinds-fault")
    fault.wait_for()
    expect(fault).to_contain_text("the old ones stay in force")
    expect(fault).to_contain_text("parcel.json:")
    file.write_text(text)
    fault.wait_for(state="hidden")
    page.locator(".said", has_text="Kinds reloaded: parcel version 1").wait_for()
