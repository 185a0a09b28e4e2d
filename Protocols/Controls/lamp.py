#!/usr/bin/env python3
"""A provider in Python: the lamp of porch-light/front is a file that holds on or off.

    lamp.py HOST:PORT FILE
"""

import os
import random
import socket
import sys
import time

if len(sys.argv) != 3 or ":" not in sys.argv[1]:
    sys.exit("usage: lamp.py HOST:PORT FILE")
host, port = sys.argv[1].rsplit(":", 1)
path = sys.argv[2]
key = "porch-light/front"


def read():
    return open(path).read().strip() if os.path.exists(path) else "off"


def write(value):
    with open(path, "w") as file:
        file.write(value + "\n")


def attributes(line):
    """op=o18 key=porch-light/front … as a dictionary; the JSON tail, if any, is not needed here."""
    return dict(word.split("=", 1) for word in line.split(" {")[0].split(" ")[1:] if "=" in word)


def serve():
    with socket.create_connection((host, int(port))) as connection:
        lines = connection.makefile("rw", encoding="utf-8", newline="\n")
        # Whatever happened while we were away, the lamp knows best.
        lines.write(f"SERVE {key.split('/')[0]}\nREPORT {key} value={read()}\n")
        lines.flush()
        for line in lines:
            if not line.startswith("DO "):
                continue  # The greeting, replies, MARK, and verbs to come.
            asked = attributes(line.strip())
            if asked["key"] != key:
                answer = f'FAIL op={asked["op"]} code=unknown {{"message":"This is the front door"}}'
            elif time.time() * 1000 > int(asked["deadline"]):
                continue  # Nobody waits for it any more.
            else:
                try:
                    write(asked["value"])  # A value, not a flip: doing it twice does no harm.
                    answer = f'DONE op={asked["op"]} value={read()}'
                except OSError as error:
                    answer = f'FAIL op={asked["op"]} code=broken {{"message":"{error.strerror}"}}'
            lines.write(answer + "\n")
            lines.flush()


while True:
    try:
        serve()
    except OSError:
        pass
    time.sleep(random.uniform(0.1, 1))
