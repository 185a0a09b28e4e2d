"""Options, figures, health and logs."""

import json
import os
import pathlib
import re
import shutil
import signal
import ssl
import subprocess
import time

import pytest

from support import GATEWAY, PATIENCE, REPOSITORY, Stream, eventually, output_until


def run(*arguments, extra=None):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TELLTALE")}
    return subprocess.run([GATEWAY, *arguments], capture_output=True, text=True, env=environment | (extra or {}), timeout=PATIENCE)


def test_every_fault_of_the_configuration_is_told_at_once(world):
    file = world.file("gateway.json", '{"listen":"https://127.0.0.1:0","lissten":"x","log-level":7,"cors":[1]}')
    done = run("--check", "--config", file, "--ops-listen", "nowhere", "--connect", "somewhere",
               extra={"TELLTALE_GATEWAY_LOG_FORMAT": "xml", "TELLTALE_GATEWAY_NOPE": "1"})
    assert done.returncode == 78 and not done.stdout
    for part in ["lissten", "log-level", "cors", "--ops-listen", "--connect", "LOG_FORMAT", "TELLTALE_GATEWAY_NOPE",
                 "--tls-cert"]:
        assert part in done.stderr, part
    assert run("--check").returncode == 0
    assert run("--check", "--config", "/nowhere").returncode == 78
    # A wrong flag in a unit is not tried again and again.
    done = run("--bogus")
    assert done.returncode == 78 and "--bogus" in done.stderr
    assert run("--help").returncode == 0


def test_flags_go_before_the_environment_and_that_before_the_file(world):
    file = world.file("gateway.json", '{"log-format":"xml","log-level":"nope","host":["a"]}')
    done = run("--check", "--config", file, "--log-format", "json", extra={"TELLTALE_GATEWAY_LOG_LEVEL": "debug"})
    assert done.returncode == 0, done.stderr


def test_figures(world):
    world.daemon()
    gateway = world.gateway()
    gateway.post("/errand/1/start")
    gateway.get("/v1/entities/nope/1")
    stream = Stream(gateway, "sub=errand/*")
    stream.until("live")
    answer = gateway.get("/metrics", port=gateway.ops)
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    counted = ['telltale_gateway_http_requests_total{route="/{kind}/{id}/{type}",method="POST",code="200"}',
               'telltale_gateway_http_requests_total{route="/v1/entities/{kind}/{id}",method="GET",code="404"}',
               'telltale_gateway_stream_events_total{event="row"}', "telltale_gateway_streams"]
    # What has been answered is counted afterwards.
    eventually("all is counted", lambda: (figures := gateway.metrics()) and all(figures.get(name) == "1" for name in counted))
    figures = gateway.metrics()
    assert figures["telltale_up"] == "1" and figures["telltale_entities"] == "10"
    assert figures['telltale_verdicts_total{verdict="applied"}'] != "0"
    assert int(figures["telltale_journal_sync_seconds_count"]) > 0
    assert not any("errand" in name for name in figures)
    stream.close()
    open_metrics = gateway.get("/metrics", headers={"Accept": "application/openmetrics-text"}, port=gateway.ops)
    assert open_metrics.headers["content-type"].startswith("application/openmetrics-text")
    assert open_metrics.text.endswith("# EOF\n") and "# TYPE telltale_requests counter" in open_metrics.text
    for path in ["/metrics", "/healthz", "/readyz"]:
        assert gateway.get(path).status == 404
        assert gateway.ask("POST", path, port=gateway.ops).status == 405


def test_promtool_is_content(world):
    promtool = shutil.which("promtool")
    if not promtool:
        pytest.skip("promtool is not installed (Debian's prometheus)")
    world.daemon()
    gateway = world.gateway()
    gateway.post("/errand/1/start")
    text = gateway.get("/metrics", port=gateway.ops).text
    done = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    rules = REPOSITORY / "Tools/telltale-gateway/alerts.yml"
    done = subprocess.run([promtool, "check", "rules", str(rules)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_alerts_and_dashboard_ask_for_metrics_that_there_are(world):
    """All of them are there from the start, but for those of tokens and TLS."""
    world.daemon()
    world.file("hooks/own.json", json.dumps({
        "hook": "own", "verify": {"scheme": "shopify", "secrets": ["env:OWN"]},
        "rules": [{"on": ["*"], "key": "errand/{{body.id}}", "type": "start"}]}))
    gateway = world.gateway("--hooks", f"{world.folder}/hooks", extra={"OWN": "x"})
    gateway.get("/v1/kinds")
    text = gateway.get("/metrics", port=gateway.ops).text
    names = set(re.findall(r"^# TYPE (\w+)", text, re.MULTILINE))
    assert 'telltale_gateway_webhook_deliveries_total{hook="own",result="refused"} 0\n' in text
    names |= {"telltale_auth_failures_total", "telltale_tls_certificate_expiry_timestamp_seconds"}
    folder = REPOSITORY / "Tools/telltale-gateway"
    for file in ["alerts.yml", "dashboard.json"]:
        text = (folder / file).read_text()
        asked = {re.sub(r"_(bucket|sum|count)$", "", name) for name in re.findall(r"\btelltale_\w+", text)}
        assert asked and asked <= names, asked - names
    json.loads((folder / "dashboard.json").read_text())


def test_under_systemd_each_line_has_its_priority(world):
    world.daemon()
    gateway = world.gateway(extra={"JOURNAL_STREAM": "8:1234"})
    gateway.get("/v1/kinds", headers={"X-Request-Id": "mine"})
    gateway.wait_for_log('"mine"')
    line = next(line for line in gateway.log().splitlines() if '"mine"' in line)
    assert line.startswith('<6>{"ts":"')


def test_secrets_are_in_no_log(world):
    world.daemon()
    gateway = world.gateway("--log-level", "trace")
    Stream(gateway, "sub=errand/*&access_token=hunter2-query").close()
    gateway.get("/v1/stats", headers={"Authorization": "Bearer hunter2-header"})
    gateway.post("/errand/1/start", {"content-state": {"note": "hunter2-body"}})
    gateway.get("/v1/stats", headers={"X-Request-Id": "last"})
    gateway.wait_for_log('"request_id":"last"')
    assert "hunter2" not in gateway.log()


def certify(folder, days):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "key.pem",
         "-out", "cert.pem", "-days", str(days), "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
        cwd=folder, check=True, capture_output=True)


def test_tls_and_http2(world):
    certify(world.folder, 2)
    world.daemon()
    gateway = world.gateway("--tls-cert", f"{world.folder}/cert.pem", "--tls-key", f"{world.folder}/key.pem",
                            listen="https://127.0.0.1:0")

    def command(*arguments):
        url = f"https://localhost:{gateway.port}"
        return ["curl", "-s", "--cacert", f"{world.folder}/cert.pem", "--resolve", f"localhost:{gateway.port}:127.0.0.1",
                *(part.replace("URL", url) for part in arguments)]

    def curl(*arguments):
        return subprocess.run(command(*arguments), capture_output=True, text=True, timeout=PATIENCE).stdout

    for version, name in [("--http1.1", "1.1"), ("--http2", "2")]:
        assert curl(version, "-w", " %{http_version}", "-d", "{}", f"URL/errand/v{name}/start").endswith(f" {name}")
    told = output_until(command("--http2", "-N", "URL/v1/stream?sub=errand/*"), "event: live")
    assert told.count("event: row") == 2
    assert int(gateway.metrics()['telltale_tls_certificate_expiry_timestamp_seconds{listener="http"}']) > 1_700_000_000


def test_certificates_are_read_again(world):
    certify(world.folder, 2)
    world.daemon()
    gateway = world.gateway("--tls-cert", f"{world.folder}/cert.pem", "--tls-key", f"{world.folder}/key.pem",
                            listen="https://127.0.0.1:0")

    def presented():
        return ssl.get_server_certificate(("127.0.0.1", gateway.port)).strip()

    def on_disk():
        return (pathlib.Path(world.folder) / "cert.pem").read_text().strip()

    def hang_up(told):
        gateway.process.send_signal(signal.SIGHUP)
        gateway.wait_for_log(told)

    first = on_disk()
    assert presented() == first
    world.file("key.pem", "no key")
    hang_up("not read again")
    assert presented() == first
    certify(world.folder, 90)
    hang_up('"msg":"read again"')
    assert presented() == on_disk() != first
    name = 'telltale_tls_certificate_expiry_timestamp_seconds{listener="http"}'
    assert float(gateway.metrics()[name]) > time.time() + 80 * 86_400


def test_a_connection_a_token_and_not_more_than_256(world):
    world.daemon()
    gateway = world.gateway()
    for number in range(270):
        answer = gateway.get("/v1/kinds/errand", headers={"Authorization": f"Bearer token-{number}"}, checks=False)
        assert answer.status == 200
    # One more is the gateway's own.
    eventually("257 connections", lambda: gateway.metrics()["telltale_gateway_daemon_connections"] == "257")
