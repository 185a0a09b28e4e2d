"""The playground: a file, its lint, and its screens, in a real browser."""

import json
import pathlib

import pytest

from previews import PREVIEWS, SAID, listen, texts, wait_for_told
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
    assert page.locator("[data-testid=lint-state]").text_content() == "No findings"
    assert f'"kind": "{example}"' in page.locator("#kind-file").input_value()
    assert page.locator("#example").input_value() == example
    assert complaints == []


def test_the_file_is_checked_as_one_types(page, gateway):
    open_playground(page, gateway)
    text = page.locator("#kind-file").input_value()
    write(page, text.replace('"brew": "brewing"', '"brew": "brewign"', 1))
    page.wait_for_selector('body[data-lint="error"]')
    assert page.locator("[data-testid=lint-state]").text_content().startswith("1 error")
    finding = page.locator("[data-testid=finding]")
    line = text[:text.index('"brew": "brewing"')].count("\n") + 1
    assert f"{line}:" in finding.text_content() and "machine.states.queued.on.brew" in finding.text_content()
    assert page.locator(".gutter [data-severity=error]").text_content() == str(line)
    finding.get_by_role("button").click()
    assert page.evaluate("document.activeElement.id") == "kind-file"
    assert page.evaluate("document.activeElement.value.slice(document.activeElement.selectionStart).startsWith('\"brew\"')")
    # The screens stay on the version before.
    assert page.locator('[data-testid="wall-watch"]').count() == 1
    write(page, text)
    page.wait_for_selector('body[data-lint="good"]')
    assert page.locator("[data-testid=finding]").count() == 0


def test_what_is_typed_is_what_is_painted(page, gateway):
    open_playground(page, gateway)
    area = page.locator("#kind-file")
    painted = "() => [...document.querySelectorAll('.paint .line')].map(one => one.textContent.replaceAll('\\u200b', '')).join('\\n')"
    for change in ["text => text", "text => text.replace('placed', 'placed!')", "text => text.split('\\n').slice(5, 9).join('\\n')",
                   "text => text + '\\n\\n{\"a\": [1, true, null, \"\\\\\"{{x}}\"]}'", "text => ''", "text => '\\n'.repeat(40)", "text => 'x'.repeat(9000)"]:
        write(page, page.evaluate(f"({change})(document.getElementById('kind-file').value)"))
        assert page.evaluate(painted) == area.input_value()
        assert page.locator(".gutter div").count() == area.input_value().count("\n") + 1
    write(page, '{\n  "a": {')
    area.press("End")
    area.press("Enter")
    page.keyboard.type('"b": 1')
    assert area.input_value() == '{\n  "a": {\n    "b": 1'


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
    assert page.locator("[data-testid=log-row]").first.text_content().startswith("+4:00")
    happen(page, "collect")
    page.get_by_role("button", name="+1 h", exact=True).click()
    page.wait_for_selector('.facts [data-lifecycle="dismissed"]')
    assert page.locator('[data-testid="wall-lockscreen"]').count() == 0
    page.get_by_role("button", name="Start again").click()
    wait_for_steps(page, 0)
    assert page.locator("[data-testid=log-row]").count() == 0


def test_a_timer_stands_still_until_time_is_moved(page, gateway):
    open_playground(page, gateway)
    page.get_by_role("button", name="Start again").click()
    wait_for_steps(page, 0)
    page.get_by_text("Any event, with data").click()
    page.get_by_label("Type").fill("start")
    page.get_by_label("Data (JSON)").fill('{"attributes":{"shop":"Corner"}}')
    page.get_by_role("button", name="Happen").click()
    page.wait_for_function("() => document.querySelector('.state-badge.timer text')?.textContent === '5:00'")
    assert "Corner" in page.locator('[data-testid="wall-lockscreen"]').text_content()
    page.get_by_role("button", name="+1 min", exact=True).click()
    page.wait_for_function("() => document.querySelector('.state-badge.timer text')?.textContent === '4:00'")
    page.get_by_role("button", name="Undo").click()
    page.wait_for_function("() => document.querySelector('.state-badge.timer text')?.textContent === '5:00'")


def test_time_runs_while_it_is_asked_to(page, gateway):
    open_playground(page, gateway)
    page.get_by_role("button", name="Run, a minute a second").click()
    page.wait_for_function("() => document.querySelectorAll('[data-testid=log-row][data-verdict=applied]').length >= 2")
    page.get_by_role("button", name="Stop").click()
    assert page.get_by_role("button", name="Run, a minute a second").get_attribute("aria-pressed") == "false"


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
    assert room.is_visible()
    assert room.evaluate("one => getComputedStyle(one, '::after').content") == '"coffee-tip/1042"'


@pytest.mark.parametrize("width", [1125, 1280, 1366, 1440, 1920])
def test_the_file_stands_beside_the_screens_and_nothing_sticks_out(page, gateway, width):
    page.set_viewport_size({"width": width, "height": 800})
    open_playground(page, gateway, "#example=coffee-order")
    file, screens = page.locator(".play-file").bounding_box(), page.locator(".play-screens").bounding_box()
    assert file["x"] + file["width"] < screens["x"]
    outside = page.evaluate("""() => [...document.querySelectorAll('.play [data-place]')].filter(place => {
        const room = place.getBoundingClientRect();
        return [...place.querySelectorAll('.phone, .car, .mac, .watch')].some(one => {
            const box = one.getBoundingClientRect();
            return box.left < room.left - 1 || box.right > room.right + 1;
        });
    }).map(place => place.dataset.place)""")
    assert outside == []


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
    address = page.evaluate("location.href")
    assert "#file=" in address
    asked = []
    other = browser.new_context().new_page()
    other.on("request", lambda request: asked.append(request.url))
    other.goto(address)
    other.wait_for_selector('body[data-live="true"]')
    assert other.locator("#kind-file").input_value() == page.locator("#kind-file").input_value()
    assert other.locator("body").get_attribute("data-state") == "brewing"
    # A fragment is not sent.
    assert all("file=" not in url for url in asked)
    other.context.close()


@pytest.mark.parametrize("fragment", ["#file=", "#file=!!!!", "#file=AAAA", "#file=" + "A" * 5_000, "#kind=nothing-of-that-name", "#example=none", "#x"])
def test_a_damaged_link_opens_all_the_same(page, gateway, fragment):
    page.goto(f"{gateway.url}/playground{fragment}")
    page.wait_for_selector('body[data-live="true"]')
    assert "coffee-order" in page.locator("#kind-file").input_value()
    if "kind=" in fragment or fragment in ("#file=!!!!", "#file=AAAA"):
        page.locator(".said").wait_for()


def test_a_link_that_unfolds_to_gigabytes_is_not_unfolded(page, gateway):
    """Zeros pack a thousandfold."""
    open_playground(page, gateway)
    assert page.evaluate("""async () => {
        const { unpack } = await import("/assets/test/share.js");
        const stream = new Blob([new Uint8Array(64 << 20)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
        const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
        let text = "";
        for (let start = 0; start < bytes.length; start += 8192) text += String.fromCharCode(...bytes.subarray(start, start + 8192));
        return unpack(`#file=${btoa(text).replaceAll("+", "-").replaceAll("/", "_")}`);
    }""") == {"broken": True}


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
        assert page.evaluate("window.broken") is None
        assert page.locator("main img, main script, main iframe").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_a_machine_without_rest_is_told(page, gateway):
    open_playground(page, gateway)
    write(page, json.dumps({
        "kind": "restless", "type": "activity", "version": 1, "app": "com.example", "title": "Restless", "views": {"lockScreen": {"title": "x"}},
        "machine": {"initial": "a", "states": {
            "a": {"after": {"1ms": "b"}, "on": {"stop": "c"}}, "b": {"after": {"1ms": "a"}}, "c": {"type": "final"}}}}))
    page.wait_for_function("() => document.querySelector('h2.title').textContent === 'Restless'")
    page.get_by_role("button", name="+1 h", exact=True).click()
    page.wait_for_selector('[data-testid=log-row][data-verdict="refused"]')
    assert "fall due in one step" in page.locator("[data-testid=log-row]").first.text_content()


def test_a_keyboard_does_everything(page, gateway):
    open_playground(page, gateway)
    page.locator("#kind-file").focus()
    # The editor keeps no keyboard: Tab leaves it.
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") != "kind-file"
    for _ in range(30):
        if page.evaluate("document.activeElement.textContent") == "brew":
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.body.dataset.state === 'brewing'")
