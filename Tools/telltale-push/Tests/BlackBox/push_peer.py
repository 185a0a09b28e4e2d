"""Apple's push service, as far as a sender sees it: PyPI h2 over TLS, frame by frame, with answers that a test chooses."""

import collections
import json
import socket
import ssl
import threading

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.settings

from support import PATIENCE, accepted, end_listening


class Push:
    """One request as it came."""

    def __init__(self):
        self.headers, self.body, self.connection = {}, b"", 0

    @property
    def token(self):
        return self.headers[":path"].removeprefix("/3/device/")

    @property
    def aps(self):
        return json.loads(self.body)["aps"]

    @property
    def event(self):
        return self.aps.get("event", "reload")


class Service:
    """Takes pushes on a port. `answer` is asked for (status, body, headers), or None: no answer ever; "close": the connection
    ends in place of one; "drip": a status, and a body that does not end."""

    def __init__(self, folder, streams=100):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(f"{folder}/leaf.pem", f"{folder}/leaf.key.pem")
        self.context.set_alpn_protocols(["h2"])
        self.streams = streams
        self.pushes, self.changed = [], threading.Condition()
        self.answer = lambda push: (200, None, {})
        # The bytes of a body that a connection takes at first; None = as many as usual.
        self.window = None
        self.connections, self.most, self.closing, self.port = 0, 0, False, 0
        self.open_sockets = set()
        self.listen()

    def listen(self):
        self.listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self.listener.getsockname()[1]
        self.closing = False
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def accept(self, listener):
        while plain := accepted(listener):
            threading.Thread(target=self.serve, args=(plain,), daemon=True).start()

    def serve(self, plain):
        self.connections += 1
        number = self.connections
        try:
            connection = self.context.wrap_socket(plain, server_side=True)
        except OSError:
            return
        self.open_sockets.add(connection)
        h2c = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        h2c.local_settings = self.settings
        h2c.initiate_connection()
        connection.sendall(h2c.data_to_send())
        pushes = collections.defaultdict(Push)
        try:
            while data := connection.recv(65_536):
                for event in h2c.receive_data(data):
                    if isinstance(event, h2.events.RequestReceived):
                        pushes[event.stream_id].headers = dict(event.headers)
                        pushes[event.stream_id].connection = number
                        self.most = max(self.most, len(pushes))
                    elif isinstance(event, h2.events.DataReceived):
                        pushes[event.stream_id].body += event.data
                        h2c.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                    elif isinstance(event, h2.events.StreamEnded):
                        push = pushes.pop(event.stream_id)
                        if not self.respond(h2c, event.stream_id, push):
                            return
                connection.sendall(h2c.data_to_send())
        except (OSError, h2.exceptions.ProtocolError):
            pass
        finally:
            self.open_sockets.discard(connection)
            connection.close()

    @property
    def settings(self):
        """As the first frame of a connection tells them."""
        values = {h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: self.streams}
        if self.window is not None:
            values[h2.settings.SettingCodes.INITIAL_WINDOW_SIZE] = self.window
        return h2.settings.Settings(client=False, initial_values=values)

    def respond(self, h2c, stream, push):
        answer = self.answer(push)
        with self.changed:
            self.pushes.append(push)
            self.changed.notify_all()
        if answer == "close":
            return False
        if answer is None:
            return True
        if answer == "drip":
            h2c.send_headers(stream, [(":status", "200")])
            h2c.send_data(stream, b"{")
            return True
        status, body, fields = answer
        data = json.dumps(body).encode() if body else b""
        head = [(":status", str(status)), ("apns-id", push.headers.get("apns-id", "-")), *fields.items()]
        h2c.send_headers(stream, head, end_stream=not data)
        if data:
            h2c.send_data(stream, data, end_stream=True)
        return True

    def wait(self, check):
        """Waits until the pushes are so, and gives them back."""
        with self.changed:
            assert self.changed.wait_for(lambda: check(self.pushes), PATIENCE), [
                (push.token[:12], push.body) for push in self.pushes]
            return list(self.pushes)

    def stop(self):
        """Nobody is there any more, until listen()."""
        end_listening(self.listener)
        for connection in list(self.open_sockets):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Card:
    """What a device shows for one token: it drops what is late, and counts its alerts."""

    def __init__(self):
        self.timestamp, self.states, self.alerts, self.ended, self.started = 0, [], [], False, 0

    def take(self, aps):
        if aps["timestamp"] < self.timestamp or self.ended:
            return
        self.timestamp = aps["timestamp"]
        if aps["event"] == "start":
            self.started += 1
        if "content-state" in aps:
            self.states.append(aps["content-state"])
        if "alert" in aps:
            self.alerts.append(aps["alert"]["title"])
        self.ended = aps["event"] == "end"


def cards(pushes):
    shown = collections.defaultdict(Card)
    for push in pushes:
        shown[push.token].take(push.aps)
    return shown
