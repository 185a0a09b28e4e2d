"""telltale-push between services and disks that do their worst."""

import json
import pathlib
import socket
import subprocess
import sys
import threading
import time

import pytest

from push_place import Place


def test_a_disk_that_is_full_ends_the_process_and_loses_nothing_that_was_answered():
    script = pathlib.Path(__file__).with_name("push_disk.py")
    tried = subprocess.run(["unshare", "-rnm", "ip", "link", "set", "lo", "up"], capture_output=True)
    if tried.returncode:
        pytest.skip(f"no namespaces here: {tried.stderr.decode().strip()}")
    done = subprocess.run(["unshare", "-rnm", sys.executable, str(script)], capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    told = json.loads(done.stdout.decode().splitlines()[-1])
    if "skip" in told:
        pytest.skip(told["skip"])
    assert told == {"status": 1, "says": True, "lost": [], "token": "aa01"}


def test_a_service_that_takes_connections_and_says_nothing_is_given_up(world):
    place = Place(world)
    place.service.stop()
    with socket.create_server(("127.0.0.1", place.service.port)) as silent:
        kept = []
        threading.Thread(target=lambda: kept.append(silent.accept()), daemon=True).start()
        place.pusher.register("a", "aa01", key="coffee-order/1")
        place.post("coffee-order/1", "start")
        started = time.monotonic()
        while not place.pusher.sent():
            time.sleep(0.05)
        assert place.pusher.sent()[0]["reason"] == "no connection" and time.monotonic() - started < 25
        for connection, _ in kept:
            connection.close()
    place.service.listen()
    assert place.service.wait(lambda pushes: pushes)[0].token == "aa01"


def test_a_connection_has_ten_seconds_in_all(world):
    """A service that is slow to take a connection, and silent then: the time of TCP counts."""
    place = Place(world)
    place.service.stop()
    with socket.socket() as slow, socket.socket() as first:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        slow.settimeout(60)
        slow.bind(("127.0.0.1", place.service.port))
        slow.listen(0)
        # One that nobody accepts fills the queue: the kernel drops the next one's first packets, and these are sent again.
        first.connect(slow.getsockname())
        place.pusher.register("a", "aa01", key="coffee-order/1")
        place.post("coffee-order/1", "start")
        began = time.monotonic()
        time.sleep(3.5)
        slow.accept()[0].close()
        connection, _ = slow.accept()
        taken = time.monotonic() - began
        connection.settimeout(60)
        with connection:
            while connection.recv(65_536):
                pass
        ended = time.monotonic() - began
    assert taken > 3 and ended < 10 + taken - 0.5, (taken, ended)


def test_a_status_whose_body_never_ends_counts(world):
    """The status comes at once and the body does not end: the push was taken, and others go on meanwhile."""
    place = Place(world)
    place.service.answer = lambda push: "drip" if push.token == "aa01" else (200, None, {})
    place.pusher.register("a", "aa01", key="coffee-order/1")
    place.pusher.register("b", "bb01", key="coffee-order/2")
    place.post("coffee-order/1", "start")
    place.service.wait(lambda pushes: pushes)
    place.post("coffee-order/2", "start")
    place.service.wait(lambda pushes: len(pushes) == 2)
    while [entry["token"] for entry in place.pusher.sent() if entry["status"] == 200] == []:
        time.sleep(0.05)
    assert [entry["registration"] for entry in place.pusher.sent()] == ["b"]
    # A bound in time: the first one is over after half a minute, by its status.
    started = time.monotonic()
    while len(place.pusher.sent()) < 2:
        time.sleep(0.1)
    assert time.monotonic() - started < 45
    assert {(entry["registration"], entry["status"]) for entry in place.pusher.sent()} == {("a", 200), ("b", 200)}
    assert len(place.service.pushes) == 2 and place.service.connections == 1
