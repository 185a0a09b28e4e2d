"""A real daemon, a proxy in front of it that cuts connections, and a server that follows a script."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import threading
from typing import Callable, List, Optional

import pytest

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
REPOSITORY = PACKAGE.parents[2]
#: A test that waits longer than this has failed. Nothing is expected to take it.
LIMIT = 120.0


def behaviour(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Marks the test of a row of Protocols/Clients/behaviours.md."""
    return pytest.mark.behaviour(name)


def program(name: str) -> Optional[str]:
    """`telltaled` or `telltale`: of the environment, of a build of this repository, or of the PATH."""
    wanted = os.environ.get(name.upper())
    built = [str(REPOSITORY / ".build" / kind / name) for kind in ("release", "debug")]
    for path in [wanted] if wanted else built:
        if path and os.access(path, os.X_OK):
            return path
    return shutil.which(name)


class Daemon:
    """`telltaled` on a port of its own. It may be killed and started again with the same data."""

    def __init__(self, folder: pathlib.Path, *options: str) -> None:
        self.folder = folder
        self._options = options
        self.port = 0
        self.tls = ""
        self.start()

    @property
    def url(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self, *more: str, data: str = "data") -> None:
        path = program("telltaled")
        assert path is not None
        command = [path, "--data", str(self.folder / data), "--kinds", str(REPOSITORY / "Protocols/Kinds/examples")]
        command += ["--listen", f"127.0.0.1:{self.port}", "--sync", "off", *self._options, *more]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TELLTALE_")}
        self._log = open(self.folder / "log", "ab")
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self._log, text=True, env=environment)
        assert self._process.stdout is not None
        ready = self._process.stdout.readline()
        assert ready.startswith("ready "), (self.folder / "log").read_text()
        words = dict(word.split("=", 1) for word in ready.split()[1:])
        self.port = int(words["tcp"].rpartition(":")[2])
        self.tls = words.get("tls", "")

    def stop(self, number: int = signal.SIGTERM) -> None:
        if self._process.poll() is None:
            self._process.send_signal(number)
        self._process.wait(LIMIT)
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._log.close()

    def kill(self) -> None:
        self.stop(signal.SIGKILL)


class Proxy:
    """Stands between a client and a server, records the client's bytes, and cuts connections."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._lock = threading.Condition()
        self._pairs: List[List[socket.socket]] = []
        self._cut_before: Optional[bytes] = None
        #: The bytes of each connection's client.
        self.said: List[bytearray] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"127.0.0.1:{self.port}"

    def cut_before(self, text: bytes) -> None:
        """The next time that the server says this, the connection ends before it, within that line."""
        with self._lock:
            self._cut_before = text

    def cut(self) -> None:
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            self._end(pair)

    def wait_for_connections(self, count: int) -> None:
        with self._lock:
            assert self._lock.wait_for(lambda: len(self.said) >= count, LIMIT)

    def wait_until_said(self, connection: int, text: bytes) -> None:
        with self._lock:
            assert self._lock.wait_for(lambda: len(self.said) > connection and text in self.said[connection], LIMIT)

    def close(self) -> None:
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                if self._listener.fileno() < 0:
                    return
                client.close()  # The server is down.
                continue
            pair = [client, server]
            with self._lock:
                self._pairs.append(pair)
                self.said.append(bytearray())
                said = self.said[-1]
                self._lock.notify_all()
            threading.Thread(target=self._up, args=(pair, said), daemon=True).start()
            threading.Thread(target=self._down, args=(pair,), daemon=True).start()

    def _up(self, pair: List[socket.socket], said: bytearray) -> None:
        try:
            while data := pair[0].recv(65536):
                with self._lock:
                    said += data
                    self._lock.notify_all()
                pair[1].sendall(data)
        except OSError:
            pass
        self._end(pair)

    def _down(self, pair: List[socket.socket]) -> None:
        try:
            while data := pair[1].recv(65536):
                with self._lock:
                    at = data.find(self._cut_before) if self._cut_before else -1
                    if at >= 0:
                        self._cut_before = None
                if at >= 0:
                    pair[0].sendall(data[: at + 2])
                    break
                pair[0].sendall(data)
        except OSError:
            pass
        self._end(pair)

    @staticmethod
    def _end(pair: List[socket.socket]) -> None:
        for end in pair:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()


GREETING = "TELLTALE 1 epoch=0123456789abcdef seq=7 now=1795556623399 hb=20000 max_line=65536 auth=none server=0.1.0"


class Script:
    """A server for one connection after another: each is held by the next function."""

    def __init__(self, *scenes: Callable[["Stage"], None]) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.stages: List[Stage] = []
        self.error: Optional[BaseException] = None
        self._thread = threading.Thread(target=self._play, args=(scenes,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"127.0.0.1:{self.port}"

    def _play(self, scenes: "tuple[Callable[[Stage], None], ...]") -> None:
        try:
            for scene in scenes:
                connection, _ = self._listener.accept()
                connection.settimeout(LIMIT)
                stage = Stage(connection)
                self.stages.append(stage)
                try:
                    scene(stage)
                finally:
                    stage.close()
        except BaseException as error:
            self.error = error
        finally:
            self._listener.close()

    def join(self) -> None:
        self._thread.join(LIMIT)
        assert not self._thread.is_alive()
        if self.error is not None:
            raise self.error


class Stage:
    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lines = connection.makefile("r", encoding="utf-8", newline="\n")
        self.heard: List[str] = []

    def close(self) -> None:
        self._lines.close()
        self._connection.close()

    def say(self, *lines: str) -> None:
        self._connection.sendall("".join(line + "\n" for line in lines).encode())

    def hear(self, verb: str) -> str:
        """The `id=` of the next line, which has this verb."""
        line = self._lines.readline().rstrip("\n")
        self.heard.append(line)
        assert line.startswith(f"{verb} id="), line
        return line.split(" ")[1].partition("=")[2]

    def hear_end(self) -> None:
        assert self._lines.readline() == ""

    def greet(self, greeting: str = GREETING) -> None:
        self.say(greeting)
        self.say(f"OK id={self.hear('HELLO')} conn=c1 hb=20000")
