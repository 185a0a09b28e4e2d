import Journal
import Machines
import TelltaleModel
import Testing

@testable import Hub

/// A batch that the disk has no room for leaves nothing behind but the refusals.
struct FullDiskTests {
    @Test func `a refused batch takes no room of an account, and committed activities keep theirs`() throws {
        let harness = try HubHarness()
        let shop = harness.connect()
        for number in 1...4 { harness.send("EVT coffee-order/\(number) type=start for=alice", from: shop) }
        harness.isFull = true
        for number in 1...4 { harness.send("EVT coffee-order/\(number) type=confirm", from: shop) }
        for number in 11...19 { harness.send("EVT coffee-order/\(number) type=start for=alice", from: shop) }
        harness.isFull = false
        harness.advance(by: .seconds(2))
        let answers = (5...6).map { harness.send("EVT coffee-order/\($0) type=start for=alice", from: shop).last ?? "" }
        #expect(answers[0].contains("verdict=applied"))
        #expect(answers[1].contains("code=limit_activities"))
    }

    @Test func `a restart that does not fit on the disk is made up for when there is room`() throws {
        let harness = try HubHarness(kinds: [HubHarness.porchLight()])
        let (lamp, screen) = (harness.connect(), harness.connect())
        harness.serveLight(from: lamp)
        harness.send("SET porch-light/front value=on", from: screen)
        harness.isFull = true
        try harness.restart()
        harness.isFull = false
        harness.advance(by: .seconds(2))
        let row = try HubHarness.tail(harness.send("GET porch-light/front", from: harness.connect()).last)
        #expect(row["phase"] == "settled" && row["available"] == false)
        #expect(row["last"]?["reason"] == "unavailable")
    }

    @Test func `of two reloads the newer one holds, when the older one did not fit on the disk`() throws {
        let harness = try HubHarness()
        let client = harness.connect()
        func version(_ number: Int) throws -> String {
            HubHarness.coffee.replacing("\"version\":1", with: "\"version\":\(number)")
        }
        try harness.hub.adopt([try HubHarness.kind(try version(2))])
        _ = harness.hub.decide(at: harness.now)
        try harness.hub.adopt([try HubHarness.kind(try version(3))])
        harness.hub.refused(at: harness.now)
        harness.advance(by: .seconds(2))
        #expect(harness.send("KINDS", from: client).first?.contains(" version=3 ") == true)
    }

    @Test func `kinds that did not fit on the disk are in no list`() throws {
        let harness = try HubHarness()
        let client = harness.connect()
        harness.isFull = true
        try harness.hub.adopt([try HubHarness.kind(HubHarness.coffee.replacing("\"version\":1", with: "\"version\":2"))]
        )
        harness.turn()
        #expect(harness.send("KINDS", from: client).first?.contains(" version=1 ") == true)
    }

    @Test func `settings that did not fit on the disk take effect when there is room`() throws {
        let harness = try HubHarness()
        var settings = HubConfiguration().decisions
        settings.retention = .days(1)
        settings.rules = .newest
        harness.isFull = true
        try harness.hub.adopt(settings)
        harness.turn()
        let before = harness.hub.store.settings
        harness.isFull = false
        harness.advance(by: .seconds(2))
        let (after, recovered) = (harness.hub.store.settings, try harness.recovered().store.settings)
        #expect(before != settings && after == settings && recovered == settings)
    }

    @Test func `a request that waited behind a refused batch is answered`() throws {
        let harness = try HubHarness()
        let (shop, screen) = (harness.connect(), harness.connect())
        harness.isFull = true
        for line in ["GET coffee-order/1 id=1", "HELLO account=bob id=2", "GET coffee-order/1 id=3"] {
            harness.post(line, from: screen)
        }
        harness.post("EVT coffee-order/1 type=start", from: shop)
        harness.turn()
        #expect(harness.lines(of: screen).compactMap { HubHarness.attribute("id", of: $0) } == ["1", "2", "3"])
    }

    @Test func `a pruning that fits at the second try leaves the key's place to another`() throws {
        let (harness, shop) = try HubHarness.startedOrder()
        harness.send(#"EVT coffee-order/1 type=end {"dismissal-date":1}"#, from: shop)
        let places = harness.hub.store.indexCount
        harness.isFull = true
        harness.advance(by: .days(8))
        harness.isFull = false
        harness.advance(by: .seconds(2))
        #expect(harness.hub.entityCount == 0)
        harness.send("EVT coffee-order/2 type=start", from: shop)
        #expect(harness.hub.store.indexCount == places)
    }

    @Test func `cursors of before a pruning that was refused resume`() throws {
        let (harness, shop) = try HubHarness.startedOrder()
        let screen = harness.connect()
        let cursor = try harness.cursor(of: "SUB coffee-order/*", from: screen)
        harness.send(#"EVT coffee-order/1 type=end {"dismissal-date":1}"#, from: shop)
        harness.isFull = true
        harness.advance(by: .days(8))
        let resumed = harness.send("SUB coffee-order/* from=\(cursor)", from: harness.connect())
        #expect(!resumed.contains { $0.hasPrefix("RESET ") })
    }

    @Test func `when the disk fails, waiting clients are refused and sent away, and nothing is shown`() throws {
        let harness = try HubHarness()
        let (shop, screen) = (harness.connect(), harness.connect())
        harness.send("SUB *", from: screen)
        harness.post("EVT coffee-order/1 type=start", from: shop)
        _ = harness.hub.decide(at: harness.now)
        harness.hub.failed(at: harness.now)
        harness.flush()
        let refusal = harness.lines(of: shop)
        #expect(refusal.count == 1 && refusal[0].hasPrefix("ERR code=storage_failed retry=later fatal=1 "))
        #expect(shop.isFinished)
        #expect(harness.lines(of: screen) == [] && !screen.isFinished)
    }

    @Test func `a full disk refuses writers, serves readers, and is over when space returns`() throws {
        let harness = try HubHarness()
        let (shop, screen) = (harness.connect(), harness.connect())
        harness.send("EVT coffee-order/1 type=start src=pos eid=e1", from: shop)
        harness.send("SUB *", from: screen)
        harness.isFull = true
        #expect(
            harness.send("EVT coffee-order/1 type=confirm src=pos eid=e2", from: shop).first?.contains(
                "code=storage_full") == true)
        #expect(
            harness.send("EVT coffee-order/2 type=start src=pos eid=e3", from: shop).first?.contains(
                "code=storage_full")
                == true)
        #expect(harness.send("GET coffee-order/1", from: screen).first?.contains(#""state":"placed""#) == true)
        #expect(harness.send("GET coffee-order/2", from: screen).first?.contains("code=unknown_key") == true)
        harness.isFull = false
        harness.time = harness.time + .seconds(2)
        #expect(
            harness.send("EVT coffee-order/1 type=confirm src=pos eid=e2", from: shop).first?.contains(
                "verdict=applied")
                == true)
        #expect(harness.lines(of: screen).count == 1)
        #expect(harness.records.map(\.sequence) == Array(1...Int64(harness.records.count)))
    }

    @Test func `kinds that a full disk refused take effect when there is room`() throws {
        let harness = try HubHarness(kinds: [])
        let shop = harness.connect()
        harness.isFull = true
        try harness.hub.adopt([try HubHarness.kind(HubHarness.coffee)])
        harness.turn()
        #expect(harness.send("EVT coffee-order/1 type=start", from: shop).first?.contains("storage_full") == true)
        harness.isFull = false
        harness.advance(by: .seconds(2))
        #expect(harness.send("EVT coffee-order/1 type=start", from: shop).first?.contains("verdict=applied") == true)
    }

    @Test func `a full disk is tried again after a while, and not at once`() throws {
        let harness = try HubHarness(kinds: [])
        harness.isFull = true
        try harness.hub.adopt([try HubHarness.kind(HubHarness.coffee)])
        harness.turn()
        let hasWork = harness.hub.hasWork(at: harness.now)
        #expect(!hasWork)
        let pause = harness.hub.decisionsPausedUntil
        #expect(pause > harness.now.monotonic)
    }

    @Test func `a provider that serves while the disk is full acts when there is room`() throws {
        let lamp = #"{"kind":"lamp","type":"toggle","version":1,"app":"a","title":"Lamp","instances":["1"]}"#
        let harness = try HubHarness(kinds: [lamp])
        let (provider, finger) = (harness.connect(), harness.connect())
        harness.isFull = true
        #expect(harness.send("SERVE lamp", from: provider).first?.contains("storage_full") == true)
        harness.isFull = false
        harness.advance(by: .seconds(2))
        #expect(harness.send("SERVE lamp", from: provider).first == "OK")
        #expect(harness.send("SET lamp/1 value=on", from: finger).first?.contains("phase=pending") == true)
    }

    @Test func `timers that were due while the disk was full fire before the refused requests are retried`() throws {
        let (harness, shop) = try HubHarness.startedOrder()
        harness.isFull = true
        harness.advance(by: .minutes(6))
        harness.isFull = false
        // Unattended since a minute: the confirmation comes too late.
        let lines = harness.send("EVT coffee-order/1 type=confirm", from: shop)
        #expect(lines.contains { $0.hasPrefix("OK verdict=ignored ") && $0.hasSuffix(" state=unattended") })
    }

    @Test func `an order whose pruning does not fit on the disk keeps its place`() throws {
        let harness = try HubHarness()
        let (shop, phone, screen) = (harness.connect(), harness.connect(as: "alice"), harness.connect())
        harness.send("EVT coffee-order/1 type=start for=alice", from: shop)
        harness.send("SUB coffee-order/1", from: screen)
        harness.send("DISMISS coffee-order/1", from: phone)
        // The order is pruned without a follower, and then the disk has no room for the pruning.
        harness.time = harness.time + .days(8)
        let pruning = harness.hub.decide(at: harness.now)
        #expect(!pruning.isEmpty)
        harness.hub.disconnected(screen.id)
        harness.hub.refused(at: harness.now)
        harness.isFull = true
        harness.send("EVT coffee-order/2 type=start", from: shop)
        harness.isFull = false
        harness.advance(by: .seconds(2))
        _ = try harness.recovered()
        #expect(harness.send("GET coffee-order/1", from: shop).last?.contains("code=unknown_key") == true)
        #expect(harness.send("GET coffee-order/2", from: shop).last?.contains("code=unknown_key") == true)
    }

    @Test func `a resume reports the end of an order whose pruning does not fit on the disk`() throws {
        let harness = try HubHarness()
        let (shop, phone, screen) = (harness.connect(), harness.connect(as: "alice"), harness.connect())
        harness.send("EVT coffee-order/1 type=start for=alice", from: shop)
        let cursor = try harness.cursor(of: "SUB coffee-order/*", from: screen)
        harness.disconnect(screen)
        harness.send("DISMISS coffee-order/1", from: phone)
        harness.time = harness.time + .days(8)
        harness.isFull = true
        harness.turn()
        let resumed = harness.send("SUB coffee-order/* from=\(cursor)", from: harness.connect())
        #expect(resumed.contains { $0.hasPrefix("DEL sub=1 key=coffee-order/1 ") })
    }
}
