"""Out and in: the orders of one daemon, through telltale-push and the APNs-shaped endpoint, on the screens of a second daemon.

ORDERS and KILLS say how many; Tools/test takes few of both."""

import csv
import json
import os
import random

import pytest

from push_place import Place
from support import PATIENCE, REPOSITORY, Line, attempts, attributes, eventually, free_port
from apns_place import Place as FarPlace
from world import World

ORDERS = int(os.environ.get("ORDERS", "20"))
KILLS = int(os.environ.get("KILLS", "8"))
BUNDLE = "com.example.store"
IN = {"kind": "parcel", "id": "attributes.orderNumber", "event": "content-state.status"}
OUT = {"kind": "parcel", "state": "status", "start": {"title": "Your parcel", "body": "It is ordered"}}
RANKS = ["announced", "ordered", "approved", "handed_to_carrier", "delivered"]


def orders(count):
    """Real orders: the events of each, in their order."""
    found = {}
    with open(REPOSITORY / "Tools/telltale-sim/Scenarios/data/olist_orders_500.csv") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["case_id"][:12], []).append(row["event"])
    return dict(list(found.items())[:count])


class Loop:
    """Two daemons, and everything between them; each may be killed, and comes back on its ports."""

    def __init__(self):
        self.near_world, self.far_world = World(), World()
        self.far_port = free_port()
        self.far = FarPlace(
            self.far_world, apns=f"127.0.0.1:{free_port()}", apps={BUNDLE: {"ParcelAttributes": IN}})
        self.near = Place(self.near_world, port=free_port(), far=self.far, apps={BUNDLE: {"ParcelAttributes": OUT}})

    def close(self):
        self.near_world.close()
        self.far_world.close()

    def start_token(self, account):
        answer = self.far.gateway.post(
            "/v1/apns/tokens", {"app": BUNDLE, "kind": "parcel", "account": account})
        assert answer.status == 201, answer.text
        return answer.json["token"]

    def update_token(self, key, account):
        return self.far.gateway.get(f"/v1/apns/tokens?key={key}&account={account}").json["token"]

    def rows(self, port):
        """Of every activity: its life-cycle, and the state that a screen would tell."""
        line = Line(port)
        found = {}
        line.send("LIST parcel/*")
        while not (text := line.receive()).startswith("OK"):
            words, row = attributes(text)
            found[words["key"]] = row
        line.close()
        return found

    def post(self, key, event, number, account, tail=""):
        """Once, through every death of the daemon."""
        for _ in attempts(f"{event} of {key} is taken"):
            try:
                answer = self.near.line.ask(f"EVT {key} type={event} src=test eid={key}-{event} for={account} {tail}".rstrip())
                assert answer.startswith("OK"), answer
                return
            except (OSError, AssertionError, ValueError):
                if self.near.daemon.process.poll() is None and self.near.line:
                    self.near.line.close()
                    self.near.line = Line(self.near.daemon.port)

    def kill(self, what):
        near, far = self.near, self.far
        if what == "push":
            near.restart()
        elif what == "near":
            port = near.daemon.port
            near.daemon.kill()
            near.daemon = self.near_world.daemon(port=port)
            near.line.close()
            near.line = Line(port)
        else:
            far.gateway.kill()
            if what == "far":
                port = far.daemon.port
                far.daemon.kill()
                far.daemon = self.far_world.daemon(port=port)
            far.options[far.options.index("--apns-listen") + 1] = f"127.0.0.1:{far.port}"
            far.gateway = self.far_world.gateway(*far.options)


@pytest.fixture
def loop():
    loop = Loop()
    yield loop
    loop.close()


def test_the_screens_of_the_second_daemon_end_as_those_of_the_first(loop):
    chosen = random.Random(7)
    found = orders(ORDERS)
    keys = {f"parcel/{order}": (f"p{number}", events) for number, (order, events) in enumerate(found.items())}
    for key, (account, _) in keys.items():
        loop.near.pusher.register(f"{account}-start", loop.start_token(account), account=account, kind="parcel")
    for number, (key, (account, events)) in enumerate(keys.items()):
        tail = json.dumps({"attributes": {"orderNumber": key.split("/")[1]}})
        loop.post(key, events[0], number, account, tail)
    eventually("every order is there", lambda: len(loop.rows(loop.far.daemon.port)) == len(keys))
    for key, (account, _) in keys.items():
        loop.near.pusher.register(account, loop.update_token(key, account), account=account, key=key)
    # The rest of all orders, step by step, with a death at some of the steps.
    steps = [(key, account, event) for index in range(1, 4) for key, (account, events) in keys.items() for event in events[index:index + 1]]
    deaths = set(chosen.sample(range(len(steps)), min(KILLS, len(steps))))
    for number, (key, account, event) in enumerate(steps):
        loop.post(key, event, number, account)
        if number in deaths:
            loop.kill(chosen.choice(["push", "push", "near", "gateway", "far"]))

    def ends():
        near, far = loop.rows(loop.near.daemon.port), loop.rows(loop.far.daemon.port)
        return all(
            far[key]["content"].get("status") == near[key]["state"] and far[key]["lifecycle"] == near[key]["lifecycle"]
            for key in keys)
    eventually("the screens end alike", ends, within=3 * PATIENCE)
    # The second daemon was told no older state after a newer one, and each alert once.
    line = Line(loop.far.daemon.port)
    for key in keys:
        line.send(f"HISTORY {key}")
        states, alerts, starts = [], [], 0
        while not (text := line.receive()).startswith("OK"):
            words, tail = attributes(text)
            if words["verdict"] in ("stale", "duplicate"):
                continue
            if words["type"] in ("deadline", "dismissed"):
                continue
            if not states:
                starts += 1
            if status := tail.get("content-state", {}).get("status"):
                states.append(RANKS.index(status))
            if alert := tail.get("alert"):
                alerts.append(alert["title"])
        assert states == sorted(states), (key, states)
        assert len(alerts) == len(set(alerts)), (key, alerts)
        assert alerts.count("Your parcel") == 1, (key, alerts)
    line.close()
