import FanOut
import HeapModule
import TelltaleModel
import Testing

@testable import Hub

/// The memory that idle and closed sessions take.
struct RestingTests {
    private func house(heartbeat: Int64 = 1_000) throws -> HubHarness {
        var configuration = HubConfiguration()
        configuration.limits.heartbeat = Milliseconds(heartbeat)
        return try HubHarness(kinds: HubHarness.kindsOfSurfaces, configuration: configuration)
    }

    private func backlogs(of house: HubHarness) -> Int {
        var count = 0
        house.hub.subscriptions.forEach { if $0.backlog != nil { count += 1 } }
        return count
    }

    @Test func `a subscription that rests is 48 bytes`() {
        #expect(MemoryLayout<Subscription?>.stride == 48)
    }

    @Test func `subscriptions of one sort share their terms`() throws {
        let house = try house()
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

    @Test func `once live, and once it has its last row, it has nothing but what it shows`() throws {
        let house = try house()
        let (shop, watch) = (house.connect(), house.connect())
        house.send("EVT coffee-order/1 type=start", from: shop)
        #expect(house.send("SUB coffee-order/1 view=watch", from: watch).contains { $0.hasPrefix("SNAP ") })
        #expect(backlogs(of: house) == 0)
        // Commits of its key are owed without a backlog; what goes out before a row is not.
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
        // The keys that it shows are not forgotten: it is told when they go.
        _ = house.lines(of: watch)
        house.send(#"EVT coffee-order/1 type=end {"dismissal-date":1}"#, from: shop)
        #expect(house.lines(of: watch).contains { $0.hasPrefix("DEL sub=1 key=coffee-order/1 ") })
    }

    @Test func `who follows many keys gives back at its heartbeat what it needed for the last row`() throws {
        let house = try house()
        let (shop, screens) = (house.connect(), [house.connect(), house.connect()])
        for screen in screens { house.send("SUB coffee-order/*", from: screen) }
        house.send("EVT coffee-order/1 type=start", from: shop)
        for screen in screens { #expect(house.lines(of: screen).contains { $0.hasPrefix("UPD ") }) }
        #expect(backlogs(of: house) == 2)
        // A session's walk passes by what is kept: of the first, which was written, and of the second, which was copied.
        house.hub.subscriptions.forEach { #expect($0.isOwedNothing) }
        house.advance(by: Milliseconds(1_100))
        #expect(backlogs(of: house) == 0)
    }

    @Test func `what a session gives back at its heartbeat is not what a rate goes by`() throws {
        let house = try house(heartbeat: 100)
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
        let house = try house()
        let (shop, watch) = (house.connect(), house.connect())
        house.send("EVT coffee-order/1 type=start", from: shop)
        house.send("SUB coffee-order/1 view=watch", from: watch)
        #expect(house.hub.renderer.rowCount == 1)
        house.advance(by: Milliseconds(1_100))
        #expect(house.hub.renderer.rowCount == 0)
        #expect(house.send("GET coffee-order/1 view=watch", from: watch).contains { $0.hasPrefix("OK ") })
    }

    @Test func `kinds that nobody has heard of are forgotten with whoever followed them`() throws {
        let house = try house()
        let screen = house.connect()
        let count = house.hub.store.entities.kindNumbers.count
        for number in 1...50 {
            house.send("SUB odd-\(number)/*", from: screen)
            house.send("SUB odder-\(number)/1", from: screen)
        }
        #expect(house.hub.store.entities.kindNumbers.count == count + 100)
        house.send("UNSUB sub=1", from: screen)
        #expect(house.hub.store.entities.kindNumbers.count == count + 99)
        house.disconnect(screen)
        #expect(house.hub.store.entities.kindNumbers.count == count)
    }

    @Test("A key that is forgotten leaves its place to another, whoever followed it", arguments: [false, true])
    func places(isTaken: Bool) throws {
        let house = try house()
        let (shop, screens) = (house.connect(), (0..<3).map { _ in house.connect() })
        for screen in screens.dropLast() { house.send("SUB coffee-order/* view=watch", from: screen) }
        house.send("SUB coffee-order/1 view=full rate=1", from: screens[2])
        if !isTaken { for screen in screens { house.hub.becameBlocked(screen.id, at: house.now) } }
        for event in ["start", "confirm", "brew"] { house.send("EVT coffee-order/1 type=\(event)", from: shop) }
        let places = house.hub.store.entities.indexCount
        if isTaken { house.advance(by: .seconds(2)) }
        for screen in screens { house.disconnect(screen) }
        house.send(#"EVT coffee-order/1 type=end {"dismissal-date":1}"#, from: shop)
        house.advance(by: .days(8))
        house.send("EVT coffee-order/2 type=start", from: shop)
        #expect(house.hub.store.entities.indexCount == places && house.hub.entityCount == 1)
    }

    @Test func `events that move no deadline leave none behind`() throws {
        let house = try house()
        let shop = house.connect()
        house.send("EVT errand/1 type=start", from: shop)
        for number in 1...100 {
            house.send(#"EVT errand/1 type=update {"content-state":{"n":\#(number)}}"#, from: shop)
        }
        #expect(house.hub.store.deadlines.entryCount == 1)
    }

    @Test func `who is gone is counted no more, and leaves its place to the next`() throws {
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
    func `people of whom nothing is shown any more are forgotten, and those who come later are not taken for them`()
        throws
    {
        let house = try house()
        let shop = house.connect()
        try house.event("coffee-order/1", "type=start for=alice,bob", from: shop)
        #expect(house.hub.store.accounts.count == 2)
        try house.event("coffee-order/1", #"type=end {"dismissal-date":1}"#, from: shop)
        #expect(house.hub.store.accounts.count == 0)
        try house.event("coffee-order/2", "type=start for=carol", from: shop)
        let screens = try ["alice", "carol"].map { try Screen("desktop", account: $0, in: house).connect() }
        for screen in screens { try screen.look() }
        #expect(screens.map { $0.rows.count } == [0, 1])
    }

    @Test func `a batch that is taken back forgets whom it named`() throws {
        let house = try house()
        let shop = house.connect()
        house.isFull = true
        house.send("EVT coffee-order/1 type=start for=alice", from: shop)
        #expect(house.hub.store.accounts.count == 0)
        house.isFull = false
        try house.event("coffee-order/1", "type=start for=alice", from: shop)
        #expect(house.hub.store.accounts.count == 1)
    }

    @Test func `a session that ends is told nothing after its BYE`() throws {
        let house = try house()
        let screen = house.connect()
        house.hub.drain(wait: 0...1)
        house.advance(by: Milliseconds(1_100))
        #expect(house.lines(of: screen).map { $0.prefix(4) } == ["BYE "])
    }

    @Test func `a session that owes a mark when it ends is told nothing after its BYE`() throws {
        let house = try house()
        let screen = house.connect()
        house.time = house.time + Milliseconds(1_100)
        house.hub.sessionDeadlineReached(at: house.now)
        house.hub.drain(wait: 0...1)
        house.turn()
        #expect(house.lines(of: screen).map { $0.prefix(4) } == ["BYE "])
    }

    @Test func `rates leave no more moments at which to look at a session than about one for each`() throws {
        let house = try house(heartbeat: 20_000)
        let shop = house.connect()
        for key in 1...3 { house.send("EVT coffee-order/\(key) type=start", from: shop) }
        var screens = (1...10).map { _ in house.connect() }
        for (number, screen) in screens.enumerated() {
            house.send("HELLO client=nc hb=3600000", from: screen)
            house.send("SUB coffee-order/* view=full rate=\(5 + number)", from: screen)
        }
        for number in 1...1_000 {
            let key = "coffee-order/\(1 + number % 3)"
            house.send(#"EVT \#(key) type=update {"content-state":{"n":\#(number)}}"#, from: shop)
            house.advance(by: Milliseconds(Int64(20 + number % 17)))
            if number == 500 { for _ in 0..<5 { house.disconnect(screens.removeFirst()) } }
            try #require(house.hub.sessions.deadlineEntryCount <= 2 * 11 + 65)
        }
        house.advance(by: Milliseconds(1_000))
        for screen in screens { #expect(house.lines(of: screen).contains { $0.hasPrefix("UPD ") }) }
        // Nobody's sign of life was forgotten with the rest.
        house.advance(by: Milliseconds(3_600_000))
        for screen in screens { #expect(house.lines(of: screen).first?.hasPrefix("MARK ") == true) }
    }

    @Test func `a connection that has used up its numbers is told so`() throws {
        let house = try house()
        let screen = house.connect()
        house.hub.sessions[screen.id]?.subscriptionCount = .max - 1
        #expect(house.send("SUB *", from: screen).first?.hasPrefix("OK ") == true)
        let refusal = house.send("SUB *", from: screen)
        #expect(refusal.count == 1 && refusal.first?.contains("limit_subs") == true)
    }

    @Test func `the app in front draws no alert of its own, for nobody in particular either`() throws {
        let house = try house()
        let shop = house.connect()
        let (front, other) = (Screen("phone", account: nil, in: house), Screen("phone", account: nil, in: house))
        front.traits["foreground"] = "com.example.taxi"
        for screen in [front, other] { try screen.connect() }
        try house.event("taxi/1", "type=start", from: shop)
        try house.event("taxi/1", "type=near", from: shop)
        for screen in [front, other] { try screen.look() }
        #expect(front.styles == [])
        #expect(other.styles == ["expanded"])
    }
}
