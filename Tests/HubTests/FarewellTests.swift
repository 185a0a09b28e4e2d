import TelltaleModel
import Testing

@testable import Hub

/// The end of a session: the lines before it, and that no line follows.
struct FarewellTests {
    @Test func `a session that is sent away with many unanswered requests leaves nothing to decide`() throws {
        let house = try HubHarness()
        let (greedy, other) = (house.connect(), house.connect())
        for number in 0..<300 { house.send("EVT coffee-order/\(number) type=start", from: other) }
        for _ in 0..<40 { house.post("SUB *", from: greedy) }
        house.post("HELLO account=alice", from: greedy)
        house.commit()
        house.hub.drain(wait: 1...2)
        for _ in 0..<50 where house.hub.hasWork(at: house.now) { house.commit() }
        let isBusy = house.hub.hasWork(at: house.now)
        #expect(!isBusy)
    }

    @Test func `a session that has shut its side is sent its replies, then closed`() throws {
        let (house, shop, screen) = try HubHarness.followedOrder()
        let asking = house.connect()
        house.post("GET coffee-order/1\nHISTORY coffee-order/1", from: asking)
        for client in [asking, screen] { house.hub.inputEnded(client.id) }
        house.commit()
        house.flush()
        // The journal has not been asked yet.
        #expect(!asking.isFinished)
        house.turn()
        #expect(house.lines(of: asking).last == "OK count=1")
        #expect(asking.isFinished)
        #expect(house.lines(of: screen).map { $0.hasPrefix("MARK ") } == [true])
        house.send("EVT coffee-order/1 type=confirm", from: shop)
        #expect(house.lines(of: screen).count == 1 && !screen.isFinished)
        // One that says goodbye behind a history waits for that too.
        let leaving = house.connect()
        house.post("HISTORY coffee-order/1\nBYE", from: leaving)
        house.commit()
        house.flush()
        #expect(!leaving.isFinished)
        house.turn()
        #expect(house.lines(of: leaving).last == "OK count=2" && leaving.isFinished)
    }

    @Test func `a session that is sent away gets one BYE`() throws {
        let (house, _, screen) = try HubHarness.followedOrder()
        for _ in 0..<2 { house.hub.drain(wait: 100...200) }
        house.flush()
        #expect(house.lines(of: screen) == ["BYE code=shutting_down wait=100-200"])
    }

    @Test func `a session that says BYE behind its SUBs is sent what there is, then closed`() throws {
        let house = try HubHarness()
        let (shop, leaving) = (house.connect(), house.connect())
        for number in 0..<200 { house.send("EVT coffee-order/\(number) type=start", from: shop) }
        let request = "SUB coffee-order/*\nSUB coffee-order/7 view=watch\nBYE"
        house.post(request, from: leaving)
        house.hub.inputEnded(leaving.id)
        house.turn()
        let lines = house.lines(of: leaving)
        #expect(lines.count { $0.hasPrefix("SNAP sub=1 ") } == 200)
        #expect(lines.filter { $0.hasPrefix("LIVE ") }.map { $0.prefix(10) } == ["LIVE sub=1", "LIVE sub=2"])
        #expect(leaving.isFinished)
        // Nothing is left of it.
        house.send("EVT coffee-order/1 type=confirm", from: shop)
        #expect(house.lines(of: leaving).isEmpty)
        // One that follows since long has nothing to wait for.
        let screen = house.connect()
        house.send("SUB coffee-order/*", from: screen)
        house.post("BYE", from: screen)
        house.turn()
        #expect(screen.isFinished)
    }

    @Test func `requests behind BYE are ignored`() throws {
        let house = try HubHarness()
        let (shop, other) = (house.connect(), house.connect())
        house.post("PING id=1\nBYE\nEVT coffee-order/1 type=start id=2", from: shop)
        house.turn()
        #expect(house.lines(of: shop) == ["PONG id=1"])
        #expect(shop.isFinished)
        #expect(house.send("GET coffee-order/1", from: other).last?.contains("unknown_key") == true)
    }

    @Test func `a session that ends is told nothing after its BYE`() throws {
        let house = try HubHarness.withHeartbeat()
        let screen = house.connect()
        house.hub.drain(wait: 0...1)
        house.advance(by: Milliseconds(1_100))
        #expect(house.lines(of: screen).map { $0.prefix(4) } == ["BYE "])
    }

    @Test func `a session that owes a mark when it ends is told nothing after its BYE`() throws {
        let house = try HubHarness.withHeartbeat()
        let screen = house.connect()
        house.time = house.time + Milliseconds(1_100)
        house.hub.sessionDeadlineReached(at: house.now)
        house.hub.drain(wait: 0...1)
        house.turn()
        #expect(house.lines(of: screen).map { $0.prefix(4) } == ["BYE "])
    }
}
