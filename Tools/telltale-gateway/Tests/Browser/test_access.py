"""For everybody: screen readers, keyboards, large type, small screens, less motion."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from lives import live
from previews import open_wall, wait_for_state, wait_for_value
from support import Provider

PAGES = [
    "", "coffee-order/a11y", "bistro-order/a11y", "porch-light/front", "kinds", "kinds/coffee-order", "kinds/bistro-order", "playground",
    "playground#example=porch-light", "login"]


@pytest.fixture
def world_of_pages(gateway, daemon):
    live(gateway, "coffee-order/a11y", 4)
    live(gateway, "bistro-order/a11y", 5)
    provider = Provider(daemon.port, "porch-light", "porch-light/front value=off")
    yield
    provider.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing_serious(page, gateway, world_of_pages, path, scheme):
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.goto(f"{gateway.url}/{path}")
    page.wait_for_selector("[data-testid=sign-in]" if path == "login" else 'body[data-live="true"]')
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    found = Axe().run(page).response["violations"]
    serious = [
        (one["id"], one["impact"], [node["html"][:160] + " | " + node["failureSummary"][:200] for node in one["nodes"][:3]])
        for one in found if one["impact"] in ("serious", "critical")]
    assert serious == []


@pytest.mark.parametrize("width", [360, 720])
@pytest.mark.parametrize("path", PAGES[:-1])
def test_a_phone_and_large_type_need_no_sideways_scrolling(page, gateway, world_of_pages, path, width):
    """A window of 1440 at 200 % is laid out as one of 720."""
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"{gateway.url}/{path}")
    page.wait_for_selector('body[data-live="true"]')
    page.wait_for_function("width => document.documentElement.scrollWidth <= width", arg=width)
    clipped = """() => [...document.querySelectorAll("figure.stage, .card, .tile-of-control, .panel-of-page, header.top")]
        .concat([...document.querySelectorAll(".card .view")])
        .filter(one => one.getBoundingClientRect().right > innerWidth + 1 || one.getBoundingClientRect().left < -1)
        .map(one => one.className)"""
    wait_for_value(page, clipped, [])


def test_a_keyboard_reaches_and_does_everything(page, gateway):
    key = "coffee-order/keys"
    live(gateway, key, 2)
    open_wall(page, gateway, key)
    page.keyboard.press("Tab")
    wait_for_value(page, "document.activeElement.className", "skip")
    page.keyboard.press("Enter")
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Any other event":
            break
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type("brew")
    page.keyboard.press("Enter")
    wait_for_state(page, "brewing")


def test_less_motion_is_none(page, gateway):
    page.emulate_media(reduced_motion="reduce")
    key = "coffee-order/calm"
    live(gateway, key, 3)
    open_wall(page, gateway, key)
    live(gateway, key)
    page.wait_for_function("() => document.body.dataset.state === 'collected'")
    page.wait_for_function("() => document.getAnimations().every(one => one.effect.getComputedTiming().activeDuration < 50)")


def test_what_a_reader_hears(page, gateway):
    key = "coffee-order/heard"
    live(gateway, key, 3)
    open_wall(page, gateway, key)
    expect(page.get_by_role("region", name="Every screen")).to_have_count(1)
    page.wait_for_selector("[data-testid=wall-panel]")
    expect(page.get_by_role("group", name="Coffee order: lockScreen")).to_have_count(2)
    # Scenery is silent.
    expect(page.locator(".scene .mac").get_by_text("Finder")).to_have_count(1)
    expect(page.locator(".scene .mac")).not_to_match_aria_snapshot("- text: /Finder/")
