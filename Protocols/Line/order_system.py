#!/usr/bin/env python3
"""An order system in one page: posts events, and loses none and doubles none, whatever becomes of the connection.

    order_system.py HOST PORT [SOURCE] < events      each line: KEY TYPE [JSON], such as
                                                     coffee-order/1042 start {"attributes":{"item":"Flat white"}}
Prints KEY TYPE VERDICT (or the error's code) for each event, in order, and exits 1 if any was refused. An event's id is
the number of its line, so the same file may be posted twice; give another file another SOURCE.
"""
import collections, json, random, socket, sys, time

host, port, source = sys.argv[1], int(sys.argv[2]), (sys.argv[3:] or ["order-system"])[0]
WINDOW = 100  # Events under way at once.


def reply(line):
    head, brace, tail = line.partition(" {")
    verb, *words = head.split(" ")
    return verb, dict(word.split("=", 1) for word in words if "=" in word), json.loads("{" + tail) if brace else {}


def run(connection, waiting, events, refused):
    lines = connection.makefile("r", encoding="utf-8", newline="\n")
    connection.sendall(f"HELLO client={source}\n".encode())
    lines.readline(), lines.readline()  # The greeting, and the OK of HELLO.
    for line in waiting:  # Whatever was not answered is said again: the same eid takes effect once.
        connection.sendall(line.encode())
    while True:
        while len(waiting) < WINDOW and (event := next(events, None)):
            waiting.append(event)
            connection.sendall(event.encode())
        if not waiting:
            return refused
        line = lines.readline()
        if not line.endswith("\n"):  # Also when the connection broke within a line.
            raise ConnectionError("the server closed the connection")
        verb, attributes, tail = reply(line.rstrip("\n"))
        if verb in ("OK", "ERR"):
            if attributes.get("retry") == "later":
                raise ConnectionError(tail.get("msg"))
            _, key, kind = waiting.popleft().split(" ")[:3]
            print(key, kind.removeprefix("type="), attributes.get("verdict") or attributes["code"], flush=True)
            refused |= verb == "ERR"


def event(number, line):
    key, kind, *tail = line.strip().split(" ", 2)
    return " ".join([f"EVT {key} type={kind} eid={number}", *tail]) + "\n"


events = (event(number, line) for number, line in enumerate(sys.stdin, 1) if line.strip())
waiting, refused = collections.deque(), False
while True:
    try:
        with socket.create_connection((host, port)) as connection:
            sys.exit(run(connection, waiting, events, refused))
    except OSError as error:
        print("trying again:", error, file=sys.stderr)
        time.sleep(random.uniform(0.1, 1))
