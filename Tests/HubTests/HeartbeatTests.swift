import TelltaleModel
import Testing

@testable import Hub

/// Heartbeats: the interval that a session asks for, and the content of a `MARK`.
struct HeartbeatTests {
    @Test func `a sign of life stands before the rows that leave with it`() throws {
        let (house, shop, screen) = try HubHarness.followedOrder()
        house.time = house.time + Milliseconds(20_000)
        house.post("EVT coffee-order/1 type=confirm", from: shop)
        _ = house.hub.decide(at: house.now)
        house.hub.committed(at: house.now)
        house.hub.sessionDeadlineReached(at: house.now)
        house.flush()
        let verbs = house.lines(of: screen).compactMap { $0.split(separator: " ").first }
        #expect(verbs == ["MARK", "UPD"])
    }

    @Test func `no sign of life comes after a BYE`() throws {
        let (house, _, screen) = try HubHarness.followedOrder()
        house.time = house.time + Milliseconds(20_000)
        house.hub.sessionDeadlineReached(at: house.now)
        house.hub.drain(wait: 100...200)
        house.flush()
        #expect(house.lines(of: screen) == ["BYE code=shutting_down wait=100-200"])
    }

    @Test(
        "A heartbeat is limited to the possible range",
        arguments: [(1, 100), (99, 100), (100, 100), (86_400_000, 300_000)])
    func heartbeat(asked: Int, granted: Int) throws {
        let house = try HubHarness()
        let client = house.connect()
        #expect(house.send("HELLO hb=\(asked)", from: client).last?.contains(" hb=\(granted)") == true)
    }

    @Test func `a cursor is told when it advanced, and not before the resume is complete`() throws {
        let house = try HubHarness()
        let (shop, first) = (house.connect(), house.connect(as: "alice"))
        for number in 1...3 { house.send("EVT coffee-order/\(number) type=start for=alice", from: shop) }
        let cursor = try house.cursor(of: "SUB coffee-order/* view=watch", from: first)
        // A row that comes again without a commit brings nothing that could be resumed from.
        let turned = house.send("TRAIT wrist=down", from: first).filter { $0.hasPrefix("UPD ") }
        #expect(turned.count == 3 && turned.allSatisfy { !$0.contains(" cur=") })
        house.send("EVT coffee-order/1 type=confirm", from: shop)
        #expect(house.lines(of: first).last?.contains(" cur=") == true)
        house.send("EVT coffee-order/2 type=confirm", from: shop)
        let resumed = house.send("SUB coffee-order/* view=watch from=\(cursor)", from: house.connect(as: "alice"))
        let rows = resumed.filter { $0.hasPrefix("UPD ") }
        #expect(rows.count == 3 && rows.allSatisfy { !$0.contains(" cur=") })
        #expect(resumed.last?.hasPrefix("LIVE ") == true)
    }

    @Test func `a sign of life brings the cursors that others' changes have advanced`() throws {
        let (house, shop, screen) = try HubHarness.followedOrder()
        house.send("EVT coffee-order/2 type=start", from: shop)
        house.advance(by: .seconds(20))
        let told = house.lines(of: screen)
        #expect(told.count == 1)
        #expect(told.first?.hasPrefix("MARK now=\(house.time.milliseconds) sub=1 cur=") == true)
        // There is nothing new to say of it.
        house.advance(by: .seconds(20))
        #expect(house.lines(of: screen) == ["MARK now=\(house.time.milliseconds)"])
    }
}
