"""The examples of README.md, in their order, beside a daemon."""

import os
import subprocess
import sys
from typing import Callable

from pages import programs
from support import LIMIT, PACKAGE, Daemon

EXAMPLES = programs(PACKAGE / "README.md")


def test_the_examples_run_and_print_what_the_page_says(start: Callable[..., Daemon]) -> None:
    daemon = start()
    assert len(EXAMPLES) >= 4
    for example in EXAMPLES:
        text = example.text.replace("127.0.0.1:7878", daemon.url)
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-W", "error", "-c", text]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, env=environment)
        assert (done.returncode, done.stderr) == (0, ""), f"{example.place}: {done.stderr}"
        assert done.stdout == example.output, example.place
