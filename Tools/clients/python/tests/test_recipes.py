"""The recipes of the guide, each as a program of its own."""

import json
import os
import pathlib
import queue
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, Iterator, List, Optional

import pytest

from pages import programs
from support import LIMIT, PACKAGE, REPOSITORY, Daemon
from telltale import Follow, Telltale, Update

PAGE = REPOSITORY / "Protocols/Guide/recipes.md"
RECIPES = {recipe.text: recipe for recipe in programs(PAGE)} if PAGE.exists() else {}
KEY, ENTITY = "porch-light/front", "switch.porch"


class HomeAssistant(ThreadingHTTPServer):
    """The parts of Home Assistant's REST API that the recipe uses, with one switch."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.state = "off"
        self.is_broken = False
        self.called: List[str] = []
        self.streams: "List[queue.Queue[Optional[str]]]" = []
        self.has_stream = threading.Event()
        self.thread = threading.Thread(target=self.serve_forever, args=[0.01], daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def turn(self, state: str) -> None:
        """By hand, or by a service."""
        self.state = state
        event = {"event_type": "state_changed", "data": {"entity_id": ENTITY, "new_state": {"state": state}}}
        for stream in self.streams:
            stream.put(json.dumps(event))

    def close(self) -> None:
        for stream in self.streams:
            stream.put(None)
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    server: HomeAssistant

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def answer(self, status: int, body: Any = None) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        if self.headers["Authorization"] != "Bearer long-lived":
            self.answer(401)
        elif self.path == f"/api/states/{ENTITY}":
            self.answer(200, {"entity_id": ENTITY, "state": self.server.state})
        elif self.path == "/api/stream?restrict=state_changed":
            self.stream()
        else:
            self.answer(404)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers["Authorization"] != "Bearer long-lived":
            return self.answer(401)
        if self.server.is_broken or body != {"entity_id": ENTITY}:
            return self.answer(500)
        self.server.called.append(self.path)
        self.server.turn(self.path.rpartition("turn_")[2])
        self.answer(200, [])

    def stream(self) -> None:
        changes: "queue.Queue[Optional[str]]" = queue.Queue()
        changes.put("ping")
        self.server.streams.append(changes)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.server.has_stream.set()
        while (change := changes.get()) is not None:
            self.wfile.write(f"data: {change}\n\n".encode())
            self.wfile.flush()


class Running:
    """A recipe as a process, whose lines are read as they come."""

    def __init__(self, word: str, daemon: Daemon, **variables: str) -> None:
        text = next(text for text in RECIPES if word in text)
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE / "src"), "PYTHONDONTWRITEBYTECODE": "1", **variables}
        environment["TELLTALE_CONNECT"] = daemon.url
        command = [sys.executable, "-c", text]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        assert self._process.stdout is not None
        self._lines = self._process.stdout
        # A test that waits for a screen that never comes ends too.
        self._watchdog = threading.Timer(LIMIT, self._process.kill)
        self._watchdog.start()

    def screen(self) -> List[str]:
        """The lines up to the next empty one, which ends a drawing."""
        lines = []
        while line := self._lines.readline():
            if line == "\n":
                return lines
            lines.append(line.rstrip("\n"))
        raise AssertionError(f"the recipe has ended: {lines}")

    def close(self) -> None:
        self._watchdog.cancel()
        self._process.kill()
        self._process.wait(LIMIT)
        self._lines.close()


@pytest.fixture
def home(tmp_path: pathlib.Path, daemon: Daemon) -> Iterator[HomeAssistant]:
    home = HomeAssistant()
    token = tmp_path / "home-assistant.token"
    token.write_text("long-lived\n")
    running = Running("HOME_ASSISTANT_URL", daemon, HOME_ASSISTANT_URL=home.url, HOME_ASSISTANT_TOKEN_FILE=str(token))
    yield home
    running.close()
    home.close()


@pytest.fixture
def kitchen(daemon: Daemon) -> Iterator[Callable[[], Running]]:
    started: List[Running] = []

    def make() -> Running:
        started.append(Running("kitchen/1.0", daemon))
        return started[-1]

    yield make
    for running in started:
        running.close()


def row_with(follow: Follow, **wanted: object) -> Dict[str, Any]:
    while True:
        change = follow.next(LIMIT)
        assert change is not None, f"no row with {wanted}"
        if isinstance(change, Update) and all(change.body.get(name) == value for name, value in wanted.items()):
            return change.body


@pytest.mark.skipif(not RECIPES, reason="the recipes are not here: this is no clone of the repository")
def test_a_switch_of_home_assistant(daemon: Daemon, home: HomeAssistant) -> None:
    with Telltale(daemon.url, surface="carplay") as car:
        follow = car.follow(KEY)
        row_with(follow, available=True, value=False)
        assert home.has_stream.wait(LIMIT)

        op = car.set(KEY, True).op
        assert row_with(follow, value=True, phase="settled")["last"]["op"] == op
        assert home.called == ["/api/services/switch/turn_on"]

        home.turn("off")
        row_with(follow, value=False, phase="settled")

        home.is_broken = True
        car.set(KEY, True)
        row_with(follow, phase="pending")
        last = row_with(follow, phase="settled", value=False)["last"]
        assert last["code"] == "home_assistant" and "500" in last["message"]


@pytest.mark.skipif(not RECIPES, reason="the recipes are not here: this is no clone of the repository")
def test_a_kitchen_display(daemon: Daemon, kitchen: Callable[[], Running]) -> None:
    with Telltale(daemon.url) as shop:
        shop.post("bistro-order/1", "ordered", attributes={"table": "4"})
        running = kitchen()
        assert running.screen() == ["table 4   starter, main, dessert"]
        shop.post("bistro-order/2", "ordered", attributes={"table": "\x1b[31m7"})
        assert running.screen() == ["table 4   starter, main, dessert", "table ?[31m7starter, main, dessert"]
        for number, event in ((1, "starter_ready"), (1, "main_ready"), (1, "dessert_ready"), (2, "main_ready")):
            shop.post(f"bistro-order/{number}", event)
        while (lines := running.screen()) != ["table ?[31m7starter, dessert"]:
            assert len(lines) in (1, 2)
        daemon.kill()
        assert "no connection" in running.screen()[-1]
        daemon.start()
        shop.post("bistro-order/2", "cancel")
        while running.screen() != ["nothing to cook"]:
            pass


@pytest.mark.skipif(not RECIPES, reason="the recipes are not here: this is no clone of the repository")
def test_each_recipe_has_a_test() -> None:
    assert len(RECIPES) == 2
