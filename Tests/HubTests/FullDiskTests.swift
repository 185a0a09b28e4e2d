import Journal
import Machines
import TelltaleModel
import Testing

@testable import Hub

/// A batch that the disk has no room for leaves nothing behind but the refusals.
struct FullDiskTests {
    @Test func `a refused batch takes no room of an account, and committed activities keep theirs`() throws {
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
        house.serveLight(from: lamp)
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

    @Test func `kinds that did not fit on the disk are in no list`() throws {
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
        settings.rules = .newest
        house.isFull = true
        try house.hub.adopt(settings)
        house.turn()
        let before = house.hub.store.settings
        house.isFull = false
        house.advance(by: .seconds(2))
        let (after, recovered) = (house.hub.store.settings, try house.recovered().store.settings)
        #expect(before != settings && after == settings && recovered == settings)
    }

    @Test func `a request that waited behind a refused batch is answered`() throws {
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
        let (house, shop) = try HubHarness.startedOrder()
        house.send(#"EVT coffee-order/1 type=end {"dismissal-date":1}"#, from: shop)
        let places = house.hub.store.indexCount
        house.isFull = true
        house.advance(by: .days(8))
        house.isFull = false
        house.advance(by: .seconds(2))
        #expect(house.hub.entityCount == 0)
        house.send("EVT coffee-order/2 type=start", from: shop)
        #expect(house.hub.store.indexCount == places)
    }

    @Test func `cursors of before a pruning that was refused resume`() throws {
        let (house, shop) = try HubHarness.startedOrder()
        let screen = house.connect()
        let cursor = try house.cursor(of: "SUB coffee-order/*", from: screen)
        house.send(#"EVT coffee-order/1 type=end {"dismissal-date":1}"#, from: shop)
        house.isFull = true
        house.advance(by: .days(8))
        let resumed = house.send("SUB coffee-order/* from=\(cursor)", from: house.connect())
        #expect(!resumed.contains { $0.hasPrefix("RESET ") })
    }

    @Test func `when the disk fails, waiting clients are refused and sent away, and nothing is shown`() throws {
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

    @Test func `a full disk refuses writers, serves readers, and is over when space returns`() throws {
        let house = try HubHarness()
        let (shop, screen) = (house.connect(), house.connect())
        house.send("EVT coffee-order/1 type=start src=pos eid=e1", from: shop)
        house.send("SUB *", from: screen)
        house.isFull = true
        #expect(
            house.send("EVT coffee-order/1 type=confirm src=pos eid=e2", from: shop).first?.contains(
                "code=storage_full") == true)
        #expect(
            house.send("EVT coffee-order/2 type=start src=pos eid=e3", from: shop).first?.contains("code=storage_full")
                == true)
        #expect(house.send("GET coffee-order/1", from: screen).first?.contains(#""state":"placed""#) == true)
        #expect(house.send("GET coffee-order/2", from: screen).first?.contains("code=unknown_key") == true)
        house.isFull = false
        house.time = house.time + .seconds(2)
        #expect(
            house.send("EVT coffee-order/1 type=confirm src=pos eid=e2", from: shop).first?.contains("verdict=applied")
                == true)
        #expect(house.lines(of: screen).count == 1)
        #expect(house.records.map(\.sequence) == Array(1...Int64(house.records.count)))
    }

    @Test func `kinds that a full disk refused take effect when there is room`() throws {
        let house = try HubHarness(kinds: [])
        let shop = house.connect()
        house.isFull = true
        try house.hub.adopt([try HubHarness.kind(HubHarness.coffee)])
        house.turn()
        #expect(house.send("EVT coffee-order/1 type=start", from: shop).first?.contains("storage_full") == true)
        house.isFull = false
        house.advance(by: .seconds(2))
        #expect(house.send("EVT coffee-order/1 type=start", from: shop).first?.contains("verdict=applied") == true)
    }

    @Test func `a full disk is tried again after a while, and not at once`() throws {
        let house = try HubHarness(kinds: [])
        house.isFull = true
        try house.hub.adopt([try HubHarness.kind(HubHarness.coffee)])
        house.turn()
        let hasWork = house.hub.hasWork(at: house.now)
        #expect(!hasWork)
        let pause = house.hub.decisionsPausedUntil
        #expect(pause > house.now.monotonic)
    }

    @Test func `a provider that serves while the disk is full acts when there is room`() throws {
        let lamp = #"{"kind":"lamp","type":"toggle","version":1,"app":"a","title":"Lamp","instances":["1"]}"#
        let house = try HubHarness(kinds: [lamp])
        let (provider, finger) = (house.connect(), house.connect())
        house.isFull = true
        #expect(house.send("SERVE lamp", from: provider).first?.contains("storage_full") == true)
        house.isFull = false
        house.advance(by: .seconds(2))
        #expect(house.send("SERVE lamp", from: provider).first == "OK")
        #expect(house.send("SET lamp/1 value=on", from: finger).first?.contains("phase=pending") == true)
    }

    @Test func `timers that were due while the disk was full fire before the refused requests are retried`() throws {
        let (house, shop) = try HubHarness.startedOrder()
        house.isFull = true
        house.advance(by: .minutes(6))
        house.isFull = false
        // Unattended since a minute: the confirmation comes too late.
        let lines = house.send("EVT coffee-order/1 type=confirm", from: shop)
        #expect(lines.contains { $0.hasPrefix("OK verdict=ignored ") && $0.hasSuffix(" state=unattended") })
    }

    @Test func `an order whose pruning does not fit on the disk keeps its place`() throws {
        let house = try HubHarness()
        let (shop, phone, screen) = (house.connect(), house.connect(as: "alice"), house.connect())
        house.send("EVT coffee-order/1 type=start for=alice", from: shop)
        house.send("SUB coffee-order/1", from: screen)
        house.send("DISMISS coffee-order/1", from: phone)
        // The order is pruned without a follower, and then the disk has no room for the pruning.
        house.time = house.time + .days(8)
        let pruning = house.hub.decide(at: house.now)
        #expect(!pruning.isEmpty)
        house.hub.disconnected(screen.id)
        house.hub.refused(at: house.now)
        house.isFull = true
        house.send("EVT coffee-order/2 type=start", from: shop)
        house.isFull = false
        house.advance(by: .seconds(2))
        _ = try house.recovered()
        #expect(house.send("GET coffee-order/1", from: shop).last?.contains("code=unknown_key") == true)
        #expect(house.send("GET coffee-order/2", from: shop).last?.contains("code=unknown_key") == true)
    }

    @Test func `a resume tells the end of an order whose pruning does not fit on the disk`() throws {
        let house = try HubHarness()
        let (shop, phone, screen) = (house.connect(), house.connect(as: "alice"), house.connect())
        house.send("EVT coffee-order/1 type=start for=alice", from: shop)
        let cursor = try house.cursor(of: "SUB coffee-order/*", from: screen)
        house.disconnect(screen)
        house.send("DISMISS coffee-order/1", from: phone)
        house.time = house.time + .days(8)
        house.isFull = true
        house.turn()
        let resumed = house.send("SUB coffee-order/* from=\(cursor)", from: house.connect())
        #expect(resumed.contains { $0.hasPrefix("DEL sub=1 key=coffee-order/1 ") })
    }
}
