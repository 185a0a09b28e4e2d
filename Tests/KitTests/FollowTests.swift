import TestSupport
import Testing

@testable import TelltaleKit

@Suite(.endsOneDay)
struct FollowTests {
    static let cursor = "0123456789abcdef"

    @Test(
        "A conversation is the same, however its bytes are cut", .behaviour("any-cut"),
        arguments: [1, 2, 3, 7, 64, 1_000])
    func anyCut(pieceLength: Int) async throws {
        let server = ScriptedServer(pieceLength: pieceLength) { stage in
            try await stage.show(#"SNAP sub=1 key=a/1 rev=1 {"state":"naïve ☕️"}"#, cursor: "\(Self.cursor):1:b0e4")
            stage.say(
                "MILE sub=1 key=a/1 rev=2 state=ready at=5", #"ALERT sub=1 key=a/1 rev=2 {"title":"T"}"#,
                #"UPD sub=1 key=a/1 rev=2 cur=0123456789abcdef:2:b0e4 {}"#, "MARK now=5",
                "DEL sub=1 key=a/2 rev=3 why=hidden")
            await stage.waitForEnd()
        }
        let telltale = try Telltale.test(over: server)
        var iterator = telltale.follow("*").makeAsyncIterator()
        let found = try await changes(&iterator) { if case .removal = $0 { true } else { false } }
        #expect(
            found.map(describe) == [
                "connected", "snap a/1 1", "live", "mile a/1 ready", "alert a/1 T", "upd a/1 2", "del a/2 3 hidden",
            ])
    }

    @Test("A line that the end cuts means nothing, and comes whole on the next connection", .behaviour("torn-line"))
    func tornLine() async throws {
        let server = ScriptedServer(
            { stage in
                try await stage.show(cursor: "\(Self.cursor):1:b0e4")
                stage.say(bytes: #"UPD sub=1 key=a/1 rev=2 {"x":1}"#)
            },
            { stage in
                try await stage.show(#"UPD sub=1 key=a/1 rev=2 why=resume {"x":1}"#, cursor: "\(Self.cursor):2:b0e4")
                await stage.waitForEnd()
            })
        let telltale = try Telltale.test(over: server)
        var iterator = telltale.follow("*").makeAsyncIterator()
        _ = try await changes(&iterator) { $0.isLive }
        let found = try await changes(&iterator) { $0.isLive }
        #expect(found.map(describe) == ["disconnected", "connected", "upd a/1 2 resume", "live"])
    }

    @Test("Verbs and attributes to come mean nothing", .behaviour("unknown-words"))
    func unknownWords() async throws {
        let server = ScriptedServer { stage in
            try await stage.greet(Stage.greeting + " colour=red")
            let id = try await stage.hear("SUB")
            stage.say(
                "GLOW a=1", "OK id=\(id) sub=1 view=full glow=2", #"SNAP sub=1 key=a/1 rev=1 glow=2 {"new":true}"#,
                "SPARK {}",
                "LIVE sub=1 cur=0123456789abcdef:1:b0e4 glow=3")
            await stage.waitForEnd()
        }
        var iterator = try Telltale.test(over: server).follow("*").makeAsyncIterator()
        #expect(try await changes(&iterator) { $0.isLive }.map(describe) == ["connected", "snap a/1 1", "live"])
    }

    @Test("Each change has the cursor that stood behind it", .behaviour("resume-elsewhere"))
    func cursors() async throws {
        let server = ScriptedServer { stage in
            // In one piece.
            try await stage.show("SNAP sub=1 key=a/1 rev=1 {}", cursor: "\(Self.cursor):1:b0e4")
            stage.say(
                "UPD sub=1 key=a/2 rev=2 cur=0123456789abcdef:2:b0e4 {}", "UPD sub=1 key=a/3 rev=3 {}",
                "MARK now=1 sub=1 cur=0123456789abcdef:4:b0e4", "UPD sub=1 key=a/4 rev=5 cur=0123456789abcdef:5:b0e4 {}"
            )
            await stage.waitForEnd()
        }
        let following = try Telltale.test(over: server).follow("*")
        var iterator = following.makeAsyncIterator()
        var found: [String] = []
        while found.last?.hasPrefix("upd a/4") != true, let change = try await iterator.next() {
            found.append("\(describe(change)) \(following.cursor?.split(separator: ":")[1] ?? "-")")
        }
        #expect(
            found == [
                "connected -", "snap a/1 1 -", "live 1", "upd a/2 2 2", "upd a/3 3 4", "upd a/4 5 5",
            ])
    }

    @Test("A cursor is sent back as it came", .behaviour("resume"))
    func resume() async throws {
        let server = ScriptedServer(
            { stage in
                try await stage.show("SNAP sub=1 key=a/1 rev=1 {}", cursor: "\(Self.cursor):1:b0e4")
                stage.say("UPD sub=1 key=a/2 rev=2 cur=0123456789abcdef:2:b0e4 {}")
            },
            { stage in
                try await stage.show("DEL sub=1 key=a/1 rev=3 why=dismissed", cursor: "\(Self.cursor):3:b0e4")
                await stage.waitForEnd()
            })
        var iterator = try Telltale.test(over: server).follow("*").makeAsyncIterator()
        _ = try await changes(&iterator) { $0.isLive }
        let found = try await changes(&iterator) { $0.isLive }
        #expect(found.map(describe) == ["upd a/2 2", "disconnected", "connected", "del a/1 3 dismissed", "live"])
        #expect(server.stages[1].heard.last?.contains(" from=0123456789abcdef:2:b0e4 ") == true)
    }

    @Test("At LIVE the keys that a new snapshot did not bring are gone", .behaviour("reset"))
    func reset() async throws {
        let server = ScriptedServer(
            { stage in
                try await stage.show(
                    "SNAP sub=1 key=a/1 rev=1 {}", "SNAP sub=1 key=a/2 rev=9 {}", cursor: "\(Self.cursor):9:b0e4")
            },
            { stage in
                try await stage.show(
                    "RESET sub=1 why=epoch", "SNAP sub=1 key=a/2 rev=1 {}", cursor: "fedcba9876543210:1:b0e4",
                    greeting: Stage.greeting.replacing("0123456789abcdef", with: "fedcba9876543210"))
                await stage.waitForEnd()
            })
        let following = try Telltale.test(over: server).follow("*")
        var iterator = following.makeAsyncIterator()
        _ = try await changes(&iterator) { $0.isLive }
        var found: [String] = []
        while found.last?.hasPrefix("live") != true, let change = try await iterator.next() {
            found.append("\(describe(change)) \(following.cursor?.prefix(1) ?? "-")")
        }
        // The old cursor is none to resume from while the rows are not complete.
        #expect(
            found == ["disconnected 0", "connected 0", "reset epoch -", "snap a/2 1 -", "del a/1 1 reset -", "live f"])
    }

    @Test("A snapshot that is cut is asked for as a whole", .behaviour("cut-snapshot"))
    func cutSnapshot() async throws {
        let server = ScriptedServer(
            { stage in
                try await stage.greet()
                stage.say("OK id=\(try await stage.hear("SUB")) sub=1", "SNAP sub=1 key=a/1 rev=1 {}")
            },
            { stage in
                try await stage.show("SNAP sub=1 key=a/1 rev=1 {}", cursor: "\(Self.cursor):1:b0e4")
                await stage.waitForEnd()
            })
        var iterator = try Telltale.test(over: server).follow("*").makeAsyncIterator()
        _ = try await changes(&iterator) { $0.isLive }
        #expect(server.stages[1].heard.last?.contains("from=") == false)
    }

    @Test("A row older than the one before ends the connection unseen", .behaviour("rev-goes-back"))
    func goesBack() async throws {
        let server = ScriptedServer(
            { stage in
                try await stage.show("SNAP sub=1 key=a/1 rev=5 {}", cursor: "\(Self.cursor):5:b0e4")
                stage.say("UPD sub=1 key=a/1 rev=4 cur=0123456789abcdef:6:b0e4 {}", "UPD sub=1 key=a/2 rev=6 {}")
                await stage.waitForEnd()
            },
            { stage in
                try await stage.show("UPD sub=1 key=a/1 rev=6 {}", cursor: "\(Self.cursor):6:b0e4")
                await stage.waitForEnd()
            })
        var iterator = try Telltale.test(over: server).follow("*").makeAsyncIterator()
        _ = try await changes(&iterator) { $0.isLive }
        let found = try await changes(&iterator) { $0.isLive }
        #expect(found.map(describe) == ["disconnected", "connected", "upd a/1 6", "live"])
        guard case .disconnected(let reason, _) = found[0] else { return }
        #expect(reason == "a/1 went back from rev 5 to 4")
        #expect(server.stages[1].heard.last?.contains(" from=0123456789abcdef:5:b0e4 ") == true)
    }

    @Test("The client waits before it connects again, and longer each time", .behaviour("back-off"))
    func backOff() async throws {
        let server = ScriptedServer(
            { _ in }, { _ in }, { _ in },
            { stage in
                try await stage.show(cursor: "\(Self.cursor):1:b0e4")
                await stage.waitForEnd()
            })
        let telltale = try Telltale.test(over: server, options: { $0.backoff = .milliseconds(1) ... .milliseconds(4) })
        var iterator = telltale.follow("*").makeAsyncIterator()
        let waits = try await changes(&iterator) { $0.isLive }.compactMap { change -> Duration? in
            if case .disconnected(_, let wait) = change { wait } else { nil }
        }
        #expect(waits.count == 3)
        for (wait, longest) in zip(waits, [1, 2, 4]) {
            #expect(wait <= .milliseconds(longest) && wait >= .microseconds(longest * 500 - 999))
        }
    }

    @Test("A server that goes down says when to come back", .behaviour("farewell"))
    func farewell() async throws {
        let server = ScriptedServer(
            { stage in
                try await stage.show(cursor: "\(Self.cursor):1:b0e4")
                stage.say("BYE code=shutting_down wait=3-5")
            },
            { stage in
                try await stage.show(cursor: "\(Self.cursor):1:b0e4")
                await stage.waitForEnd()
            })
        var iterator = try Telltale.test(over: server).follow("*").makeAsyncIterator()
        _ = try await changes(&iterator) { $0.isLive }
        let found = try await changes(&iterator) { $0.isLive }
        guard case .disconnected(_, let wait)? = found.first else {
            Issue.record("\(found.map(describe))")
            return
        }
        #expect(wait >= .milliseconds(3) && wait <= .milliseconds(5))
    }

    @Test(
        "A server that says nothing for three heartbeats is given up, and one that is asked for heartbeats gets them",
        .behaviour("silence"))
    func silence() async throws {
        let silent: ScriptedServer.Scene = { stage in
            stage.say(Stage.greeting)
            stage.say("OK id=\(try await stage.hear("HELLO")) conn=c1 hb=100")
            stage.say("OK id=\(try await stage.hear("SUB")) sub=1", "LIVE sub=1 cur=0123456789abcdef:1:b0e4")
            // PING is not answered.
            await stage.waitForEnd()
        }
        // On a busy machine a client may find a server silent before it has heard the end of this.
        let server = ScriptedServer(silent, silent, silent, silent, silent, silent, silent, silent)
        let telltale = try Telltale.test(over: server, options: { $0.heartbeat = .milliseconds(100) })
        var isLive = false
        for try await change in telltale.follow("*") {
            isLive = isLive || change.isLive
            guard case .disconnected(let reason, _) = change else { continue }
            #expect(reason == "the server fell silent")
            if isLive { break }
        }
        await telltale.close()
        try? await server.finish()
        #expect(server.stages.contains { $0.heard.last?.hasPrefix("PING") == true })
        #expect(server.stages[0].heard.first?.contains(" hb=100 ") == true)
    }

    @Test(
        "Another version, and what is no Telltale server, end the follower at once", .behaviour("other-version"),
        arguments: [
            ("TELLTALE 2 epoch=0123456789abcdef", "version 2"), ("220 mail.example.com ESMTP", "no telltale daemon"),
            ("HTTP/1.1 400 Bad Request", "no telltale daemon"),
        ])
    func otherVersion(greeting: String, reason: String) async throws {
        let server = ScriptedServer { stage in
            stage.say(greeting)
            try await stage.hearEnd()
        }
        let telltale = try Telltale.test(over: server)
        var iterator = telltale.follow("*").makeAsyncIterator()
        var error: TelltaleError?
        do throws(TelltaleError) {
            while let change = try await iterator.next() { #expect(change.isConnection) }
        } catch let caught {
            error = caught
        }
        guard case .incompatible(let text)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(text.contains(reason))
        try await server.finish()
        #expect(server.connectionCount == 1)
    }
}
