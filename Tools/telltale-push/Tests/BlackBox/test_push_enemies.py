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
from support import PATIENCE, accepted, eventually


def test_a_disk_that_is_full_ends_the_process_and_loses_nothing_that_was_answered():
    script = pathlib.Path(__file__).with_name("push_disk.py")
    tried = subprocess.run(["unshare", "-rnm", "ip", "link", "set", "lo", "up"], capture_output=True)
    if tried.returncode:
        pytest.skip(f"no namespaces here: {tried.stderr.decode().strip()}")
    done = subprocess.run(["unshare", "-rnm", sys.executable, str(script)], capture_output=True, timeout=3 * PATIENCE)
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
        threading.Thread(target=lambda: kept.append(accepted(silent)), daemon=True).start()
        place.pusher.register("a", "aa01", key="coffee-order/1")
        place.post("coffee-order/1", "start")
        assert place.pusher.wait_for_sent()[0]["reason"] == "no connection"
        for connection in kept:
            connection.close()
    place.service.listen()
    assert place.service.wait(lambda pushes: pushes)[0].token == "aa01"


def lost_packets(port):
    """How often the first packet of a connection to a port, which is not taken yet, was sent again."""
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[2].endswith(f":{port:04X}") and fields[3] == "02":
            return int(fields[6], 16)
    return 0


def time_until_its_end(connection):
    began = time.monotonic()
    connection.settimeout(PATIENCE)
    with connection:
        while connection.recv(65_536):
            pass
    return time.monotonic() - began


def test_the_time_of_tcp_counts_for_a_connection(world):
    """A service is silent on two connections. For the one that it was slow to take it has less time than for the other."""
    place = Place(world)
    place.service.stop()
    with socket.socket() as slow, socket.socket() as first:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        slow.settimeout(PATIENCE)
        slow.bind(("127.0.0.1", place.service.port))
        slow.listen(0)
        # One that nobody accepts fills the queue: the kernel drops the next one's first packets, and these are sent again.
        first.connect(slow.getsockname())
        place.pusher.register("a", "aa01", key="coffee-order/1")
        place.post("coffee-order/1", "start")
        eventually("two packets are lost", lambda: lost_packets(place.service.port) >= 2)
        slow.accept()[0].close()
        late = time_until_its_end(accepted(slow))
        prompt = time_until_its_end(accepted(slow))
    # The one was taken when at least 3 of 10 s were over: TCP sends its first packet again after 1 s, and after 1 or 2 s more.
    assert late < 0.85 * prompt, (late, prompt)


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
    assert [entry["registration"] for entry in place.pusher.wait_for_sent()] == ["b"]
    # The first one is over after half a minute, by its status.
    sent = place.pusher.wait_for_sent(lambda sent: len(sent) >= 2)
    assert {(entry["registration"], entry["status"]) for entry in sent} == {("a", 200), ("b", 200)}
    assert len(place.service.pushes) == 2 and place.service.connections == 1


def test_a_start_of_which_nothing_left_is_sent_again(world):
    """A service that takes no byte of a body: it has not begun a card, and the next connection does."""
    place = Place(world)
    place.service.window = 0
    place.pusher.register("a", "aa01", account="alice", kind="coffee-order")
    place.post("coffee-order/1", "start", account="alice")
    sent = place.pusher.wait_for_sent()
    assert [(entry["class"], entry["event"]) for entry in sent] == [("unsent", "start")]
    place.service.window = None
    push = place.service.wait(lambda pushes: pushes)[0]
    assert (push.token, push.event, push.connection) == ("aa01", "start", 2)
    place.pusher.wait_for_sent(lambda sent: sent[0]["status"] == 200)
    assert len(place.service.pushes) == 1


def test_registrations_that_never_end_leave_it_files_and_end_in_time(world):
    """Two hundred callers begin a registration, without a token, at a sender that may open 128 files."""
    place = Place(world, under=("prlimit", "--nofile=128:128"))
    place.pusher.register("a", "aa01", key="coffee-order/1")
    head = f"PUT /v1/push/targets/b HTTP/1.1\r\nHost: localhost:{place.pusher.port}\r\nContent-Length: 100\r\n\r\n{{"
    held = []
    for _ in range(200):
        caller = socket.create_connection(("127.0.0.1", place.pusher.port), timeout=PATIENCE)
        caller.sendall(head.encode())
        held.append(caller)
    # It goes on with its work: it has a file for the connection to the service.
    place.post("coffee-order/1", "start")
    assert place.service.wait(lambda pushes: pushes)[0].token == "aa01"
    # Each of them is closed, at once or with 408 when its time is over. Then there is room for others.
    ends = [end(caller) for caller in held]
    assert ends.count("closed") > 100 and ends.count("408") > 10 and set(ends) == {"closed", "408"}, ends
    assert place.pusher.ask("GET", "/v1/push/targets").json["count"] == 1


def end(caller):
    """How a connection whose request is not whole ends."""
    with caller:
        try:
            said = b""
            while data := caller.recv(65_536):
                said += data
        except ConnectionError:
            pass
    return said.split(b" ")[1].decode() if said else "closed"
