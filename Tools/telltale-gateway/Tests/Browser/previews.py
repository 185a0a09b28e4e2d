"""What a preview on the page says, and what a row says: the two are compared."""

import json
import os

from support import eventually

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium-headless-shell")

# Every text of a preview that a person can read, and each date that it counts down to.
SAID = """element => {
    const found = [];
    const walk = node => {
        if (node.nodeType === Node.TEXT_NODE) { if (node.data) found.push(node.data); return; }
        if (node.getAttribute("aria-hidden") === "true") return;
        if (node.dataset.timer) { found.push("timer " + node.dataset.timer); return; }
        node.childNodes.forEach(walk);
    };
    walk(element);
    return found.sort();
}"""

PARTS = {"symbol", "tint", "progress", "buttons", "timer"}


def texts(view):
    """The texts of a view, or of the regions of one."""
    found = []
    for name, value in (view or {}).items():
        if name == "buttons":
            for button in value:
                if "control" in button or "link" in button:
                    found += [button[part] for part in ("title", "text") if button.get(part)]
        elif name == "timer":
            found.append(f"timer {value}")
        elif isinstance(value, dict) and name not in PARTS:
            found += texts(value)
        elif isinstance(value, str) and value and name not in PARTS:
            found.append(value)
    return sorted(found)


def row(gateway, key, view):
    return gateway.get(f"/v1/entities/{key}?view={view}").json


# The preview of the wall, the surface that it is drawn from, and the part of the row.
PREVIEWS = [
    ("wall-lockscreen", "lockScreen", "phone", lambda row: row.get("lockScreen")),
    ("wall-island", "compact", "phone", lambda row: row.get("island")),
    ("wall-island", "expanded", "phone", lambda row: row.get("island", {}).get("expanded")),
    ("wall-watch", None, "watch", lambda row: row if row.get("presentation") else None),
    ("wall-carplay", None, "carplay", lambda row: row if row.get("presentation") else None),
    ("wall-menubar", None, "desktop", lambda row: row if row.get("presentation") else None),
    ("wall-standby", None, "standby", lambda row: row if row.get("presentation") else None),
]


def wait_until_drawn(page):
    """All rows are there, and a frame has drawn them."""
    page.wait_for_selector('body[data-live="true"]')
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def open_wall(page, gateway, key):
    page.goto(f"{gateway.url}/{key}")
    wait_until_drawn(page)


def listen(page):
    """Remembers what is shown for a moment alone: the page may be asked late."""
    page.evaluate("""() => {
        window.told = [];
        const look = () => {
            for (const edge of document.querySelectorAll(".edge.flash")) window.told.push(`flash ${edge.dataset.event}`);
            for (const text of document.querySelectorAll(".watch-alert .title, .watch-alert .body")) window.told.push(text.textContent);
            for (const name of ['[data-testid="wall-standby-banner"]', ".car.is-alerting"]) if (document.querySelector(name)) window.told.push(name);
        };
        new MutationObserver(look).observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
    }""")


def wait_for_told(page, *words):
    page.wait_for_function("words => words.every(word => window.told.includes(word))", arg=list(words))


def wait_for_value(target, script, value, argument=None):
    """Until a script gives this value, of a page or of the element of a locator: for what `expect` has no word for."""
    found = None

    def look():
        nonlocal found
        found = target.evaluate(script, argument)
        return found == value

    eventually(lambda: f"{script} gives {found!r} in place of {value!r}", look)


def pairs_of_frames(page):
    """How long two frames take here and now, in milliseconds: the 95th percentile of 50."""
    return page.evaluate("""async () => {
        const taken = [];
        for (let index = 0; index < 50; index++) {
            const start = performance.now();
            for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
            taken.push(performance.now() - start);
        }
        return taken.sort((one, other) => one - other)[47];
    }""")


def wait_for_state(page, state):
    page.wait_for_function("state => document.body.dataset.state === state", arg=state)


def check_wall(page, gateway, key):
    """Every preview says what its row says."""
    for testid, presentation, view, pick in PREVIEWS:
        answer = row(gateway, key, view)
        drawn = pick(answer["row"])
        name = f'[data-testid="{testid}"]' + (f'[data-presentation="{presentation}"]' if presentation else "")
        if drawn is None:
            page.wait_for_function("name => !document.querySelector(name)", arg=name)
            continue
        expected = texts(drawn.get("view"))
        if answer["row"].get("appName"):
            expected = sorted([*expected, answer["row"]["appName"]])
        page.wait_for_function(
            f"([name, texts]) => {{ const one = document.querySelector(name); return one && JSON.stringify(({SAID})(one)) === texts; }}",
            arg=[name, json.dumps(expected, ensure_ascii=False, separators=(",", ":"))])

# The words below an element that stand in two lines.
BROKEN_WORDS = """root => {
    const broken = [];
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        for (const word of walker.currentNode.data.matchAll(/\\S+/g)) {
            const range = document.createRange();
            range.setStart(walker.currentNode, word.index);
            range.setEnd(walker.currentNode, word.index + word[0].length);
            if (new Set([...range.getClientRects()].map(box => box.top)).size > 1) broken.push(word[0]);
        }
    }
    return broken;
}"""
