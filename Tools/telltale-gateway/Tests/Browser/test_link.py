"""The stream: why it was refused, and that it comes back where it was not."""

import pytest

from lives import live
from previews import open_wall, wait_for_value

STREAM = "**/v1/stream**"
PROBLEM = {"type": "/errors#bad_attr", "title": "not like this", "code": "bad_attr", "retry": "no"}


def refuse(status):
    return lambda route: route.fulfill(status=status, json=PROBLEM | {"status": status}, content_type="application/problem+json")


@pytest.mark.parametrize("status", [400, 403])
def test_a_refusal_is_said_once_and_for_all(page, gateway, status):
    asked = []
    page.on("request", lambda request: asked.append(request.url.startswith(f"{gateway.url}/v1/stream")))
    page.route(STREAM, refuse(status))
    page.goto(gateway.url)
    page.wait_for_selector('[data-testid=link][data-state="refused"]')
    page.get_by_text("not like this").wait_for()
    assert sum(asked) == 1


@pytest.mark.parametrize("status", [429, 503])
def test_a_stream_that_is_not_there_for_the_moment_comes_back(page, gateway, status):
    """Whatever else this token may see."""
    live(gateway, "coffee-order/back", 3)
    page.route("**/v1/kinds", refuse(403))
    left = [status] * 3

    def answer(route):
        refuse(left.pop())(route) if left else route.continue_()

    page.route(STREAM, answer)
    open_wall(page, gateway, "coffee-order/back")
    assert left == []


def test_a_link_that_is_closed_while_it_asks_stays_closed(page, gateway):
    page.goto(f"{gateway.url}/login")
    refuse_one = [503]
    held = []
    page.route(STREAM, lambda route: refuse(refuse_one.pop())(route) if refuse_one else held.append(route))
    # The second request, after the refusal.
    with page.expect_request(lambda request: "/v1/stream" in request.url and not refuse_one):
        page.evaluate("""async () => {
            const { Link } = await import("/assets/test/link.js");
            window.testedLink = new Link(["parcel/*,full"]);
        }""")
    page.evaluate("window.testedLink.close()")
    for route in held:
        route.abort()
    # A later answer than that one.
    page.evaluate("fetch('/v1/entities/parcel/none').then(answer => answer.text())")
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.evaluate("window.testedLink.begin({})")
    page.evaluate("fetch('/v1/entities/parcel/none').then(answer => answer.text())")
    wait_for_value(page, "window.testedLink.state", "closed")
    assert not any("/v1/stream" in url for url in asked)


def test_a_picture_that_was_cut_leaves_nothing_behind(page, gateway):
    """The page comes back without a position: what the first picture had and the second has not is gone."""
    def events(*more):
        lines = ['retry: 1\n\nevent: hello\ndata: {"epoch":"e","now":1,"subs":[]}\n\n', *more]
        return lambda route: route.fulfill(content_type="text/event-stream", body="".join(lines))

    def row(key):
        return f'event: row\ndata: {{"sub":1,"key":"{key}","rev":1,"row":{{}}}}\n\n'

    answers = [events(row("parcel/1"), row("parcel/2")),
               events(row("parcel/2"), 'event: live\nid: e:2:x\ndata: {"sub":1}\n\n')]
    page.goto(f"{gateway.url}/login")
    page.route(STREAM, lambda route: answers.pop(0)(route) if answers else None)
    page.evaluate("""async () => {
        const { Link } = await import("/assets/test/link.js");
        const link = window.testedLink = new Link(["parcel/*,full"]);
        link.addEventListener("state", () => { if (link.state === "live") window.left = [...link.rows(0).keys()]; });
    }""")
    page.wait_for_function("() => window.left")
    wait_for_value(page, "window.left", ["parcel/2"])
    page.evaluate("window.testedLink.close()")
