"""A sender of Apple's push requests, frame by frame: PyPI h2 over TLS, and tokens by cryptography."""

import json
import socket
import ssl

import h2.config
import h2.connection
import h2.events
import h2.settings

from keys import Key, b64, certificates, openssl  # noqa: F401 - other tests take them from here.
from support import PATIENCE, attempts


class Answer:
    def __init__(self):
        self.headers, self.body, self.frames = {}, b"", []

    @property
    def status(self):
        return int(self.headers[":status"])

    @property
    def reason(self):
        return json.loads(self.body)["reason"] if self.body else None

    @property
    def note(self):
        return self.headers.get("telltale-note", "")


class Peer:
    """One connection, HTTP/2 at once."""

    def __init__(self, port, authority, alpn=None, host="127.0.0.1", window=None):
        context = ssl.create_default_context(cafile=authority)
        if alpn:
            context.set_alpn_protocols(alpn)
        plain = socket.create_connection((host, port), timeout=PATIENCE)
        self.socket = context.wrap_socket(plain, server_hostname="localhost")
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
        if window is not None:
            values = {h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: window}
            self.h2.local_settings = h2.settings.Settings(client=True, initial_values=values)
        self.h2.initiate_connection()
        self.socket.sendall(self.h2.data_to_send())
        self.answers, self.done, self.resets, self.pongs = {}, set(), set(), 0

    def send(self, method, path, headers=(), body=b"", authority=":authority"):
        stream = self.h2.get_next_available_stream_id()
        fields = [(":method", method), (":scheme", "https"), (":path", path)]
        if authority == ":authority":
            fields.append((":authority", "localhost"))
        fields += [(name, value) for name, value in headers]
        if authority == "host":
            fields.append(("host", "localhost"))
        self.answers[stream] = Answer()
        self.h2.send_headers(stream, fields, end_stream=not body)
        while body:
            room = min(self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size, len(body))
            self.h2.send_data(stream, body[:room], end_stream=room == len(body))
            self.socket.sendall(self.h2.data_to_send())
            body = body[room:]
            self.read_until(lambda: not body or self.h2.local_flow_control_window(stream))
        self.socket.sendall(self.h2.data_to_send())
        return stream

    def begin(self, method, path, headers):
        """The head of a request whose body comes later."""
        stream = self.h2.get_next_available_stream_id()
        self.answers[stream] = Answer()
        head = [(":method", method), (":scheme", "https"), (":path", path), (":authority", "localhost")]
        self.h2.send_headers(stream, head + list(headers))
        self.socket.sendall(self.h2.data_to_send())
        return stream

    def finish(self, stream, body):
        self.h2.send_data(stream, body, end_stream=True)
        self.socket.sendall(self.h2.data_to_send())
        return self.wait(stream)

    def read(self):
        data = self.socket.recv(65_536)
        assert data, "the connection was closed"
        for event in self.h2.receive_data(data):
            answer = self.answers.get(getattr(event, "stream_id", None))
            if isinstance(event, h2.events.ResponseReceived):
                answer.headers = dict(event.headers)
                answer.frames.append(("HEADERS", event.stream_ended is not None))
            elif isinstance(event, h2.events.DataReceived):
                answer.body += event.data
                answer.frames.append(("DATA", event.stream_ended is not None))
            elif isinstance(event, h2.events.StreamEnded):
                self.done.add(event.stream_id)
            elif isinstance(event, h2.events.StreamReset):
                self.resets.add(event.stream_id)
            elif isinstance(event, h2.events.PingAckReceived):
                self.pongs += 1
        self.socket.sendall(self.h2.data_to_send())

    def read_until(self, check):
        for _ in attempts("an answer of the other side"):
            if check():
                return
            self.read()

    def wait(self, stream):
        self.read_until(lambda: stream in self.done)
        return self.answers[stream]

    def ask(self, *arguments, **options):
        return self.wait(self.send(*arguments, **options))

    def ping(self):
        self.h2.ping(b"telltale")
        self.socket.sendall(self.h2.data_to_send())
        self.read_until(lambda: self.pongs)

    def push(self, token, aps, bearer=None, kind="liveactivity", topic="com.example.coffee.push-type.liveactivity", **headers):
        fields = {"apns-push-type": kind, "apns-topic": topic} | {k.replace("_", "-"): v for k, v in headers.items()}
        if bearer:
            fields["authorization"] = f"bearer {bearer}"
        return self.ask("POST", f"/3/device/{token}", list(fields.items()), json.dumps({"aps": aps}).encode())

    def close(self):
        self.socket.close()
