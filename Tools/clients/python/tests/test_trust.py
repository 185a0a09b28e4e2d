"""Tokens and certificates, with a real daemon."""

import pathlib
import subprocess
from typing import Callable

import pytest

from following import SOON, rows, until
from support import LIMIT, Daemon, Proxy, behaviour, program
from telltale import (
    CertificateRefused,
    Forbidden,
    Live,
    NotAuthenticated,
    Refused,
    Reset,
    Telltale,
    Unreachable,
    token_from_file,
)


@behaviour("revoked-token")
def test_a_follower_ends_when_its_token_is_revoked(start: Callable[..., Daemon], tmp_path: pathlib.Path) -> None:
    telltale = program("telltale")
    if telltale is None:
        pytest.skip("there is no telltale: build it, or set TELLTALE")
    principals = tmp_path / "principals.json"

    def token(*arguments: str) -> str:
        command = [telltale, "token", *arguments, "--auth", str(principals)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    scopes = ["--scope", "read:*", "--scope", "post:coffee-order/*", "--account", "*"]
    secret = token("add", "board", *scopes)
    next_secret = token("add", "board")
    daemon = start("--auth", str(principals))
    file = tmp_path / "token"
    file.write_text(secret + "\n")
    with Telltale(daemon.url, token=token_from_file(file), backoff=SOON) as client:
        assert client.post("coffee-order/1", "start").verdict == "applied"
        with pytest.raises(Forbidden) as refused:
            client.stats()
        assert refused.value.details["need"] == "stats"
        follow = client.follow("*")
        until(follow, Live)
        token("revoke", secret.split("_")[1])
        with pytest.raises(NotAuthenticated) as caught:
            until(follow, Reset)
        assert caught.value.code == "auth_failed" and secret not in str(caught.value) and secret not in repr(client)
        with pytest.raises(NotAuthenticated):
            client.ping()
        # A token that replaced it is read at the next connection.
        file.write_text(next_secret)
        client.ping()
    with Telltale(daemon.url) as stranger, pytest.raises(NotAuthenticated) as caught:
        stranger.ping()
    assert caught.value.code == "auth_required"


@behaviour("wrong-authority")
def test_a_certificate_of_another_authority_is_refused(
    start: Callable[..., Daemon], certificates: Callable[[str], pathlib.Path]
) -> None:
    ours, theirs = certificates("ours"), certificates("theirs")
    daemon = start(
        "--listen", "tls://127.0.0.1:0", "--tls-cert", str(ours / "leaf.pem"), "--tls-key", str(ours / "leaf.key.pem")
    )
    url = f"tls://{daemon.tls}"
    with Telltale(url, ca=ours / "ca.pem") as client:
        assert client.post("coffee-order/1", "start").verdict == "applied"
        follow = client.follow("*")
        assert "coffee-order/1" in [key for key, _ in rows(until(follow, Live))]
    for wrong in (theirs / "ca.pem", None):
        with Telltale(url, ca=wrong, timeout=LIMIT) as client:
            with pytest.raises(CertificateRefused, match="certificate"):
                client.ping()
            with pytest.raises(CertificateRefused):
                next(client.follow("*"))
    # The right authority, and another name.
    proxy = Proxy(int(daemon.tls.rpartition(":")[2]))
    with Telltale(f"tls://127.0.0.2:{proxy.port}", ca=ours / "ca.pem", timeout=0.5, backoff=SOON) as client:
        with pytest.raises(Unreachable):
            client.ping()
    proxy.close()


def test_a_unix_socket(start: Callable[..., Daemon], tmp_path: pathlib.Path) -> None:
    path = tmp_path / "s"
    start("--socket", str(path))
    with Telltale(f"unix:{path}") as client:
        assert {kind.name for kind in client.kinds()} >= {"coffee-order", "porch-light"}
        assert client.gallery() == [] and client.gallery("watch", "smartStack") == []
        with pytest.raises(Refused):
            client.gallery("phone", "nowhere")
        assert client.stats()["connections"] == 1
