"""A daemon, a sender of pushes, and a push service between them and a test."""

import http.client
import json
import os

from apns_peer import Key, certificates
from push_peer import Service
from support import REPOSITORY, Answer, Line, Program, attributes

PUSH = os.environ.get("TELLTALE_PUSH", str(REPOSITORY / "Tools/telltale-gateway/.build/debug/telltale-push"))
BUNDLE = "com.example.coffee"
FORM = {"kind": "coffee-order", "content": ["shelf"], "state": "status", "start": {"title": "Your order", "body": "It is placed"}}


class Pusher(Program):
    def __init__(self, folder, *arguments):
        super().__init__([PUSH, *arguments, "--listen", "http://127.0.0.1:0", "--log-level", "debug"], folder)
        self.port = int(self.ready["http"].split(":")[-1])

    def ask(self, method, path, body=None, token=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            connection.request(method, path, json.dumps(body) if body is not None else None, headers)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def register(self, name, token, **more):
        answer = self.ask("PUT", f"/v1/push/targets/{name}", {"token": token} | more)
        assert answer.status in (200, 201), answer.text
        return answer

    def sent(self):
        return self.ask("GET", "/v1/push/sent").json["sent"]


class Place:
    """A daemon, a push service, and a sender between them."""

    def __init__(self, world, *daemon, apps=None, streams=100, port=0, far=None, **more):
        """`far` is a place whose gateway takes the pushes, instead of a service of Python."""
        self.world, self.folder, self.far = world, world.folder, far
        if not far:
            certificates(f"{world.folder}/certs")
        self.daemon = world.daemon(*daemon, port=port)
        self.line = Line(self.daemon.port)
        self.key = far.key if far else Key(world.folder)
        self.service = None if far else Service(f"{world.folder}/certs", streams)
        self.apps = apps or {BUNDLE: {"CoffeeAttributes": FORM}}
        self.more = more
        self.pusher = self.start()

    def start(self):
        settings = {
            "connect": f"unix:{self.folder}/daemon.sock", "state": "push", "team": self.key.team, "kid": self.key.kid,
            "key": self.key.private, "apns-ca": self.far.authority if self.far else "certs/ca.pem",
            "apns-url": f"https://localhost:{(self.far or self.service).port}", "apps": self.apps} | self.more
        self.config = self.world.file("push.json", json.dumps(settings))
        pusher = Pusher(self.folder, "--config", self.config)
        self.world.started.append(pusher)
        return pusher

    def restart(self):
        self.pusher.kill()
        self.pusher = self.start()

    def post(self, key, event, tail="", **words):
        text = " ".join(f"{'for' if name == 'account' else name}={value}" for name, value in words.items())
        answer = self.line.ask(f"EVT {key} type={event} {text} {tail}".replace("  ", " ").rstrip())
        assert answer.startswith("OK"), answer
        return attributes(answer)[0]


def status(push):
    return push.aps["content-state"].get("status")


def last(pushes, token):
    found = [push for push in pushes if push.token == token]
    return found[-1] if found else None
