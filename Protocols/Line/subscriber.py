#!/usr/bin/env python3
"""A screen in one page: follows a pattern, and after a broken connection goes on where it was.

    subscriber.py HOST:PORT[,HOST:PORT…] [PATTERN] [VIEW]
Prints `+ KEY REV ROW` (new or changed), `- KEY REV WHY` (left), `! KEY REV ALERT`, and `= COUNT` when up to date.
"""
import collections, functools, json, random, socket, sys, time
if len(sys.argv) not in (2, 3, 4): sys.exit("usage: subscriber.py HOST:PORT[,HOST:PORT...] [PATTERN] [VIEW]")
servers = collections.deque(sys.argv[1].split(","))
pattern, view = (sys.argv[2:] + ["*"])[0], (sys.argv[3:] + ["full"])[0]
print, rows, cursor = functools.partial(print, flush=True), {}, None  # All that is kept, across connections.


def parts(line):
    head, brace, tail = line.partition(" {")
    verb, *words = head.split(" ")
    return verb, dict(word.split("=", 1) for word in words if "=" in word), json.loads("{" + tail) if brace else None


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
        if "serves" not in attributes and {attributes.get("role"), attributes.get("code")} & {"standby", "not_leader", "behind"}:
            leader = attributes.get("to") or attributes.get("leader", servers[1 % len(servers)])  # Of a cluster: it is next.
            servers.extend({leader}.difference(servers)), servers.rotate(1 - servers.index(leader))
            break
        elif verb in ("SNAP", "UPD"):
            (rows if snapshot is None else snapshot)[key] = row
            print("+", key, rev, json.dumps(row, ensure_ascii=False))
        elif verb == "DEL":
            rows.pop(key, None)
            print("-", key, rev, attributes["why"])
        elif verb == "ALERT":
            print("!", key, rev, json.dumps(row, ensure_ascii=False))
        elif verb == "RESET":
            snapshot = {}
        elif verb == "LIVE":
            rows, snapshot = rows if snapshot is None else snapshot, None
            print("=", len(rows))
        elif verb == "ERR":
            sys.exit(line)
        elif verb == "BYE" and "wait" in attributes:
            return random.uniform(*map(int, attributes["wait"].split("-"))) / 1000
    return random.uniform(0.1, 1)


while True:
    try:
        with socket.create_connection(servers[0].replace("[", "").replace("]", "").rsplit(":", 1)) as connection:
            pause = follow(connection)
    except OSError:
        pause = random.uniform(0.1, 1)
    servers.rotate(-1), time.sleep(pause)
