"""An idempotency key acts once, whatever is killed between the write of an event and its answer.

GATEWAY_KILLS=1000 Tools/ci/test-gateway -k acts_once kills a thousand times.
"""

import http.client
import itertools
import os
import socket
import threading

from support import accepted, end_listening

BEGIN = {"content-state": {"note": "a"}}


class Middle:
    """Between gateway and daemon: passes bytes on, until what is armed happens to one request."""

    def __init__(self, port):
        self.target = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.armed = None
        threading.Thread(target=self.accept, daemon=True).start()

    def arm(self, strikes_at, strike):
        """`strike` is called once: instead of passing the next answer on, or behind the next request."""
        self.armed = (strikes_at, strike)

    def take(self, place):
        """What is armed for that place, once."""
        armed = self.armed
        if not armed or armed[0] != place:
            return None
        self.armed = None
        return armed[1]

    def accept(self):
        while client := accepted(self.listener):
            try:
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                client.close()
                continue
            for source, sink, place in [(client, server, "request"), (server, client, "answer")]:
                threading.Thread(target=self.pump, args=[source, sink, place], daemon=True).start()

    def pump(self, source, sink, place):
        mark = {"request": b"EVT ", "answer": b"verdict="}[place]
        try:
            while data := source.recv(65_536):
                strike = self.take(place) if mark in data else None
                if not strike or place == "request":
                    sink.sendall(data)
                if strike:
                    strike()
                    break
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        end_listening(self.listener)


class Scene:
    """A daemon and a gateway that are killed, and come back."""

    def __init__(self, world):
        self.world = world
        self.daemon = world.daemon()
        self.middle = Middle(self.daemon.port)
        self.gateway = self.new_gateway()

    def new_gateway(self):
        return self.world.gateway("--log-level", "warning", connect=f"127.0.0.1:{self.middle.port}")

    def kill_daemon(self):
        self.daemon.kill()
        self.daemon.close()
        self.daemon = self.world.daemon()
        self.middle.target = self.daemon.port

    def kill_gateway(self):
        self.gateway.kill()

    def post(self, key):
        """The answer to an event; where the gateway was killed, that of the repeat."""
        headers = {"Idempotency-Key": key}
        try:
            return self.gateway.post(f"/errand/{key}/start", BEGIN, headers)
        except (http.client.HTTPException, ConnectionError):
            self.gateway.close()
            self.gateway = self.new_gateway()
            return self.gateway.post(f"/errand/{key}/start", BEGIN, headers)


def test_a_key_acts_once_whatever_is_killed_between_the_write_and_the_answer(world):
    total = int(os.environ.get("GATEWAY_KILLS", "24"))
    scene = Scene(world)
    strikes = itertools.cycle([
        ("answer", lambda: None, {"duplicate"}),  # The connection alone is lost, and the answer with it.
        ("answer", scene.kill_daemon, {"duplicate"}),
        ("answer", scene.kill_gateway, {"duplicate"}),
        # Before it is known whether the journal has it.
        ("request", scene.kill_daemon, {"applied", "duplicate"}),
    ])
    for number, (place, strike, verdicts) in zip(range(total), strikes):
        scene.middle.arm(place, strike)
        answer = scene.post(f"once-{number}")
        assert answer.status == 200 and answer.json["verdict"] in verdicts, (number, place, answer.text)
        assert scene.middle.armed is None, number
        again = scene.post(f"once-{number}")
        assert (again.json["verdict"], again.json["rev"]) == ("duplicate", answer.json["rev"])
    listed = scene.gateway.get("/v1/entities?pattern=errand/*").json
    assert listed["count"] == total
    for number in range(total):
        history = scene.gateway.get(f"/v1/entities/errand/once-{number}/history").json
        assert history["count"] == 1, history
    scene.middle.close()
