"""From the cases before a failure to the few lines that it needs."""

from line_fuzz.play import Conversation, Daemon, Failure, Tally


class Shrinker:
    def __init__(self, program, kinds):
        self.program, self.kinds = program, kinds
        self.tries = 0

    def failure(self, script):
        """The failure of a script of (case, lines), played at a daemon of its own; `None` where all is well."""
        self.tries += 1
        daemon = Daemon(self.program, self.kinds)
        try:
            for case, lines in script:
                Conversation(daemon, case, lines, Tally()).play()
            daemon.check()
            if daemon.stop() != 0:
                return "the daemon did not end in order"
        except Failure as failure:
            return str(failure)
        finally:
            daemon.stop()
        return None

    def shrink(self, cases, limit=400):
        """The smallest script found, and its failure; `None` where the cases do not fail again."""
        script = None
        for count in (1, 4, 16, 64):
            candidate = [(case, case.lines) for case in cases[-count:]]
            if self.failure(candidate):
                script = candidate
                break
        if script is None:
            return None
        size = max(1, sum(len(lines) for _, lines in script) // 2)
        while self.tries < limit:
            for candidate in self.without(script, size):
                if self.tries >= limit:
                    break
                if self.failure(candidate):
                    script = candidate
                    break
            else:
                if size == 1:
                    break
                size = max(1, size // 2)
        return script, self.failure(script)

    @staticmethod
    def without(script, size):
        """The script without each piece of `size` lines."""
        places = [(index, line) for index, (_, lines) in enumerate(script) for line in range(len(lines))]
        for start in range(0, len(places), size):
            left = set(places[start:start + size])
            shorter = [(case, [line for at, line in enumerate(lines) if (index, at) not in left])
                       for index, (case, lines) in enumerate(script)]
            if any(lines for _, lines in shorter):
                yield [(case, lines) for case, lines in shorter if lines]
