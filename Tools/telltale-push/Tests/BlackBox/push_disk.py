"""telltale-push on a disk that fills up. Run by unshare -rnm; prints what became of it."""

import errno
import http.client
import json
import os
import subprocess

import gateway_tests  # noqa: F401 - it changes the path.

from push_place import Place  # noqa: E402
from support import PATIENCE  # noqa: E402
from world import World  # noqa: E402


def fill(path):
    """Leaves no room at all."""
    file, size = os.open(path, os.O_WRONLY | os.O_CREAT), 65_536
    while size:
        try:
            os.write(file, b"x" * size)
        except OSError as error:
            assert error.errno == errno.ENOSPC
            size //= 2
    os.close(file)


def run():
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    world = World()
    try:
        disk = f"{world.folder}/push"
        os.mkdir(disk)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", disk], capture_output=True, text=True)
        if mounted.returncode:
            print(json.dumps({"skip": f"mount -t tmpfs: {mounted.stderr.strip()}"}))
            return
        place = Place(world)
        answered, number = ["first"], 0
        place.pusher.register("first", "aa01", account="alice", kind="coffee-order")
        fill(f"{disk}/filler")
        # There may be some room left in the pages of the file.
        while place.pusher.process.poll() is None and number < 1_000:
            number += 1
            try:
                place.pusher.register(f"r{number}", f"bb{number:06}", account=f"p{number}", kind="coffee-order")
                answered.append(f"r{number}")
            except (OSError, http.client.HTTPException):
                pass
        status, log = place.pusher.process.wait(PATIENCE), place.pusher.log()
        os.remove(f"{disk}/filler")
        place.pusher = place.start()
        kept = {target["id"] for target in place.pusher.ask("GET", "/v1/push/targets").json["targets"]}
        place.post("coffee-order/1", "start", account="alice")
        token = place.service.wait(lambda pushes: pushes)[0].token
        print(json.dumps({
            "status": status, "says": "the registrations cannot be written" in log, "lost": sorted(set(answered) - kept), "token": token}))
    finally:
        subprocess.run(["umount", f"{world.folder}/push"], capture_output=True)
        world.close()


if __name__ == "__main__":
    run()
