"""The world of a test: the same daemon and gateway that the tests over HTTP start, and the browser that they are seen in."""

import importlib.util
import os
import pathlib
import sys

BLACK_BOX = pathlib.Path(__file__).resolve().parents[1] / "BlackBox"
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium-headless-shell")

# Behind this folder, which has a conftest of its own.
sys.path.append(str(BLACK_BOX))

_spec = importlib.util.spec_from_file_location("black_box_conftest", BLACK_BOX / "conftest.py")
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)

World = _module.World
