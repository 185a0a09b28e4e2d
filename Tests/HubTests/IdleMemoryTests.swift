import TelltaleModel
import TestSupport
import Testing

@testable import Hub

/// The memory of subscriptions without changes, and of sessions that are gone.
struct IdleMemoryTests {
    private func backlogs(of house: HubHarness) -> Int {
        var count = 0
        house.hub.subscriptions.forEach { if $0.backlog != nil { count += 1 } }
        return count
    }

    @Test func `a subscription that rests is 48 bytes`() {
        #expect(MemoryLayout<Subscription?>.stride == 48)
    }

    @Test func `a session is an object of 256 bytes`() {
        let id = SessionID(slot: 0, number: 1)
        let session = Session(id: id, limits: Limits(), now: MonotonicTime(nanoseconds: 0))
        #expect(allocatedByteCount(of: session) < 256 + 16)
    }

    @Test func `subscriptions of one sort share their terms`() throws {
        let house = try HubHarness.withHeartbeat()
        let screens = [house.connect(), house.connect()]
        for screen in screens {
            for number in 1...3 { house.send("SUB coffee-order/\(number) view=watch", from: screen) }
        }
        var terms: Set<ObjectIdentifier> = []
        house.hub.subscriptions.forEach { terms.insert(ObjectIdentifier($0.terms)) }
        #expect(terms.count == 1)
        house.send("SUB coffee-order/1 view=watch rate=1", from: screens[0])
        house.hub.subscriptions.forEach { terms.insert(ObjectIdentifier($0.terms)) }
        #expect(terms.count == 2)
    }

    @Test func `once live, and once it has its last row, a subscription keeps only its shown revs`() throws {
        let house = try HubHarness.withHeartbeat()
        let (shop, watch) = (house.connect(), house.connect())
        house.send("EVT coffee-order/1 type=start", from: shop)
        #expect(house.send("SUB coffee-order/1 view=watch", from: watch).contains { $0.hasPrefix("SNAP ") })
        #expect(backlogs(of: house) == 0)
        // Commits of its one key wait without a backlog. An announcement needs one.
        house.hub.becameBlocked(watch.id, at: house.now)
        for (count, event) in [(0, "confirm"), (0, "brew"), (1, "ready")] {
            house.send("EVT coffee-order/1 type=\(event)", from: shop)
            #expect(backlogs(of: house) == count)
            #expect(try HubHarness.tail(house.send("STATS", from: shop).last)["dirtyKeys"] == 1)
        }
        house.hub.becameWritable(watch.id)
        house.turn()
        let lines = house.lines(of: watch)
        #expect(lines.count == 3 && lines.last?.contains(" skip=2 why=slow") == true)
        #expect(backlogs(of: house) == 0)
        // The shown rows are remembered, because their deletion must be sent.
        _ = house.lines(of: watch)
        house.send(#"EVT coffee-order/1 type=end {"dismissal-date":1}"#, from: shop)
        #expect(house.lines(of: watch).contains { $0.hasPrefix("DEL sub=1 key=coffee-order/1 ") })
    }

    @Test func `a subscription of many keys gives back its memory for the last row at its heartbeat`() throws {
        let house = try HubHarness.withHeartbeat()
        let (shop, screens) = (house.connect(), [house.connect(), house.connect()])
        for screen in screens { house.send("SUB coffee-order/*", from: screen) }
        house.send("EVT coffee-order/1 type=start", from: shop)
        for screen in screens { #expect(house.lines(of: screen).contains { $0.hasPrefix("UPD ") }) }
        #expect(backlogs(of: house) == 2)
        // A session's walk skips both kept rows: the first, which was written, and the second, which was copied.
        house.hub.subscriptions.forEach { #expect($0.isOwedNothing) }
        house.advance(by: Milliseconds(1_100))
        #expect(backlogs(of: house) == 0)
    }

    @Test func `the memory that a session gives back at its heartbeat is not needed for its rate`() throws {
        let house = try HubHarness.withHeartbeat(100)
        let (shop, screen) = (house.connect(), house.connect())
        house.send("SUB coffee-order/* rate=1", from: screen)
        house.send("EVT coffee-order/1 type=start", from: shop)
        house.advance(by: Milliseconds(150))
        house.advance(by: Milliseconds(150))
        house.send("EVT coffee-order/1 type=confirm", from: shop)
        house.advance(by: Milliseconds(150))
        #expect(house.lines(of: screen).filter { $0.hasPrefix("UPD") }.count == 1)
        house.advance(by: Milliseconds(550))
        #expect(house.lines(of: screen).filter { $0.hasPrefix("UPD") }.count == 1)
    }

    @Test func `encoded rows are kept for a heartbeat`() throws {
        let house = try HubHarness.withHeartbeat()
        let (shop, watch) = (house.connect(), house.connect())
        house.send("EVT coffee-order/1 type=start", from: shop)
        house.send("SUB coffee-order/1 view=watch", from: watch)
        #expect(house.hub.renderer.rowCount == 1)
        house.advance(by: Milliseconds(1_100))
        #expect(house.hub.renderer.rowCount == 0)
        #expect(house.send("GET coffee-order/1 view=watch", from: watch).contains { $0.hasPrefix("OK ") })
    }

    @Test func `kinds without events are forgotten with their last follower`() throws {
        let house = try HubHarness.withHeartbeat()
        let screen = house.connect()
        let count = house.hub.store.kindNumberCount
        for number in 1...50 {
            house.send("SUB odd-\(number)/*", from: screen)
            house.send("SUB odder-\(number)/1", from: screen)
        }
        #expect(house.hub.store.kindNumberCount == count + 100)
        house.send("UNSUB sub=1", from: screen)
        #expect(house.hub.store.kindNumberCount == count + 99)
        house.disconnect(screen)
        #expect(house.hub.store.kindNumberCount == count)
    }

    @Test("A forgotten key leaves its place to another key, whether or not it was followed", arguments: [false, true])
    func places(isTaken: Bool) throws {
        let house = try HubHarness.withHeartbeat()
        let (shop, screens) = (house.connect(), (0..<3).map { _ in house.connect() })
        for screen in screens.dropLast() { house.send("SUB coffee-order/* view=watch", from: screen) }
        house.send("SUB coffee-order/1 view=full rate=1", from: screens[2])
        if !isTaken { for screen in screens { house.hub.becameBlocked(screen.id, at: house.now) } }
        for event in ["start", "confirm", "brew"] { house.send("EVT coffee-order/1 type=\(event)", from: shop) }
        let places = house.hub.store.indexCount
        if isTaken { house.advance(by: .seconds(2)) }
        for screen in screens { house.disconnect(screen) }
        house.send(#"EVT coffee-order/1 type=end {"dismissal-date":1}"#, from: shop)
        house.advance(by: .days(8))
        house.send("EVT coffee-order/2 type=start", from: shop)
        #expect(house.hub.store.indexCount == places && house.hub.entityCount == 1)
    }

    @Test func `events that move no deadline leave none behind`() throws {
        let house = try HubHarness.withHeartbeat()
        let shop = house.connect()
        house.send("EVT errand/1 type=start", from: shop)
        for number in 1...100 {
            house.send(#"EVT errand/1 type=update {"content-state":{"n":\#(number)}}"#, from: shop)
        }
        #expect(house.hub.store.deadlineEntryCount == 1)
    }

    @Test func `a session that is gone is not counted, and leaves its place to the next`() throws {
        let house = try HubHarness(kinds: [HubHarness.porchLight()])
        for _ in 0..<10 {
            let provider = house.connect()
            house.send("SERVE porch-light", from: provider)
            house.disconnect(provider)
        }
        #expect(house.hub.sessions.slotCount == 1 && house.hub.providers.connectionCount == 0)
        let connections = try HubHarness.tail(house.send("STATS", from: house.connect()).last)["connections"]
        #expect(connections == 1)
    }

    @Test
    func `accounts without a shown activity are forgotten, and later ones are not confused with them`()
        throws
    {
        let house = try HubHarness.withHeartbeat()
        let shop = house.connect()
        try house.event("coffee-order/1", "type=start for=alice,bob", from: shop)
        #expect(house.hub.store.accountCount == 2)
        try house.event("coffee-order/1", #"type=end {"dismissal-date":1}"#, from: shop)
        #expect(house.hub.store.accountCount == 0)
        try house.event("coffee-order/2", "type=start for=carol", from: shop)
        let screens = try ["alice", "carol"].map { try Screen("desktop", account: $0, in: house).connect() }
        for screen in screens { try screen.look() }
        #expect(screens.map { $0.rows.count } == [0, 1])
    }

    @Test func `a batch that is taken back forgets the accounts that it named`() throws {
        let house = try HubHarness.withHeartbeat()
        let shop = house.connect()
        house.isFull = true
        house.send("EVT coffee-order/1 type=start for=alice", from: shop)
        #expect(house.hub.store.accountCount == 0)
        house.isFull = false
        try house.event("coffee-order/1", "type=start for=alice", from: shop)
        #expect(house.hub.store.accountCount == 1)
    }

    @Test func `a connection that has used up its numbers is told so`() throws {
        let house = try HubHarness.withHeartbeat()
        let screen = house.connect()
        house.hub.sessions[screen.id]?.subscriptionCount = .max - 1
        #expect(house.send("SUB *", from: screen).first?.hasPrefix("OK ") == true)
        let refusal = house.send("SUB *", from: screen)
        #expect(refusal.count == 1 && refusal.first?.contains("limit_subs") == true)
    }
}
