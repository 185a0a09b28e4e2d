import TelltaleModel
import Testing

@testable import Hub

/// Nothing that is decided depends on it, so that every other test passes without it.
struct PrefetchHintTests {
    @Test func `the hint of a waiting request stands beside it`() throws {
        let harness = try HubHarness()
        let shop = harness.connect()
        harness.post("EVT coffee-order/1 type=start", from: shop)
        harness.post("PING", from: shop)
        harness.post("EVT coffee-order/1 type=confirm eid=7", from: shop)
        harness.post(#"EVT coffee-order/1 type=update {"content-state":1}"#, from: shop)
        harness.post("NONE", from: shop)
        harness.post("EVT coffee-order/2 type=start", from: shop)
        let session = try #require(harness.hub.sessions[shop.id])
        #expect(session.prefetchHints.map(\.isEvent) == [true, false, true, false, false, true])
        #expect(session.prefetchHints.map { $0.eidHash != 0 } == [false, false, true, false, false, false])
        #expect(session.inbox.count == 6)
        harness.turn()
        #expect(session.prefetchHints.isEmpty && session.inbox.isEmpty)
        #expect(harness.lines(of: shop).count(where: { $0.hasPrefix("OK verdict=applied ") }) == 3)
    }

    @Test func `the entity of a key is found before its event is decided`() throws {
        let (harness, shop) = try HubHarness.startedOrder()
        harness.send("EVT coffee-order/2 type=start", from: shop)
        let orders = [1, 1, 2, 3, 2, 1, 2]
        for order in orders { harness.post("EVT coffee-order/\(order) type=confirm", from: shop) }
        let session = try #require(harness.hub.sessions[shop.id])
        for (number, order) in orders.enumerated() {
            harness.hub.store.prefetch(for: session)
            // As far ahead as the limit; earlier requests were never so far behind.
            if number >= 3 {
                let key = try #require(Key("coffee-order/\(order)"))
                #expect(session.prefetchHints.first?.entity == harness.hub.store.index(of: key))
            }
            _ = session.popRequest()
        }
        #expect(session.inbox.isEmpty && session.prefetchHints.isEmpty)
    }
}
