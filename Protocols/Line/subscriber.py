#!/usr/bin/env python3
"""A screen in one page: follows a pattern, and after a broken connection goes on where it was.

    subscriber.py HOST PORT [PATTERN] [VIEW]
Prints `+ KEY REV ROW` (new or changed), `- KEY REV WHY` (left), `! KEY REV ALERT`, and `= COUNT` when up to date.
"""
import json, random, socket, sys, time

host, port = sys.argv[1], int(sys.argv[2])
pattern, view = (sys.argv[3:] + ["*"])[0], (sys.argv[4:] + ["full"])[0]
rows, cursor = {}, None  # All that is kept, across connections.


def parts(line):
    head, brace, tail = line.partition(" {")
    verb, *words = head.split(" ")
    return verb, dict(word.split("=", 1) for word in words if "=" in word), json.loads("{" + tail) if brace else None


def say(*words):
    print(*words, flush=True)


def follow(connection):
    """Reads until the connection ends; returns how long to wait before the next one, in seconds."""
    global rows, cursor
    snapshot = {} if cursor is None else None  # What a full snapshot has brought so far.
    connection.sendall(f"SUB {pattern} view={view}{f' from={cursor}' if cursor else ''}\n".encode())
    lines = connection.makefile("r", encoding="utf-8", newline="\n")
    while (line := lines.readline()).endswith("\n"):  # The end may cut a line.
        verb, attributes, row = parts(line.rstrip("\n"))
        key, rev = attributes.get("key"), attributes.get("rev")
        cursor = attributes.get("cur", cursor)
        if verb in ("SNAP", "UPD"):
            (rows if snapshot is None else snapshot)[key] = row
            say("+", key, rev, json.dumps(row, ensure_ascii=False))
        elif verb == "DEL":
            rows.pop(key, None)
            say("-", key, rev, attributes["why"])
        elif verb == "ALERT":
            say("!", key, rev, json.dumps(row, ensure_ascii=False))
        elif verb == "RESET":
            snapshot = {}
        elif verb == "LIVE":
            rows, snapshot = rows if snapshot is None else snapshot, None
            say("=", len(rows))
        elif verb == "ERR":
            sys.exit(line)
        elif verb == "BYE" and "wait" in attributes:
            return random.uniform(*map(int, attributes["wait"].split("-"))) / 1000
    return random.uniform(0.1, 1)


while True:
    try:
        with socket.create_connection((host, port)) as connection:
            pause = follow(connection)
    except OSError:
        pause = random.uniform(0.1, 1)
    time.sleep(pause)
