"""The service manager that started the gateway is told its states (`sd_notify`)."""

import json
import os
import signal
import socket

import pytest

from keys import Key
from pusher import BUNDLE, FORM, Pusher
from support import PATIENCE, attempts, eventually


class Manager:
    """The manager's end: a datagram socket."""

    def __init__(self, path):
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path)
        self.socket.settimeout(PATIENCE)

    def receive(self):
        return self.socket.recv(4096).decode().split("\n")

    def receive_state(self):
        for _ in attempts("a state"):
            if (told := self.receive()) != ["WATCHDOG=1"]:
                return told

    def receive_within(self, seconds):
        self.socket.settimeout(seconds)
        try:
            return self.receive()
        except (TimeoutError, BlockingIOError):
            return None
        finally:
            self.socket.settimeout(PATIENCE)


@pytest.fixture
def manager(tmp_path):
    manager = Manager(str(tmp_path / "notify"))
    yield manager
    manager.socket.close()


def test_ready_reloading_and_stopping(world, manager):
    """It is ready without a daemon: the gateway serves, and waits for the daemon."""
    gateway = world.gateway(extra={"NOTIFY_SOCKET": manager.path})
    assert manager.receive() == ["READY=1", "STATUS=serving"]
    gateway.process.send_signal(signal.SIGHUP)
    assert manager.receive() == ["RELOADING=1"]
    assert manager.receive() == ["READY=1"]
    assert gateway.stop() == 0
    assert manager.receive() == ["STOPPING=1", "STATUS=stopping"]
    # Without WATCHDOG_USEC nothing is told of the loops.
    assert manager.receive_within(0) is None


def test_the_loops_say_that_they_turn(world, manager):
    gateway = world.gateway(extra={"NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "100000"})
    assert manager.receive_state() == ["READY=1", "STATUS=serving"]
    assert [manager.receive() for _ in range(3)] == [["WATCHDOG=1"]] * 3
    # A process that stands says nothing.
    gateway.process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, gateway.process.pid, os.WSTOPPED | os.WNOWAIT)
    eventually("nothing is left", lambda: manager.receive_within(0) is None)
    assert manager.receive_within(0.3) is None
    gateway.process.send_signal(signal.SIGCONT)
    assert manager.receive() == ["WATCHDOG=1"]
    assert gateway.stop() == 0


def test_the_watchdog_of_another_process(world, manager):
    gateway = world.gateway(extra={"NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "2000", "WATCHDOG_PID": "1"})
    assert manager.receive() == ["READY=1", "STATUS=serving"]
    assert gateway.ask("GET", "/healthz", port=gateway.ops).status == 200
    assert gateway.stop() == 0
    assert manager.receive() == ["STOPPING=1", "STATUS=stopping"]


@pytest.mark.parametrize("name", ["/nowhere/notify", "@", "relative"])
def test_a_socket_that_is_missing_is_no_failure(world, name):
    gateway = world.gateway(extra={"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "2000"})
    assert gateway.ask("GET", "/healthz", port=gateway.ops).status == 200
    assert gateway.stop() == 0


def test_the_sender_of_pushes(world, manager):
    """It is ready without a daemon and without a push service, and says that it turns."""
    key = Key(world.folder)
    config = world.file("push.json", json.dumps({
        "connect": f"unix:{world.folder}/daemon.sock", "state": "push", "team": key.team, "kid": key.kid, "key": key.private,
        "apns-url": "https://127.0.0.1:1", "apps": {BUNDLE: {"CoffeeAttributes": FORM}}}))
    pusher = Pusher(
        world.folder, "--config", config, extra={"NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "100000"})
    world.started.append(pusher)
    assert manager.receive_state() == ["READY=1", "STATUS=serving"]
    assert [manager.receive() for _ in range(3)] == [["WATCHDOG=1"]] * 3
    assert pusher.stop() == 0
    assert manager.receive_state() == ["STOPPING=1", "STATUS=stopping"]
