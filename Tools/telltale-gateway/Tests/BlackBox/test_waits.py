"""The rules that the waits of all these tests keep: each has a bound, none is a pause, and a page is not judged by one look."""

import ast
import pathlib

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[1]
PUSH_TESTS = TESTS.parents[1] / "telltale-push/Tests"
# They draw pictures, and test nothing.
OTHERS = {"gallery.py"}
# What a page is like at this moment. It draws a frame after its rows came.
LOOKS = {"all_inner_texts", "all_text_contents", "aria_snapshot", "bounding_box", "count", "evaluate", "evaluate_all", "get_attribute", "inner_html",
         "inner_text", "input_value", "is_checked", "is_disabled", "is_enabled", "is_hidden", "is_visible", "text_content"}
FILES = [path for path in sorted([*TESTS.glob("*/*.py"), *PUSH_TESTS.glob("*/*.py")]) if path.name not in OTHERS]


def is_idle(statement):
    """Whether a statement does nothing but wait."""
    return isinstance(statement, ast.Pass) or any(name in ast.unparse(statement) for name in ("sleep(", "wait_for_timeout("))


def faults(text):
    """Loops that never end by themselves, polls without a bound, and pauses, each with what takes its place."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.While) and isinstance(node.test, ast.Constant):
            yield node.lineno, "an endless loop: for _ in attempts(…)"
        elif isinstance(node, ast.While) and all(map(is_idle, node.body)) and "recv(" not in ast.unparse(node.test):
            yield node.lineno, "a poll without a bound: eventually(…)"
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("sleep"):
            yield node.lineno, "a pause: eventually(…)"


def looks(text):
    """Assertions about one look at a page, each with what takes its place."""
    for node in ast.walk(ast.parse(text)):
        for call in ast.walk(node.test) if isinstance(node, ast.Assert) else ():
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in LOOKS:
                yield node.lineno, f"{call.func.attr}: expect(…) or wait_for_value(…)"


@pytest.mark.parametrize("text", [
    "while True:\n    receive()", "while not done():\n    pass", "while not done():\n    page.wait_for_timeout(20)", "time.sleep(1)"])
def test_the_rule_finds(text):
    assert list(faults(text))


@pytest.mark.parametrize("text", [
    "assert page.locator('p').count() == 0", "assert one and 'x' in cell.text_content()", "assert page.evaluate('x') > 1"])
def test_the_rule_finds_looks(text):
    assert list(looks(text))


@pytest.mark.parametrize("path", [path for path in FILES if path.parent.name == "Browser"], ids=lambda path: path.name)
def test_no_page_is_judged_by_one_look(path):
    assert list(looks(path.read_text())) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_each_wait_has_a_bound(path):
    assert list(faults(path.read_text())) == []
