"""Starts the real daemon and the real gateway, and speaks with both from outside."""

import http.client
import json
import os
import pathlib
import random
import re
import select
import shutil
import signal
import socket
import subprocess
import time

import jsonschema

REPOSITORY = pathlib.Path(__file__).resolve().parents[4]
TELLTALED = os.environ.get("TELLTALED", str(REPOSITORY / ".build/debug/telltaled"))
GATEWAY = os.environ.get(
    "TELLTALE_GATEWAY", str(REPOSITORY / "Tools/telltale-gateway/.build/debug/telltale-gateway"))
OPENAPI = json.loads((REPOSITORY / "Protocols/HTTP/openapi.json").read_text())
# Longer than anything takes on a slow and busy machine, in seconds; a test that waits so long has failed.
PATIENCE = 120


def attempts(what, within=PATIENCE):
    """The rounds of a wait. After `within` seconds there is no further round: the test fails, and says what it waited for, which a
    function may know by then."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        yield
    raise AssertionError(f"{what() if callable(what) else what}: not within {within} s")


def eventually(what, check, within=PATIENCE, pause=time.sleep):
    """Returns what `check` gives as soon as that is true."""
    for _ in attempts(what, within):
        if found := check():
            return found
        pause(0.02)


def environment():
    return {name: value for name, value in os.environ.items() if not name.startswith("TELLTALE")}


class Program:
    """A process whose first line says that it serves."""

    def __init__(self, arguments, folder, extra=None):
        self.errors = open(pathlib.Path(folder) / f"errors-{time.monotonic_ns()}", "w+b")
        self.process = subprocess.Popen(
            arguments, stdout=subprocess.PIPE, stderr=self.errors, env=environment() | (extra or {}))
        # A test may have more files open than select takes.
        poll = select.poll()
        poll.register(self.process.stdout, select.POLLIN)
        line = self.process.stdout.readline().decode() if poll.poll(PATIENCE * 1_000) else ""
        assert line.startswith("ready "), f"{arguments[0]} did not serve: {self.log()}"
        self.ready = dict(word.split("=", 1) for word in line.split()[1:])

    def log(self):
        self.errors.flush()
        return pathlib.Path(self.errors.name).read_text()

    def wait_for_log(self, words):
        eventually(f"{words} in the log", lambda: words in self.log())

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.kill()
        self.process.stdout.close()
        self.errors.close()


def free_port():
    """Below the ports that connections get by themselves: one of those may be taken before its server starts."""
    for _ in attempts("a free port"):
        port = random.randrange(10_000, 32_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


class Daemon(Program):
    def __init__(self, folder, port=0, *arguments):
        folder = pathlib.Path(folder)
        kinds = folder / "kinds"
        if not kinds.exists():
            kinds.mkdir()
            for source in ["Protocols/Kinds/examples", "Protocols/Kinds/widgets", "Protocols/Line/kinds", "Protocols/HTTP/kinds"]:
                for file in (REPOSITORY / source).glob("*.json"):
                    shutil.copy(file, kinds)
        super().__init__(
            [TELLTALED, "--data", str(folder / "data"), "--kinds", str(kinds), "--listen", f"127.0.0.1:{port}",
             "--socket", str(folder / "daemon.sock"), *arguments], folder)
        self.port = int(self.ready["tcp"].split(":")[-1])


class Gateway(Program):
    def __init__(self, folder, *arguments, connect=None, listen="http://127.0.0.1:0", extra=None):
        connect = connect or f"unix:{folder}/daemon.sock"
        super().__init__(
            [GATEWAY, "--connect", connect, "--listen", listen, "--ops-listen", "127.0.0.1:0",
             "--log-format", "json", *arguments], folder, extra)
        self.port = int(self.ready["http"].split(":")[-1])
        self.ops = int(self.ready["ops"].split(":")[-1])

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def ask(self, method, path, body=None, headers=None, port=None, checks=True, timeout=PATIENCE):
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=timeout)
        try:
            if isinstance(body, dict | list):
                body = json.dumps(body)
            connection.request(method, path, body=body, headers=headers or {})
            answer = Answer(connection.getresponse())
        finally:
            connection.close()
        if checks and port is None:
            validate(method, path, answer)
        return answer

    def get(self, path, **options):
        return self.ask("GET", path, **options)

    def post(self, path, body=None, headers=None, **options):
        return self.ask("POST", path, body, headers, **options)

    def metrics(self):
        text = self.ask("GET", "/metrics", port=self.ops).text
        return dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.bytes = response.read()

    @property
    def text(self):
        return self.bytes.decode()

    @property
    def json(self):
        return json.loads(self.bytes)

    @property
    def code(self):
        assert self.headers["content-type"] == "application/problem+json", self.text
        assert self.json["status"] == self.status
        assert self.json["type"] == f"/errors#{self.json['code']}"
        return self.json["code"]


# MARK: Listeners of a test


def accepted(listener):
    """The next connection; None once nobody listens any more."""
    try:
        return listener.accept()[0]
    except OSError:
        return None


def end_listening(listener):
    """Closes a listener, and wakes the thread that accepts its connections."""
    try:
        listener.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    listener.close()


# MARK: The document


def operation(method, path):
    """The operation of the document that a request is one of; None for a path that is not in it."""
    path = path.split("?")[0]
    literal = sorted(OPENAPI["paths"], key=lambda template: template.count("{"))
    for template in literal:
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path):
            if template == "/{kind}/{id}/{type}" and path.split("/")[1] in ("v1", "3", "4", "1"):
                continue
            return OPENAPI["paths"][template].get(method.lower())
    return None


def resolve(node):
    while "$ref" in node:
        target = OPENAPI
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        node = target
    return node


def validate(method, path, answer):
    """Every answer is one that the document lists, and is as it says; a problem's code is one that its status names."""
    found = operation(method, path)
    if found is None:
        assert answer.status in (200, 204, 400, 401, 403, 404, 405, 421, 503), (method, path, answer.status)
        return
    assert str(answer.status) in found["responses"], (method, path, answer.status, answer.text)
    response = resolve(found["responses"][str(answer.status)])
    if answer.headers.get("content-type") == "application/problem+json" and method != "HEAD":
        assert f"`{answer.code}`" in response["description"], (method, path, answer.status, answer.code)
    content = response.get("content")
    if not content or not answer.bytes or method == "HEAD":
        return
    kind = answer.headers["content-type"].split(";")[0]
    assert kind in content, (method, path, answer.status, kind)
    if kind.endswith("json") and kind != "application/x-ndjson":
        schema = {"$ref": "#/schema", "schema": content[kind]["schema"], "components": OPENAPI["components"]}
        jsonschema.validate(answer.json, schema)


# MARK: The line protocol


class Line:
    """A connection of the line protocol."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self.file = self.socket.makefile("rb")
        self.greeting = self.receive()

    def send(self, line):
        self.socket.sendall(line.encode() + b"\n")

    def receive(self):
        line = self.file.readline().decode().rstrip("\n")
        assert line, "the daemon closed the connection"
        return line

    def ask(self, line):
        """The reply; pushes before it are passed over."""
        self.send(line)
        for _ in attempts(f"the reply to {line[:80]}"):
            answer = self.receive()
            if answer.split(" ")[0] in ("OK", "ERR", "PONG"):
                return answer

    def wait_for(self, verb):
        for _ in attempts(verb):
            line = self.receive()
            if line.split(" ")[0] == verb:
                return line

    def close(self):
        self.file.close()
        self.socket.close()


def attributes(line):
    head, _, tail = line.partition(" {")
    found = dict(word.split("=", 1) for word in head.split(" ")[1:] if "=" in word)
    return found, json.loads("{" + tail) if tail else None


class Provider:
    """Really switches the lights: serves a kind, and does, fails or ignores what it is asked to."""

    def __init__(self, port, kind, *reports, token=None):
        self.line = Line(port)
        if token:
            assert self.line.ask(f"HELLO client=provider token={token}").startswith("OK")
        assert self.line.ask(f"SERVE {kind}").startswith("OK")
        for report in reports:
            assert self.line.ask(f"REPORT {report}").startswith("OK")

    def act(self, answer="DONE"):
        found, _ = attributes(self.line.wait_for("DO"))
        self.line.send(f"{answer} op={found['op']}")

    def close(self):
        self.line.close()


# MARK: Streams


def output_until(command, word):
    """What a program that does not end has written when this word comes; it is killed then."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        told = ""
        try:
            for _ in attempts(word):
                if word in told:
                    return told
                ready, _, _ = select.select([program.stdout], [], [], PATIENCE)
                piece = os.read(program.stdout.fileno(), 65_536).decode() if ready else ""
                assert piece, f"it ends without {word}: {told}"
                told += piece
        finally:
            program.kill()


class Stream:
    """Server-sent events over a socket of its own, read as slowly as a test wants."""

    def __init__(self, gateway, query="", headers=None, receive_buffer=None):
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(("127.0.0.1", gateway.port))
        lines = [f"GET /v1/stream?{query} HTTP/1.1", f"Host: 127.0.0.1:{gateway.port}"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        self.response = http.client.HTTPResponse(self.socket)
        self.response.begin()
        self.status = self.response.status
        self.last_id = None

    def header(self, name):
        return self.response.getheader(name)

    def next(self):
        """The next event: its name, its data, its id; None at the end."""
        name = data = identifier = None
        while line := self.response.readline():
            line = line.decode().rstrip("\n")
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("id: "):
                identifier = line[4:]
            elif line.startswith("data: "):
                data = json.loads(line[6:])
            elif not line and name:
                if identifier:
                    self.last_id = identifier
                return name, data, identifier
        return None

    def until(self, name):
        """The data of every event up to one of that name, that one included."""
        events = []
        for _ in attempts(name):
            event = self.next()
            assert event, f"the stream ended before {name}: {events[-3:]}"
            events.append(event)
            if event[0] == name:
                return events

    def close(self):
        self.response.close()
        self.socket.close()
