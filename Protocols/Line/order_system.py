#!/usr/bin/env python3
"""An order system in one page: posts events, and loses none and doubles none, whatever becomes of the connection.

    order_system.py HOST:PORT[,HOST:PORT…] [SOURCE] < events         each line: KEY TYPE [JSON]
Prints KEY TYPE VERDICT (or the error's code) for each event, in order, and exits 1 if any was refused. An event's id is
the number of its line, so the same file may be posted twice; give another file another SOURCE.
"""
import collections, json, random, socket, sys, time
if len(sys.argv) not in (2, 3): sys.exit("usage: order_system.py HOST:PORT[,HOST:PORT...] [SOURCE] < events")
servers, source = collections.deque(sys.argv[1].split(",")), (sys.argv[2:] or ["order-system"])[0]
WINDOW = 100  # Events under way at once.


def reply(line):
    head, brace, tail = line.partition(" {")
    verb, *words = head.split(" ")
    return verb, dict(word.split("=", 1) for word in words if "=" in word), json.loads("{" + tail) if brace else {}


def run(connection, waiting, events, refused):
    lines = connection.makefile("r", encoding="utf-8", newline="\n")
    greeting = reply(lines.readline().strip())[1]
    if greeting.get("role", "leader") != "leader" and "serves" not in greeting:  # A standby that forwards no events.
        leader = greeting.get("leader", servers[1 % len(servers)])
        servers.extend({leader}.difference(servers)), servers.rotate(1 - servers.index(leader))
        raise ConnectionError(f"{leader} is next")
    connection.sendall(f"HELLO client={source}\n{''.join(waiting)}".encode())  # The same eid takes effect once.
    lines.readline()  # The OK of HELLO.
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
            if attributes.get("retry") in ("later", "now"):
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
        with socket.create_connection(servers[0].replace("[", "").replace("]", "").rsplit(":", 1)) as connection:
            sys.exit(run(connection, waiting, events, refused))
    except OSError as error:
        print("trying again:", error, file=sys.stderr)
        servers.rotate(-1), time.sleep(random.uniform(0.1, 1))
