import FanOut
import TelltaleModel
import Testing

@testable import Hub

struct RowRendererTests {
    /// A house with one order, which a session looks at.
    private func looked() throws -> (HubHarness, EntityIndex, Session) {
        let (house, shop) = try HubHarness.startedOrder()
        let key = try #require(Key("coffee-order/1"))
        let known = house.hub.store.index(of: key)
        let entity = try #require(known)
        let session = house.hub.sessions[shop.id]
        return (house, entity, try #require(session))
    }

    private func body(_ house: HubHarness, _ entity: EntityIndex, _ session: Session) -> [UInt8]? {
        Self.body(&house.hub, entity, session)
    }

    private static func body(_ hub: inout Hub, _ entity: EntityIndex, _ session: Session) -> [UInt8]? {
        hub.renderer.loneBody(of: entity, view: .surface(.watch), for: session, hub.store)
    }

    private static func lookOtherwise(_ hub: inout Hub, _ entity: EntityIndex, _ session: Session) {
        _ = hub.renderer.openedBody(of: entity, for: session, hub.store)
        _ = hub.renderer.hiddenBody(of: entity, hub.store)
    }

    @Test func `a row is encoded once, until its key changes`() throws {
        let (house, entity, session) = try looked()
        let first = body(house, entity, session)
        #expect(first != nil && house.hub.renderer.rowCount == 1)
        #expect(body(house, entity, session) == first && house.hub.renderer.rowCount == 1)
        house.hub.renderer.invalidate(entity)
        #expect(house.hub.renderer.rowCount == 0)
        #expect(body(house, entity, session) == first)
    }

    @Test func `rows that were asked for once are dropped after an interval`() throws {
        let (house, entity, session) = try looked()
        house.hub.renderer.refresh(after: .zero, at: house.now.monotonic)
        _ = body(house, entity, session)
        house.hub.renderer.refresh(after: Milliseconds.seconds(1), at: house.now.monotonic + Milliseconds(999))
        #expect(house.hub.renderer.rowCount == 1)
        house.hub.renderer.refresh(after: .seconds(1), at: house.now.monotonic + Milliseconds.seconds(1))
        #expect(house.hub.renderer.rowCount == 0)
    }

    @Test func `rendering changes nothing that is replayed`() throws {
        let (house, entity, session) = try looked()
        let hash = house.hub.stateHash
        _ = body(house, entity, session)
        Self.lookOtherwise(&house.hub, entity, session)
        #expect(house.hub.stateHash == hash)
    }
}
