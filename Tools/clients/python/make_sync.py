"""Makes `_sync_requests.py` of `_async_requests.py`: the same requests, without `async` and `await`.

    python3 make_sync.py          writes it
    python3 make_sync.py --check  fails where it is not current

`ruff` formats it; it is the one of the PATH, or the one beside this Python.
"""

import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(__file__).parent / "src" / "telltale" / "_async_requests.py"
TARGET = SOURCE.with_name("_sync_requests.py")
CHANGES = (
    (
        '"""The requests of the client for asyncio."""',
        '"""The requests without asyncio. Made by make_sync.py."""',
    ),
    ("class AsyncRequests:", "class Requests:"),
    ('"""The requests, as coroutines.\n', '"""The requests.\n'),
    ("async def ", "def "),
    ("await ", ""),
)


def made() -> str:
    text = SOURCE.read_text(encoding="utf-8")
    for before, after in CHANGES:
        assert before in text, before
        text = text.replace(before, after)
    beside = pathlib.Path(sys.executable).with_name("ruff")
    ruff = str(beside) if beside.exists() else "ruff"
    command = [ruff, "format", "--quiet", "--no-cache", "--stdin-filename", str(TARGET), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        if TARGET.read_text(encoding="utf-8") != made():
            sys.exit(f"{TARGET.name} is not what {SOURCE.name} gives; run python3 {__file__}")
    else:
        TARGET.write_text(made(), encoding="utf-8")
