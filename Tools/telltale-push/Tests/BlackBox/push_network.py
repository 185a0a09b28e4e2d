"""telltale-push on a network in which every address is this machine's own, and every packet is seen. Run by unshare -rnm."""

import json
import socket
import struct
import subprocess
import sys
import threading

import gateway_tests  # noqa: F401 - it changes the path.

from keys import Key  # noqa: E402
from push_place import Place  # noqa: E402
from test_push_web import Browser  # noqa: E402
from support import eventually  # noqa: E402
from world import World  # noqa: E402

APPLE, BROWSER = "api.push.example", "push.browser.example"


class Trap:
    """Every connection that begins, and every datagram: (protocol, address, port)."""

    def __init__(self):
        self.seen = set()
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while frame := self.socket.recv(65_536):
            kind, packet = struct.unpack("!H", frame[12:14])[0], frame[14:]
            if kind == 0x0800:
                protocol, address, inner = packet[9], socket.inet_ntop(socket.AF_INET, packet[16:20]), packet[(packet[0] & 15) * 4:]
            elif kind == 0x86DD:
                protocol, address, inner = packet[6], socket.inet_ntop(socket.AF_INET6, packet[24:40]), packet[40:]
            else:
                continue
            if protocol == 6 and inner[13] & 0x12 == 0x02:
                self.seen.add(("tcp", address, struct.unpack("!H", inner[2:4])[0]))
            elif protocol == 17:
                self.seen.add(("udp", address, struct.unpack("!H", inner[2:4])[0]))


def trap_or_skip():
    # Whoever asks for any address anywhere reaches nobody, and is seen.
    for words in (["link", "set", "lo", "up"], ["route", "add", "local", "default", "dev", "lo"]):
        done = subprocess.run(["ip", *words], capture_output=True, text=True)
        if done.returncode:
            print(json.dumps({"skip": f"ip {' '.join(words)}: {done.stderr.strip()}"}))
            sys.exit()
    return Trap()


def run():
    trap = trap_or_skip()
    world = World()
    try:
        hosts = world.file("hosts", f"127.0.0.1 localhost {APPLE} {BROWSER}\n")
        resolver = world.file("resolv.conf", "nameserver 192.0.2.53\n")
        subprocess.run(["mount", "--bind", hosts, "/etc/hosts"], check=True)
        subprocess.run(["mount", "--bind", resolver, "/etc/resolv.conf"], check=True)
        vapid = Key(world.folder, kid="VAPIDVAPID")
        place = Place(world, host=APPLE, names=(APPLE, BROWSER), **{"web-push": {
            "key": vapid.private, "subject": "mailto:ops@example.com", "hosts": [BROWSER], "ca": "certs/ca.pem"}})
        browser = Browser(f"{world.folder}/certs")
        subscription = browser.subscription
        subscription["endpoint"] = subscription["endpoint"].replace("localhost", BROWSER)

        def register(name, **body):
            return place.pusher.ask("PUT", f"/v1/push/targets/{name}", {"account": "alice"} | body).status

        refused = register("e", kind="coffee-order", type="webpush", subscription=subscription | {"endpoint": "https://elsewhere.example/p"})
        register("s", kind="coffee-order", token="aa01")
        register("b", kind="coffee-order", type="webpush", subscription=subscription)
        place.post("coffee-order/1", "start", account="alice")
        place.service.wait(lambda pushes: pushes)
        register("u", key="coffee-order/1", token="bb01")
        for event in ("confirm", "brew", "ready", "collect"):
            place.post("coffee-order/1", event)
        place.service.wait(lambda pushes: pushes[-1].aps["event"] == "end")
        browser.wait(lambda requests: "Collected" in browser.opened()[-1]["body"] if requests else False)
        place.restart()
        place.pusher.sent()
        place.post("coffee-order/2", "start", account="alice")
        place.service.wait(lambda pushes: pushes[-1].aps["event"] == "start")
        ports = {"apple": place.service.port, "browser": browser.server.server_port}
        own = {place.pusher.port, place.daemon.port, *place.former}
        seen = {entry for entry in trap.seen if entry[2] not in own}
        # The trap does see what leaves.
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stray:
            stray.sendto(b"x", ("203.0.113.9", 9))
        eventually("the trap sees a packet", lambda: ("udp", "203.0.113.9", 9) in trap.seen)
        print(json.dumps({"refused": refused, "seen": sorted(seen), "ports": ports}))
    finally:
        world.close()


if __name__ == "__main__":
    run()
