import Foundation
import Glibc
import TelltaleWire
import TestSupport
import Testing

/// Signed tokens at the real daemon. Python and the `openssl` command sign them.
@Suite(.serialized, .nightly)
struct SignedTokenProcessTests {
    /// A company's backend: a file of principals with its keys, and tokens that it signs.
    private struct Backend {
        let folder: TemporaryFolder
        let daemon: DaemonProcess
        var file: String { folder.path("principals.json") }

        static let signer = """
            import base64, hashlib, hmac, json, os, subprocess, sys, time
            folder, algorithm, life, jti = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
            text = lambda b: base64.urlsafe_b64encode(b).rstrip(b'=').decode()
            number = lambda b, at: b[at + 2:at + 2 + b[at + 1]]
            part = lambda o: text(json.dumps(o).encode())
            claims = {'iss': 'https://shop.example.com', 'aud': 'telltale', 'sub': 'alice', 'iat': int(time.time()),
                      'exp': int(time.time()) + life, 'scope': 'read:* act:*', 'account': 'alice', 'jti': jti}
            message = part({'alg': algorithm, 'typ': 'JWT', 'kid': algorithm}) + '.' + part(claims)
            if algorithm == 'HS256':
                signature = hmac.new(bytes(range(32)), message.encode(), hashlib.sha256).digest()
            else:
                der = subprocess.run(['openssl', 'dgst', '-sha256', '-sign', folder + '/key.pem'],
                                     input=message.encode(), capture_output=True, check=True).stdout
                r = number(der, 2); s = number(der, 4 + len(r))
                signature = b''.join(n[-32:].rjust(32, b'\\0') for n in (r, s))
            print(message + '.' + text(signature))
            """

        static let writer = """
            import base64, json, os, subprocess, sys
            folder = sys.argv[1]
            text = lambda b: base64.urlsafe_b64encode(b).rstrip(b'=').decode()
            key = folder + '/key.pem'
            subprocess.run(['openssl', 'ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', key], check=True)
            der = subprocess.run(['openssl', 'ec', '-in', key, '-pubout', '-outform', 'DER'], capture_output=True,
                                 check=True).stdout
            keys = [{'kid': 'ES256', 'kty': 'EC', 'crv': 'P-256', 'x': text(der[-64:-32]), 'y': text(der[-32:])},
                    {'kid': 'HS256', 'kty': 'oct', 'k': text(bytes(range(32)))}]
            issuer = {'issuer': 'https://shop.example.com', 'audience': 'telltale', 'keys': keys,
                      'scopes': ['read:*', 'act:coffee-order/*'], 'maxLifetime': '24h'}
            name = folder + '/principals.json'
            with open(name, 'w', opener=lambda p, f: os.open(p, f, 0o600)) as f:
                json.dump({'version': 1, 'principals': [], 'issuers': [issuer]}, f)
            """

        init() throws {
            folder = try TemporaryFolder()
            try Self.python(Self.writer, folder.url.path)
            daemon = try DaemonProcess(["--auth", folder.path("principals.json")])
        }

        func token(_ algorithm: String, life: Int = 3_600, jti: String = "t1") throws -> String {
            try #require(Self.python(Self.signer, folder.url.path, algorithm, "\(life)", jti).first)
        }

        @discardableResult
        private static func python(_ script: String, _ arguments: String...) throws -> [String] {
            let program = try RunningProgram(
                URL(filePath: "/usr/bin/env"), ["python3", "-c", script] + arguments)
            let lines = program.readToEnd()
            try #require(program.waitForExit() == 0, "\(program.standardError)")
            return lines
        }
    }

    private func greeted(_ backend: Backend) throws -> Peer {
        let peer = try Peer(port: backend.daemon.port)
        _ = try peer.receive()
        return peer
    }

    @Test(arguments: ["ES256", "HS256"])
    func `a token that a backend signed is a principal, and is in no log`(algorithm: String) async throws {
        try await onOwnThread {
            let backend = try Backend()
            let token = try backend.token(algorithm)
            let peer = try greeted(backend)
            let hello = try peer.ask(#"HELLO client=phone/1 {"token":"\#(token)"}"#)
            #expect(hello["principal"] == "shop.example.com/alice" && hello["account"] == "alice", "\(hello)")
            #expect(hello.integer("until") != nil)
            #expect(try peer.ask("SUB *").verb == "OK")
            #expect(try peer.ask("PRESS log-coffee/desk").errorCode == .forbidden)
            #expect(try peer.ask("DISMISS coffee-order/1").errorCode == .unknownKey)

            // A changed token, and one in a wrong place, are not repeated in an answer or a log.
            let parts = token.split(separator: ".").map(String.init)
            let forged = "\(parts[0]).\(parts[1]).\(parts[2].hasPrefix("A") ? "B" : "A")\(parts[2].dropFirst())"
            var answers: [String] = []
            for line in [#"HELLO {"token":"\#(forged)"}"#, "HELLO token=\(token)", "HELLO \(token)", "\(token) HELLO"] {
                let other = try greeted(backend)
                try other.send(line)
                answers.append("\(try other.receive())")
            }
            backend.daemon.send(SIGTERM)
            #expect(backend.daemon.waitForExit() == 0)
            let reported = answers.joined() + backend.daemon.standardError
            for part in parts where part.utf8.count > 20 { #expect(!reported.contains(part.prefix(20)), "\(reported)") }
            #expect(backend.daemon.standardError.contains("signature that is not good"))
        }
    }

    @Test func `a revoked token, and the tokens of a revoked subject, end`() async throws {
        try await onOwnThread {
            let backend = try Backend()
            let (first, second) = (try backend.token("ES256", jti: "a"), try backend.token("HS256", jti: "b"))
            let (one, other) = (try greeted(backend), try greeted(backend))
            #expect(try one.ask(#"HELLO {"token":"\#(first)"}"#).verb == "OK")
            #expect(try other.ask(#"HELLO {"token":"\#(second)"}"#).verb == "OK")
            func telltale(_ arguments: String...) throws -> [String] {
                let running = try RunningProgram(
                    program("telltale"), ["token"] + arguments + ["--auth", backend.file])
                let lines = running.readToEnd()
                #expect(running.waitForExit() == 0, "\(running.standardError)")
                return lines
            }
            #expect(try telltale("revoke", "--jti", "a") == ["revoked jti=a"])
            #expect(one.receive(until: "BYE code=auth_revoked").last == "BYE code=auth_revoked")
            #expect(one.next() == .end)
            #expect(try other.ask("PING").verb == "PONG")
            _ = try telltale("revoke", "--sub", "alice", "--issued-before", "2001-09-09T01:46:40Z")
            #expect(
                try telltale("list") == ["revoked jti=a", "revoked sub=alice issued-before=2001-09-09T01:46:40Z"])
            #expect(try other.ask("PING").verb == "PONG")
            #expect(try telltale("revoke", "--sub", "alice", "--json") == [#"{"revoked":{"sub":"alice"}}"#])
            #expect(other.receive(until: "BYE code=auth_revoked").last == "BYE code=auth_revoked")
            #expect(try greeted(backend).ask(#"HELLO {"token":"\#(second)"}"#)["code"] == "auth_failed")
        }
    }
}
