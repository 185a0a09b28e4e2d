import TelltaleModel
import Testing

@testable import Hub

/// The end of a session: the lines before it, and that no line follows.
struct FarewellTests {
    @Test func `a session that is sent away with many unanswered requests leaves nothing to decide`() throws {
        let harness = try HubHarness()
        let (greedy, other) = (harness.connect(), harness.connect())
        for number in 0..<300 { harness.send("EVT coffee-order/\(number) type=start", from: other) }
        for _ in 0..<40 { harness.post("SUB *", from: greedy) }
        harness.post("HELLO account=alice", from: greedy)
        harness.commit()
        harness.hub.drain(wait: 1...2)
        for _ in 0..<50 where harness.hub.hasWork(at: harness.now) { harness.commit() }
        let isBusy = harness.hub.hasWork(at: harness.now)
        #expect(!isBusy)
    }

    @Test func `a session that has shut its side is sent its replies, then closed`() throws {
        let (harness, shop, screen) = try HubHarness.followedOrder()
        let asking = harness.connect()
        harness.post("GET coffee-order/1\nHISTORY coffee-order/1", from: asking)
        for client in [asking, screen] { harness.hub.inputEnded(client.id) }
        harness.commit()
        harness.flush()
        // The journal has not been asked yet.
        #expect(!asking.isFinished)
        harness.turn()
        #expect(harness.lines(of: asking).last == "OK count=1")
        #expect(asking.isFinished)
        #expect(harness.lines(of: screen).map { $0.hasPrefix("MARK ") } == [true])
        harness.send("EVT coffee-order/1 type=confirm", from: shop)
        #expect(harness.lines(of: screen).count == 1 && !screen.isFinished)
        // One that says goodbye behind a history waits for that too.
        let leaving = harness.connect()
        harness.post("HISTORY coffee-order/1\nBYE", from: leaving)
        harness.commit()
        harness.flush()
        #expect(!leaving.isFinished)
        harness.turn()
        #expect(harness.lines(of: leaving).last == "OK count=2" && leaving.isFinished)
    }

    @Test func `a session that is sent away gets one BYE`() throws {
        let (harness, _, screen) = try HubHarness.followedOrder()
        for _ in 0..<2 { harness.hub.drain(wait: 100...200) }
        harness.flush()
        #expect(harness.lines(of: screen) == ["BYE code=shutting_down wait=100-200"])
    }

    @Test func `a session that says BYE behind its SUBs is sent what there is, then closed`() throws {
        let harness = try HubHarness()
        let (shop, leaving) = (harness.connect(), harness.connect())
        for number in 0..<200 { harness.send("EVT coffee-order/\(number) type=start", from: shop) }
        let request = "SUB coffee-order/*\nSUB coffee-order/7 view=watch\nBYE"
        harness.post(request, from: leaving)
        harness.hub.inputEnded(leaving.id)
        harness.turn()
        let lines = harness.lines(of: leaving)
        #expect(lines.count { $0.hasPrefix("SNAP sub=1 ") } == 200)
        #expect(lines.filter { $0.hasPrefix("LIVE ") }.map { $0.prefix(10) } == ["LIVE sub=1", "LIVE sub=2"])
        #expect(leaving.isFinished)
        // Nothing is left of it.
        harness.send("EVT coffee-order/1 type=confirm", from: shop)
        #expect(harness.lines(of: leaving).isEmpty)
        // One that follows since long has nothing to wait for.
        let screen = harness.connect()
        harness.send("SUB coffee-order/*", from: screen)
        harness.post("BYE", from: screen)
        harness.turn()
        #expect(screen.isFinished)
    }

    @Test func `requests behind BYE are ignored`() throws {
        let harness = try HubHarness()
        let (shop, other) = (harness.connect(), harness.connect())
        harness.post("PING id=1\nBYE\nEVT coffee-order/1 type=start id=2", from: shop)
        harness.turn()
        #expect(harness.lines(of: shop) == ["PONG id=1"])
        #expect(shop.isFinished)
        #expect(harness.send("GET coffee-order/1", from: other).last?.contains("unknown_key") == true)
    }

    @Test func `a session that ends is sent nothing after its BYE`() throws {
        let harness = try HubHarness.withHeartbeat()
        let screen = harness.connect()
        harness.hub.drain(wait: 0...1)
        harness.advance(by: Milliseconds(1_100))
        #expect(harness.lines(of: screen).map { $0.prefix(4) } == ["BYE "])
    }

    @Test func `a session that has a mark pending when it ends is sent nothing after its BYE`() throws {
        let harness = try HubHarness.withHeartbeat()
        let screen = harness.connect()
        harness.time = harness.time + Milliseconds(1_100)
        harness.hub.sessionDeadlineReached(at: harness.now)
        harness.hub.drain(wait: 0...1)
        harness.turn()
        #expect(harness.lines(of: screen).map { $0.prefix(4) } == ["BYE "])
    }
}
