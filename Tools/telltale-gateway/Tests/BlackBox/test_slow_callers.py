"""Callers that take their time with a request, and callers that are too many."""

import concurrent.futures
import select
import socket

from support import PATIENCE, Stream


def drip(gateway, beginning, piece):
    """Sends a piece a second until the gateway has answered or closed; everything that it said, and how it ended."""
    with socket.create_connection(("127.0.0.1", gateway.port)) as caller:
        caller.sendall(beginning)
        said = b""
        for _ in range(4 * PATIENCE):
            if select.select([caller], [], [], 1)[0]:
                try:
                    data = caller.recv(65_536)
                except ConnectionError:
                    return said, "closed"
                if not data:
                    return said, "closed"
                said += data
            try:
                caller.sendall(piece)
            except ConnectionError:
                return said, "closed"
        return said, "open"


def test_a_request_that_drips_ends_its_connection(world):
    """In its body, which is answered; behind an answer that came before; in its head."""
    world.daemon()
    gateway = world.gateway()
    post = b"POST /errand/slow/start HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
    beginnings = {"body": post + b"60000\r\n\r\n{", "refused": post + b"600000\r\n\r\n{",
                  "head": b"GET /v1/stats HTTP/1.1\r\nHost: localhost\r\nX-Slow: "}
    with concurrent.futures.ThreadPoolExecutor() as pool:
        ends = {name: pool.submit(drip, gateway, beginning, b" ") for name, beginning in beginnings.items()}
    said = {name: one.result()[0] for name, one in ends.items()}
    assert {one.result()[1] for one in ends.values()} == {"closed"}
    assert said["body"].startswith(b"HTTP/1.1 408 ") and b'"code":"late_body"' in said["body"]
    assert said["refused"].startswith(b"HTTP/1.1 413 ") and said["head"] == b""
    assert gateway.get("/v1/entities/errand/slow").status == 404


def test_connections_have_a_limit_and_the_idle_ones_give_way(world):
    world.daemon()
    gateway = world.gateway("--connections", "3")

    def count(name):
        return gateway.metrics()[f"telltale_gateway_{name}"]

    streams = [Stream(gateway, "sub=errand/*") for _ in range(2)]
    for stream in streams:
        stream.until("live")
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=PATIENCE) as idle:
        idle.sendall(b"GET /v1/stats HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert idle.recv(65_536).startswith(b"HTTP/1.1 200")
        third = Stream(gateway, "sub=errand/*")
        third.until("live")
        while idle.recv(65_536):
            pass
    # Each has a request under way now.
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=PATIENCE) as late:
        late.settimeout(PATIENCE)
        try:
            late.sendall(b"GET /v1/stats HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert late.recv(1) == b""
        except ConnectionError:
            pass
    assert (count("connections"), count("connections_refused_total"), count("streams")) == ("3", "2", "3")
    # The listener for operators has connections of its own.
    assert gateway.get("/healthz", port=gateway.ops).status == 200
    third.close()
    for stream in streams:
        stream.close()
