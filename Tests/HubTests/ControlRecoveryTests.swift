import Hub
import Journal
import TelltaleModel
import Testing

/// Taps and pending operations after a crash, a restart and a full disk.
struct ControlRecoveryTests {
    enum Restart: CaseIterable {
        case fromJournal, fromSnapshot
    }

    private func restart(_ house: HubHarness, _ how: Restart) throws {
        switch how {
        case .fromJournal: try house.restart()
        case .fromSnapshot: try house.restartFromSnapshot()
        }
    }

    private func house(_ more: String = "") throws -> (
        house: HubHarness, lamp: HubHarness.Client, screen: HubHarness.Client
    ) {
        let house = try HubHarness(kinds: [HubHarness.porchLight(more)])
        let (lamp, screen) = (house.connect(), house.connect())
        house.serveLight(from: lamp)
        house.send("HELLO account=alice", from: screen)
        return (house, lamp, screen)
    }

    private func row(_ house: HubHarness) throws -> JSON {
        try HubHarness.tail(house.send("GET porch-light/front", from: house.connect()).first)
    }

    @Test("A tap that is retried after a crash acts once", arguments: Restart.allCases)
    func retry(_ how: Restart) throws {
        let (house, lamp, screen) = try house()
        let first = house.send("SET porch-light/front value=on eid=t", from: screen)
        let operation = try #require(first.first.flatMap { HubHarness.attribute("op", of: $0) })
        house.send("DONE op=\(operation) value=on", from: lamp)
        try restart(house, how)
        let (newLamp, newScreen) = (house.connect(), house.connect())
        house.send("SERVE porch-light", from: newLamp)
        house.advance(by: .seconds(2))
        house.send("REPORT porch-light/front value=off", from: newLamp)
        house.send("HELLO account=alice", from: newScreen)
        let again = house.send("SET porch-light/front value=on eid=t", from: newScreen)
        #expect(again.first?.hasPrefix("OK op=\(operation) verdict=duplicate phase=settled") == true)
        #expect(house.operation(askedOf: newLamp) == nil)
        #expect(try row(house)["value"] == false)
    }

    @Test("A pending operation is reverted after a crash, where the kind says so", arguments: Restart.allCases)
    func reported(_ how: Restart) throws {
        let (house, _, screen) = try house()
        let first = house.send("SET porch-light/front value=on eid=t", from: screen)
        let operation = try #require(first.first.flatMap { HubHarness.attribute("op", of: $0) })
        house.send("SET porch-light/front value=off eid=u", from: screen)
        try restart(house, how)
        let after = try row(house)
        #expect(after["phase"] == "settled" && after["value"] == false && after["shown"] == false)
        #expect(after["available"] == false && after["wanted"] == nil)
        #expect(after["last"]?["result"] == "reverted" && after["last"]?["reason"] == "unavailable")
        // The ends of both operations are in the row: the pending one's and the queued one's.
        #expect(after["ended"] == [["op": .string(operation), "result": "reverted", "reason": "unavailable"]])
        #expect(after["last"]?["op"] != .string(operation))
        // The provider comes back with the answer to an operation that has ended.
        let lamp = house.connect()
        #expect(house.send("SERVE porch-light", from: lamp) == ["OK"])
        #expect(house.send("DONE op=\(operation) value=on", from: lamp) == ["OK verdict=ignored"])
        #expect(try row(house)["value"] == false)
    }

    @Test("A pending operation is asked for again after a crash, where the kind says so", arguments: Restart.allCases)
    func reissue(_ how: Restart) throws {
        let (house, _, screen) = try house(#""restore":"reissue""#)
        let first = house.send("SET porch-light/front value=on eid=t", from: screen)
        let operation = try #require(first.first.flatMap { HubHarness.attribute("op", of: $0) })
        try restart(house, how)
        #expect(try row(house)["phase"] == "pending")
        let lamp = house.connect()
        house.advance(by: .seconds(29))
        let asked = house.send("SERVE porch-light", from: lamp).first { $0.hasPrefix("DO ") }
        #expect(asked.flatMap { HubHarness.attribute("op", of: $0) } == operation)
        #expect(house.send("DONE op=\(operation) value=on", from: lamp).first?.contains("verdict=applied") == true)
        #expect(try row(house)["last"] == ["op": .string(operation), "result": "confirmed"])
        try restart(house, how)
        // Once more, and no provider comes back.
        let lampAgain = house.connect()
        house.send("SERVE porch-light", from: lampAgain)
        house.send("SET porch-light/front value=off", from: lampAgain)
        try restart(house, how)
        house.advance(by: .seconds(30))
        #expect(try row(house)["last"]?["reason"] == "unavailable")
        #expect(try row(house)["value"] == true)
    }

    @Test("After a restart no control has a provider", arguments: Restart.allCases)
    func unserved(_ how: Restart) throws {
        let house = try HubHarness(kinds: [HubHarness.porchLight(), HubHarness.logCoffee()])
        let provider = house.connect()
        for kind in ["porch-light", "log-coffee"] { house.send("SERVE \(kind)", from: provider) }
        house.send("REPORT porch-light/front value=off", from: provider)
        house.send("REPORT log-coffee/desk", from: provider)
        try restart(house, how)
        let client = house.connect()
        for key in ["porch-light/front", "log-coffee/desk"] {
            #expect(try HubHarness.tail(house.send("GET \(key)", from: client).last)["available"] == false)
        }
        #expect(house.send("PRESS log-coffee/desk", from: client).last?.contains("code=unavailable") == true)
    }

    @Test("A press is never asked for again: it may have been done", arguments: Restart.allCases)
    func press(_ how: Restart) throws {
        let house = try HubHarness(kinds: [HubHarness.logCoffee()])
        let machine = house.connect()
        house.send("SERVE log-coffee", from: machine)
        house.send("REPORT log-coffee/desk", from: machine)
        house.send("PRESS log-coffee/desk", from: machine)
        try restart(house, how)
        let again = house.connect()
        #expect(house.send("SERVE log-coffee", from: again) == ["OK"])
        let row = try HubHarness.tail(house.send("GET log-coffee/desk", from: again).last)
        #expect(row["phase"] == "idle" && row["last"]?["reason"] == "unavailable")
    }

    @Test func `a tap that was not durable at the crash was neither shown nor sent to a provider, and may come again`()
        throws
    {
        let (house, lamp, screen) = try house()
        house.send("SUB *", from: lamp)
        house.post("SET porch-light/front value=on eid=t", from: screen)
        #expect(house.hub.decide(at: house.now).count == 1)
        #expect(house.hub.nextReady() == nil)
        #expect(house.lines(of: lamp).isEmpty && house.lines(of: screen).isEmpty)
        try house.restart()
        #expect(try row(house)["phase"] == "settled")
        let (newLamp, newScreen) = (house.connect(), house.connect())
        house.send("SERVE porch-light", from: newLamp)
        house.send("HELLO account=alice", from: newScreen)
        let reply = house.send("SET porch-light/front value=on eid=t", from: newScreen)
        #expect(reply.first?.contains("phase=pending") == true)
        #expect(reply.first?.contains("duplicate") == false)
        #expect(house.operation(askedOf: newLamp) != nil)
    }

    @Test func `a crash in the midst of a restart is a restart`() throws {
        let (house, _, screen) = try house()
        house.send("SET porch-light/front value=on", from: screen)
        house.hub = try house.recovered()
        house.hub.restart()
        #expect(house.hub.decide(at: house.now).count == 1)
        try house.restart()
        #expect(try row(house)["last"]?["reason"] == "unavailable")
        let count = house.records.count
        try house.restart()
        #expect(house.records.count == count)
    }

    @Test func `a tap that a full disk refused has not acted, and acts when it is retried`() throws {
        let (house, lamp, screen) = try house()
        house.isFull = true
        let refused = house.send("SET porch-light/front value=on eid=t", from: screen)
        #expect(refused.first?.hasPrefix("ERR code=storage_full retry=later") == true)
        #expect(house.operation(askedOf: lamp) == nil)
        #expect(try row(house)["phase"] == "settled")
        house.isFull = false
        let reply = house.send("SET porch-light/front value=on eid=t", from: screen)
        let operation = try #require(reply.first.flatMap { HubHarness.attribute("op", of: $0) })
        #expect(house.operation(askedOf: lamp) == operation)
        // The answer is lost with the disk, and comes again.
        house.isFull = true
        #expect(house.send("DONE op=\(operation) value=on", from: lamp).first?.contains("storage_full") == true)
        #expect(try row(house)["phase"] == "pending")
        house.isFull = false
        #expect(house.send("DONE op=\(operation) value=on", from: lamp).first?.contains("verdict=applied") == true)
        _ = try house.recovered()
    }
}
