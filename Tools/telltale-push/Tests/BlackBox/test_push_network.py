"""telltale-push connects to what it is pointed at, and to nothing else."""

import json
import pathlib
import subprocess
import sys

import pytest

from support import PATIENCE

pytest.importorskip("http_ece", reason="http-ece cannot be installed")


def test_nothing_leaves_but_to_the_services_of_the_configuration():
    """Daemon, telltale-push and both services in a namespace that sees every packet, whatever address it is for."""
    script = pathlib.Path(__file__).with_name("push_network.py")
    tried = subprocess.run(["unshare", "-rnm", "ip", "link", "set", "lo", "up"], capture_output=True)
    if tried.returncode:
        pytest.skip(f"no network namespaces here: {tried.stderr.decode().strip()}")
    done = subprocess.run(["unshare", "-rnm", sys.executable, str(script)], capture_output=True, timeout=3 * PATIENCE)
    assert done.returncode == 0, done.stderr.decode()
    told = json.loads(done.stdout.decode().splitlines()[-1])
    if "skip" in told:
        pytest.skip(told["skip"])
    assert told["refused"] == 403
    assert told["seen"] == sorted(["tcp", "127.0.0.1", port] for port in told["ports"].values())
