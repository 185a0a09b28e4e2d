"""Callers that take their time with a request, and callers that are too many."""

import concurrent.futures
import contextlib
import select
import socket
import subprocess
import time

import httpx

from apns_peer import Peer
from support import PATIENCE, REPOSITORY, Stream, eventually


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
    eventually("the others are gone", lambda: (count("connections"), count("connections_refused_total"), count("streams")) == ("3", "2", "3"))
    # The listener for operators has connections of its own.
    assert gateway.get("/healthz", port=gateway.ops).status == 200
    third.close()
    for stream in streams:
        stream.close()


def test_streams_over_one_connection_of_http2_are_as_many_as_connections_may_be(world):
    """Each has a connection to the daemon of its own."""
    certificates = f"{world.folder}/certs"
    subprocess.run([REPOSITORY / "Tools/package/dev-certificates", certificates], check=True, capture_output=True)
    world.daemon()
    gateway = world.gateway("--connections", "3", "--tls-cert", f"{certificates}/leaf.pem", "--tls-key", f"{certificates}/leaf.key.pem",
                            listen="https://127.0.0.1:0")
    url = f"https://127.0.0.1:{gateway.port}"
    with httpx.Client(http2=True, verify=f"{certificates}/ca.pem", timeout=PATIENCE) as client, contextlib.ExitStack() as open_streams:
        cursor = client.get(f"{url}/v1/rows?sub=errand/*").json()["cursor"]
        for _ in range(3):
            stream = open_streams.enter_context(client.stream("GET", f"{url}/v1/stream?sub=errand/*"))
            assert (stream.http_version, stream.status_code) == ("HTTP/2", 200)
        refused = client.get(f"{url}/v1/stream?sub=errand/*")
        assert (refused.status_code, refused.json()["code"]) == (503, "busy")
        # A shared read moves on, so that a cache does not keep its URL.
        assert client.get(f"{url}/v1/rows?sub=errand/*&from={cursor}").json()["lost"] == "busy"
        assert client.get(f"{url}/v1/kinds").status_code == 200


def test_a_caller_that_waits_for_a_word_is_answered_at_once(world):
    """Before its body; and one whose body is refused is not asked for it."""
    world.daemon()
    gateway = world.gateway()

    def ask(head, path="/errand/waiting/start"):
        caller = socket.create_connection(("127.0.0.1", gateway.port), timeout=PATIENCE)
        caller.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n{head}\r\n\r\n".encode())
        return caller

    with ask("Content-Length: 2") as caller:
        said = caller.recv(65_536)
        assert said == b"HTTP/1.1 100 Continue\r\n\r\n"
        caller.sendall(b"{}")
        assert caller.recv(65_536).startswith(b"HTTP/1.1 200 ")
    for head in ["Content-Length: 600000", "Content-Length: 2\r\nContent-Encoding: br"]:
        with ask(head) as caller:
            assert caller.recv(65_536).startswith(b"HTTP/1.1 41")


def test_bodies_over_http2_are_counted_whole_and_a_stream_that_was_answered_ends(world):
    certificates = f"{world.folder}/certs"
    subprocess.run([REPOSITORY / "Tools/package/dev-certificates", certificates], check=True, capture_output=True)
    world.daemon()
    gateway = world.gateway("--tls-cert", f"{certificates}/leaf.pem", "--tls-key", f"{certificates}/leaf.key.pem",
                            listen="https://127.0.0.1:0")

    def held():
        return int(gateway.metrics()["telltale_gateway_body_bytes"])

    peer = Peer(gateway.port, f"{certificates}/ca.pem", alpn=["h2"])
    streams = []
    for number in range(50):
        stream = peer.h2.get_next_available_stream_id()
        peer.h2.send_headers(stream, [(":method", "POST"), (":scheme", "https"), (":path", f"/errand/h2-{number}/start"),
                                      (":authority", "localhost")])
        peer.h2.send_data(stream, b"{" + b" " * 999)
        streams.append(stream)
    peer.socket.sendall(peer.h2.data_to_send())
    deadline = time.monotonic() + PATIENCE
    # Each has its bytes, and the memory of a stream beside them.
    while held() != 50 * (32_768 + 1_000):
        assert time.monotonic() < deadline, held()
    # One that is refused in its middle is over for the gateway too.
    refused = peer.h2.get_next_available_stream_id()
    peer.h2.send_headers(refused, [(":method", "POST"), (":scheme", "https"), (":path", "/errand/h2/start"),
                                   (":authority", "localhost"), ("content-length", "600000")])
    peer.socket.sendall(peer.h2.data_to_send())
    resets = {}
    while refused not in resets:
        for event in peer.h2.receive_data(peer.socket.recv(65_536)):
            if type(event).__name__ == "StreamReset":
                resets[event.stream_id] = event.error_code
        peer.socket.sendall(peer.h2.data_to_send())
    assert resets == {refused: 0}
    for stream in streams:
        peer.h2.send_data(stream, b"}", end_stream=True)
    peer.socket.sendall(peer.h2.data_to_send())
    while held():
        assert time.monotonic() < deadline, held()
    peer.close()
