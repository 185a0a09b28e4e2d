"""A world without a route to anywhere, in which api.push.apple.com is this machine. Run by unshare -rnm; prints the answers."""

import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Support"))

from apns_place import Place, start, update  # noqa: E402
from world import World  # noqa: E402


class Client:
    def __init__(self, place):
        script = pathlib.Path(__file__).with_name("aioapns_client.py")
        self.process = subprocess.Popen(
            [sys.executable, str(script), place.key.private, place.authority], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE)

    def send(self, token, aps):
        self.process.stdin.write(json.dumps([token, {"aps": aps}]).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def run():
    world = World()
    try:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        hosts = world.file("hosts", "127.0.0.1 localhost api.push.apple.com\n")
        subprocess.run(["mount", "--bind", hosts, "/etc/hosts"], check=True)
        place = Place(world, apns="127.0.0.1:443")
        client = Client(place)
        answers = [client.send(place.start_token(), start(1))]
        token = place.update_token("coffee-order/1")
        answers.append(client.send(token, update("CONFIRMED")))
        answers.append(client.send(token, update("x", "end") | {"dismissal-date": 1}))
        answers.append(client.send(token, update("ready")))
        answers.append(client.send("abcd", start(1)))
        client.process.stdin.close()
        client.process.wait()
        print(json.dumps(answers))
    finally:
        world.close()


run()
