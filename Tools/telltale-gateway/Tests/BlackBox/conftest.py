import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Support"))

from world import daemon, gateway, pair, world  # noqa: E402, F401 - pytest finds fixtures by their names here.


@pytest.fixture(scope="session")
def gateway_options():
    return ["--cors", "https://shop.example.com", "--host", "tunnel.example.com"]
