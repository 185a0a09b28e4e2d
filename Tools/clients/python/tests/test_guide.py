"""The commands of the guide's pages, as they stand there, with a real daemon."""

import os
import pathlib
import re
import shutil
import subprocess
from typing import Iterator

import pytest

from support import LIMIT, REPOSITORY, Daemon, program

GUIDE = REPOSITORY / "Protocols/Guide"
pytestmark = pytest.mark.skipif(not GUIDE.exists(), reason="there is no repository around the package")


def commands(page: str, name: str) -> str:
    """A block of a page, from `<!-- name -->` to `<!-- /name -->`."""
    found = re.search(f"<!-- {name} -->\n(.*?)<!-- /{name} -->", (GUIDE / f"{page}.md").read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None, f"{page}.md has no block {name}"
    return found[1]


@pytest.fixture
def daemon(tmp_path: pathlib.Path) -> Iterator[Daemon]:
    kinds = tmp_path / "kinds"
    kinds.mkdir()
    for folder in ("examples", "widgets"):
        for file in (REPOSITORY / "Protocols/Kinds" / folder).glob("*.json"):
            shutil.copy(file, kinds)
    daemon = Daemon(tmp_path, "--kinds", str(kinds))
    yield daemon
    daemon.stop()


def environment(daemon: Daemon) -> "dict[str, str]":
    telltale = program("telltale")
    if telltale is None:
        pytest.skip("there is no telltale; swift build --product telltale makes it")
    path = os.pathsep.join([str(pathlib.Path(telltale).parent), os.environ["PATH"]])
    plain = {name: value for name, value in os.environ.items() if not name.startswith("TELLTALE")}
    return {**plain, "PATH": path, "TELLTALE_CONNECT": daemon.url}


def run(daemon: Daemon, page: str, name: str) -> "list[str]":
    shell = subprocess.run(
        ["sh", "-ec", commands(page, name)], cwd=daemon.folder, env=environment(daemon), text=True, timeout=LIMIT,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert shell.returncode == 0, shell.stderr
    return shell.stdout.splitlines()


def test_start_posts_an_order(daemon: Daemon) -> None:
    lines = run(daemon, "start", "start")
    assert [line.split(" ")[0] for line in lines[:3]] == ["applied"] * 3, lines
    assert any(" ready " in line for line in lines[3:]), lines


def test_orders_counts_an_event_id_once(daemon: Daemon) -> None:
    lines = run(daemon, "orders", "orders")
    assert [line.split(" ")[0] for line in lines[:4]] == ["applied"] * 3 + ["duplicate"], lines
    assert run(daemon, "orders", "many")[1].startswith("coffee-order/1043 applied "), lines


def test_controls_switches_a_light(daemon: Daemon) -> None:
    telltale = environment(daemon)["PATH"].split(os.pathsep)[0] + "/telltale"
    provider = subprocess.Popen(
        [telltale, "serve", "porch-light", "--exec", "true", "--report", "front=off", "--json"],
        env=environment(daemon), text=True, stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert provider.stdout is not None
        assert '"serving"' in provider.stdout.readline()
        lines = run(daemon, "controls", "controls")
        # The report of the provider makes the control; the answer to the tap may come before its confirmation.
        assert any(line.startswith("op=") for line in lines), lines
        assert any(line.startswith("porch-light/front ") for line in lines), lines
    finally:
        provider.terminate()
        provider.communicate(timeout=LIMIT)


def test_widgets_stand_on_a_board(daemon: Daemon) -> None:
    lines = run(daemon, "widgets", "widgets")
    assert any(line.startswith("kitchen ") for line in lines), lines
    assert any(line.startswith("@alice-car/t1 ") and "waiting" in line for line in lines), lines
    assert any(line.startswith("@alice-car/t2 ") and "412 cups" in line for line in lines), lines


def test_every_page_is_linked_from_the_index() -> None:
    index = (GUIDE / "README.md").read_text(encoding="utf-8")
    missing = [page.name for page in GUIDE.glob("*.md") if page.name != "README.md" and f"({page.name}" not in index]
    assert missing == []
