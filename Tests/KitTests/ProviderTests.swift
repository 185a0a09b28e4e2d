import Synchronization
import TestSupport
import Testing

@testable import TelltaleKit

@Suite(.endsOneDay)
struct ProviderTests {
    static let key = "porch-light/front"
    static let late = "deadline=99999999999999"

    @Test("An operation that is asked for again is answered again, and performed once", .behaviour("asked-again"))
    func askedAgain() async throws {
        let ask = "DO op=o1 key=\(Self.key) action=set value=on \(Self.late)"
        let server = ScriptedServer(
            { stage in
                try await stage.greet()
                stage.say("OK id=\(try await stage.hear("SERVE"))", ask)
                try await stage.hear("DONE")
            },
            { stage in
                try await stage.greet()
                stage.say("OK id=\(try await stage.hear("SERVE"))", ask)
                stage.say("OK id=\(try await stage.hear("DONE"))")
                stage.say("DO op=o2 key=\(Self.key) action=press \(Self.late)")
                stage.say("OK id=\(try await stage.hear("DONE"))")
            },
            // Another history: an operation of the same name is another one.
            { stage in
                try await stage.greet(Stage.greeting.replacing("0123456789abcdef", with: "fedcba9876543210"))
                stage.say("OK id=\(try await stage.hear("SERVE"))", ask.replacing("=on", with: "=off"))
                stage.say("OK id=\(try await stage.hear("DONE"))")
                await stage.waitForEnd()
            })
        let done = Mutex<[String]>([])
        let provider = try Telltale.test(over: server).provide("porch-light") { action in
            done.withLock { $0.append("\(action.operation) \(action.value.map { $0 ? "on" : "off" } ?? "press")") }
            return action.value
        }
        let running = Task { try await provider.run() }
        try await waitUntil { server.connectionCount >= 3 && server.stages[2].heard.last?.hasPrefix("DONE") == true }
        running.cancel()
        try await running.value
        try await server.finish()
        #expect(done.withLock { $0 } == ["o1 on", "o2 press", "o1 off"])
        let answers = server.stages.flatMap(\.heard).filter { $0.hasPrefix("DONE") }.map {
            $0.split(separator: " id=")[0]
        }
        #expect(answers == ["DONE op=o1 value=on", "DONE op=o1 value=on", "DONE op=o2", "DONE op=o1 value=off"])
    }

    @Test func `failures are reported with their reason, and no text of the app's own errors`() async throws {
        struct Secret: Error {}
        let server = ScriptedServer { stage in
            try await stage.greet()
            stage.say(
                "OK id=\(try await stage.hear("SERVE"))", "DO op=o1 key=\(Self.key) action=set value=on \(Self.late)")
            stage.say(
                "OK id=\(try await stage.hear("FAIL"))", "DO op=o2 key=\(Self.key) action=set value=off \(Self.late)")
            stage.say("OK id=\(try await stage.hear("FAIL"))")
        }
        let provider = try Telltale.test(over: server).provide("porch-light") { action in
            if action.value == true { throw ActionFailure(code: "jammed", message: "It is\njammed") }
            throw Secret()
        }
        let running = Task { try await provider.run() }
        try await waitUntil { (server.stages.first?.heard.count { $0.hasPrefix("FAIL") } ?? 0) >= 2 }
        running.cancel()
        try await running.value
        let lines = server.stages[0].heard.filter { $0.hasPrefix("FAIL") }
        #expect(lines[0].contains("code=jammed") && lines[0].hasSuffix(#"{"message":"It is\njammed"}"#))
        #expect(lines[1].contains("code=error") && lines[1].hasSuffix(#"{"message":"Secret"}"#))
    }

    @Test func `an action ends at its deadline, and when its control is to do something else`() async throws {
        // The greeting's clock stands at 1795556623399.
        let server = ScriptedServer { stage in
            try await stage.greet()
            stage.say("OK id=\(try await stage.hear("SERVE"))")
            stage.say("DO op=o1 key=\(Self.key) action=set value=on deadline=1795556623398")
            stage.say("DO op=o2 key=porch-light/back action=set value=on \(Self.late)")
            stage.say("DO op=o3 key=porch-light/back action=set value=off \(Self.late)")
            stage.say("OK id=\(try await stage.hear("DONE"))")
            await stage.waitForEnd()
        }
        let log = Mutex<[String]>([])
        let provider = try Telltale.test(over: server).provide("porch-light") { action in
            log.withLock { $0.append("begins \(action.operation)") }
            guard action.value == true else { return false }
            do { try await Task.sleep(for: .seconds(3_600)) } catch {
                log.withLock { $0.append("cancelled \(action.operation)") }
                throw error
            }
            return true
        }
        let running = Task { try await provider.run() }
        try await waitUntil { server.stages.first?.heard.last?.hasPrefix("DONE") == true }
        running.cancel()
        try await running.value
        let reported = log.withLock { $0 }
        // The second may be replaced before it has begun.
        #expect(reported == ["begins o2", "cancelled o2", "begins o3"] || reported == ["begins o3"])
        #expect(server.stages[0].heard.last?.hasPrefix("DONE op=o3 value=off") == true)
    }

    @Test func `a kind that there is not ends the provider`() async throws {
        let server = ScriptedServer { stage in
            try await stage.greet()
            stage.say(#"ERR id=\#(try await stage.hear("SERVE")) code=unknown_kind retry=no {"msg":"none"}"#)
            await stage.waitForEnd()
        }
        let provider = try Telltale.test(over: server).provide("levitation") { _ in nil }
        do throws(TelltaleError) {
            try await provider.run()
            Issue.record("it ran")
        } catch {
            #expect(error.refusal?.code == "unknown_kind")
        }
        try await server.finish()
    }
}
