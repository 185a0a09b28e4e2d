"""The board of a device: it is drawn as the device shows it, and two persons arrange it at once."""

import hashlib
import json
import os
import re
import time

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from previews import BROKEN_WORDS, wait_for_value, wait_until_drawn
from support import eventually

COUNT = iter(range(1000))


def put(gateway, key, **body):
    answer = gateway.post(f"/v1/entities/{key}/tile?account=alice", body)
    assert answer.status == 200, answer.text
    return answer.json


@pytest.fixture
def board(gateway):
    """A board of its own: a tile, a stack of two, another tile."""
    name = f"@board{next(COUNT)}-phone"
    put(gateway, f"{name}/one", do="add", widget="sales/Hoegi")
    put(gateway, f"{name}/left", do="stack", smart=True)
    put(gateway, f"{name}/a", do="add", widget="sales/Central", stack="left")
    put(gateway, f"{name}/b", do="add", widget="shop-hours", stack="left")
    put(gateway, f"{name}/two", do="add", widget="kitchen", configuration={"shop": "Hoegi"})
    return name


def open_board(page, gateway, board, surface="phone"):
    page.goto(f"{gateway.url}/boards/{board}?account=alice&as={surface}")
    # The gallery comes by another request than the rows, and names the tiles.
    page.wait_for_function("() => document.querySelector('#place-kind')?.options.length > 0")
    wait_until_drawn(page)


def places(page):
    return [key.split("/")[1] for key in page.locator("[data-testid=tile]").evaluate_all("tiles => tiles.map(tile => tile.dataset.key)")]


def wait_for_places(page, *ids):
    page.wait_for_function(
        "ids => JSON.stringify([...document.querySelectorAll('[data-testid=tile]')].map(tile => tile.dataset.key.split('/')[1])) === JSON.stringify(ids)", arg=list(ids))


def grip(page, board, name):
    return page.locator(f'[data-testid=tile][data-key="{board}/{name}"] .grip')


def act(page, name):
    page.locator(f"[data-testid=inspector] [data-act={name}]").click()


def full(gateway, key):
    return gateway.get(f"/v1/entities/{key}?view=full&account=alice").json["row"]


def test_a_stack_is_one_place_and_turns_at_its_date_without_a_row(page, gateway):
    name = f"@turns{next(COUNT)}-phone"
    put(gateway, f"{name}/left", do="stack", smart=True)
    put(gateway, f"{name}/a", do="add", widget="sales/Turning", stack="left")
    put(gateway, f"{name}/b", do="add", widget="shop-hours", stack="left")
    put(gateway, f"{name}/b", do="show")
    # On top for a quarter of an hour, by what a person chose; the page's clock is moved past that.
    gateway.post("/v1/entities/sales/Turning/events/timeline", {
        "entries": [{"date": int(time.time()), "content-state": {"sold": "99"}, "relevance": {"score": 5}}], "policy": "never"})
    page.clock.install()
    open_board(page, gateway, name)
    tile = page.locator("[data-testid=tile]")
    page.wait_for_function("() => document.querySelector('[data-testid=tile]')?.dataset.tile.endsWith('/b')")
    expect(tile).to_have_count(1)
    expect(tile.locator(".dots i")).to_have_count(2)
    expect(tile.locator(".grip")).to_have_attribute("aria-label", re.compile("Stack left, 2 of 2"))
    # The connection that is silent for so long is given up. The next one would tell the time of before.
    page.route("**/v1/stream**", lambda route: route.abort())
    page.clock.fast_forward(16 * 60_000)
    page.wait_for_function("() => document.querySelector('[data-testid=tile]').dataset.tile.endsWith('/a')")
    expect(tile).to_contain_text("99 cups")


def test_places_are_those_of_the_rows(page, gateway, board):
    open_board(page, gateway, board)
    wait_for_places(page, "one", "left", "two")
    for key in ("one", "two"):
        row = gateway.get(f"/v1/entities/{board}/{key}?surface=phone&account=alice").json["row"]
        texts = [text for text in row["entries"][0]["view"].values() if isinstance(text, str)]
        view = row["entries"][0]["view"]
        for text in texts:
            if text not in (view.get("symbol"), view.get("tint")):
                expect(page.locator(f'[data-key="{board}/{key}"] .widget')).to_contain_text(text)


def test_a_placeholder_has_room_and_no_text(page, gateway):
    name = f"@empty{next(COUNT)}-phone"
    put(gateway, f"{name}/w", do="add", widget="weather")
    open_board(page, gateway, name)
    page.wait_for_selector(".widget[data-placeholder] .block")
    expect(page.locator(".widget")).to_be_empty()
    expect(page.locator(".widget svg, .widget .letter")).to_have_count(0)


def test_a_widget_is_placed_and_configured_with_the_gallery(page, gateway):
    name = f"@new{next(COUNT)}-car"
    open_board(page, gateway, name, "carplay")
    page.wait_for_selector("text=Nothing stands on this board yet")
    page.locator("#place-kind").select_option("kitchen")
    page.locator("#place-shop").fill("Central")
    page.get_by_role("button", name="Place it").click()
    wait_for_places(page, "t1")
    page.wait_for_selector("[data-testid=inspector] #configure-shop")
    assert full(gateway, f"{name}/t1")["widget"] == "kitchen/Central"
    page.locator("#configure-shop").fill("Hoegi")
    page.get_by_role("button", name="Save").click()
    page.wait_for_selector("[data-testid=inspector] >> text=kitchen/Hoegi")
    assert full(gateway, f"{name}/t1")["configuration"] == {"shop": "Hoegi"}


def test_buttons_move_stack_show_pin_and_remove(page, gateway, board):
    open_board(page, gateway, board)
    grip(page, board, "two").click()
    act(page, "earlier")
    wait_for_places(page, "one", "two", "left")
    page.locator("#onto").select_option(f"{board}/left")
    act(page, "stack")
    wait_for_places(page, "one", "left")
    page.wait_for_selector("[data-testid=inspector] [data-act=show]")
    assert full(gateway, f"{board}/two")["stack"] == "left"
    act(page, "show")
    page.wait_for_function(f"() => document.querySelector('[data-key=\"{board}/left\"]').dataset.tile === '{board}/two'")
    act(page, "pin")
    page.wait_for_selector("[data-testid=inspector] [data-act=unpin]")
    act(page, "unpin")
    page.wait_for_selector("[data-testid=inspector] [data-act=pin]")
    act(page, "out")
    wait_for_places(page, "one", "left", "two")
    grip(page, board, "left").click()
    page.get_by_label("Smart: turns to what is relevant").uncheck()
    page.wait_for_function("() => !document.querySelector('.refusal').textContent")
    expect(page.locator(".members button")).to_have_count(2)
    eventually("it is not smart", lambda: full(gateway, f"{board}/left")["smart"] is False)
    act(page, "remove")
    wait_for_places(page, "one", "two")
    expect(page.locator("[data-testid=inspector]")).to_be_hidden()


def test_a_keyboard_arranges(page, gateway, board):
    open_board(page, gateway, board)
    wait_for_places(page, "one", "left", "two")
    grip(page, board, "one").focus()
    page.keyboard.press("ArrowRight")
    focused = "document.activeElement.closest('.board-tile')?.dataset.key.split('/')[1]"
    wait_for_value(page, focused, "left")
    page.keyboard.press("Alt+ArrowLeft")
    wait_for_places(page, "left", "one", "two")
    page.wait_for_function(f"() => {focused} === 'left'")
    page.keyboard.press("Alt+ArrowRight")
    wait_for_places(page, "one", "left", "two")
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"() => {focused} === 'two'")
    page.keyboard.press("Delete")
    wait_for_places(page, "one", "left")
    grip(page, board, "one").focus()
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.activeElement.id === 'inspected'")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    wait_for_value(page, "document.activeElement.dataset.act", "earlier")


def drag(page, start, end, at):
    """Drags one grip to a place of another one: across from 0 to 1."""
    a, b = start.bounding_box(), end.bounding_box()
    page.mouse.move(a["x"] + a["width"] / 2, a["y"] + a["height"] / 2)
    page.mouse.down()
    for part in (0.3, 0.7, 1):
        x, y = b["x"] + b["width"] * at, b["y"] + b["height"] / 2
        page.mouse.move(a["x"] + a["width"] / 2 + (x - a["x"] - a["width"] / 2) * part, a["y"] + a["height"] / 2 + (y - a["y"] - a["height"] / 2) * part)
    page.mouse.up()


def test_a_pointer_moves_a_tile_and_makes_a_stack(page, gateway, board):
    open_board(page, gateway, board)
    wait_for_places(page, "one", "left", "two")
    drag(page, grip(page, board, "two"), grip(page, board, "one"), 0.1)
    wait_for_places(page, "two", "one", "left")
    drag(page, grip(page, board, "two"), grip(page, board, "left"), 0.9)
    wait_for_places(page, "one", "left", "two")
    drag(page, grip(page, board, "one"), grip(page, board, "two"), 0.5)
    wait_for_places(page, "left", "s1")
    assert full(gateway, f"{board}/one")["stack"] == full(gateway, f"{board}/two")["stack"] == "s1"
    # A stack goes into no stack.
    with page.expect_request("**/tile**") as sent:
        drag(page, grip(page, board, "s1"), grip(page, board, "left"), 0.5)
    assert sent.value.post_data_json["do"] == "move"
    expect(page.get_by_test_id("tile")).to_have_count(2)


def test_two_persons_do_not_overwrite_each_other(page, gateway, board):
    open_board(page, gateway, board)
    grip(page, board, "two").click()
    page.locator("#configure-shop").fill("Central")
    put(gateway, f"{board}/two", do="configure", configuration={"shop": "Jongno"})
    page.wait_for_selector("text=It was arranged meanwhile; your values are kept")
    expect(page.locator("#configure-shop")).to_have_value("Central")
    page.get_by_role("button", name="Save").click()
    page.wait_for_selector("[data-testid=refusal]:has-text('arranged meanwhile')")
    assert full(gateway, f"{board}/two")["widget"] == "kitchen/Jongno"
    # The other person's value is shown now, and may be changed.
    page.wait_for_function("() => document.querySelector('#configure-shop').value === 'Jongno'")
    page.locator("#configure-shop").fill("Central")
    page.get_by_role("button", name="Save").click()
    page.wait_for_selector("[data-testid=inspector] >> text=kitchen/Central")
    expect(page.locator("[data-testid=inspector] [data-testid=refusal]")).to_be_empty()


def test_a_gallery_that_comes_late_leaves_what_is_typed(page, gateway, board):
    held = []
    page.route("**/v1/gallery**", lambda route: held.append(route))
    page.goto(f"{gateway.url}/boards/{board}?account=alice&as=phone")
    wait_until_drawn(page)
    grip(page, board, "two").click()
    page.locator("#configure-shop").fill("Central")
    eventually("the gallery is asked for", lambda: held, pause=lambda _: page.wait_for_timeout(10))
    held[0].continue_()
    page.wait_for_function("() => document.querySelector('#place-kind')?.options.length > 0")
    expect(page.locator("#configure-shop")).to_have_value("Central")


def test_a_tile_that_another_person_arranged_while_it_was_dragged_stays(page, gateway, board):
    open_board(page, gateway, board)
    wait_for_places(page, "one", "left", "two")
    start, end = grip(page, board, "two").bounding_box(), grip(page, board, "one").bounding_box()
    page.mouse.move(start["x"] + 40, start["y"] + 40)
    page.mouse.down()
    page.mouse.move(start["x"] + 60, start["y"] + 60)
    put(gateway, f"{board}/two", do="configure", configuration={"shop": "Jongno"})
    page.mouse.move(end["x"] + end["width"] / 2, end["y"] + end["height"] / 2)
    page.mouse.up()
    page.wait_for_selector("[data-testid=inspector] [data-testid=refusal]:has-text('arranged meanwhile')")
    # Nothing is left behind of the stack that was to be.
    stacks = [one["key"] for one in gateway.get(f"/v1/entities?pattern={board}/*&view=full&account=alice").json["entities"] if one["row"]["state"] == "stack"]
    assert stacks == [f"{board}/left"]
    wait_for_places(page, "one", "left", "two")


def test_a_refusal_stands_where_it_belongs(page, gateway, board):
    open_board(page, gateway, board)
    grip(page, board, "two").click()
    page.locator("#configure-shop").fill("")
    page.get_by_role("button", name="Save").click()
    page.wait_for_selector("[data-testid=inspector] [data-testid=refusal]:not(:empty)")
    expect(page.locator("#configure-shop")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#configure-shop")).to_be_focused()


def test_what_a_device_does_not_show_is_told_beside_it(page, gateway, board):
    put(gateway, f"{board}/wide", do="add", widget="kitchen/Hoegi", family="systemMedium")
    open_board(page, gateway, board, "carplay")
    page.wait_for_selector(".elsewhere button")
    expect(page.locator(".elsewhere button")).to_have_text(["Kitchen (wide)"])
    page.locator(".elsewhere button").click()
    page.wait_for_selector("[data-testid=inspector] >> text=not shown on this device")
    act(page, "remove")
    page.wait_for_function("() => document.querySelector('.elsewhere').hidden")


def test_no_tile_covers_another_one(page, gateway, board):
    for family in ("accessoryInline", "accessoryCircular", "accessoryRectangular"):
        for widget in ("sales/Hoegi", "kitchen/Hoegi", "shop-hours"):
            gateway.post(f"/v1/entities/{board}/{family[9:]}-{widget.split('/')[0]}/tile?account=alice", {"do": "add", "widget": widget, "family": family})
    put(gateway, f"{board}/wide", do="add", widget="kitchen/Hoegi", family="systemMedium")
    for surface in ("phone", "pad", "desktop", "carplay", "standby"):
        open_board(page, gateway, board, surface)
        page.wait_for_selector("[data-testid=tile]")
        covered = """() => {
            const boxes = [...document.querySelectorAll("[data-testid=tile]")].map(tile => [tile.dataset.key, tile.getBoundingClientRect()]);
            return boxes.flatMap(([one, a], index) => boxes.slice(0, index)
                .filter(([, b]) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom).map(([other]) => [one, other]));
        }"""
        wait_for_value(page, covered, [])
    expect(page.locator("[data-family=accessoryInline]")).to_have_count(0)


def test_a_watch_breaks_no_word(page, gateway):
    board = f"@board{next(COUNT)}-watch"
    long = "Donaudampfschifffahrtsgesellschaft"
    for widget in ("sales", "kitchen"):
        put(gateway, f"{board}/{widget}", do="add", widget=widget, family="accessoryRectangular", configuration={"shop": f"{long} am Kai"})
    open_board(page, gateway, board, "watch")
    page.wait_for_function("long => document.querySelector('.board-screen').textContent.includes(long)", arg=long)
    wait_for_value(page.locator(".board-screen"), BROKEN_WORDS, [])
    for tile in page.locator("[data-testid=tile]").all():
        inside = "tile => [...tile.querySelectorAll('.title, .subtitle, .text')].every(one => one.getBoundingClientRect().right <= tile.getBoundingClientRect().right)"
        wait_for_value(tile, inside, True)


def test_buttons_of_a_dark_tile_stand_out(page, gateway):
    board = f"@board{next(COUNT)}-standby"
    put(gateway, f"{board}/one", do="add", widget="kitchen", configuration={"shop": "Hoegi"})
    open_board(page, gateway, board, "standby")
    page.wait_for_selector("[data-testid=tile] .button")
    expect(page.locator("[data-testid=tile] .button").first).to_have_css("background-color", "rgba(255, 255, 255, 0.2)")
    screen = page.locator(".board-screen").bounding_box()
    assert screen["width"] > 1.5 * screen["height"], "a display that lies on its side"


def test_a_suggestion_has_a_place_while_it_has_a_picture(page, gateway):
    page.goto(f"{gateway.url}/boards")
    counts = page.evaluate("""async () => {
        const { placesOf } = await import('/assets/test/places.js');
        const row = (top, more) => ({ presentation: "systemSmall", widget: "a/b", order: 1, stack: "s", top, turns: [{ date: 10, key: "@b/~1" }, { date: 20, key: "@b/a" }], ...more });
        const rows = new Map([
            ["@b/a", { key: "@b/a", rev: 1, row: row(true, { position: 1, entries: [{ date: 0, view: {} }] }) }],
            ["@b/~1", { key: "@b/~1", rev: 1, row: row(false, { position: 2, suggested: true, entries: [{ date: 0, view: null }, { date: 10, view: {} }, { date: 20, view: null }] }) }]]);
        return [5, 15, 25].map(now => placesOf(rows, new Map(), now).map(place => [place.tiles.length, place.top.key]));
    }""")
    assert counts == [[[1, "@b/a"]], [[2, "@b/~1"]], [[1, "@b/a"]]]


def test_the_boards_of_an_account_are_listed(page, gateway, board):
    page.goto(f"{gateway.url}/boards?account=alice")
    cell = page.locator("[data-testid=board]", has_text=board)
    cell.wait_for()
    expect(cell).to_contain_text("4 tiles, 1 stack")
    cell.click()
    page.wait_for_selector("[data-testid=tile]")
    page.goto(f"{gateway.url}/boards?account=bob")
    page.wait_for_selector("text=No board is there yet")


def test_a_token_that_may_not_arrange_is_told_what_it_needs(page, world):
    secrets = {name: f"tt_{name}_" + "A" * 43 for name in ("readerxx", "personxx")}
    principals = {"version": 1, "principals": [
        {"name": name, "scopes": scopes, "account": "alice",
         "tokens": [{"id": name, "sha256": hashlib.sha256(secrets[name].encode()).hexdigest()}]}
        for name, scopes in [("readerxx", ["read:*"]), ("personxx", ["read:*", "act:*"])]]}
    path = world.file("principals.json", json.dumps(principals))
    os.chmod(path, 0o600)
    world.daemon("--auth", path)
    gateway = world.gateway()
    placed = gateway.post("/v1/entities/@alice-phone/t1/tile", {"do": "add", "widget": "kitchen/Hoegi"}, {"Authorization": f"Bearer {secrets['personxx']}"})
    assert placed.status == 200
    page.goto(f"{gateway.url}/login")
    page.get_by_label("Token").fill(secrets["readerxx"])
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_selector('body[data-live="true"]')
    page.goto(f"{gateway.url}/boards/@alice-phone")
    grip(page, "@alice-phone", "t1").click()
    act(page, "remove")
    page.wait_for_selector("[data-testid=inspector] [data-testid=refusal]:has-text('This token may not arrange the board')")
    wait_for_places(page, "t1")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("surface", ["phone", "carplay", "watch"])
def test_axe_finds_nothing_serious(page, gateway, board, scheme, surface):
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    open_board(page, gateway, board, surface)
    if surface != "watch":
        page.locator(".grip").first.click()
    found = Axe().run(page).response["violations"]
    assert [(one["id"], [node["html"][:160] + " | " + node["failureSummary"][:200] for node in one["nodes"][:3]])
            for one in found if one["impact"] in ("serious", "critical")] == []


@pytest.mark.parametrize("width", [360, 720])
def test_a_phone_needs_no_sideways_scrolling(page, gateway, board, width):
    put(gateway, f"{board}/wide", do="add", widget="kitchen/Hoegi", family="systemMedium")
    page.set_viewport_size({"width": width, "height": 800})
    for surface in ("phone", "pad", "carplay", "desktop", "vision"):
        open_board(page, gateway, board, surface)
        page.wait_for_function("width => document.documentElement.scrollWidth <= width", arg=width)
        clipped = "[...document.querySelectorAll('.board-tile, .panel-of-page, .board-screen')].filter(one => one.getBoundingClientRect().right > innerWidth + 1).length"
        wait_for_value(page, clipped, 0)
