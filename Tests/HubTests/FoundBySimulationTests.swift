import Hub
import TelltaleModel
import Testing

/// Faults that the simulation found in the hub, each as the shortest conversation that shows it.
struct FoundBySimulationTests {
    @Test func `after a resume a screen is told when a row goes that had not changed`() throws {
        let house = try HubHarness()
        let shop = house.connect()
        for id in [1, 2] {
            for event in ["start", "confirm", "brew", "ready"] {
                house.send("EVT coffee-order/\(id) type=\(event)", from: shop)
            }
        }
        let cursor = try house.cursor(of: "SUB * view=carplay", from: house.connect())
        let screen = house.connect()
        #expect(house.send("SUB * view=carplay from=\(cursor)", from: screen).last?.hasPrefix("LIVE") == true)
        house.send("EVT coffee-order/1 type=collect", from: shop)
        #expect(house.lines(of: screen).contains { $0.hasPrefix("DEL sub=1 key=coffee-order/1 ") })
    }

    @Test func `after a resume a person's dashboard is told when an order is swiped away`() throws {
        let house = try HubHarness()
        let (shop, phone) = (house.connect(), house.connect(as: "alice"))
        house.send("EVT coffee-order/1 type=start for=alice,bob", from: shop)
        let cursor = try house.cursor(of: "SUB * for=alice", from: house.connect())
        let screen = house.connect()
        house.send("SUB * for=alice from=\(cursor)", from: screen)
        house.send("DISMISS coffee-order/1", from: phone)
        #expect(house.lines(of: screen).contains { $0.hasPrefix("DEL ") && $0.hasSuffix("why=dismissed") })
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

    @Test func `who serves while the disk is full acts when there is room`() throws {
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

    @Test func `a control that is new in a kind that is served has its provider`() throws {
        let lamp = #"{"kind":"lamp","type":"toggle","version":1,"app":"a","title":"Lamp"}"#
        let house = try HubHarness(kinds: [lamp])
        let (provider, finger) = (house.connect(), house.connect())
        house.send("SERVE lamp", from: provider)
        let more = #"{"kind":"lamp","type":"toggle","version":2,"app":"a","title":"Lamp","instances":["1"]}"#
        try house.hub.adopt([try HubHarness.kind(more)])
        house.turn()
        #expect(house.send("SET lamp/1 value=on", from: finger).first?.contains("phase=pending") == true)
        #expect(house.lines(of: provider).contains { $0.hasPrefix("DO ") })
    }

    @Test func `what one that stands by reports first, the one that acts switches`() throws {
        let lamp = #"{"kind":"lamp","type":"toggle","version":1,"app":"a","title":"Lamp"}"#
        let house = try HubHarness(kinds: [lamp])
        let (acting, other, finger) = (house.connect(), house.connect(), house.connect())
        house.send("SERVE lamp", from: acting)
        house.send("SERVE lamp", from: other)
        house.send("REPORT lamp/1 value=off", from: other)
        house.disconnect(other)
        house.send("SET lamp/1 value=on", from: finger)
        #expect(house.lines(of: acting).contains { $0.hasPrefix("DO ") })
    }

    @Test func `timers that were due while the disk was full fire before what is tried again`() throws {
        let house = try HubHarness()
        let shop = house.connect()
        house.send("EVT coffee-order/1 type=start", from: shop)
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
        // It is pruned, nobody follows it any more, and then there is no room for that.
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

    @Test func `an activity row that a control changed is missing until it has left`() throws {
        let house = try HubHarness(kinds: [HubHarness.tippedCoffee, HubHarness.porchLight(), HubHarness.logCoffee()])
        let (shop, phone) = (house.connect(), house.connect())
        house.send("EVT coffee-order/1 type=start", from: shop)
        house.send("SERVE log-coffee", from: shop)
        house.send("REPORT log-coffee/1", from: shop)
        var told = house.send("SUB coffee-order/* view=phone rate=1", from: phone)
        // The row has used up its rate when the control changes; the cursor must wait for it.
        house.disconnect(shop)
        house.turn()
        house.advance(by: Milliseconds(100))
        house.send("EVT coffee-order/2 type=start", from: house.connect())
        told += house.lines(of: phone)
        let cursor = try #require(told.compactMap { HubHarness.attribute("cur", of: $0) }.last)
        house.disconnect(phone)
        let resumed = house.send("SUB coffee-order/* view=phone from=\(cursor)", from: house.connect())
        #expect(resumed.contains { $0.hasPrefix("UPD") && $0.contains("coffee-order/1") })
    }

    @Test func `of several keys that a rate holds back each comes when its own second is over`() throws {
        let house = try HubHarness()
        let (shop, screen) = (house.connect(), house.connect())
        house.send("SUB coffee-order/* rate=1", from: screen)
        house.send("EVT coffee-order/1 type=start", from: shop)
        house.advance(by: Milliseconds(500))
        house.send("EVT coffee-order/2 type=start", from: shop)
        house.send("EVT coffee-order/1 type=confirm", from: shop)
        house.send("EVT coffee-order/2 type=confirm", from: shop)
        _ = house.lines(of: screen)
        house.advance(by: Milliseconds(500))
        #expect(house.lines(of: screen).map { $0.prefix(28) } == ["UPD sub=1 key=coffee-order/1"])
        let next = house.hub.nextSessionDeadline
        #expect(next == house.now.monotonic + Milliseconds(500))
        house.advance(by: Milliseconds(500))
        #expect(house.lines(of: screen).map { $0.prefix(28) } == ["UPD sub=1 key=coffee-order/2"])
    }
}
