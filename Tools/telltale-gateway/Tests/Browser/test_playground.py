"""The playground: a file, its lint, and its screens, in a real browser."""

import json
import pathlib
import re

import pytest
from playwright.sync_api import expect

from previews import PREVIEWS, SAID, listen, texts, wait_for_told, wait_for_value
from support import REPOSITORY
from test_safety import HOSTILE

EXAMPLES = sorted(path.stem for path in (REPOSITORY / "Protocols/Kinds/examples").glob("*.json"))


def open_playground(page, gateway, fragment=""):
    page.goto("about:blank")
    page.goto(f"{gateway.url}/playground{fragment}")
    page.wait_for_selector('body[data-live="true"]')


def wait_for_steps(page, count):
    page.wait_for_function("count => document.body.dataset.steps === count", arg=str(count))


def happen(page, name):
    before = page.locator("body").get_attribute("data-steps")
    page.get_by_role("group", name="What happens next").get_by_role("button", name=name, exact=True).click()
    wait_for_steps(page, int(before) + 1)


def write(page, text):
    page.locator("#kind-file").fill(text)


def check_previews(page, played):
    """Every preview says what the row of the play says."""
    for testid, presentation, view, pick in PREVIEWS:
        drawn = pick(played["rows"].get(view) or {})
        name = f'[data-testid="{testid}"]' + (f'[data-presentation="{presentation}"]' if presentation else "")
        if drawn is None:
            page.wait_for_function("name => !document.querySelector(name)", arg=name)
            continue
        expected = texts(drawn.get("view"))
        if played["rows"][view].get("appName"):
            expected = sorted([*expected, played["rows"][view]["appName"]])
        page.wait_for_function(
            f"([name, texts]) => {{ const one = document.querySelector(name); return one && JSON.stringify(({SAID})(one)) === texts; }}",
            arg=[name, json.dumps(expected, ensure_ascii=False, separators=(",", ":"))])


@pytest.mark.parametrize("example", EXAMPLES)
def test_each_example_opens_without_a_finding(page, gateway, example):
    complaints = []
    page.on("console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None)
    open_playground(page, gateway, f"#example={example}")
    expect(page.locator("[data-testid=lint-state]")).to_have_text("No findings")
    expect(page.locator("#kind-file")).to_have_value(re.compile(f'"kind": "{example}"'))
    expect(page.locator("#example")).to_have_value(example)
    assert complaints == []


def test_the_file_is_checked_as_one_types(page, gateway):
    open_playground(page, gateway)
    text = page.locator("#kind-file").input_value()
    write(page, text.replace('"brew": "brewing"', '"brew": "brewign"', 1))
    page.wait_for_selector('body[data-lint="error"]')
    expect(page.locator("[data-testid=lint-state]")).to_have_text(re.compile("^1 error"))
    finding = page.locator("[data-testid=finding]")
    line = text[:text.index('"brew": "brewing"')].count("\n") + 1
    expect(finding).to_contain_text(f"{line}:")
    expect(finding).to_contain_text("machine.states.queued.on.brew")
    expect(page.locator(".gutter [data-severity=error]")).to_have_text(str(line))
    finding.get_by_role("button").click()
    expect(page.locator("#kind-file")).to_be_focused()
    page.wait_for_function("() => document.activeElement.value.slice(document.activeElement.selectionStart).startsWith('\"brew\"')")
    # The screens stay on the version before.
    expect(page.locator('[data-testid="wall-watch"]')).to_have_count(1)
    write(page, text)
    page.wait_for_selector('body[data-lint="good"]')
    expect(page.locator("[data-testid=finding]")).to_have_count(0)


def test_what_is_typed_is_what_is_painted(page, gateway):
    open_playground(page, gateway)
    area = page.locator("#kind-file")
    painted = "() => [...document.querySelectorAll('.paint .line')].map(one => one.textContent.replaceAll('\\u200b', '')).join('\\n')"
    for change in ["text => text", "text => text.replace('placed', 'placed!')", "text => text.split('\\n').slice(5, 9).join('\\n')",
                   "text => text + '\\n\\n{\"a\": [1, true, null, \"\\\\\"{{x}}\"]}'", "text => ''", "text => '\\n'.repeat(40)", "text => 'x'.repeat(9000)"]:
        write(page, page.evaluate(f"({change})(document.getElementById('kind-file').value)"))
        wait_for_value(page, painted, area.input_value())
        expect(page.locator(".gutter div")).to_have_count(area.input_value().count("\n") + 1)
    write(page, '{\n  "a": {')
    area.press("End")
    area.press("Enter")
    page.keyboard.type('"b": 1')
    expect(area).to_have_value('{\n  "a": {\n    "b": 1')


def test_events_and_time_move_every_screen(page, gateway):
    open_playground(page, gateway)
    answers = []
    page.on("response", lambda answer: answers.append(answer) if answer.url.endswith("/v1/play") else None)
    listen(page)
    for name in ["brew", "ready"]:
        happen(page, name)
        page.wait_for_selector(f'[data-testid="diagram-state"][data-state="{"brewing" if name == "brew" else name}"][data-active="true"]', state="attached")
        wait_for_told(page, f"flash {name}")
        if name == "ready":
            wait_for_told(page, "Flat white is ready", '[data-testid="wall-standby-banner"]')
        check_previews(page, answers[-1].json())
    page.get_by_role("button", name="To the next deadline").click()
    page.wait_for_selector('[data-testid="wall-lockscreen"][data-stale]')
    expect(page.locator("[data-testid=log-row]").first).to_have_text(re.compile(r"^\+4:00"))
    happen(page, "collect")
    page.get_by_role("button", name="+1 h", exact=True).click()
    page.wait_for_selector('.facts [data-lifecycle="dismissed"]')
    expect(page.locator('[data-testid="wall-lockscreen"]')).to_have_count(0)
    page.get_by_role("button", name="Start again").click()
    wait_for_steps(page, 0)
    expect(page.locator("[data-testid=log-row]")).to_have_count(0)


def test_a_timer_stands_still_until_time_is_moved(page, gateway):
    open_playground(page, gateway)
    page.get_by_role("button", name="Start again").click()
    wait_for_steps(page, 0)
    page.get_by_text("Any event, with data").click()
    page.get_by_label("Type").fill("start")
    page.get_by_label("Data (JSON)").fill('{"attributes":{"shop":"Corner"}}')
    page.get_by_role("button", name="Happen").click()
    page.wait_for_function("() => document.querySelector('.state-badge.timer text')?.textContent === '5:00'")
    expect(page.locator('[data-testid="wall-lockscreen"]')).to_contain_text("Corner")
    page.get_by_role("button", name="+1 min", exact=True).click()
    page.wait_for_function("() => document.querySelector('.state-badge.timer text')?.textContent === '4:00'")
    page.get_by_role("button", name="Undo").click()
    page.wait_for_function("() => document.querySelector('.state-badge.timer text')?.textContent === '5:00'")


def test_time_runs_while_it_is_asked_to(page, gateway):
    open_playground(page, gateway)
    page.get_by_role("button", name="Run, a minute a second").click()
    page.wait_for_function("() => document.querySelectorAll('[data-testid=log-row][data-verdict=applied]').length >= 2")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Run, a minute a second")).to_have_attribute("aria-pressed", "false")


def test_a_tap_on_a_control_is_a_step(page, gateway):
    asked = []
    page.on("request", lambda request: asked.append(request.method + " " + request.url.removeprefix(gateway.url)))
    open_playground(page, gateway, "#example=porch-light")
    happen(page, "Reports off")
    page.locator('[data-placement="controlCenterMedium"] button').click()
    page.wait_for_selector('[data-placement="controlCenterMedium"] [data-phase="pending"][data-on]')
    happen(page, "Fails")
    page.wait_for_selector('[data-placement="controlCenterMedium"] [data-phase="settled"]:not([data-on])')
    assert not [one for one in asked if one.startswith("PUT") or "/v1/entities" in one]
    assert gateway.get("/v1/entities?pattern=porch-light/1042").json["count"] == 0


def test_the_room_of_a_control_that_a_play_does_not_have_names_it(page, gateway):
    open_playground(page, gateway, "#example=coffee-order")
    room = page.locator('[data-testid="wall-lockscreen"] .button.empty').first
    expect(room).to_be_visible()
    wait_for_value(room, "one => getComputedStyle(one, '::after').content", '"coffee-tip/1042"')


@pytest.mark.parametrize("width", [1125, 1280, 1366, 1440, 1920])
def test_the_file_stands_beside_the_screens_and_nothing_sticks_out(page, gateway, width):
    page.set_viewport_size({"width": width, "height": 800})
    open_playground(page, gateway, "#example=coffee-order")
    file, screens = page.locator(".play-file").bounding_box(), page.locator(".play-screens").bounding_box()
    assert file["x"] + file["width"] < screens["x"]
    outside = """() => [...document.querySelectorAll('.play [data-place]')].filter(place => {
        const room = place.getBoundingClientRect();
        return [...place.querySelectorAll('.phone, .car, .mac, .watch')].some(one => {
            const box = one.getBoundingClientRect();
            return box.left < room.left - 1 || box.right > room.right + 1;
        });
    }).map(place => place.dataset.place)"""
    wait_for_value(page, outside, [])


def test_a_situation_is_played_too(page, gateway):
    open_playground(page, gateway)
    page.get_by_role("button", name="Car on another screen").click()
    page.wait_for_selector(".car .nothing")


def test_a_link_carries_the_file_and_what_happened(page, gateway, browser):
    open_playground(page, gateway)
    write(page, page.locator("#kind-file").input_value().replace("Coffee order", "Tee für zwei 🫖"))
    page.wait_for_function("() => document.querySelector('h2.title').textContent === 'Tee für zwei 🫖'")
    happen(page, "brew")
    page.get_by_role("button", name="Copy a link").click()
    page.locator(".said").wait_for()
    page.wait_for_url("**/playground#file=*")
    address = page.url
    asked = []
    other = browser.new_context().new_page()
    other.on("request", lambda request: asked.append(request.url))
    other.goto(address)
    other.wait_for_selector('body[data-live="true"]')
    expect(other.locator("#kind-file")).to_have_value(page.locator("#kind-file").input_value())
    expect(other.locator("body")).to_have_attribute("data-state", "brewing")
    # A fragment is not sent.
    assert all("file=" not in url for url in asked)
    other.context.close()


@pytest.mark.parametrize("fragment", ["#file=", "#file=!!!!", "#file=AAAA", "#file=" + "A" * 5_000, "#kind=nothing-of-that-name", "#example=none", "#x"])
def test_a_damaged_link_opens_all_the_same(page, gateway, fragment):
    page.goto(f"{gateway.url}/playground{fragment}")
    page.wait_for_selector('body[data-live="true"]')
    expect(page.locator("#kind-file")).to_have_value(re.compile("coffee-order"))
    if "kind=" in fragment or fragment in ("#file=!!!!", "#file=AAAA"):
        page.locator(".said").wait_for()


def test_a_link_that_unfolds_to_gigabytes_is_not_unfolded(page, gateway):
    """Zeros pack a thousandfold."""
    open_playground(page, gateway)
    unpacked = page.evaluate("""async () => {
        const { unpack } = await import("/assets/test/share.js");
        const stream = new Blob([new Uint8Array(64 << 20)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
        const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
        let text = "";
        for (let start = 0; start < bytes.length; start += 8192) text += String.fromCharCode(...bytes.subarray(start, start + 8192));
        return unpack(`#file=${btoa(text).replaceAll("+", "-").replaceAll("/", "_")}`);
    }""")
    assert unpacked == {"broken": True}


def test_texts_of_a_file_never_become_markup(page, gateway):
    source = json.loads((pathlib.Path(REPOSITORY) / "Protocols/Kinds/examples/coffee-order.json").read_text())
    open_playground(page, gateway)
    for index, text in enumerate(HOSTILE):
        # A text of a kind file is a template.
        text = text[:200].replace("{{", "{ {")
        kind = json.loads(json.dumps(source))
        kind["title"] = f"{index} {text[:100]}"
        kind["machine"]["states"]["queued"]["title"] = text
        kind["views"]["lockScreen"]["title"] = text
        kind["machine"]["on"]["<script>window.broken=1</script>"] = "cancelled"
        write(page, json.dumps(kind))
        page.wait_for_function("text => document.querySelector('.findings').textContent.includes(text)", arg="window.broken=1")
        del kind["machine"]["on"]["<script>window.broken=1</script>"]
        write(page, json.dumps(kind, ensure_ascii=False))
        page.wait_for_function("index => document.querySelector('h2.title').textContent.startsWith(`${index} `)", arg=index)
        wait_for_value(page, "window.broken", None)
        expect(page.locator("main img, main script, main iframe")).to_have_count(0)
        page.wait_for_function("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_a_machine_without_rest_is_told(page, gateway):
    open_playground(page, gateway)
    write(page, json.dumps({
        "kind": "restless", "type": "activity", "version": 1, "app": "com.example", "title": "Restless", "views": {"lockScreen": {"title": "x"}},
        "machine": {"initial": "a", "states": {
            "a": {"after": {"1ms": "b"}, "on": {"stop": "c"}}, "b": {"after": {"1ms": "a"}}, "c": {"type": "final"}}}}))
    page.wait_for_function("() => document.querySelector('h2.title').textContent === 'Restless'")
    page.get_by_role("button", name="+1 h", exact=True).click()
    page.wait_for_selector('[data-testid=log-row][data-verdict="refused"]')
    expect(page.locator("[data-testid=log-row]").first).to_contain_text("fall due in one step")


def test_a_keyboard_does_everything(page, gateway):
    open_playground(page, gateway)
    page.locator("#kind-file").focus()
    # The editor keeps no keyboard: Tab leaves it.
    page.keyboard.press("Tab")
    expect(page.locator("#kind-file")).not_to_be_focused()
    for _ in range(30):
        if page.evaluate("document.activeElement.textContent") == "brew":
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.body.dataset.state === 'brewing'")
