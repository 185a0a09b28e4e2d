"""A real browser, a real daemon and a real gateway for the tests of the board."""

import pathlib
import sys

import pytest
from playwright.sync_api import expect, sync_playwright

from lives import LIVES

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Support"))

import support  # noqa: E402
from previews import CHROMIUM  # noqa: E402
from world import daemon, gateway, gateway_options, pair, world  # noqa: E402, F401 - pytest finds fixtures by their names here.

# In milliseconds.
PATIENCE = 1_000 * support.PATIENCE
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        # Tests run as root in CI, where Chromium's sandbox cannot.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def faults():
    """What the page complained about; a test that expects none asserts so."""
    return []


@pytest.fixture
def page(browser, faults):
    context = browser.new_context(viewport={"width": 1440, "height": 1000})
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.on("pageerror", lambda error: faults.append(str(error)))
    yield page
    context.close()
    assert faults == []


@pytest.fixture(params=sorted(LIVES))
def kind(request):
    return request.param
