"""The daemon under test, as a process of its own."""

import os
import signal
import subprocess

from torture.wire import Failure, attributes, tail


class Daemon:
    def __init__(self, arguments, folder, is_pruning):
        self.arguments, self.folder, self.is_pruning = arguments, folder, is_pruning
        self.process = None

    def start(self, fail_point=None, snapshot_records=3000):
        environment = dict(os.environ, TELLTALE_SNAPSHOT_RECORDS=str(snapshot_records), TELLTALE_PART_RECORDS="3",
                           TELLTALE_LOG_BYTES="200000")
        if fail_point:
            environment["TELLTALE_FAILPOINT"] = fail_point
        self.log = open(os.path.join(self.folder, "log"), "ab")
        self.process = subprocess.Popen(
            [self.arguments.daemon, "--data", os.path.join(self.folder, "data"), "--kinds",
             os.path.join(self.folder, "kinds"), "--listen", "127.0.0.1:0", "--sync", self.arguments.sync,
             "--log-level", "warning"]
            # Records older than the retention are pruned with the next snapshot.
            + (["--retention", "1"] if self.is_pruning else []),
            stdout=subprocess.PIPE, stderr=self.log, env=environment)
        line = self.process.stdout.readline().decode()
        if not line.startswith("ready"):
            if self.process.wait() == -signal.SIGKILL and fail_point:
                return None  # It reached the place before it served.
            raise Failure(f"the daemon did not start, see {self.folder}/log: {tail(self.log.name)}")
        ready = attributes(line)
        self.recovered = int(ready["recovered_ms"])
        return int(ready["tcp"].rsplit(":", 1)[1])

    def wait(self, seconds):
        try:
            self.process.wait(seconds)
            return True
        except subprocess.TimeoutExpired:
            return False

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
        if self.process:
            self.process.wait()
            self.process.stdout.close()
            self.log.close()
