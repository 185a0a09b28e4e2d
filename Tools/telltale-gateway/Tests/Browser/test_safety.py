"""Texts of events are texts, other pages cannot use this one, and a token lets a person in."""

import hashlib
import json
import os

from playwright.sync_api import expect

from lives import live, post
from previews import check_wall, open_wall, row, wait_for_value
from support import validate

HOSTILE = [
    "<img src=x onerror=window.broken=1><script>window.broken=1</script>", "\"'`&lt;&quot;${7*7}{{7*7}}", "‮abc‭⁦def⁩",
    "👩‍👩‍👧‍👦🏳️‍🌈 ☕️ 🇩🇪", "x" * 10_000, "語" * 40, "   ", "javascript:alert(1)", "line one\nline two\ttab",
]


def test_texts_never_become_markup(page, gateway):
    for index, text in enumerate(HOSTILE):
        key = f"coffee-order/hostile-{index}"
        # The daemon holds 4 KiB of an activity.
        text = text[:1_500]
        post(gateway, key, "start", {"attributes": {"shop": text, "item": text}})
        post(gateway, key, "confirm", {"content-state": {"shelf": text[:500]}})
        open_wall(page, gateway, key)
        check_wall(page, gateway, key)
        wait_for_value(page, "window.broken", None)
        expect(page.locator("main img, main script, main iframe")).to_have_count(0)
        page.wait_for_function("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    page.goto(gateway.url)
    page.wait_for_selector('[data-testid=card][data-key="coffee-order/hostile-0"]')
    wait_for_value(page, "window.broken", None)


def test_ten_thousand_characters_from_a_row(page, gateway):
    """The daemon cuts texts; a page of another daemon's rows would hold all the same."""
    live(gateway, "coffee-order/long", 3)

    def lengthen(route):
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace('"brewing"', json.dumps("<b>" + "y" * 10_000)))

    page.route("**/history", lengthen)
    open_wall(page, gateway, "coffee-order/long")
    page.wait_for_selector("[data-testid=timeline-row]")
    expect(page.locator("main b script, .timeline b b")).to_have_count(0)
    page.wait_for_function("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_a_link_of_another_scheme_is_dead(page, gateway):
    """Of a daemon that sends one: a row whose second link is a script."""
    key = "bistro-order/link"
    live(gateway, key, 5)
    post(gateway, key, "update", {"content-state": {"phone": "1\" onclick=\"window.broken=1"}})
    phone = row(gateway, key, "phone")
    buttons = phone["row"]["lockScreen"]["view"]["buttons"]
    assert [button["link"] for button in buttons if "link" in button] == ["tel:1\"%20onclick=\"window.broken=1"]
    for scheme in ["javascript", " JavaScript", "data", "vbscript"]:
        buttons.append({"interactive": True, "link": f"{scheme}:window.broken=1", "title": scheme})
    events = [("hello", {"now": 0}), ("row", {"sub": 2} | phone), *(("live", {"sub": sub}) for sub in range(1, 7))]
    page.route("**/v1/stream**", lambda route: route.fulfill(
        content_type="text/event-stream", body="".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events)))
    page.goto(f"{gateway.url}/{key}")
    page.wait_for_selector('[data-testid="wall-lockscreen"]')
    drawn = page.locator('[data-testid="wall-lockscreen"]')
    expect(drawn.locator("a")).to_have_count(1)
    expect(drawn.locator("a[onclick]")).to_have_count(0)
    expect(drawn.locator("a")).to_have_attribute("href", "tel:1\"%20onclick=\"window.broken=1")
    expect(drawn.locator(".link[data-dead]")).to_have_text(["javascript", " JavaScript", "data", "vbscript"])
    drawn.locator(".link[data-dead]").first.click()
    wait_for_value(page, "window.broken", None)


def test_the_page_loads_nothing_from_elsewhere(page, gateway):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    live(gateway, "coffee-order/own", 3)
    open_wall(page, gateway, "coffee-order/own")
    assert asked and all(url.startswith(gateway.url) for url in asked)
    answer = gateway.get("/coffee-order/own", headers={"Accept": "text/html"})
    policy = answer.headers["content-security-policy"]
    assert "default-src 'self'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy


def test_a_token_lets_in_and_out(page, world):
    secret = "tt_abcdefgh_" + "A" * 43
    principals = {"version": 1, "principals": [
        {"name": "board", "scopes": ["admin"], "account": "*",
         "tokens": [{"id": "abcdefgh", "sha256": hashlib.sha256(secret.encode()).hexdigest()}]}]}
    path = world.file("principals.json", json.dumps(principals))
    os.chmod(path, 0o600)
    world.daemon("--auth", path)
    gateway = world.gateway()
    page.goto(gateway.url)
    page.get_by_label("Token").fill("tt_abcdefgh_wrong")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_function("() => document.getElementById('token-fault').textContent.length > 0")
    page.get_by_label("Token").fill(secret)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_selector('body[data-live="true"]')
    wait_for_value(page, "document.cookie", "")
    page.wait_for_function("secret => !JSON.stringify({ ...localStorage, ...sessionStorage }).includes(secret)", arg=secret)
    answer = gateway.post("/v1/entities/coffee-order/1/events/start", {}, {"Authorization": f"Bearer {secret}"})
    validate("POST", "/v1/entities/coffee-order/1/events/start", answer)
    page.wait_for_selector('[data-testid=card][data-key="coffee-order/1"]')
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_selector("[data-testid=sign-in]")
    assert secret not in gateway.log()
