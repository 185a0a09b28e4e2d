#!/usr/bin/env python3
"""Writes a journal of everything that a daemon records, and the daemon's own answers about it.

Usage: Tests/Journals/write-journal.py TELLTALED KINDS FOLDER [rules]

With `rules` the journal has what the second edition of the rules decides otherwise.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile


class Daemon:
    def __init__(self, program, kinds, data):
        environment = dict(os.environ, TELLTALE_SNAPSHOT_RECORDS="25", TELLTALE_LOG_BYTES="200000")
        self.process = subprocess.Popen(
            [program, "--data", data, "--kinds", kinds, "--listen", "127.0.0.1:0", "--log-level", "error"],
            stdout=subprocess.PIPE, env=environment)
        ready = self.process.stdout.readline().decode()
        self.port = int(ready.split("tcp=")[1].split()[0].rsplit(":", 1)[1])

    def end(self, kill=False):
        (self.process.kill if kill else self.process.terminate)()
        self.process.wait()
        self.process.stdout.close()


class Client:
    def __init__(self, daemon, hello=None):
        self.socket = socket.create_connection(("127.0.0.1", daemon.port), timeout=30)
        self.lines = self.socket.makefile("rb")
        self.lines.readline()
        if hello:
            self.ask("HELLO " + hello)

    def read(self):
        return self.lines.readline().decode().rstrip("\n")

    def ask(self, line):
        """All lines up to the reply, the reply last. Pushes are among them."""
        self.socket.sendall((line + "\n").encode())
        told = []
        while not told or told[-1].split(" ")[0] not in ("OK", "ERR"):
            told.append(self.read())
        return told

    def wait(self, verb):
        """The operation of the next line with that verb."""
        while True:
            words = self.read().split(" ")
            if words[0] == verb:
                return dict(word.split("=", 1) for word in words[1:] if "=" in word)["op"]

    def wait_row(self, part):
        while part not in self.read():
            pass

    def hang_up(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


EVENTS = [
    'coffee-order/1 type=start eid=1 for=alice {"attributes":{"shop":"Hoegi","item":"Flat white"},'
    '"content-state":{"eta":1795600000}}',
    "coffee-order/1 type=confirm eid=2",
    "coffee-order/1 type=brew eid=3 at=1795500000000",
    "coffee-order/1 type=confirm eid=4",
    "coffee-order/1 type=brew eid=3 at=1795500000000",
    'coffee-order/2 type=CONFIRMED eid=5 {"attributes":{"shop":"Hoegi","item":"Espresso"},"foo":1}',
    "coffee-order/2 type=brew ver=7 eid=6",
    'coffee-order/2 type=ready ver=8 eid=7 {"content-state":{"shelf":"B"},"alert":{"title":"Ready","body":"Shelf B"}}',
    "coffee-order/2 type=ready ver=6 eid=8",
    "coffee-order/2 type=collect ver=9 eid=9",
    'coffee-order/3 type=start eid=10 {"attributes":{"item":"Tea"}}',
    "coffee-order/3 type=cancel eid=11",
    'flight/UA1 type=start eid=12 for=carol,bob {"content-state":{"origin":"EWR","dest":"IAH","eta":1795600000}}',
    'flight/UA1 type=delayed eid=13 {"content-state":{"eta":1795603600}}',
    "flight/UA1 type=departed eid=14",
    'parcel/x type=purchased eid=15 {"relevance-score":7}',
    'parcel/x type=approved eid=16 {"stale-date":1795700000}',
    "parcel/y type=start eid=17",
    'parcel/y type=update eid=18 {"content-state":{"a":[1,{"b":null}]}}',
    'parcel/y type=end eid=19 {"dismissal-date":1795700000}',
]


def first_life(daemon):
    till = Client(daemon, "client=till")
    for event in EVENTS:
        till.ask("EVT " + event)
    alice = Client(daemon, "client=phone surface=phone account=alice")
    alice.ask("DISMISS coffee-order/1")
    house = Client(daemon, "client=house")
    for line in ("SERVE porch-light", "SERVE log-coffee", "REPORT porch-light/front value=off",
                 "REPORT log-coffee/espresso"):
        house.ask(line)
    alice.ask("SET porch-light/front value=on eid=t1")
    house.ask(f"DONE op={house.wait('DO')}")
    alice.ask("SET porch-light/front value=off eid=t2")
    house.ask(f"FAIL op={house.wait('DO')} code=jammed " + '{"message":"stuck"}')
    alice.ask("PRESS log-coffee/espresso eid=t3")
    house.ask(f"DONE op={house.wait('DO')}")
    looker = Client(daemon)
    looker.ask("SUB log-coffee/espresso view=full")
    looker.wait_row('"phase":"idle"')
    # A toggle and a press are under way when their provider goes.
    alice.ask("SET porch-light/front value=off eid=t4")
    house.wait("DO")
    while alice.ask("PRESS log-coffee/espresso eid=t5")[-1].startswith("ERR"):
        pass
    house.wait("DO")
    house.hang_up()
    other = Client(daemon, "client=house2")
    other.ask("SERVE porch-light")
    till.ask('EVT coffee-order/4 type=start eid=20 {"start-date":1795900000,"alert":{"title":"Soon","body":"x"}}')


def second_life(daemon):
    till = Client(daemon, "client=till")
    till.ask("EVT parcel/x type=handed_to_carrier eid=21")
    till.ask("EVT coffee-order/1 type=brew eid=3 at=1795500000000")
    till.ask('EVT coffee-order/5 type=start eid=22 {"attributes":{"item":"é ☕ \\u0001"}}')


# An order is ready when the kitchen says so, and a question about it is open.
BOWL = {
    "kind": "bowl", "type": "activity", "version": 1, "app": "com.example.bowls", "title": "Bowl",
    "machine": {"initial": "making", "states": {
        "making": {"on": {"ready": "done"}, "regions": [
            {"id": "kitchen", "initial": "cooking", "states": {"cooking": {"on": {"plate": "plated"}}, "plated": {}}},
            {"id": "question", "initial": "none", "states": {
                "none": {"on": {"ask": "open"}}, "open": {"defer": ["ready", "note"], "on": {"answer": "none"}}}}]},
        "done": {"on": {"collect": "collected"}}, "collected": {"type": "final"}}},
    "views": {
        "compact": {"leading": {"symbol": "cup"}, "trailing": {"text": "{{state.title}}"}}, "minimal": {"symbol": "cup"},
        "lockScreen": {"title": "{{state.title}}"}, "expanded": {"center": {"title": "{{state.title}}"}}},
}
# Accounts whose dismissals one activity stores.
MARKS = 4096


def rules_first_life(daemon):
    till = Client(daemon, "client=till")
    for event in ("bowl/1 type=start", "bowl/1 type=ask", "bowl/1 type=ready", "bowl/2 type=start", "bowl/2 type=ask",
                  "bowl/2 type=note", "bowl/3 type=start", "bowl/all type=start"):
        till.ask("EVT " + event)
    alice = Client(daemon, "client=phone surface=phone account=alice")
    alice.ask("PRESS log-coffee/espresso eid=t1")
    for number in range(MARKS):
        person = Client(daemon, f"account=a{number}")
        person.ask("DISMISS bowl/all")
        person.hang_up()


def rules_second_life(daemon):
    till = Client(daemon, "client=till")
    house = Client(daemon, "client=house")
    house.ask("SERVE log-coffee")
    bob = Client(daemon, "client=phone surface=phone account=bob")
    while bob.ask("PRESS log-coffee/espresso eid=t2")[-1].startswith("ERR"):
        pass
    house.ask(f"DONE op={house.wait('DO')}")
    for event in ("bowl/2 type=ready", "bowl/3 type=ask", "bowl/3 type=note"):
        till.ask("EVT " + event)
    assert Client(daemon, "account=late").ask("DISMISS bowl/all")[-1].startswith("ERR")


def kinds_with_bowl(kinds):
    folder = tempfile.mkdtemp()
    for name in ("coffee-order.json", "log-coffee.json"):
        shutil.copy(os.path.join(kinds, name), folder)
    with open(os.path.join(folder, "bowl.json"), "w") as file:
        json.dump(BOWL, file)
    return folder


def main():
    program, kinds, folder = sys.argv[1:4]
    data = os.path.join(tempfile.mkdtemp(), "data")
    lives, without = ((first_life, False), (second_life, True)), []
    if sys.argv[4:] == ["rules"]:
        lives, without = ((rules_first_life, False), (rules_second_life, True)), ["bowl/all"]
        kinds = kinds_with_bowl(kinds)
    for life, is_killed in lives:
        daemon = Daemon(program, kinds, data)
        life(daemon)
        daemon.end(kill=is_killed)
    daemon = Daemon(program, kinds, data)
    client = Client(daemon)
    rows = client.ask("LIST * view=full")
    keys = sorted([row.split(" key=")[1].split()[0] for row in rows if " key=" in row] + ([] if without else ["coffee-order/1"]))
    past = [line for key in keys if key not in without for line in client.ask("HISTORY " + key)]
    daemon.end()
    os.makedirs(folder, exist_ok=True)
    for name, lines in (("list.txt", rows), ("history.txt", past)):
        with open(os.path.join(folder, name), "w") as file:
            file.write("\n".join(lines) + "\n")
    for name in ("journal.sqlite", "acknowledged"):
        shutil.copy(os.path.join(data, name), folder)
    shutil.rmtree(os.path.dirname(data))


main()
