import TelltaleModel
import TestSupport
import Testing

@testable import TelltaleKit

@Suite(.endsOneDay)
struct RequestTests {
    @Test("An event without a reply is made again with the same eid", .behaviour("reconnect"))
    func again() async throws {
        let server = ScriptedServer(
            { stage in
                try await stage.greet()
                try await stage.hear("EVT")
            },
            { stage in
                try await stage.greet()
                stage.say("OK id=\(try await stage.hear("EVT")) verdict=duplicate rev=7 state=open")
                stage.say("OK id=\(try await stage.hear("SET")) op=o1 phase=pending rev=8")
                await stage.waitForEnd()
            })
        let telltale = try Telltale.test(over: server)
        let posted = try await telltale.post("errand/1", "start", attributes: ["who": "Ann"], accounts: ["alice"])
        #expect(posted.verdict == .duplicate && posted.rev == 7 && posted.state == "open")
        let lines = server.stages.compactMap { $0.heard.first { $0.hasPrefix("EVT") } }
        #expect(
            Set(lines).count == 1
                && lines[0].contains(" eid=\(posted.eid) for=alice {\"attributes\":{\"who\":\"Ann\"}}"))
        let tapped = try await telltale.set("porch-light/front", true, ifRev: 5)
        #expect(tapped.operation == "o1" && tapped.phase == "pending" && tapped.eid != posted.eid)
        #expect(server.stages[1].heard.last?.contains(" value=on if=5 eid=\(tapped.eid)") == true)
        await telltale.close()
        try await server.finish()
        await #expect(throws: TelltaleError.closed) { try await telltale.ping() }
    }

    @Test("An answer that is cut is asked for again, and given once", .behaviour("answer-begins-again"))
    func cutAnswer() async throws {
        let server = ScriptedServer(
            { stage in
                try await stage.greet()
                try await stage.hear("LIST")
                stage.say("SNAP sub=0 key=a/1 rev=1 {}", "SNAP sub=0 key=a/2 rev=2 {}")
            },
            { stage in
                try await stage.greet()
                let id = try await stage.hear("LIST")
                stage.say("SNAP sub=0 key=a/1 rev=1 {}", "SNAP sub=0 key=a/2 rev=2 {}", "SNAP sub=0 key=a/3 rev=3 {}")
                stage.say("OK id=\(id) count=3")
                await stage.waitForEnd()
            })
        let telltale = try Telltale.test(over: server)
        #expect(try await telltale.list("a/*").map(\.key.text) == ["a/1", "a/2", "a/3"])
    }

    @Test("What the grammar does not allow is refused, and no byte is sent", .behaviour("refused-before-the-wire"))
    func refused() async throws {
        let server = ScriptedServer()
        let telltale = try Telltale.test(over: server)
        func refuses(_ text: String, _ body: () async throws -> Void) async {
            do {
                try await body()
                Issue.record("\(text) was sent")
            } catch TelltaleError.invalidRequest(let reason) {
                #expect(reason.contains(text) && reason.utf8.count < 300 && !reason.contains("\n"), "\(reason)")
            } catch {
                Issue.record("\(text): \(error)")
            }
        }
        await refuses("no-key") { try await telltale.post("no-key", "start") }
        await refuses("a/b c") { try await telltale.post("a/b c", "start") }
        await refuses("a/1 BYE") { try await telltale.post("a/1\nBYE", "start") }
        await refuses("st art") { try await telltale.post("a/1", "st art") }
        await refuses("start BYE") { try await telltale.post("a/1", "start\nBYE") }
        await refuses("\"\"") { try await telltale.post("a/1", "") }
        await refuses("e 1") { try await telltale.post("a/1", "start", eid: "e 1") }
        await refuses("a,b") { try await telltale.post("a/1", "start", accounts: ["a,b"]) }
        await refuses("é") { try await telltale.post("a/1", "start", source: "é") }
        await refuses("-1") { try await telltale.post("a/1", "start", version: -1) }
        await refuses("9007199254740992") { try await telltale.set("a/1", true, ifRev: 9_007_199_254_740_992) }
        await refuses("content-state.x[1]") {
            try await telltale.post("a/1", "start", content: ["x": [0, .number(.nan)]])
        }
        await refuses("whole number") { try await telltale.post("a/1", "start", content: ["x": .integer(.max)]) }
        let deep = (0..<40).reduce(JSON.null) { inner, _ in [inner] }
        await refuses("32 deep") { try await telltale.post("a/1", "start", content: ["x": deep]) }
        await refuses("kind/x/y") { _ = try await telltale.list("kind/x/y") }
        await refuses("Locked") { try await telltale.report(traits: ["Locked": "yes"]) }
        await refuses("a b") { try await telltale.report(traits: ["foreground": "a b"]) }
        for following in [telltale.follow("a/b/c"), telltale.follow("a/*", cursor: "x:1")] {
            await refuses("is not sent") { for try await _ in following {} }
        }
        await refuses("rate") { for try await _ in telltale.follow("*", view: .watch, rate: 0) {} }
        await refuses("x y") { for try await _ in telltale.follow("*", view: .watch, placement: "x y") {} }
        await refuses("levi tation") { try await telltale.provide("levi tation") { _ in nil }.run() }
        #expect(throws: TelltaleError.self) { try Telltale("localhost") }
        #expect(throws: TelltaleError.self) { try Telltale.test(over: server, options: { $0.client = "two words" }) }
        #expect(throws: TelltaleError.self) {
            try Telltale.test(over: server, options: { $0.heartbeat = .milliseconds(1) })
        }
        // A text with a line break is one line.
        let open = ScriptedServer { stage in
            try await stage.greet()
            stage.say("OK id=\(try await stage.hear("EVT")) verdict=applied rev=1")
            await stage.waitForEnd()
        }
        let other = try Telltale.test(over: open)
        try await other.post("a/1", "start", content: ["text": "one\ntwo\u{7F}\r"])
        #expect(open.stages[0].heard.last?.hasSuffix(#"{"content-state":{"text":"one\ntwo\u007f\r"}}"#) == true)
        #expect(server.connectionCount == 0)
    }

    @Test("A request that is too long is refused in the client, and the connection stays", .behaviour("too-long"))
    func tooLong() async throws {
        let server = ScriptedServer { stage in
            try await stage.greet(Stage.greeting.replacing("65536", with: "200"))
            stage.say("PONG id=\(try await stage.hear("PING"))")
            stage.say("PONG id=\(try await stage.hear("PING"))")
            await stage.waitForEnd()
        }
        let telltale = try Telltale.test(over: server)
        try await telltale.ping()
        do throws(TelltaleError) {
            try await telltale.post("a/1", "start", content: ["text": .string(String(repeating: "x", count: 300))])
            Issue.record("it was sent")
        } catch {
            guard case .invalidRequest(let reason) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(reason.contains("200 is the limit"))
        }
        try await telltale.ping()
        #expect(server.connectionCount == 1)
    }

    @Test("A report whose connection is lost is told as lost", .behaviour("lost-once"))
    func lostOnce() async throws {
        let server = ScriptedServer(
            { stage in
                try await stage.greet()
                stage.say("OK id=\(try await stage.hear("SERVE"))")
                try await stage.hear("REPORT")
            },
            { stage in
                try await stage.greet()
                await stage.waitForEnd()
            })
        let provider = try Telltale.test(over: server).provide("porch-light") { _ in nil }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await provider.run() }
            try? await waitUntil { server.stages.first?.heard.contains { $0.hasPrefix("SERVE") } == true }
            do throws(TelltaleError) {
                try await provider.report("porch-light/front", true)
                Issue.record("it was answered")
            } catch {
                guard case .connectionLost = error else {
                    Issue.record("\(error)")
                    return
                }
            }
            group.cancelAll()
        }
    }

    @Test func `a request without an answer reports its eid, one that was never sent says so`() async throws {
        let silent = ScriptedServer { stage in
            try await stage.greet()
            await stage.waitForEnd()
        }
        let telltale = try Telltale.test(over: silent, options: { $0.timeout = .milliseconds(50) })
        // The limit counts from the request: on a slow machine nothing was sent within it.
        do throws(TelltaleError) {
            try await telltale.post("a/1", "start", eid: "e1")
        } catch {
            switch error {
            case .outcomeUnknown(let eid): #expect(eid == "e1")
            case .unreachable: break
            default: Issue.record("\(error)")
            }
        }
        struct Down: Transport {
            func connect() async throws -> any TransportConnection { throw TransportError.failed("no route") }
        }
        let nowhere = try Telltale.test(over: Down(), options: { $0.timeout = .milliseconds(20) })
        do throws(TelltaleError) { try await nowhere.ping() } catch {
            guard case .unreachable = error else {
                Issue.record("\(error)")
                return
            }
        }
    }

    @Test func `a caller that is cancelled waits no longer, and its request is not made again`() async throws {
        let server = ScriptedServer(
            { stage in
                try await stage.greet()
                try await stage.hear("EVT")
                await stage.waitForEnd()
            })
        let telltale = try Telltale.test(over: server)
        let task = Task { try await telltale.post("a/1", "start") }
        try await waitUntil { server.stages.first?.heard.contains { $0.hasPrefix("EVT") } == true }
        task.cancel()
        await #expect(throws: TelltaleError.closed) { try await task.value }
    }

    @Test func `a refusal has its code, its text, and what to do`() async throws {
        let server = ScriptedServer { stage in
            try await stage.greet()
            let id = try await stage.hear("SET")
            stage.say(#"ERR id=\#(id) code=stale_rev retry=resync {"msg":"it changed","have":9,"want":5}"#)
            stage.say(#"ERR id=\#(try await stage.hear("PRESS")) code=unavailable retry=later {"msg":"nobody"}"#)
            await stage.waitForEnd()
        }
        let telltale = try Telltale.test(over: server)
        do throws(TelltaleError) {
            try await telltale.set("a/1", true, ifRev: 5, eid: "e1")
        } catch {
            let refusal = try #require(error.refusal)
            #expect(refusal.isStaleTap && refusal.retry == .resync && refusal.currentRev == 9 && refusal.eid == "e1")
            #expect("\(error)" == "stale_rev: it changed (look at the newest row, and ask again)")
        }
        do throws(TelltaleError) { try await telltale.press("a/1") } catch {
            #expect(error.refusal?.isUnavailable == true)
        }
    }
}
