"""One connection to the daemon, read by lines, and the failure of a check."""

import json
import socket


class Failure(Exception):
    pass


class Lines:
    """One connection, read by lines."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=120)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""
        self.greeting = attributes(self.read())

    def read(self):
        while b"\n" not in self.buffer:
            piece = self.socket.recv(65536)
            if not piece:
                raise ConnectionResetError("closed")
            self.buffer += piece
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode()

    def send(self, text):
        self.socket.sendall(text.encode())

    def close(self):
        self.socket.close()


def attributes(line):
    """The words and the JSON tail of a line of the server."""
    head, _, tail = line.partition(" {")
    words = head.split(" ")
    result = dict(word.split("=", 1) for word in words[1:] if "=" in word)
    result["verb"] = words[0]
    result["tail"] = json.loads("{" + tail) if tail else {}
    return result


def check(condition, what):
    if not condition:
        raise Failure(what)


def tail(path):
    with open(path, "rb") as file:
        return file.read()[-600:].decode(errors="replace")
