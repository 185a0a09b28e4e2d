"""A daemon and a gateway that takes pushes, and what its senders send."""

import json
import time

from apns_peer import Key, Peer, certificates
from support import Line, attributes

BUNDLE = "com.example.coffee"
TYPE = {"kind": "coffee-order", "id": "attributes.orderNumber", "event": "content-state.status"}


class Place:
    """A daemon, a gateway that takes pushes, and a sender's key."""

    def __init__(self, world, auth="verify", apns="127.0.0.1:0", daemon=(), gateway=(), **file):
        self.folder = world.folder
        self.people = 0
        self.daemon = world.daemon(*daemon)
        self.key = Key(world.folder)
        self.bearer = self.key.token()
        self.other = Key(world.folder, "TEAM654321", "KEY7654321")
        keys = [{"team": k.team, "kid": k.kid, "key": f"file:{k.public}"} for k in (self.key, self.other)]
        self.file = world.file("apns.json", json.dumps(
            {"auth": auth, "keys": keys, "apps": {BUNDLE: {"CoffeeAttributes": TYPE}}} | file))
        self.options = [*certificates(f"{world.folder}/certs", "api.push.apple.com", "api.sandbox.push.apple.com"),
                        "--apns-listen", apns, "--apns", self.file, "--state", f"{world.folder}/state", *gateway]
        self.gateway = world.gateway(*self.options)
        self.authority = f"{world.folder}/certs/ca.pem"
        self.port = int(self.gateway.ready["apns"].split(":")[-1])

    def peer(self, **options):
        return Peer(self.port, self.authority, **options)

    def start_token(self, **more):
        """Each of another person, so that the limit of activities is none of the tests' matter."""
        self.people += 1
        account = more.pop("account", f"person-{self.people}")
        answer = self.gateway.post("/v1/apns/tokens", {"app": BUNDLE, "kind": "coffee-order", "account": account} | more)
        assert answer.status == 201, answer.text
        return answer.json["token"]

    def update_token(self, key):
        answer = self.gateway.get(f"/v1/apns/tokens?key={key}&account=alice")
        assert answer.status == 200, answer.text
        return answer.json["token"]

    def make_channel(self, peer):
        made = peer.ask("POST", f"/1/apps/{BUNDLE}/channels", [self.auth], b'{"message-storage-policy":1,"push-type":"LiveActivity"}')
        assert made.status == 201 and made.frames == [("HEADERS", True)]
        return made.headers["apns-channel-id"]

    def broadcast(self, peer, channel, aps):
        head = [self.auth, ("apns-channel-id", channel), ("apns-push-type", "Liveactivity"), ("apns-expiration", "0")]
        return peer.ask("POST", f"/4/broadcasts/apps/{BUNDLE}", head, json.dumps({"aps": aps}).encode())

    @property
    def auth(self):
        return "authorization", f"bearer {self.bearer}"

    def row(self, key):
        line = Line(self.daemon.port)
        try:
            return attributes(line.ask(f"GET {key}"))[1]
        finally:
            line.close()


def start(number, **more):
    return {"timestamp": int(time.time()), "event": "start", "attributes-type": "CoffeeAttributes",
            "attributes": {"orderNumber": number, "item": "Flat white"}, "content-state": {"status": "new"},
            "alert": {"title": "Ordered", "body": "Flat white"}} | more


def update(status, event="update", **more):
    return {"timestamp": int(time.time()), "event": event, "content-state": {"status": status, "shelf": "B"}} | more
