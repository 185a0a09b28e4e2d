"""How much the page loads, how fast, and what 500 living cards cost."""

import socket
import threading

from lives import live
from support import Line

CARDS = 500
CHANGES = 200  # a second
SECONDS = 5


def test_the_wall_is_small_and_soon_there(page, gateway):
    """All bytes of the page count, as they go over the wire; the time is that of the best of eight loads."""
    key = "coffee-order/load"
    live(gateway, key, 3)
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    sizes = []
    session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    times = []
    for _ in range(8):
        session.send("Network.clearBrowserCache")
        sizes.clear()
        page.goto(f"{gateway.url}/{key}", wait_until="commit")
        page.wait_for_selector("[data-testid=wall-standby]")
        times.append(page.evaluate(
            """() => new Promise(done => requestAnimationFrame(() => done(performance.now())))"""))
    print(f"the wall: {sum(sizes) / 1024:.0f} KB in {len(sizes)} answers, drawn after {min(times):.0f} ms")
    assert sum(sizes) <= 150 * 1024
    assert min(times) < 300


def test_500_living_cards(page, gateway, daemon):
    """200 changes a second: processor time of the page's thread, and frames while it scrolls."""
    line = Line(daemon.port)
    for index in range(CARDS):
        assert line.ask(f'EVT parcel/{index:04} type=purchased').startswith("OK")
    page.goto(gateway.url)
    page.wait_for_function(f"() => document.querySelectorAll('[data-testid=card]').length >= {CARDS}")
    stop = threading.Event()

    def change():
        count = 0
        while not stop.wait(1 / 20):
            for _ in range(CHANGES // 20):
                line.send(f'EVT parcel/{count % CARDS:04} type=update {{"content-state":{{"count":{count}}}}}')
                count += 1

    def drain():
        while line.file.readline():
            pass

    sender = threading.Thread(target=change)
    reader = threading.Thread(target=drain)
    sender.start()
    reader.start()
    try:
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})

        def ticks():
            return {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}["TaskDuration"]

        before = ticks()
        rows = page.evaluate("document.querySelector('.count').textContent")
        frames = page.evaluate(
            f"""() => new Promise(done => {{
                const end = performance.now() + {SECONDS * 1000};
                let frames = 0;
                const draw = () => {{
                    frames += 1;
                    scrollBy(0, 12);
                    if (performance.now() < end) requestAnimationFrame(draw); else done(frames);
                }};
                draw();
            }})""")
        share = (ticks() - before) / SECONDS
        after = page.evaluate("document.querySelector('.count').textContent")
    finally:
        stop.set()
        sender.join()
        line.socket.shutdown(socket.SHUT_RDWR)
        reader.join()
        line.close()
    print(f"500 cards, {CHANGES} changes a second: {share:.0%} of a core, {frames / SECONDS:.0f} frames a second while scrolling ({rows} to {after})")
    assert after != rows
    assert share < 0.5
