import TelltaleModel
import Testing

@testable import Hub

/// Heartbeats: the interval that a session asks for, and the content of a `MARK`.
struct HeartbeatTests {
    @Test func `a sign of life stands before the rows that leave with it`() throws {
        let (harness, shop, screen) = try HubHarness.followedOrder()
        harness.time = harness.time + Milliseconds(20_000)
        harness.post("EVT coffee-order/1 type=confirm", from: shop)
        _ = harness.hub.decide(at: harness.now)
        harness.hub.committed(at: harness.now)
        harness.hub.sessionDeadlineReached(at: harness.now)
        harness.flush()
        let verbs = harness.lines(of: screen).compactMap { $0.split(separator: " ").first }
        #expect(verbs == ["MARK", "UPD"])
    }

    @Test func `no sign of life comes after a BYE`() throws {
        let (harness, _, screen) = try HubHarness.followedOrder()
        harness.time = harness.time + Milliseconds(20_000)
        harness.hub.sessionDeadlineReached(at: harness.now)
        harness.hub.drain(wait: 100...200)
        harness.flush()
        #expect(harness.lines(of: screen) == ["BYE code=shutting_down wait=100-200"])
    }

    @Test(
        "A heartbeat is limited to the possible range",
        arguments: [(1, 100), (99, 100), (100, 100), (86_400_000, 300_000)])
    func heartbeat(asked: Int, granted: Int) throws {
        let harness = try HubHarness()
        let client = harness.connect()
        #expect(harness.send("HELLO hb=\(asked)", from: client).last?.contains(" hb=\(granted)") == true)
    }

    @Test func `a cursor is notified when it advanced, and not before the resume is complete`() throws {
        let harness = try HubHarness()
        let (shop, first) = (harness.connect(), harness.connect(as: "alice"))
        for number in 1...3 { harness.send("EVT coffee-order/\(number) type=start for=alice", from: shop) }
        let cursor = try harness.cursor(of: "SUB coffee-order/* view=watch", from: first)
        // A row that comes again without a commit brings nothing that could be resumed from.
        let turned = harness.send("TRAIT wrist=down", from: first).filter { $0.hasPrefix("UPD ") }
        #expect(turned.count == 3 && turned.allSatisfy { !$0.contains(" cur=") })
        harness.send("EVT coffee-order/1 type=confirm", from: shop)
        #expect(harness.lines(of: first).last?.contains(" cur=") == true)
        harness.send("EVT coffee-order/2 type=confirm", from: shop)
        let resumed = harness.send("SUB coffee-order/* view=watch from=\(cursor)", from: harness.connect(as: "alice"))
        let rows = resumed.filter { $0.hasPrefix("UPD ") }
        #expect(rows.count == 3 && rows.allSatisfy { !$0.contains(" cur=") })
        #expect(resumed.last?.hasPrefix("LIVE ") == true)
    }

    @Test func `a sign of life brings the cursors that others' changes have advanced`() throws {
        let (harness, shop, screen) = try HubHarness.followedOrder()
        harness.send("EVT coffee-order/2 type=start", from: shop)
        harness.advance(by: .seconds(20))
        let reported = harness.lines(of: screen)
        #expect(reported.count == 1)
        #expect(reported.first?.hasPrefix("MARK now=\(harness.time.milliseconds) sub=1 cur=") == true)
        // There is nothing new to say of it.
        harness.advance(by: .seconds(20))
        #expect(harness.lines(of: screen) == ["MARK now=\(harness.time.milliseconds)"])
    }
}
