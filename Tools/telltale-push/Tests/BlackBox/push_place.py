"""A daemon, a sender of pushes, and a push service between them and a test."""

import json

from keys import Key, certificates
from push_peer import Service
from pusher import BUNDLE, FORM, PUSH, Pusher  # noqa: F401 - tests take them from here.
from support import Line, attributes


class Place:
    """A daemon, a push service, and a sender between them."""

    def __init__(self, world, *daemon, apps=None, streams=100, port=0, far=None, host="localhost", names=(), under=(), **more):
        """`far` is a place whose gateway takes the pushes, instead of a service of Python, which is a `host` by its certificate's `names`.
        `under` is a command that starts the sender."""
        self.world, self.folder, self.far, self.host, self.former = world, world.folder, far, host, []
        if not far:
            certificates(f"{world.folder}/certs", *names)
        self.daemon = world.daemon(*daemon, port=port)
        self.line = Line(self.daemon.port)
        self.key = far.key if far else Key(world.folder)
        self.service = None if far else Service(f"{world.folder}/certs", streams)
        self.apps = apps or {BUNDLE: {"CoffeeAttributes": FORM}}
        self.more, self.under = more, under
        self.pusher = self.start()

    def start(self):
        settings = {
            "connect": f"unix:{self.folder}/daemon.sock", "state": "push", "team": self.key.team, "kid": self.key.kid,
            "key": self.key.private, "apns-ca": self.far.authority if self.far else "certs/ca.pem",
            "apns-url": f"https://{self.host}:{(self.far or self.service).port}", "apps": self.apps} | self.more
        self.config = self.world.file("push.json", json.dumps(settings))
        pusher = Pusher(self.folder, "--config", self.config, under=self.under)
        self.world.started.append(pusher)
        return pusher

    def restart(self):
        self.former.append(self.pusher.port)
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
