"""The guide's page of HTTP and its recipe of a shop, by their own commands."""

import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

from support import GATEWAY, PATIENCE, REPOSITORY, TELLTALED, environment, free_port

GUIDE = REPOSITORY / "Protocols/Guide"
needs_curl = pytest.mark.skipif(not shutil.which("curl") or not shutil.which("openssl"), reason="curl or openssl is not installed")


def block(page, name):
    return re.search(f"<!-- {name} -->\n(.*)<!-- /{name} -->", (GUIDE / page).read_text(), re.S)[1]


@needs_curl
def test_two_minutes_of_http(pair):
    script = block("http.md", "http").replace("http://127.0.0.1:7880", pair[1].url).replace("curl ", "curl -sS -w '\\n' ")
    said = subprocess.run(["sh", "-ec", script], check=True, text=True, stdout=subprocess.PIPE, timeout=PATIENCE).stdout.splitlines()
    assert '"state":"placed"' in said[0] and '"state":"queued"' in said[1], said
    assert '"presentation":"small"' in said[2], said


@needs_curl
def test_from_shopify_to_a_car(tmp_path):
    telltale = pathlib.Path(TELLTALED).with_name("telltale")
    if not telltale.exists():
        pytest.skip(f"there is no {telltale}; swift build --product telltale makes it")
    script = block("recipes.md", "shopify")
    for port in ("7878", "7880", "7883"):
        script = script.replace(port, str(free_port()))
    daemon = re.search(r"--connect (\S+)", script)[1]
    for name in ("Protocols", "Tools"):
        (tmp_path / name).symlink_to(REPOSITORY / name)
    path = os.pathsep.join([str(pathlib.Path(TELLTALED).parent), str(pathlib.Path(GATEWAY).parent), os.environ["PATH"]])
    shell = subprocess.Popen(
        ["sh", "-ec", script], cwd=tmp_path, start_new_session=True, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env=environment() | {"PATH": path, "TELLTALE_CONNECT": daemon})
    try:
        status = shell.wait(PATIENCE)
    finally:
        os.killpg(shell.pid, signal.SIGTERM)
    said, errors = shell.communicate(timeout=PATIENCE)
    assert status == 0, errors
    assert '"verdict":"applied"' in said, said
    assert re.search(r"^shop-order/820982911946154508 rev=\d+", said, re.M), said
    assert "Espresso cups" in said or "#9999" in said, said
