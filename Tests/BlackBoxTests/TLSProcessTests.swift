import Foundation
import Glibc
import TestSupport
import Testing

/// TLS of the real daemon, against OpenSSL's own client and Python's `ssl`.
@Suite(.serialized)
struct TLSProcessTests {
    /// A daemon with a plain and an encrypted listener, and certificates of `Tools/package/dev-certificates`.
    private struct Encrypted {
        let folder: TemporaryFolder
        let daemon: DaemonProcess
        let port: String
        var authority: String { folder.path("ca.pem") }

        init(_ more: String...) throws {
            folder = try TemporaryFolder()
            try Self.makeCertificates(in: folder)
            daemon = try DaemonProcess(
                [
                    "--listen", "tls://127.0.0.1:0", "--tls-cert", folder.path("leaf.pem"), "--tls-key",
                    folder.path("leaf.key.pem"),
                ] + more)
            port = try #require(daemon.ready["tls"]?.split(separator: ":").last.map(String.init))
            #expect(daemon.ready["tcp"]?.contains(port) == false)
        }

        static func makeCertificates(in folder: TemporaryFolder) throws {
            let script = repository.appending(path: "Tools/package/dev-certificates")
            let program = try RunningProgram(script, [folder.url.path])
            try #require(program.waitForExit() == 0, "\(program.standardError)")
        }

        /// Runs `script` of a shell with PORT and CA.
        func shell(_ script: String) throws -> [String] {
            try RunningProgram(
                URL(filePath: "/bin/sh"), ["-c", script], environment: ["PORT": port, "CA": authority]
            ).readToEnd()
        }

        func python(_ script: String) throws -> [String] {
            let lines =
                "import os, socket, ssl\nport = int(os.environ['PORT'])\n"
                + "context = ssl.create_default_context(cafile=os.environ['CA'])\n"
                + "def connect(name='localhost'):\n"
                + "    return context.wrap_socket(socket.create_connection(('127.0.0.1', port)), server_hostname=name)\n"
            let program = try RunningProgram(
                URL(filePath: "/usr/bin/env"), ["python3", "-c", lines + script],
                environment: ["PORT": port, "CA": authority])
            let output = program.readToEnd()
            #expect(program.waitForExit() == 0, "\(program.standardError)")
            return output
        }
    }

    @Test(
        "A certificate of an unknown authority names the option that trusts one",
        arguments: [("telltale", ["list"]), ("telltale-sim", ["record", "-", "--once"])])
    func untrusted(name: String, arguments: [String]) async throws {
        try await onOwnThread {
            let server = try Encrypted()
            func error(_ more: String...) throws -> String {
                let command = try RunningProgram(
                    program(name), arguments + ["--connect", "tls://127.0.0.1:\(server.port)"] + more)
                _ = command.readToEnd()
                #expect(command.waitForExit() == 69)
                return command.standardError
            }
            let untrusted = try error()
            #expect(untrusted.contains("(--ca FILE names the authority that is trusted)"), "\(untrusted)")
            for word in ["EPROTO", "Is telltaled running there"] { #expect(!untrusted.contains(word), "\(untrusted)") }
            let absent = try error("--ca", "/nowhere.pem")
            #expect(absent.contains("the authorities cannot be read"), "\(absent)")
            #expect(!absent.contains("Is telltaled running there"), "\(absent)")
        }
    }

    @Test func `TLS 1.2 and 1.3 are spoken, and nothing older`() async throws {
        try await onOwnThread {
            let server = try Encrypted()
            for (version, answer) in [
                ("1_2", "ECDHE-ECDSA-AES128-GCM-SHA256"), ("1_3", "TLSv1.3, Cipher is TLS_AES_128_GCM_SHA256"),
                ("1_1", "(NONE)"),
            ] {
                let lines = try server.shell(
                    "openssl s_client -tls\(version) -connect 127.0.0.1:$PORT -CAfile $CA </dev/null 2>&1 | grep 'Cipher is'"
                )
                #expect(lines.first?.contains(answer) == true, "\(lines)")
            }
            let weak = try server.shell(
                "openssl s_client -tls1_2 -cipher AES256-GCM-SHA384:ECDHE-ECDSA-AES128-SHA -connect 127.0.0.1:$PORT </dev/null 2>&1 | grep 'Cipher is'"
            )
            #expect(weak.first?.contains("(NONE)") == true, "\(weak)")
        }
    }

    @Test func `a session over TLS is the same as in plain, and ends with close_notify`() async throws {
        try await onOwnThread {
            let server = try Encrypted()
            let lines = try server.python(
                """
                s = connect()
                f = s.makefile('rw', newline='\\n')
                print(f.readline().split()[0])
                for i in range(3000):
                    f.write(f'EVT coffee-order/{i} type=start id={i}\\n')
                f.flush()
                print(all(f.readline().startswith(f'OK id={i} ') for i in range(3000)))
                f.write('SUB coffee-order/*\\n'); f.flush()
                print(f.readline().strip())
                rows = 0
                while f.readline().startswith('SNAP'): rows += 1
                print(rows)
                f.write('BYE\\n'); f.flush()
                # Python raises where the end is not said by TLS.
                print(repr(f.read()))
                """)
            #expect(lines == ["TELLTALE", "True", "OK sub=1 view=full", "3000", "''"])
        }
    }

    @Test func `a half-close over TLS still gets what is due`() async throws {
        try await onOwnThread {
            let server = try Encrypted()
            let lines = try server.python(
                """
                incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
                tls = context.wrap_bio(incoming, outgoing, server_hostname='localhost')
                s = socket.create_connection(('127.0.0.1', port))
                def run(step):
                    while True:
                        try: return step()
                        except ssl.SSLWantReadError:
                            if outgoing.pending: s.sendall(outgoing.read())
                            incoming.write(s.recv(65536))
                run(tls.do_handshake)
                tls.write(b'EVT coffee-order/1 type=start id=1\\nGET coffee-order/1 id=2\\n')
                try: tls.unwrap()
                except ssl.SSLError: pass
                s.sendall(outgoing.read())
                s.shutdown(socket.SHUT_WR)
                text = b''
                while True:
                    try: piece = run(lambda: tls.read(65536))
                    except ssl.SSLError: break
                    if not piece: break
                    text += piece
                print(text.decode())
                """)
            #expect(lines.contains { $0.hasPrefix("OK id=2 key=coffee-order/1 ") }, "\(lines)")
        }
    }

    @Test func `plain text and garbage on the port end, and hold up no other connection`() async throws {
        try await onOwnThread {
            let server = try Encrypted()
            let lines = try server.python(
                """
                calm = connect().makefile('rw', newline='\\n')
                calm.readline()
                waiting = [socket.create_connection(('127.0.0.1', port)) for _ in range(50)]
                for bytes in [b'HELLO token=x\\n', b'GET / HTTP/1.1\\r\\n\\r\\n', bytes(range(256)), b'\\x16\\x03\\x01\\xff\\xff' + bytes(70000)]:
                    s = socket.create_connection(('127.0.0.1', port))
                    try:
                        s.sendall(bytes)
                        while s.recv(4096): pass
                    except ConnectionError: pass
                    print('closed')
                calm.write('PING\\n'); calm.flush()
                print(calm.readline().strip())
                """)
            #expect(lines == ["closed", "closed", "closed", "closed", "PONG"])
        }
    }

    @Test func `a client checks who the server is`() async throws {
        try await onOwnThread {
            let server = try Encrypted()
            func ping(_ host: String, _ authority: String) throws -> (status: Int32?, error: String) {
                let program = try RunningProgram(
                    program("telltale"), ["ping", "--connect", "tls://\(host):\(server.port)", "--ca", authority])
                return (program.waitForExit(), program.standardError)
            }
            #expect(try ping("localhost", server.authority).status == 0)
            #expect(try ping("127.0.0.1", server.authority).status == 0)
            let other = try TemporaryFolder()
            try Encrypted.makeCertificates(in: other)
            let stranger = try ping("localhost", other.path("ca.pem"))
            #expect(stranger.status == 69 && stranger.error.contains("certificate"), "\(stranger.error)")
            let misnamed = try ping("127.1", server.authority)
            #expect(misnamed.status == 69 && misnamed.error.contains("certificate"), "\(misnamed.error)")
        }
    }

    @Test func `SIGHUP takes a new certificate, and keeps the old one for a bad file`() async throws {
        try await onOwnThread {
            let server = try Encrypted()
            let serial =
                "openssl s_client -connect 127.0.0.1:$PORT </dev/null 2>/dev/null | openssl x509 -noout -serial"
            let first = try server.shell(serial)
            try FileManager.default.moveItem(atPath: server.authority, toPath: server.folder.path("old.pem"))
            try Encrypted.makeCertificates(in: server.folder)
            server.daemon.send(SIGHUP)
            try server.daemon.waitUntilLogged("certificate reloaded until=2")
            let second = try server.shell(serial)
            #expect(first.count == 1 && second.count == 1 && first != second)
            try "".write(toFile: server.folder.path("leaf.pem"), atomically: true, encoding: .utf8)
            server.daemon.send(SIGHUP)
            try server.daemon.waitUntilLogged("the certificate was not reloaded")
            #expect(try server.shell(serial) == second)
            // A program that renews the files may have been between the two of them: they are read again.
            let newest = try TemporaryFolder()
            try Encrypted.makeCertificates(in: newest)
            for name in ["leaf.key.pem", "leaf.pem"] {
                try FileManager.default.removeItem(atPath: server.folder.path(name))
                try FileManager.default.copyItem(atPath: newest.path(name), toPath: server.folder.path(name))
            }
            let deadline = Date.now.addingTimeInterval(patience)
            while try server.shell(serial) == second, Date.now < deadline {}
            #expect(try server.shell(serial) != second)
        }
    }

    @Test func `an encrypted listener beyond loopback needs tokens, and one without a certificate is a fault`()
        async throws
    {
        try await onOwnThread {
            let folder = try TemporaryFolder()
            try Encrypted.makeCertificates(in: folder)
            let certificate = ["--tls-cert", folder.path("leaf.pem"), "--tls-key", folder.path("leaf.key.pem")]
            let base = [
                "--data", folder.path("data"), "--kinds", repository.appending(path: "Protocols/Kinds/examples").path,
            ]
            for (more, word) in [
                (["--listen", "tls://0.0.0.0:0"] + certificate, "for others use --auth FILE and tls://HOST:PORT"),
                (["--listen", "tls://127.0.0.1:0"], "--tls-cert"),
                (
                    [
                        "--listen", "tls://127.0.0.1:0", "--tls-cert", folder.path("leaf.pem"), "--tls-key",
                        folder.path("ca.key.pem"),
                    ], "key"
                ),
            ] {
                let program = try DaemonProcess.launch(base + more)
                #expect(program.waitForExit() == 78)
                #expect(program.standardError.contains(word), "\(program.standardError)")
            }
        }
    }
}
