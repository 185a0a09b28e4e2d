import Hub
import Journal
import TelltaleModel
import Testing

/// Taps and pending operations after a crash, a restart and a full disk.
struct ControlRecoveryTests {
    enum Restart: CaseIterable {
        case fromJournal, fromSnapshot
    }

    private func restart(_ harness: HubHarness, _ how: Restart) throws {
        switch how {
        case .fromJournal: try harness.restart()
        case .fromSnapshot: try harness.restartFromSnapshot()
        }
    }

    private func makeHarness(_ more: String = "") throws -> (
        harness: HubHarness, lamp: HubHarness.Client, screen: HubHarness.Client
    ) {
        let harness = try HubHarness(kinds: [HubHarness.porchLight(more)])
        let (lamp, screen) = (harness.connect(), harness.connect())
        harness.serveLight(from: lamp)
        harness.send("HELLO account=alice", from: screen)
        return (harness, lamp, screen)
    }

    private func row(_ harness: HubHarness) throws -> JSON {
        try HubHarness.tail(harness.send("GET porch-light/front", from: harness.connect()).first)
    }

    @Test("A tap that is retried after a crash acts once", arguments: Restart.allCases)
    func retry(_ how: Restart) throws {
        let (harness, lamp, screen) = try makeHarness()
        let first = harness.send("SET porch-light/front value=on eid=t", from: screen)
        let operation = try #require(first.first.flatMap { HubHarness.attribute("op", of: $0) })
        harness.send("DONE op=\(operation) value=on", from: lamp)
        try restart(harness, how)
        let (newLamp, newScreen) = (harness.connect(), harness.connect())
        harness.send("SERVE porch-light", from: newLamp)
        harness.advance(by: .seconds(2))
        harness.send("REPORT porch-light/front value=off", from: newLamp)
        harness.send("HELLO account=alice", from: newScreen)
        let again = harness.send("SET porch-light/front value=on eid=t", from: newScreen)
        #expect(again.first?.hasPrefix("OK op=\(operation) verdict=duplicate phase=settled") == true)
        #expect(harness.operation(askedOf: newLamp) == nil)
        #expect(try row(harness)["value"] == false)
    }

    @Test("A pending operation is reverted after a crash, where the kind says so", arguments: Restart.allCases)
    func reported(_ how: Restart) throws {
        let (harness, _, screen) = try makeHarness()
        let first = harness.send("SET porch-light/front value=on eid=t", from: screen)
        let operation = try #require(first.first.flatMap { HubHarness.attribute("op", of: $0) })
        harness.send("SET porch-light/front value=off eid=u", from: screen)
        try restart(harness, how)
        let after = try row(harness)
        #expect(after["phase"] == "settled" && after["value"] == false && after["shown"] == false)
        #expect(after["available"] == false && after["wanted"] == nil)
        #expect(after["last"]?["result"] == "reverted" && after["last"]?["reason"] == "unavailable")
        // The ends of both operations are in the row: the pending one's and the queued one's.
        #expect(after["ended"] == [["op": .string(operation), "result": "reverted", "reason": "unavailable"]])
        #expect(after["last"]?["op"] != .string(operation))
        // The provider comes back with the answer to an operation that has ended.
        let lamp = harness.connect()
        #expect(harness.send("SERVE porch-light", from: lamp) == ["OK"])
        #expect(harness.send("DONE op=\(operation) value=on", from: lamp) == ["OK verdict=ignored"])
        #expect(try row(harness)["value"] == false)
    }

    @Test("A pending operation is asked for again after a crash, where the kind says so", arguments: Restart.allCases)
    func reissue(_ how: Restart) throws {
        let (harness, _, screen) = try makeHarness(#""restore":"reissue""#)
        let first = harness.send("SET porch-light/front value=on eid=t", from: screen)
        let operation = try #require(first.first.flatMap { HubHarness.attribute("op", of: $0) })
        try restart(harness, how)
        #expect(try row(harness)["phase"] == "pending")
        let lamp = harness.connect()
        harness.advance(by: .seconds(29))
        let asked = harness.send("SERVE porch-light", from: lamp).first { $0.hasPrefix("DO ") }
        #expect(asked.flatMap { HubHarness.attribute("op", of: $0) } == operation)
        #expect(harness.send("DONE op=\(operation) value=on", from: lamp).first?.contains("verdict=applied") == true)
        #expect(try row(harness)["last"] == ["op": .string(operation), "result": "confirmed"])
        try restart(harness, how)
        // Once more, and no provider comes back.
        let lampAgain = harness.connect()
        harness.send("SERVE porch-light", from: lampAgain)
        harness.send("SET porch-light/front value=off", from: lampAgain)
        try restart(harness, how)
        harness.advance(by: .seconds(30))
        #expect(try row(harness)["last"]?["reason"] == "unavailable")
        #expect(try row(harness)["value"] == true)
    }

    @Test("After a restart no control has a provider", arguments: Restart.allCases)
    func unserved(_ how: Restart) throws {
        let harness = try HubHarness(kinds: [HubHarness.porchLight(), HubHarness.logCoffee()])
        let provider = harness.connect()
        for kind in ["porch-light", "log-coffee"] { harness.send("SERVE \(kind)", from: provider) }
        harness.send("REPORT porch-light/front value=off", from: provider)
        harness.send("REPORT log-coffee/desk", from: provider)
        try restart(harness, how)
        let client = harness.connect()
        for key in ["porch-light/front", "log-coffee/desk"] {
            #expect(try HubHarness.tail(harness.send("GET \(key)", from: client).last)["available"] == false)
        }
        #expect(harness.send("PRESS log-coffee/desk", from: client).last?.contains("code=unavailable") == true)
    }

    @Test("A press is never asked for again: it may have been done", arguments: Restart.allCases)
    func press(_ how: Restart) throws {
        let harness = try HubHarness(kinds: [HubHarness.logCoffee()])
        let machine = harness.connect()
        harness.send("SERVE log-coffee", from: machine)
        harness.send("REPORT log-coffee/desk", from: machine)
        harness.send("PRESS log-coffee/desk", from: machine)
        try restart(harness, how)
        let again = harness.connect()
        #expect(harness.send("SERVE log-coffee", from: again) == ["OK"])
        let row = try HubHarness.tail(harness.send("GET log-coffee/desk", from: again).last)
        #expect(row["phase"] == "idle" && row["last"]?["reason"] == "unavailable")
    }

    @Test func `a tap that was not durable at the crash was neither shown nor sent to a provider, and may come again`()
        throws
    {
        let (harness, lamp, screen) = try makeHarness()
        harness.send("SUB *", from: lamp)
        harness.post("SET porch-light/front value=on eid=t", from: screen)
        #expect(harness.hub.decide(at: harness.now).count == 1)
        #expect(harness.hub.nextReady() == nil)
        #expect(harness.lines(of: lamp).isEmpty && harness.lines(of: screen).isEmpty)
        try harness.restart()
        #expect(try row(harness)["phase"] == "settled")
        let (newLamp, newScreen) = (harness.connect(), harness.connect())
        harness.send("SERVE porch-light", from: newLamp)
        harness.send("HELLO account=alice", from: newScreen)
        let reply = harness.send("SET porch-light/front value=on eid=t", from: newScreen)
        #expect(reply.first?.contains("phase=pending") == true)
        #expect(reply.first?.contains("duplicate") == false)
        #expect(harness.operation(askedOf: newLamp) != nil)
    }

    @Test func `a crash in the midst of a restart is a restart`() throws {
        let (harness, _, screen) = try makeHarness()
        harness.send("SET porch-light/front value=on", from: screen)
        harness.hub = try harness.recovered()
        harness.hub.restart()
        #expect(harness.hub.decide(at: harness.now).count == 1)
        try harness.restart()
        #expect(try row(harness)["last"]?["reason"] == "unavailable")
        let count = harness.records.count
        try harness.restart()
        #expect(harness.records.count == count)
    }

    @Test func `a tap that a full disk refused has not acted, and acts when it is retried`() throws {
        let (harness, lamp, screen) = try makeHarness()
        harness.isFull = true
        let refused = harness.send("SET porch-light/front value=on eid=t", from: screen)
        #expect(refused.first?.hasPrefix("ERR code=storage_full retry=later") == true)
        #expect(harness.operation(askedOf: lamp) == nil)
        #expect(try row(harness)["phase"] == "settled")
        harness.isFull = false
        let reply = harness.send("SET porch-light/front value=on eid=t", from: screen)
        let operation = try #require(reply.first.flatMap { HubHarness.attribute("op", of: $0) })
        #expect(harness.operation(askedOf: lamp) == operation)
        // The answer is lost with the disk, and comes again.
        harness.isFull = true
        #expect(harness.send("DONE op=\(operation) value=on", from: lamp).first?.contains("storage_full") == true)
        #expect(try row(harness)["phase"] == "pending")
        harness.isFull = false
        #expect(harness.send("DONE op=\(operation) value=on", from: lamp).first?.contains("verdict=applied") == true)
        _ = try harness.recovered()
    }
}
