import TelltaleModel
import Testing

@testable import Hub

/// A batch that the disk has no room for leaves nothing behind but the refusals.
struct FullDiskTests {
    @Test func `what was refused takes up nobody's room, and what stands keeps its own`() throws {
        let house = try HubHarness()
        let shop = house.connect()
        for number in 1...4 { house.send("EVT coffee-order/\(number) type=start for=alice", from: shop) }
        house.isFull = true
        for number in 1...4 { house.send("EVT coffee-order/\(number) type=confirm", from: shop) }
        for number in 11...19 { house.send("EVT coffee-order/\(number) type=start for=alice", from: shop) }
        house.isFull = false
        house.advance(by: .seconds(2))
        let answers = (5...6).map { house.send("EVT coffee-order/\($0) type=start for=alice", from: shop).last ?? "" }
        #expect(answers[0].contains("verdict=applied"))
        #expect(answers[1].contains("code=limit_activities"))
    }

    @Test func `a restart that does not fit on the disk is made up for when there is room`() throws {
        let house = try HubHarness(kinds: [HubHarness.porchLight()])
        let (lamp, screen) = (house.connect(), house.connect())
        house.send("SERVE porch-light", from: lamp)
        house.send("REPORT porch-light/front value=off", from: lamp)
        house.send("SET porch-light/front value=on", from: screen)
        house.isFull = true
        try house.restart()
        house.isFull = false
        house.advance(by: .seconds(2))
        let row = try HubHarness.tail(house.send("GET porch-light/front", from: house.connect()).last)
        #expect(row["phase"] == "settled" && row["available"] == false)
        #expect(row["last"]?["reason"] == "unavailable")
    }

    @Test func `of two reloads the newer one holds, when the older one did not fit on the disk`() throws {
        let house = try HubHarness()
        let client = house.connect()
        func version(_ number: Int) throws -> String {
            HubHarness.coffee.replacing("\"version\":1", with: "\"version\":\(number)")
        }
        try house.hub.adopt([try HubHarness.kind(try version(2))])
        _ = house.hub.decide(at: house.now)
        try house.hub.adopt([try HubHarness.kind(try version(3))])
        house.hub.refused(at: house.now)
        house.advance(by: .seconds(2))
        #expect(house.send("KINDS", from: client).first?.contains(" version=3 ") == true)
    }

    @Test func `kinds that did not fit on the disk are in nobody's list`() throws {
        let house = try HubHarness()
        let client = house.connect()
        house.isFull = true
        try house.hub.adopt([try HubHarness.kind(HubHarness.coffee.replacing("\"version\":1", with: "\"version\":2"))])
        house.turn()
        #expect(house.send("KINDS", from: client).first?.contains(" version=1 ") == true)
    }

    @Test func `settings that did not fit on the disk take effect when there is room`() throws {
        let house = try HubHarness()
        var settings = HubConfiguration().decisions
        settings.retention = .days(1)
        house.isFull = true
        try house.hub.adopt(settings)
        house.turn()
        let before = house.hub.store.settings
        house.isFull = false
        house.advance(by: .seconds(2))
        let (after, recovered) = (house.hub.store.settings, try house.recovered().store.settings)
        #expect(before != settings && after == settings && recovered == settings)
    }

    @Test func `who waited behind a batch that was refused is answered`() throws {
        let house = try HubHarness()
        let (shop, screen) = (house.connect(), house.connect())
        house.isFull = true
        for line in ["GET coffee-order/1 id=1", "HELLO account=bob id=2", "GET coffee-order/1 id=3"] {
            house.post(line, from: screen)
        }
        house.post("EVT coffee-order/1 type=start", from: shop)
        house.turn()
        #expect(house.lines(of: screen).compactMap { HubHarness.attribute("id", of: $0) } == ["1", "2", "3"])
    }

    @Test func `a pruning that fits at the second try leaves the key's place to another`() throws {
        let house = try HubHarness()
        let shop = house.connect()
        house.send("EVT coffee-order/1 type=start", from: shop)
        house.send(#"EVT coffee-order/1 type=end {"dismissal-date":1}"#, from: shop)
        let places = house.hub.store.entities.indexCount
        house.isFull = true
        house.advance(by: .days(8))
        house.isFull = false
        house.advance(by: .seconds(2))
        #expect(house.hub.entityCount == 0)
        house.send("EVT coffee-order/2 type=start", from: shop)
        #expect(house.hub.store.entities.indexCount == places)
    }

    @Test func `cursors of before a pruning that was refused resume`() throws {
        let house = try HubHarness()
        let (shop, screen) = (house.connect(), house.connect())
        house.send("EVT coffee-order/1 type=start", from: shop)
        let cursor = try house.cursor(of: "SUB coffee-order/*", from: screen)
        house.send(#"EVT coffee-order/1 type=end {"dismissal-date":1}"#, from: shop)
        house.isFull = true
        house.advance(by: .days(8))
        let resumed = house.send("SUB coffee-order/* from=\(cursor)", from: house.connect())
        #expect(!resumed.contains { $0.hasPrefix("RESET ") })
    }

    @Test func `when the disk failed, who waited is told and sent away, and nothing is shown`() throws {
        let house = try HubHarness()
        let (shop, screen) = (house.connect(), house.connect())
        house.send("SUB *", from: screen)
        house.post("EVT coffee-order/1 type=start", from: shop)
        _ = house.hub.decide(at: house.now)
        house.hub.failed(at: house.now)
        house.flush()
        let refusal = house.lines(of: shop)
        #expect(refusal.count == 1 && refusal[0].hasPrefix("ERR code=storage_failed retry=later fatal=1 "))
        #expect(shop.isFinished)
        #expect(house.lines(of: screen) == [] && !screen.isFinished)
    }
}
