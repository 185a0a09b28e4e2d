import Foundation
import Glibc
import TelltaleWire
import TestSupport
import Testing

/// Principals and tokens: the real daemon, the real `telltale token`.
@Suite(.serialized)
struct AccessProcessTests {
    /// A folder with a file of principals, which `telltale token` edits.
    private struct Access {
        let folder: TemporaryFolder
        var file: String { folder.path("principals.json") }

        init() throws { folder = try TemporaryFolder() }

        func token(_ arguments: String...) throws -> (status: Int32?, lines: [String], error: String) {
            let program = try RunningProgram(program("telltale"), ["token"] + arguments + ["--auth", file])
            let lines = program.readToEnd()
            return (program.waitForExit(), lines, program.standardError)
        }

        func add(_ arguments: String...) throws -> String {
            let program = try RunningProgram(program("telltale"), ["token", "add"] + arguments + ["--auth", file])
            let lines = program.readToEnd()
            try #require(program.waitForExit() == 0, "\(program.standardError)")
            return try #require(lines.first)
        }

        /// Takes a principal out of the file, in one step.
        func remove(_ name: String) throws {
            var content = try #require(
                JSONSerialization.jsonObject(with: Data(contentsOf: URL(filePath: file))) as? [String: Any])
            let principals = try #require(content["principals"] as? [[String: Any]])
            content["principals"] = principals.filter { $0["name"] as? String != name }
            let draft = folder.path("draft")
            try JSONSerialization.data(withJSONObject: content).write(to: URL(filePath: draft))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: draft)
            try #require(unsafe rename(draft, file) == 0)
        }

        func daemon(_ more: String...) throws -> DaemonProcess { try DaemonProcess(["--auth", file] + more) }
    }

    @Test func `a token from the shell is good until it is revoked, and is nowhere but with its owner`() async throws {
        try await onOwnThread {
            let access = try Access()
            let token = try access.add("pos-7", "--scope", "post:coffee-order/*", "--expires", "90d")
            let secret = String(token.suffix(43))
            let daemon = try access.daemon()
            let peer = try Peer(port: daemon.port)
            #expect(try peer.receive()["auth"] == "token")
            #expect(try peer.ask("EVT coffee-order/1 type=start")["code"] == "auth_required")
            #expect(try peer.ask("HELLO token=\(token.dropLast())")["code"] == "auth_failed")
            let hello = try peer.ask("HELLO token=\(token)")
            #expect(hello["principal"] == "pos-7" && hello["until"] != nil)
            #expect(try peer.ask("EVT coffee-order/1 type=start")["verdict"] == "applied")

            let listed = try access.token("list")
            #expect(listed.lines.map { $0.split(separator: " ").first } == ["ID", token.dropFirst(3).prefix(8)])
            #expect(!listed.lines.joined().contains(secret))
            #expect(try access.token("revoke", "pos-7").lines.count == 1)
            #expect(peer.receive(until: "BYE code=auth_revoked").last == "BYE code=auth_revoked")
            #expect(peer.next() == .end)
            let again = try daemon.greetedPeer()
            #expect(try again.ask("HELLO token=\(token)")["code"] == "auth_failed")
            daemon.send(SIGTERM)
            #expect(daemon.waitForExit() == 0)
            #expect(!daemon.standardError.contains(secret), "\(daemon.standardError)")
            #expect(daemon.standardError.contains(String(token.dropFirst(3).prefix(8))))
            #expect(try !String(contentsOfFile: access.file, encoding: .utf8).contains(secret))
        }
    }

    @Test func `the list of tokens is a table, with what each may call itself`() async throws {
        try await onOwnThread {
            let access = try Access()
            let till = try access.add("pos-7", "--scope", "post:a/*", "--scope", "stats", "--source", "till")
            let car = try access.add(
                "car", "--scope", "read:*", "--account", "alice", "--expires", "2031-01-01T00:00:00Z")
            let ids = [till, car].map { String($0.dropFirst(3).prefix(8)) }
            #expect(
                try access.token("list").lines == [
                    "ID        PRINCIPAL  EXPIRES               ACCOUNT  SOURCES  SCOPES",
                    "\(ids[0])  pos-7      never                 -        till     post:a/* stats",
                    "\(ids[1])  car        2031-01-01T00:00:00Z  alice    -        read:*",
                ])
        }
    }

    /// The best of five counts: a busy machine holds up some of them, and a daemon that looks too seldom holds up all.
    @Test(.nightly) func `a revoked token ends its connection within three seconds`() async throws {
        try await onOwnThread {
            let access = try Access()
            let names = (0...5).map { "pos-\($0)" }
            let tokens = try names.map { try access.add($0, "--scope", "stats") }
            let daemon = try access.daemon()
            let peers = try tokens.map { token in
                let peer = try Peer(port: daemon.port)
                #expect(try peer.receiveGreetingAndAsk("HELLO token=\(token)") == "OK")
                return peer
            }
            var best = Duration.seconds(3_600)
            for (index, name) in names.enumerated() where best > .seconds(3) {
                let start = ContinuousClock.now
                try access.remove(name)
                #expect(peers[index].receive(until: "BYE code=auth_revoked").last == "BYE code=auth_revoked")
                // The daemon has just looked at the file when the others are revoked, so that each waits for the next check.
                if index > 0 { best = min(best, ContinuousClock.now - start) }
            }
            #expect(best <= .seconds(3))
        }
    }

    @Test func `a file with a fault changes nothing, at SIGHUP or by itself`() async throws {
        try await onOwnThread {
            let access = try Access()
            let token = try access.add("watch", "--scope", "stats")
            let daemon = try access.daemon()
            let peer = try daemon.greetedPeer()
            #expect(try peer.ask("HELLO token=\(token)").verb == "OK")
            try Data("{".utf8).write(to: URL(filePath: access.file))
            daemon.send(SIGHUP)
            try daemon.waitUntilLogged("principals.json: ")
            #expect(try peer.ask("STATS").verb == "OK")
            #expect(try Peer(port: daemon.port).receiveGreetingAndAsk("HELLO token=\(token)") == "OK")
        }
    }

    @Test func `a wrong file, or one that others can read, is a configuration error`() async throws {
        try await onOwnThread {
            let access = try Access()
            _ = try access.add("watch", "--scope", "stats")
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: access.file)
            let arguments = [
                "--data", access.folder.path("data"), "--kinds",
                repository.appending(path: "Protocols/Kinds/examples").path,
            ]
            for (more, word) in [
                (["--auth", access.file], "chmod o="), (["--auth", access.folder.path("none")], "cannot be read"),
                (["--listen", "plain://0.0.0.0:0"], "for others use --auth FILE and tls://HOST:PORT"),
            ] {
                let program = try DaemonProcess.launch(arguments + more)
                #expect(program.waitForExit() == 78)
                #expect(program.standardError.contains(word), "\(program.standardError)")
            }
        }
    }

    @Test func `a Unix socket asks for a token too, and ping distinguish three cases`() async throws {
        try await onOwnThread {
            let access = try Access()
            let token = try access.add("watch", "--scope", "stats")
            let path = access.folder.path("s")
            let daemon = try access.daemon("--socket", path)
            func ping(_ place: String, _ environment: [String: String]) throws -> Int32? {
                try RunningProgram(program("telltale"), ["ping", "--connect", place], environment: environment)
                    .waitForExit()
            }
            #expect(try ping("unix:\(path)", [:]) == 1)
            #expect(try ping("unix:\(path)", ["TELLTALE_TOKEN": token]) == 0)
            try token.write(toFile: access.folder.path("token"), atomically: true, encoding: .utf8)
            #expect(try ping("127.0.0.1:\(daemon.port)", ["TELLTALE_TOKEN_FILE": access.folder.path("token")]) == 0)
            #expect(try ping("127.0.0.1:1", [:]) == 69)
        }
    }
}

extension Peer {
    fileprivate func receiveGreetingAndAsk(_ line: String) throws -> String {
        _ = try receive()
        return try ask(line).verb
    }
}
