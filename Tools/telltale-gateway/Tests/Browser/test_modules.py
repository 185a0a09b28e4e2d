"""Modules of the page by themselves, in a page that has nothing else to do."""

import pytest


@pytest.fixture
def run(page, gateway):
    """Runs a function of JavaScript that is given the page's modules by their names."""
    def run(names, function, argument=None):
        if not page.url.startswith(gateway.url):
            page.goto(f"{gateway.url}/kinds")
        load = ", ".join(f"import('/assets/test/{name}.js')" for name in names)
        return page.evaluate(f"async argument => ({function})(...await Promise.all([{load}]), argument)", argument)
    return run


def test_a_switch_of_unknown_state_keeps_both_buttons(run):
    assert run(["dom", "controls"], """({ renew }, { tile }) => {
        const entry = rev => ({ key: "porch-light/x", rev, row: { control: "toggle", shown: null, title: "Porch light" } });
        const place = document.createElement("div");
        document.body.append(place);
        renew(place, tile(entry(1)));
        place.querySelector("[data-wants=off]").focus();
        for (const rev of [2, 3]) renew(place, tile(entry(rev)));
        return [...place.querySelectorAll("button")].map(one => [one.textContent, one.dataset.entity, one.dataset.rev, one === document.activeElement]);
    }""") == [["Off", "porch-light/x", "3", True], ["On", "porch-light/x", "3", False]]


def test_children_with_one_key_stay_as_many_as_they_are(run):
    assert run(["dom"], """({ el, renew }) => {
        const place = document.createElement("div");
        const draw = (...names) => renew(place, names.map(([key, text]) => el("p", { data: { key } }, text)));
        draw(["a", "1"], ["a", "2"], ["b", "3"]);
        draw(["b", "4"], ["a", "5"], ["a", "6"]);
        return [...place.children].map(one => one.textContent);
    }""") == ["4", "5", "6"]


@pytest.mark.parametrize("name", ["constructor", "__proto__", "toString", "hasOwnProperty.fill"])
def test_a_symbol_may_have_any_name(run, name):
    """Without a drawing of that name its first letter stands there."""
    assert run(["symbols"], "({ symbol }, name) => symbol(name).dataset.letter", name) == name.strip("_")[0].upper()


def test_one_at_a_time(run):
    """Calls while it runs make it run once more, also after a failure."""
    assert run(["api"], """async ({ oneAtATime }) => {
        const ends = [];
        const wait = oneAtATime(() => new Promise((resolve, reject) => ends.push([resolve, reject])));
        const first = wait();
        for (let count = 0; count < 3; count++) wait();
        const atFirst = ends.length;
        ends[0][0]();
        while (ends.length < 2) await null;
        ends[1][1](new Error("expected"));
        const fault = await first.catch(error => error.message);
        wait();
        return [atFirst, fault, ends.length];
    }""") == [1, "expected", 3]
