"""How much the page loads, what that costs, and what 500 living cards cost.

What is counted is held closely: bytes, requests, and what a change touches. Processor time is held as a wide multiple of what a plain
page costs in the same run: a slow or a busy machine changes both, and not by the same.
"""

import os
import pathlib
import time

import pytest

from lives import live
from previews import pairs_of_frames
from support import Line

CARDS = 500
CHANGES = 200  # a second
SECONDS = 5
FRAMES = 60  # a second
USUAL_PLAIN = 0.19  # See plain_seconds: on the machine where the promise of the page was first kept.


class PageThread:
    """The processor time that the page's main thread has taken since the page began to load, in seconds."""

    def __init__(self, page):
        self.session = page.context.new_cdp_session(page)
        self.session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def seconds(self):
        metrics = self.session.send("Performance.getMetrics")["metrics"]
        return {one["name"]: one["value"] for one in metrics}["TaskDuration"]


PLAIN = """async () => {
    document.body.innerHTML = "<style>p{display:grid;grid-template-columns:1fr auto;margin:4px;padding:4px;border:1px solid;border-radius:6px}</style>";
    for (let index = 0; index < 150; index++) {
        const box = document.createElement("p");
        for (const part of ["order", index, "ready"]) box.append(Object.assign(document.createElement("span"), {textContent: part}));
        document.body.append(box);
    }
    for (let frame = 0; frame < 20; frame++) {
        await new Promise(requestAnimationFrame);
        for (const box of document.querySelectorAll("p")) box.children[1].textContent = frame;
        scrollBy(0, 12);
    }
}"""


def plain_seconds(page):
    """What boxes that are made, laid out and changed cost a page's thread here and now: a measure of the machine."""
    other = page.context.new_page()
    thread = PageThread(other)
    other.goto("about:blank")
    other.evaluate(PLAIN)
    seconds = thread.seconds()
    other.close()
    return seconds


def processor_seconds(process):
    """What a process has taken in user and kernel mode."""
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_the_wall_is_small(page, gateway):
    """All bytes and requests of the page, as they go over the wire."""
    key = "coffee-order/small"
    live(gateway, key, 3)
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    sizes = []
    session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    page.goto(f"{gateway.url}/{key}")
    page.wait_for_selector("[data-testid=wall-standby]")
    print(f"the wall: {sum(sizes) / 1024:.0f} KB in {len(sizes)} answers")
    assert sum(sizes) <= 150 * 1024
    assert 0 < len(sizes) <= 40


@pytest.mark.nightly
def test_the_wall_is_soon_there(page, gateway):
    """The processor time of the page and the gateway together is the mean of eight loads without a cache."""
    key = "coffee-order/load"
    loads = 8
    live(gateway, key, 3)
    session = page.context.new_cdp_session(page)
    thread = PageThread(page)
    # The first page of a browser costs what only it does.
    page.goto(f"{gateway.url}/{key}")
    page.wait_for_selector("[data-testid=wall-standby]")
    took = []
    of_page, plain, of_gateway = [], [], processor_seconds(gateway.process)
    for _ in range(loads):
        plain.append(plain_seconds(page))
        session.send("Network.clearBrowserCache")
        page.goto(f"{gateway.url}/{key}", wait_until="commit")
        page.wait_for_selector("[data-testid=wall-standby]")
        took.append(page.evaluate("() => new Promise(done => requestAnimationFrame(() => done(performance.now())))"))
        of_page.append(thread.seconds())
    of_page, plain = sum(of_page) / loads, sum(plain) / loads
    of_gateway = (processor_seconds(gateway.process) - of_gateway) / loads
    print(f"the wall: processor time of the page {of_page * 1000:.0f} ms, "
          f"of the gateway {of_gateway * 1000:.0f} ms, of a plain page {plain * 1000:.0f} ms; drawn after {min(took):.0f} ms")
    assert 0 < of_page and of_page + of_gateway < 2 * plain
    # The page is drawn after less than 300 ms on a machine of usual speed. The quickest of eight loads is held to half as much again,
    # because the machine is not usual in each of them; where others have the processors, it says nothing of the page.
    if os.getloadavg()[0] > os.cpu_count() / 2:
        print("the machine is busy: the time until it is drawn is not held")
        return
    assert min(took) < 450 * max(1, plain / USUAL_PLAIN)


def metrics(thread, *names):
    """How often the page's thread has done each of these."""
    found = {one["name"]: one["value"] for one in thread.session.send("Performance.getMetrics")["metrics"]}
    return [found[name] for name in names]


@pytest.mark.nightly
def test_500_living_cards(page, gateway, daemon):
    """What 200 changes a second and 60 frames of scrolling a second are in 5 s, an amount of work that is always the same."""
    plain = [plain_seconds(page) for _ in range(4)]
    line = Line(daemon.port)
    for index in range(CARDS):
        assert line.ask(f"EVT parcel/{index:04} type=purchased").startswith("OK")
    page.goto(gateway.url)
    page.wait_for_function(f"() => document.querySelectorAll('[data-testid=card]').length >= {CARDS}")
    thread = PageThread(page)
    before, start = thread.seconds(), time.monotonic()
    layouts, styles = metrics(thread, "LayoutCount", "RecalcStyleCount")
    page.evaluate(
        f"""() => {{
            window.frames = 0;
            window.touched = 0;
            new MutationObserver(records => {{
                for (const record of records) window.touched += 1 + record.addedNodes.length + record.removedNodes.length;
            }}).observe(document, {{subtree: true, childList: true, attributes: true, characterData: true}});
            const draw = () => {{
                scrollBy(0, 12);
                window.frames += 1;
                if (window.frames < {SECONDS * FRAMES}) requestAnimationFrame(draw);
            }};
            draw();
        }}""")
    for count in range(CHANGES * SECONDS):
        rev = line.ask(f'EVT parcel/{count % CARDS:04} type=update {{"content-state":{{"count":{count}}}}}').split("rev=")[1].split(" ")[0]
        # In steps of a twentieth of a second, where the machine keeps up.
        if count % (CHANGES // 20) == 0:
            page.wait_for_timeout(max(0, (start + count / CHANGES - time.monotonic()) * 1000))
    page.wait_for_function(
        "([key, rev]) => document.querySelector(`[data-key='${key}']`).dataset.rev === rev",
        arg=[f"parcel/{(CHANGES * SECONDS - 1) % CARDS:04}", rev])
    page.wait_for_function(f"() => window.frames === {SECONDS * FRAMES}")
    of_page, elapsed = thread.seconds() - before, time.monotonic() - start
    layouts, styles = (end - begin for begin, end in zip((layouts, styles), metrics(thread, "LayoutCount", "RecalcStyleCount")))
    touched = page.evaluate("() => window.touched")
    line.close()
    plain = sum(plain + [plain_seconds(page) for _ in range(4)]) / 8
    print(f"500 cards, {CHANGES * SECONDS} changes and {SECONDS * FRAMES} frames of scrolling: {touched} nodes and attributes touched, "
          f"{layouts:.0f} layouts, {styles:.0f} styles, {of_page / SECONDS:.0%} of a core for {SECONDS} s, in {elapsed:.1f} s; "
          f"a plain page {plain * 1000:.0f} ms")
    # A few for each change, and a few a second for the times that each card tells: a list that is drawn anew has 500 for each change.
    assert 0 < touched < 8 * CHANGES * SECONDS + 5 * CARDS * elapsed
    # Once a frame, and not once a change.
    assert 0 < layouts < 2 * FRAMES * max(SECONDS, elapsed)
    # A page that is stopped often draws more frames, each with fewer changes: the cost is of frames.
    assert 0 < of_page < (10 + layouts / 20) * plain


@pytest.mark.nightly
def test_the_playground_follows_at_once(page, gateway):
    """From a click to the drawn screens: the 95th percentile of 40 events; and from a change of the file, its pause included, to
    its findings. The gateway plays the whole play each time."""
    page.goto(f"{gateway.url}/playground#example=parcel")
    page.wait_for_selector('body[data-live="true"]')
    before = processor_seconds(gateway.process)
    taken = page.evaluate(
        """async () => {
            const until = async is => { while (!is()) await new Promise(requestAnimationFrame); };
            const taken = [];
            for (let index = 0; index < 40; index++) {
                const steps = Number(document.body.dataset.steps);
                const start = performance.now();
                document.querySelector(index % 2 ? '[data-testid="time"]' : '[data-testid="event"]').click();
                await until(() => Number(document.body.dataset.steps) > steps || document.querySelector('[data-testid="event"]') === null);
                taken.push(performance.now() - start);
                if (document.querySelector('[data-testid="event"]') === null) {
                    document.querySelector('[data-action="restart"]').click();
                    await until(() => document.querySelector('[data-testid="event"]'));
                }
            }
            return taken.sort((one, other) => one - other);
        }""")
    of_gateway = (processor_seconds(gateway.process) - before) / len(taken)
    checked = page.evaluate(
        """async () => {
            const area = document.getElementById("kind-file");
            const start = performance.now();
            area.value = area.value.replace('"version"', '"versiom"');
            area.dispatchEvent(new Event("input"));
            while (document.body.dataset.lint !== "error") await new Promise(requestAnimationFrame);
            return performance.now() - start;
        }""")
    print(f"playground: click to drawn screens p50 {taken[20]:.0f} ms, p95 {taken[37]:.0f} ms; change to findings {checked:.0f} ms; "
          f"processor time of the gateway {of_gateway * 1000:.1f} ms a step")
    frames, plain = pairs_of_frames(page), plain_seconds(page)
    # Of the time until findings the page's own pause is a quarter of a second. Two frames take 33 ms on a machine that keeps up.
    assert taken[37] < max(300, 9 * frames) and checked < max(1000, 250 + 23 * frames)
    assert of_gateway < plain / 3
