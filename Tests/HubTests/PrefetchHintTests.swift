import TelltaleModel
import Testing

@testable import Hub

/// Nothing that is decided depends on it, so that every other test passes without it.
struct PrefetchHintTests {
    @Test func `the hint of a waiting request stands beside it`() throws {
        let house = try HubHarness()
        let shop = house.connect()
        house.post("EVT coffee-order/1 type=start", from: shop)
        house.post("PING", from: shop)
        house.post("EVT coffee-order/1 type=confirm eid=7", from: shop)
        house.post(#"EVT coffee-order/1 type=update {"content-state":1}"#, from: shop)
        house.post("NONE", from: shop)
        house.post("EVT coffee-order/2 type=start", from: shop)
        let session = try #require(house.hub.sessions[shop.id])
        #expect(session.prefetchHints.map(\.isEvent) == [true, false, true, false, false, true])
        #expect(session.prefetchHints.map { $0.eidHash != 0 } == [false, false, true, false, false, false])
        #expect(session.inbox.count == 6)
        house.turn()
        #expect(session.prefetchHints.isEmpty && session.inbox.isEmpty)
        #expect(house.lines(of: shop).count(where: { $0.hasPrefix("OK verdict=applied ") }) == 3)
    }

    @Test func `the entity of a key is found before its event is decided`() throws {
        let (house, shop) = try HubHarness.startedOrder()
        house.send("EVT coffee-order/2 type=start", from: shop)
        let orders = [1, 1, 2, 3, 2, 1, 2]
        for order in orders { house.post("EVT coffee-order/\(order) type=confirm", from: shop) }
        let session = try #require(house.hub.sessions[shop.id])
        for (number, order) in orders.enumerated() {
            house.hub.store.prefetch(for: session)
            // As far ahead as the limit; earlier requests were never so far behind.
            if number >= 3 {
                let key = try #require(Key("coffee-order/\(order)"))
                #expect(session.prefetchHints.first?.entity == house.hub.store.index(of: key))
            }
            _ = session.popRequest()
        }
        #expect(session.inbox.isEmpty && session.prefetchHints.isEmpty)
    }
}
