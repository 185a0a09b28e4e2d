"""`Tools/gateway`, and what a person types first: plain curl."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

import support
from support import PATIENCE, REPOSITORY, Stream, environment, output_until


def curl(*arguments):
    return subprocess.run(["curl", "-sS", *arguments], capture_output=True, text=True, timeout=PATIENCE)


def test_one_command_serves_and_stops_clean(tmp_path):
    """Beside a daemon of its own, until ^C; nothing of it is left behind."""
    command = subprocess.Popen(
        [REPOSITORY / "Tools/gateway", "--listen", "http://127.0.0.1:0", "--ops-listen", "127.0.0.1:0"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env=environment() | {"CONFIGURATION": "debug", "PREBUILT": "yes", "TMPDIR": str(tmp_path)})
    said = []
    for line in command.stdout:
        said.append(line)
        if line.startswith("ready "):
            break
    assert said and said[-1].startswith("ready http=127.0.0.1:"), (said, command.stderr.read())
    url = "http://" + re.search(r"http=(\S+)", said[-1])[1]
    answer = curl("-d", '{"attributes":{"item":"Flat white"}}', f"{url}/coffee-order/7/start")
    assert json.loads(answer.stdout)["verdict"] == "applied"
    # A terminal sends ^C to all of them at once.
    os.killpg(command.pid, signal.SIGINT)
    assert command.wait(PATIENCE) in (0, 130)
    errors = command.stderr.read()
    assert "error" not in errors.lower() and "Terminated" not in errors, errors
    assert not list(tmp_path.glob("tmp.*"))
    with pytest.raises(ProcessLookupError):
        os.killpg(command.pid, 0)
    command.stdout.close()
    command.stderr.close()


def test_help_shows_the_options():
    """Those that a first start needs before all others."""
    answer = subprocess.run([support.GATEWAY, "--help"], capture_output=True, text=True, timeout=PATIENCE)
    assert answer.returncode == 0
    places = [answer.stdout.index(option) for option in ("USAGE:", "--connect <", "--listen <", "--hooks <", "SUBCOMMANDS:")]
    assert places == sorted(places), answer.stdout
    refused = subprocess.run([support.GATEWAY, "serve", "--connections", "none"], capture_output=True, text=True, timeout=PATIENCE)
    assert refused.returncode == 78 and "--connections: " in refused.stderr


GATEWAY, DAEMON = "package/telltale-gateway", "root/telltaled"


@pytest.mark.parametrize("built, connect, missing", [
    ([], "", [GATEWAY, DAEMON]), ([DAEMON], "", [GATEWAY]), ([GATEWAY], "", [DAEMON]), ([], "127.0.0.1:1", [GATEWAY]),
])
def test_what_is_not_built_is_named(tmp_path, built, connect, missing):
    """With a `swift build` that only says where programs would be."""
    programs = {"bin/swift": 'case "$*" in *--package-path*) echo package ;; *) echo root ;; esac'}
    for path, text in (programs | dict.fromkeys(built, "exit 3")).items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)
    (tmp_path / "Tools").mkdir()
    shutil.copy(REPOSITORY / "Tools/gateway", tmp_path / "Tools/gateway")
    ended = subprocess.run(
        [tmp_path / "Tools/gateway"], capture_output=True, text=True, timeout=PATIENCE,
        env=environment() | {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "PREBUILT": "yes", "TELLTALE_CONNECT": connect})
    told = ended.stderr.splitlines()[0]
    assert ended.returncode == 1 and "PREBUILT" in told, ended.stderr
    assert told.split("missing:")[1].split() == missing


def test_plain_curl(gateway):
    posted = curl("-d", '{"attributes":{"item":"Flat white"}}', f"{gateway.url}/coffee-order/curl/start")
    assert json.loads(posted.stdout)["verdict"] == "applied"
    for form in [["--json", "{}"], ["-X", "POST"], ["-H", "Content-Type: text/plain", "-d", "{}"]]:
        told = curl(*form, f"{gateway.url}/v1/entities/errand/curl-{len(form)}/events/start")
        assert json.loads(told.stdout)["state"] == "open", told.stdout
    refused = curl("--fail-with-body", "-d", "{", f"{gateway.url}/errand/curl/start")
    assert refused.returncode == 22 and json.loads(refused.stdout)["code"] == "bad_json"
    assert curl("-I", f"{gateway.url}/v1/kinds").stdout.startswith("HTTP/1.1 200")
    streaming = output_until(["curl", "-sN", f"{gateway.url}/v1/stream?sub=coffee-order/curl,carplay"], "event: live")
    assert streaming.startswith("retry: 2000\n\nevent: hello\n")
    lines = output_until(
        ["curl", "-sN", "-H", "Accept: application/x-ndjson", f"{gateway.url}/v1/stream?sub=errand/*"], '{"event":"live",')
    assert all(json.loads(line)["event"] for line in lines.splitlines()[:-1])


def test_a_stream_that_curl_leaves_is_noticed(gateway):
    stream = Stream(gateway, "sub=errand/left")
    stream.until("live")
    before = int(gateway.metrics()["telltale_gateway_streams"])
    stream.close()
    # The first write finds that nobody is there.
    gateway.post("/errand/left/start")
    for number in range(1_000):
        if int(gateway.metrics()["telltale_gateway_streams"]) < before:
            return
        gateway.post("/errand/left/update", {"content-state": {"note": str(number)}})
    pytest.fail("the stream is still open")


def test_a_demo_that_fails_leaves_no_provider(tmp_path):
    """With programs that do nothing but stay: a post fails once the provider is there."""
    def program(path, text):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)

    pid = tmp_path / "provider"
    program("Tools/telltale-gateway/.build/release/telltale-gateway", 'echo "ready http=127.0.0.1:1"; exec sleep 600')
    program("bin/telltale", f"[ $1 != serve ] || {{ echo $$ >{pid}; exec sleep 600; }}; until [ -s {pid} ]; do sleep 0.05; done; exit 1")
    shutil.copy(REPOSITORY / "Tools/demo", tmp_path / "Tools/demo")
    ended = subprocess.run(
        [tmp_path / "Tools/demo", "inside", "http://127.0.0.1:0"], capture_output=True, timeout=PATIENCE,
        env=environment() | {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "TELLTALE_CONNECT": "127.0.0.1:1", "TMPDIR": str(tmp_path)})
    assert ended.returncode == 1, ended.stderr
    assert not pathlib.Path(f"/proc/{pid.read_text().strip()}").exists()
