import FanOut
import TelltaleModel
import Testing

@testable import Hub

struct RowRendererTests {
    /// A hub with one order, which a session looks at.
    private func looked() throws -> (HubHarness, EntityIndex, Session) {
        let (harness, shop) = try HubHarness.startedOrder()
        let key = try #require(Key("coffee-order/1"))
        let known = harness.hub.store.index(of: key)
        let entity = try #require(known)
        let session = harness.hub.sessions[shop.id]
        return (harness, entity, try #require(session))
    }

    private func body(_ harness: HubHarness, _ entity: EntityIndex, _ session: Session) -> [UInt8]? {
        Self.body(&harness.hub, entity, session)
    }

    private static func body(_ hub: inout Hub, _ entity: EntityIndex, _ session: Session) -> [UInt8]? {
        hub.renderer.loneBody(of: entity, view: .surface(.watch), for: session, hub.store)
    }

    private static func drawOtherwise(_ hub: inout Hub, _ entity: EntityIndex, _ session: Session) {
        _ = hub.renderer.openedBody(of: entity, for: session, hub.store)
        _ = hub.renderer.hiddenBody(of: entity, hub.store)
    }

    @Test func `a row is encoded once, until its key changes`() throws {
        let (harness, entity, session) = try looked()
        let first = body(harness, entity, session)
        #expect(first != nil && harness.hub.renderer.rowCount == 1)
        #expect(body(harness, entity, session) == first && harness.hub.renderer.rowCount == 1)
        harness.hub.renderer.invalidate(entity)
        #expect(harness.hub.renderer.rowCount == 0)
        #expect(body(harness, entity, session) == first)
    }

    @Test func `rows that were asked for once are dropped after an interval`() throws {
        let (harness, entity, session) = try looked()
        harness.hub.renderer.refresh(after: .zero, at: harness.now.monotonic)
        _ = body(harness, entity, session)
        harness.hub.renderer.refresh(after: Milliseconds.seconds(1), at: harness.now.monotonic + Milliseconds(999))
        #expect(harness.hub.renderer.rowCount == 1)
        harness.hub.renderer.refresh(after: .seconds(1), at: harness.now.monotonic + Milliseconds.seconds(1))
        #expect(harness.hub.renderer.rowCount == 0)
    }

    @Test func `rendering changes nothing that is replayed`() throws {
        let (harness, entity, session) = try looked()
        let hash = harness.hub.stateHash
        _ = body(harness, entity, session)
        Self.drawOtherwise(&harness.hub, entity, session)
        #expect(harness.hub.stateHash == hash)
    }
}
