"""Keys and certificates of tests, by the openssl of the system."""

import base64
import json
import subprocess
import time

from support import REPOSITORY


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def openssl(*arguments, data=None):
    return subprocess.run(["openssl", *arguments], input=data, capture_output=True, check=True).stdout


class Key:
    """A provider's key, as Apple hands one out."""

    def __init__(self, folder, team="TEAM123456", kid="KEY1234567"):
        self.team, self.kid = team, kid
        self.private = f"{folder}/{kid}.p8"
        self.public = f"{folder}/{kid}.pub.pem"
        openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", self.private)
        openssl("pkey", "-in", self.private, "-pubout", "-out", self.public)

    def token(self, age=0, **changes):
        head = {"alg": "ES256", "kid": self.kid} | {k: v for k, v in changes.items() if k in ("alg", "kid")}
        claims = {"iss": changes.get("iss", self.team), "iat": int(time.time()) - age}
        message = f"{b64(json.dumps(head).encode())}.{b64(json.dumps(claims).encode())}"
        der = openssl("dgst", "-sha256", "-sign", self.private, data=message.encode())
        return f"{message}.{b64(raw(der))}"


def raw(der):
    """The two numbers of a signature in DER, 32 bytes each."""
    numbers, at = [], 2
    for _ in range(2):
        length = der[at + 1]
        numbers.append(int.from_bytes(der[at + 2:at + 2 + length], "big"))
        at += 2 + length
    return b"".join(number.to_bytes(32, "big") for number in numbers)


def certificates(folder, *names):
    sans = [word for name in names for word in ("--san", name)]
    subprocess.run([str(REPOSITORY / "Tools/package/dev-certificates"), folder, *sans], check=True, capture_output=True)
    return ["--tls-cert", f"{folder}/leaf.pem", "--tls-key", f"{folder}/leaf.key.pem"]
