"""telltale-push as a process of a test."""

import http.client
import json
import os

from support import PATIENCE, REPOSITORY, Answer, Program, eventually

PUSH = os.environ.get("TELLTALE_PUSH", str(REPOSITORY / "Tools/telltale-gateway/.build/debug/telltale-push"))
BUNDLE = "com.example.coffee"
FORM = {"kind": "coffee-order", "content": ["shelf"], "state": "status", "start": {"title": "Your order", "body": "It is placed"}}


class Pusher(Program):
    def __init__(self, folder, *arguments, extra=None, under=()):
        super().__init__([*under, PUSH, *arguments, "--listen", "http://127.0.0.1:0", "--log-level", "debug"], folder, extra)
        self.port = int(self.ready["http"].split(":")[-1])

    def ask(self, method, path, body=None, token=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            connection.request(method, path, json.dumps(body) if body is not None else None, headers)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def register(self, name, token, **more):
        answer = self.ask("PUT", f"/v1/push/targets/{name}", {"token": token} | more)
        assert answer.status in (200, 201), answer.text
        return answer

    def sent(self):
        return self.ask("GET", "/v1/push/sent").json["sent"]

    def wait_for_sent(self, check=bool):
        """The pushes that were told, newest first, once they are so."""
        return eventually("what was sent", lambda: check(sent := self.sent()) and sent)

    def wait_until_gone(self, name):
        """Until a registration is removed."""
        eventually(f"{name} is removed", lambda: self.ask("GET", f"/v1/push/targets/{name}").status == 404)
