"""A daemon that a test plays itself: it greets every connection, and answers what the test says."""

import os
import socket
import threading

from support import PATIENCE, accepted, end_listening

GREETING = "TELLTALE 1 epoch=6f3a91c2d0e4b577 seq=1 now=1763719200123 hb=20000 max_line=65536 auth=none server=0.1.0"


class FakeDaemon:
    """Listens where `World` has its daemon's socket. `answers` maps a verb to a function that is given the connection; `HELLO` and
    `PING` are answered by themselves. Each connection has a thread of its own."""

    def __init__(self, folder, answers, greeting=GREETING):
        self.answers = answers
        self.greeting = greeting
        self.path = f"{folder}/daemon.sock"
        self.listener = socket.socket(socket.AF_UNIX)
        if os.path.exists(self.path):
            os.unlink(self.path)
        self.listener.bind(self.path)
        self.listener.listen(64)
        self.connections = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while peer := accepted(self.listener):
            connection = FakeConnection(peer)
            self.connections.append(connection)
            threading.Thread(target=self.serve, args=[connection], daemon=True).start()

    def serve(self, connection):
        try:
            connection.send(self.greeting)
            for line in connection.lines:
                verb, *words = line.decode().split()
                connection.id = next((f" {word}" for word in words if word.startswith("id=")), "")
                if verb == "HELLO":
                    connection.send(f"OK{connection.id} conn=c1 hb=20000")
                elif verb == "PING":
                    connection.send("PONG")
                elif verb in self.answers:
                    self.answers[verb](connection)
        except OSError:
            pass
        finally:
            connection.ended.set()

    def close(self):
        end_listening(self.listener)
        for connection in self.connections:
            connection.close()
        os.unlink(self.path)


class FakeConnection:
    def __init__(self, peer):
        self.socket = peer
        self.socket.settimeout(2 * PATIENCE)
        self.lines = peer.makefile("rb")
        self.sent = 0
        self.id = ""
        self.ended = threading.Event()

    def send(self, line):
        self.socket.sendall(line.encode() + b"\n")
        self.sent += len(line) + 1

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()
