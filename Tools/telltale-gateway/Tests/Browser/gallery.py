"""Pictures of every kind, surface and state, light and dark, for eyes: `gallery.py FOLDER [KIND]...`

Each kind has a contact sheet for each scheme: a line a state, and in it every screen of the wall.
"""

import pathlib
import sys

from playwright.sync_api import sync_playwright

from lives import LIVES, post

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Support"))

from previews import CHROMIUM  # noqa: E402
from support import Provider  # noqa: E402
from world import World  # noqa: E402

SITUATIONS = ["Locked", "Always-On", "Night", "StandBy tapped"]


def shoot(page, folder, name):
    (folder / f"{name}.png").write_bytes(page.locator(".scene").screenshot(animations="disabled"))


def main(folder, kinds):
    folder.mkdir(parents=True, exist_ok=True)
    world = World()
    try:
        daemon = world.daemon()
        gateway = world.gateway()
        providers = [Provider(daemon.port, "porch-light", "porch-light/front value=on"), Provider(daemon.port, "leave-at-door")]
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            for scheme in ("light", "dark"):
                context = browser.new_context(viewport={"width": 1440, "height": 1500}, color_scheme=scheme, reduced_motion="reduce")
                page = context.new_page()
                for kind in kinds:
                    key = f"{kind}/{scheme}"
                    page.goto(f"{gateway.url}/{key}")
                    page.wait_for_selector('body[data-live="true"]')
                    for index, (type, data) in enumerate(LIVES[kind]):
                        state = post(gateway, key, type, data)["state"]
                        if kind == "bistro-order" and index == 0:
                            providers[1].line.ask(f"REPORT leave-at-door/{scheme} value=on")
                        page.wait_for_function("state => document.body.dataset.state === state", arg=state)
                        page.wait_for_timeout(250)
                        shoot(page, folder, f"{kind}.{scheme}.{index}-{type}")
                        if page.locator(".watch-alert").count():
                            page.wait_for_selector(".watch-alert", state="detached")
                            page.wait_for_timeout(300)
                            shoot(page, folder, f"{kind}.{scheme}.{index}-{type}.later")
                        if index == len(LIVES[kind]) - 2:
                            for name in SITUATIONS:
                                chip = page.get_by_role("button", name=name)
                                chip.click()
                                page.wait_for_timeout(500)
                                shoot(page, folder, f"{kind}.{scheme}.{name.replace(' ', '-').lower()}")
                                chip.click()
                                page.wait_for_timeout(300)
                for name, path in [("home", ""), ("control", "porch-light/front"), ("kinds", "kinds"), ("kind", "kinds/bistro-order"),
                                   ("playground", "playground"), ("playground-toggle", "playground#example=porch-light")]:
                    page.goto(f"{gateway.url}/{path}")
                    page.wait_for_timeout(1200)
                    page.screenshot(path=folder / f"{name}.{scheme}.png")
                context.close()
            browser.close()
    finally:
        world.close()


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), sys.argv[2:] or sorted(LIVES))
