"""The receiver of pushes that bench.py measures telltale-push against, and the measurement."""

import http.client
import json
import multiprocessing
import os
import pathlib
import select
import socket
import ssl
import subprocess
import time

from bench_pair import REPOSITORY, Programs

PREFACE = 24
HEADERS, DATA, SETTINGS, PING, WINDOW = 1, 0, 4, 6, 8
END_STREAM, ACK = 0x1, 0x1
# Seconds in which each device has its first push.
PATIENCE = 60


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


class Reader:
    """HTTP/2 as far as a service needs it that takes everything: each request that ends is answered with 200."""

    def __init__(self, connection):
        self.connection, self.bytes, self.skipped = connection, b"", False
        settings = b"".join(name.to_bytes(2, "big") + value.to_bytes(4, "big") for name, value in ((3, 1_000), (4, (1 << 31) - 1)))
        connection.sendall(frame(SETTINGS, 0, 0, settings) + frame(WINDOW, 0, 0, ((1 << 31) - 1 - 65_535).to_bytes(4, "big")))

    def take(self, data):
        """How many requests ended."""
        self.bytes += data
        if not self.skipped:
            if len(self.bytes) < PREFACE:
                return 0
            self.bytes, self.skipped = self.bytes[PREFACE:], True
        view, at, count, answers = self.bytes, 0, 0, []
        while len(view) - at >= 9:
            length = int.from_bytes(view[at:at + 3], "big")
            if len(view) - at < 9 + length:
                break
            kind, flags, stream = view[at + 3], view[at + 4], int.from_bytes(view[at + 5:at + 9], "big")
            if kind in (HEADERS, DATA) and flags & END_STREAM:
                # 0x88 is ":status: 200" of HPACK's static table.
                answers.append(frame(HEADERS, 0x5, stream, b"\x88"))
                count += 1
            elif kind == SETTINGS and not flags & ACK:
                answers.append(frame(SETTINGS, ACK, 0))
            elif kind == PING and not flags & ACK:
                answers.append(frame(PING, ACK, 0, view[at + 9:at + 17]))
            at += 9 + length
        self.bytes = view[at:]
        if answers:
            self.connection.sendall(b"".join(answers))
        return count


def receive(folder, listener, total):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/certs/leaf.pem", f"{folder}/certs/leaf.key.pem")
    context.set_alpn_protocols(["h2"])
    while True:
        plain, _ = listener.accept()
        connection = context.wrap_socket(plain, server_side=True)
        reader = Reader(connection)
        try:
            while data := connection.recv(262_144):
                total.value += reader.take(data)
        except OSError:
            pass


class Sender(Programs):
    """A daemon, telltale-push, and a receiver in a process of its own."""

    receiver = None

    def begin(self, devices):
        self.devices = devices
        subprocess.run([REPOSITORY / "Tools/package/dev-certificates", f"{self.folder}/certs"], check=True, capture_output=True)
        key = f"{self.folder}/key.p8"
        subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key], check=True,
                       capture_output=True)
        listener = socket.create_server(("127.0.0.1", 0))
        self.total = multiprocessing.Value("q", 0, lock=False)
        self.receiver = multiprocessing.Process(target=receive, args=(self.folder, listener, self.total), daemon=True)
        self.receiver.start()
        built = REPOSITORY / "Tools/telltale-gateway/.build/release"
        config = pathlib.Path(self.folder) / "push.json"
        config.write_text(json.dumps({
            "connect": f"unix:{self.folder}/s", "state": "push", "team": "TEAM123456", "kid": "KEY1234567", "key": key,
            "apns-ca": f"{self.folder}/certs/ca.pem", "apns-url": f"https://localhost:{listener.getsockname()[1]}",
            "apps": {"com.example.coffee": {"CoffeeAttributes": {"kind": "errand", "state": "status"}}}}))
        self.daemon, _ = self.start([
            os.environ.get("TELLTALED", REPOSITORY / ".build/release/telltaled"), "--data", f"{self.folder}/data", "--kinds",
            REPOSITORY / "Protocols/Line/kinds", "--listen", "none", "--socket", f"{self.folder}/s"])
        self.push, ready = self.start([
            os.environ.get("TELLTALE_PUSH", built / "telltale-push"), "--config", config, "--listen", "http://127.0.0.1:0",
            "--log-level", "warning"])
        listener.close()
        self.line = socket.socket(socket.AF_UNIX)
        self.line.connect(f"{self.folder}/s")
        self.lines = self.line.makefile("rb")
        self.lines.readline()
        self.post("start")
        self.register(int(ready.split()[1].rsplit(":", 1)[1]))

    def post(self, event):
        """An event of each key. The answers are read while the events are sent."""
        note = time.monotonic_ns()
        text = "".join(
            f'EVT errand/{number} type={event} {{"content-state":{{"note":"{note}","eta":1763719200123,"shelf":"B"}}}}\n'
            for number in range(self.devices)).encode()
        sent, answers = 0, 0
        while answers < self.devices:
            readable, writable, _ = select.select([self.line], [self.line] if sent < len(text) else [], [])
            if writable:
                sent += self.line.send(text[sent:sent + 65_536])
            if readable:
                data = self.line.recv(262_144)
                assert b"ERR" not in data, data
                answers += data.count(b"\n")

    def register(self, port):
        """Each device has a card of one activity, and its token."""
        connection = http.client.HTTPConnection("127.0.0.1", port)
        for number in range(self.devices):
            connection.request("PUT", f"/v1/push/targets/d{number}", json.dumps(
                {"key": f"errand/{number}", "token": f"{number:064x}"}))
            answer = connection.getresponse()
            assert answer.status == 201, answer.read()
            answer.read()
        connection.close()
        deadline = time.monotonic() + PATIENCE
        while self.total.value < self.devices:
            assert time.monotonic() < deadline, f"{self.total.value} of {self.devices} pushes in {PATIENCE} s"
            time.sleep(0.05)

    def close(self):
        try:
            super().close()
        finally:
            if self.receiver:
                self.receiver.kill()


def pushes(options):
    """Every device is sent an update a second, the most that a device is sent: the CPU of telltale-push for each."""
    sender = Sender(options.devices)
    try:
        sender.post("update")
        time.sleep(2)
        begin, before, daemon_before, count = time.monotonic(), sender.cpu(sender.push), sender.cpu(sender.daemon), sender.total.value
        while time.monotonic() - begin < options.seconds:
            round = time.monotonic()
            sender.post("update")
            time.sleep(max(0.0, 1 - (time.monotonic() - round)))
        sent, span = sender.total.value - count, time.monotonic() - begin
        cost = (sender.cpu(sender.push) - before) / max(1, sent)
        return {"devices": options.devices, "pushes_a_second": sent / span, "push_cpu_a_push_us": cost * 1e6,
                "pushes_a_second_a_core": 1 / cost if cost else 0.0,
                "daemon_cpu_a_push_us": (sender.cpu(sender.daemon) - daemon_before) * 1e6 / max(1, sent)}
    finally:
        sender.close()
