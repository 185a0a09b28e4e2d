"""Connections of clients to a cluster: by a list of addresses, to the node that leads, or to any that serves."""

import socket

from torture.wire import Lines, attributes

PAUSES = (0.1, 0.5)  # Between two attempts, in seconds: the client's dice.
TOKENS = []  # At most one, which every connection uses.
DIAL = 2.0  # An attempt to connect where there are other addresses, in seconds, as clients have it.
PATIENCE = 3.0  # A leader that says nothing for so long is left, in seconds.


def greeting(address, seconds):
    """The first line of the server at an address; `None` where there is none in time."""
    try:
        lines = NodeLines(address, seconds, name=None)
        lines.close()
        return lines.greeting
    except (OSError, ValueError):
        return None


class NodeLines(Lines):
    """One connection to one node."""

    def __init__(self, address, seconds=PATIENCE, name="torture", after=None):
        self.socket = socket.create_connection(address, timeout=min(seconds, DIAL))
        self.socket.settimeout(seconds)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""
        self.address = address
        try:
            self.greeting = attributes(self.read())
            if name:
                words = [f" token={TOKENS[0]}" if TOKENS else "", f" after={after}" if after else ""]
                self.send(f"HELLO client={name}{''.join(words)}\n")
                answer = attributes(self.read())
                if answer["verb"] != "OK":
                    raise ConnectionRefusedError(f"HELLO gave {answer}")
        except BaseException:
            self.close()
            raise

    @property
    def term(self):
        return int(self.greeting.get("term", 0))


class Door:
    """Knows the addresses of all nodes, and connects to the leader, or to any node that serves."""

    def __init__(self, addresses, rng, name, is_anywhere=False):
        self.addresses, self.rng, self.name, self.is_anywhere = list(addresses), rng, name, is_anywhere
        self.next = rng.randrange(len(self.addresses))

    def connect(self, stop, after=None):
        """A connection; `None` when `stop` is set. `after` is what the client has seen, as EPOCH:SEQ."""
        told = None
        while not stop.is_set():
            address = told or self.addresses[self.next]
            hint, told = told, None
            try:
                lines = NodeLines(address, name=self.name, after=after)
                if lines.greeting.get("role") == "leader" or (self.is_anywhere and lines.greeting.get("serves") == "1"):
                    return lines
                lines.close()
                if "leader" in lines.greeting and hint is None:
                    host, port = lines.greeting["leader"].rsplit(":", 1)
                    told = (host, int(port))
                    continue
            except (OSError, ValueError, KeyError):
                pass
            self.next = (self.next + 1) % len(self.addresses)
            stop.wait(self.rng.uniform(*PAUSES))
        return None

