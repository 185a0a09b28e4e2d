"""Pages of a widget and of its kind: what they can tell, and no complaint."""

from playwright.sync_api import expect

from support import REPOSITORY


def test_the_page_of_a_kind_of_widget_counts_its_widgets(page, gateway):
    page.goto(f"{gateway.url}/kinds/sales")
    page.wait_for_selector("dl.facts dt:text-is('placeholder')")
    expect(page.locator("ul.links a")).to_have_text(["Central", "Hoegi"])
    expect(page.get_by_role("link", name="Open in the playground")).to_have_count(0)


def test_the_page_of_a_widget_tells_its_phase_and_shows_no_device(page, gateway):
    page.goto(f"{gateway.url}/sales/Hoegi")
    page.wait_for_selector("dl.facts dd:text-is('placeholder')")
    expect(page.locator("[data-testid=carplay], [data-testid=lock-screen]").locator("visible=true")).to_have_count(0)
    gateway.post("/v1/entities/sales/Hoegi/events/timeline", {"entries": [{"date": 1, "content-state": {"sold": "7"}}]})
    page.wait_for_selector("dl.facts dd:text-is('exhausted')")


def test_a_widget_in_the_playground_has_a_lint_and_no_play(page, gateway):
    page.goto(f"{gateway.url}/playground")
    page.wait_for_selector('body[data-live="true"]')
    page.locator("#kind-file").fill((REPOSITORY / "Protocols/Kinds/widgets/sales.json").read_text())
    page.wait_for_selector("text=A widget has no machine to be played")
    expect(page.locator("[data-testid=lint-state]")).to_have_text("No findings")
    expect(page.locator(".toast, [role=alert]").locator("visible=true")).to_have_count(0)
    page.locator("#kind-file").fill((REPOSITORY / "Protocols/Kinds/examples/porch-light.json").read_text())
    page.get_by_role("button", name="Set on", exact=True).click()
    page.wait_for_function("() => document.body.dataset.steps === '1'")
