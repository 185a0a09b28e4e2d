import TelltaleModel
import TestSupport
import Testing

@testable import Hub

/// The memory of subscriptions without changes, and of sessions that are gone.
struct IdleMemoryTests {
    private func backlogs(of harness: HubHarness) -> Int {
        var count = 0
        harness.hub.subscriptions.forEach { if $0.backlog != nil { count += 1 } }
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
        let harness = try HubHarness.withHeartbeat()
        let screens = [harness.connect(), harness.connect()]
        for screen in screens {
            for number in 1...3 { harness.send("SUB coffee-order/\(number) view=watch", from: screen) }
        }
        var terms: Set<ObjectIdentifier> = []
        harness.hub.subscriptions.forEach { terms.insert(ObjectIdentifier($0.terms)) }
        #expect(terms.count == 1)
        harness.send("SUB coffee-order/1 view=watch rate=1", from: screens[0])
        harness.hub.subscriptions.forEach { terms.insert(ObjectIdentifier($0.terms)) }
        #expect(terms.count == 2)
    }

    @Test func `once live, and once it has its last row, a subscription keeps only its shown revs`() throws {
        let harness = try HubHarness.withHeartbeat()
        let (shop, watch) = (harness.connect(), harness.connect())
        harness.send("EVT coffee-order/1 type=start", from: shop)
        #expect(harness.send("SUB coffee-order/1 view=watch", from: watch).contains { $0.hasPrefix("SNAP ") })
        #expect(backlogs(of: harness) == 0)
        // Commits of its one key wait without a backlog. An announcement needs one.
        harness.hub.becameBlocked(watch.id, at: harness.now)
        for (count, event) in [(0, "confirm"), (0, "brew"), (1, "ready")] {
            harness.send("EVT coffee-order/1 type=\(event)", from: shop)
            #expect(backlogs(of: harness) == count)
            #expect(try HubHarness.tail(harness.send("STATS", from: shop).last)["dirtyKeys"] == 1)
        }
        harness.hub.becameWritable(watch.id)
        harness.turn()
        let lines = harness.lines(of: watch)
        #expect(lines.count == 3 && lines.last?.contains(" skip=2 why=slow") == true)
        #expect(backlogs(of: harness) == 0)
        // The shown rows are remembered, because their deletion must be sent.
        _ = harness.lines(of: watch)
        harness.send(#"EVT coffee-order/1 type=end {"dismissal-date":1}"#, from: shop)
        #expect(harness.lines(of: watch).contains { $0.hasPrefix("DEL sub=1 key=coffee-order/1 ") })
    }

    @Test func `a subscription of many keys gives back its memory for the last row at its heartbeat`() throws {
        let harness = try HubHarness.withHeartbeat()
        let (shop, screens) = (harness.connect(), [harness.connect(), harness.connect()])
        for screen in screens { harness.send("SUB coffee-order/*", from: screen) }
        harness.send("EVT coffee-order/1 type=start", from: shop)
        for screen in screens { #expect(harness.lines(of: screen).contains { $0.hasPrefix("UPD ") }) }
        #expect(backlogs(of: harness) == 2)
        // A session's scan skips both kept rows: the first, which was written, and the second, which was copied.
        harness.hub.subscriptions.forEach { #expect($0.hasNothingPending) }
        harness.advance(by: Milliseconds(1_100))
        #expect(backlogs(of: harness) == 0)
    }

    @Test func `the memory that a session gives back at its heartbeat is not needed for its rate`() throws {
        let harness = try HubHarness.withHeartbeat(100)
        let (shop, screen) = (harness.connect(), harness.connect())
        harness.send("SUB coffee-order/* rate=1", from: screen)
        harness.send("EVT coffee-order/1 type=start", from: shop)
        harness.advance(by: Milliseconds(150))
        harness.advance(by: Milliseconds(150))
        harness.send("EVT coffee-order/1 type=confirm", from: shop)
        harness.advance(by: Milliseconds(150))
        #expect(harness.lines(of: screen).filter { $0.hasPrefix("UPD") }.count == 1)
        harness.advance(by: Milliseconds(550))
        #expect(harness.lines(of: screen).filter { $0.hasPrefix("UPD") }.count == 1)
    }

    @Test func `encoded rows are kept for a heartbeat`() throws {
        let harness = try HubHarness.withHeartbeat()
        let (shop, watch) = (harness.connect(), harness.connect())
        harness.send("EVT coffee-order/1 type=start", from: shop)
        harness.send("SUB coffee-order/1 view=watch", from: watch)
        #expect(harness.hub.renderer.rowCount == 1)
        harness.advance(by: Milliseconds(1_100))
        #expect(harness.hub.renderer.rowCount == 0)
        #expect(harness.send("GET coffee-order/1 view=watch", from: watch).contains { $0.hasPrefix("OK ") })
    }

    @Test func `kinds without events are forgotten with their last follower`() throws {
        let harness = try HubHarness.withHeartbeat()
        let screen = harness.connect()
        let count = harness.hub.store.kindNumberCount
        for number in 1...50 {
            harness.send("SUB odd-\(number)/*", from: screen)
            harness.send("SUB odder-\(number)/1", from: screen)
        }
        #expect(harness.hub.store.kindNumberCount == count + 100)
        harness.send("UNSUB sub=1", from: screen)
        #expect(harness.hub.store.kindNumberCount == count + 99)
        harness.disconnect(screen)
        #expect(harness.hub.store.kindNumberCount == count)
    }

    @Test("A forgotten key leaves its place to another key, whether or not it was followed", arguments: [false, true])
    func places(isTaken: Bool) throws {
        let harness = try HubHarness.withHeartbeat()
        let (shop, screens) = (harness.connect(), (0..<3).map { _ in harness.connect() })
        for screen in screens.dropLast() { harness.send("SUB coffee-order/* view=watch", from: screen) }
        harness.send("SUB coffee-order/1 view=full rate=1", from: screens[2])
        if !isTaken { for screen in screens { harness.hub.becameBlocked(screen.id, at: harness.now) } }
        for event in ["start", "confirm", "brew"] { harness.send("EVT coffee-order/1 type=\(event)", from: shop) }
        let places = harness.hub.store.indexCount
        if isTaken { harness.advance(by: .seconds(2)) }
        for screen in screens { harness.disconnect(screen) }
        harness.send(#"EVT coffee-order/1 type=end {"dismissal-date":1}"#, from: shop)
        harness.advance(by: .days(8))
        harness.send("EVT coffee-order/2 type=start", from: shop)
        #expect(harness.hub.store.indexCount == places && harness.hub.entityCount == 1)
    }

    @Test func `events that move no deadline leave none behind`() throws {
        let harness = try HubHarness.withHeartbeat()
        let shop = harness.connect()
        harness.send("EVT errand/1 type=start", from: shop)
        for number in 1...100 {
            harness.send(#"EVT errand/1 type=update {"content-state":{"n":\#(number)}}"#, from: shop)
        }
        #expect(harness.hub.store.deadlineEntryCount == 1)
    }

    @Test func `a session that is gone is not counted, and leaves its place to the next`() throws {
        let harness = try HubHarness(kinds: [HubHarness.porchLight()])
        for _ in 0..<10 {
            let provider = harness.connect()
            harness.send("SERVE porch-light", from: provider)
            harness.disconnect(provider)
        }
        #expect(harness.hub.sessions.slotCount == 1 && harness.hub.providers.connectionCount == 0)
        let connections = try HubHarness.tail(harness.send("STATS", from: harness.connect()).last)["connections"]
        #expect(connections == 1)
    }

    @Test
    func `accounts without a shown activity are forgotten, and later ones are not confused with them`()
        throws
    {
        let harness = try HubHarness.withHeartbeat()
        let shop = harness.connect()
        try harness.event("coffee-order/1", "type=start for=alice,bob", from: shop)
        #expect(harness.hub.store.accountCount == 2)
        try harness.event("coffee-order/1", #"type=end {"dismissal-date":1}"#, from: shop)
        #expect(harness.hub.store.accountCount == 0)
        try harness.event("coffee-order/2", "type=start for=carol", from: shop)
        let screens = try ["alice", "carol"].map { try TestScreen("desktop", account: $0, in: harness).connect() }
        for screen in screens { try screen.view() }
        #expect(screens.map { $0.rows.count } == [0, 1])
    }

    @Test func `a batch that is taken back forgets the accounts that it named`() throws {
        let harness = try HubHarness.withHeartbeat()
        let shop = harness.connect()
        harness.isFull = true
        harness.send("EVT coffee-order/1 type=start for=alice", from: shop)
        #expect(harness.hub.store.accountCount == 0)
        harness.isFull = false
        try harness.event("coffee-order/1", "type=start for=alice", from: shop)
        #expect(harness.hub.store.accountCount == 1)
    }

    @Test func `a connection that has used up its numbers is notified`() throws {
        let harness = try HubHarness.withHeartbeat()
        let screen = harness.connect()
        harness.hub.sessions[screen.id]?.subscriptionCount = .max - 1
        #expect(harness.send("SUB *", from: screen).first?.hasPrefix("OK ") == true)
        let refusal = harness.send("SUB *", from: screen)
        #expect(refusal.count == 1 && refusal.first?.contains("limit_subs") == true)
    }
}
