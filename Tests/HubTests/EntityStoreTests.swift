import FanOut
import Kinds
import TelltaleModel
import TelltaleWire
import Testing

@testable import Hub

struct EntityStoreTests {
    private static let start = HubTime(
        time: Timestamp(milliseconds: 1_763_719_200_000), wall: Timestamp(milliseconds: 1_763_719_200_000),
        monotonic: MonotonicTime(milliseconds: 0))

    /// A store with the kinds of the tests in force.
    private func store() throws -> EntityStore {
        var store = EntityStore(epoch: 1)
        store.beginBatch(expecting: 1, at: Self.start)
        let kinds = try [HubHarness.coffee, HubHarness.porchLight()].map { try HubHarness.kind($0).source }
        try apply(.kinds(kinds), to: &store)
        try apply(.created(try key("porch-light/front")), to: &store)
        _ = store.commitBatch(hasRecords: true)
        return store
    }

    private func key(_ text: String) throws -> Key { try #require(Key(text)) }

    private func event(_ text: String, _ type: String, eid: String? = nil, for accounts: [String] = []) throws
        -> JournalEntry
    {
        var command = EventCommand(key: try key(text), type: type)
        command.eid = eid
        command.accounts = accounts
        return .event(try PostedEvent(command), source: "shop")
    }

    @discardableResult
    private func apply(_ entry: JournalEntry, to store: inout EntityStore) throws -> DecisionResult {
        let result = try Decisions.apply(entry, &store)
        _ = store.advance(to: store.sequence + 1, about: result.entity)
        if case .pruned = entry, let entity = result.entity { store.endChain(of: entity) }
        return result
    }

    @Test func `a batch that is rolled back leaves no trace, whatever it did`() throws {
        var store = try store()
        store.beginBatch(expecting: 1, at: Self.start)
        try apply(try event("coffee-order/1", "start", eid: "1", for: ["ana"]), to: &store)
        _ = store.commitBatch(hasRecords: true)
        let (hash, durable) = (store.snapshot.stateHash, store.sequence)
        let counts = (store.accountCount, store.nextDeadline, store.eventIDCount)

        store.beginBatch(expecting: 10, at: Self.start)
        try apply(try event("coffee-order/1", "confirm", eid: "2"), to: &store)
        try apply(try event("coffee-order/2", "start", eid: "3", for: ["bob"]), to: &store)
        try apply(.providerChanged(try key("porch-light/front"), to: 7), to: &store)
        try apply(
            .tapped(
                try key("porch-light/front"), .set(true), connection: 1, sender: "account:ana", eid: "t",
                isLocked: false
            ), to: &store)
        try apply(.dismissed(try key("coffee-order/1"), account: "ana"), to: &store)
        var settings = DecisionSettings()
        settings.retention = .seconds(1)
        try apply(.settings(settings.json), to: &store)
        try apply(.pruned(try key("porch-light/front")), to: &store)
        holds(store.snapshot.stateHash != hash)

        store.rollBack(to: durable)
        holds(store.snapshot.stateHash == hash && store.sequence == durable)
        holds(store.accountCount == counts.0 && store.nextDeadline == counts.1)
        holds(store.eventIDCount == counts.2 && store.tapCount == 0)
        holds(store.index(of: try key("coffee-order/2")) == nil && store.takePrunedChains() == [])
        holds(!store.hasSettings)
    }

    @Test func `an entry that is refused changes nothing, and notes no way back`() throws {
        var store = try store()
        let hash = store.snapshot.stateHash
        store.beginBatch(expecting: 1, at: Self.start)
        #expect(throws: WireError.self) { try Decisions.apply(try event("ghost/1", "start"), &store) }
        #expect(throws: WireError.self) { try Decisions.apply(try event("coffee-order/9", "brew"), &store) }
        #expect(throws: WireError.self) { try Decisions.apply(.pruned(try key("coffee-order/9")), &store) }
        holds(store.commitBatch(hasRecords: false).isEmpty && store.snapshot.stateHash == hash)
    }

    @Test func `deadlines fire in the order of their dates, on either clock, and stale entries are passed over`() throws
    {
        var store = try store()
        store.beginBatch(expecting: 1, at: Self.start)
        try apply(try event("coffee-order/1", "start"), to: &store)
        // Leaves the state whose timer was armed.
        try apply(try event("coffee-order/1", "confirm"), to: &store)
        try apply(try event("coffee-order/2", "start"), to: &store)
        _ = store.commitBatch(hasRecords: true)
        var later = Self.start
        later.time = later.time + .minutes(4)
        store.beginBatch(expecting: 1, at: later)
        var due: [Key] = []
        while let entity = store.popDue() {
            let (key, time) = (store[entity].key, store.due(of: entity))
            due.append(try #require(key))
            try apply(.deadline(due[due.count - 1], due: try #require(time)), to: &store)
        }
        #expect(try due == [key("coffee-order/1"), key("coffee-order/2")])
        holds(store.popDueOnWallClock() == nil)
    }

    @Test func `the index of a key that a batch forgets goes to no other key before the batch is settled`() throws {
        var store = try store()
        let light = try key("porch-light/front")
        let known = store.index(of: light)
        let index = try #require(known)
        store.beginBatch(expecting: 1, at: Self.start)
        try apply(.pruned(light), to: &store)
        holds(store.intern(try key("coffee-order/7")) != index)
        _ = store.commitBatch(hasRecords: true)
        store.releaseForgotten()
        let next = store.intern(try key("coffee-order/8"))
        holds(store.index(of: light) == nil && next == index)
    }
}
