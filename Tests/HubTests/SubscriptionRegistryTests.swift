import FanOut
import TelltaleModel
import Testing

@testable import Hub

struct SubscriptionRegistryTests {
    private func key(_ text: String) throws -> Key { try #require(Key(text)) }

    private func subscription(
        _ selector: PatternIndex.Selector, in registry: inout SubscriptionRegistry, number: Int32 = 1
    ) -> Subscription {
        let terms = registry.terms(view: .full, account: nil, placement: nil, rateInterval: nil)
        return Subscription(terms, of: 0, number: number, selector: selector, selection: 7)
    }

    @Test func `a subscription to one key holds the key as long as it is there`() throws {
        var registry = SubscriptionRegistry()
        var store = EntityStore(epoch: 1)
        let entity = store.intern(try key("coffee/1"))
        let one = registry.insert(subscription(.key(entity), in: &registry), store)
        let two = registry.insert(subscription(.key(entity), in: &registry, number: 2), store)
        holds(registry.count == 2 && registry.hasSeveralFollowers(of: entity, kind: store[entity].kindName))
        _ = registry.remove(one, store)
        store.freeReleased()
        holds(try store.index(of: key("coffee/1")) == entity && registry[one] == nil)
        _ = registry.remove(two, store)
        store.freeReleased()
        holds(try store.index(of: key("coffee/1")) == nil && registry.count == 0)
    }

    @Test func `a key that waits for a subscription to many is held until its row has left, or the subscription goes`()
        throws
    {
        var registry = SubscriptionRegistry()
        var store = EntityStore(epoch: 1)
        let entity = store.intern(try key("coffee/1"))
        let all = registry.insert(subscription(.all, in: &registry), store)
        registry.enqueue(entity, in: all, store) { $0.mark(entity, commit: 1) }
        store.retain(entity)
        store.release(entity)
        store.freeReleased()
        holds(try store.index(of: key("coffee/1")) == entity)
        _ = registry.remove(all, store)
        store.freeReleased()
        holds(try store.index(of: key("coffee/1")) == nil)
    }

    @Test func `keys ahead of a scan are given up in the order in which they wait, a part at a time`() throws {
        var store = EntityStore(epoch: 1)
        let backlog = Backlog()
        backlog.scan = TableScan(.snapshot, end: 1_000)
        let keys = try (0..<300).map { try key("coffee/\($0)") }
        for key in keys {
            let entity = store.intern(key)
            store.retain(entity)
            backlog.scan?.ahead.markResume(entity, firstCommit: 1)
        }
        for left in [200, 100, 0] {
            holds(backlog.releaseWaiting(limit: 100, store) == 100)
            store.freeReleased()
            holds(keys.count { store.index(of: $0) != nil } == left && store.index(of: keys[299 - left]) == nil)
        }
        holds(backlog.releaseWaiting(limit: 100, store) == 0)
        // The index that was released last comes first.
        holds(try store.intern(key("coffee/new")).rawValue == 299)
    }

    @Test func `a published change makes its follower's session ready, once`() throws {
        let harness = try HubHarness()
        let (shop, screen) = (harness.connect(), harness.connect())
        harness.send("SUB coffee-order/1 view=full", from: screen)
        for number in 0..<3 { harness.post("EVT coffee-order/1 type=start eid=\(number)", from: shop) }
        harness.commit()
        var ready: [SessionID] = []
        while let id = harness.hub.nextReady() { ready.append(id) }
        holds(ready.count { $0 == screen.id } == 1)
    }

    @Test func `terms of the same words share one object`() {
        var registry = SubscriptionRegistry()
        let one = registry.terms(view: .full, account: "ana", placement: nil, rateInterval: nil)
        let two = registry.terms(view: .full, account: "ana", placement: nil, rateInterval: nil)
        let other = registry.terms(view: .full, account: "bob", placement: nil, rateInterval: nil)
        holds(one === two && one !== other)
    }

    @Test func `rows that a rate holds back are let go at their moment`() throws {
        var registry = SubscriptionRegistry()
        var store = EntityStore(epoch: 1)
        let entity = store.intern(try key("coffee/1"))
        let index = registry.insert(subscription(.all, in: &registry), store)
        registry.change(index) {
            $0.needBacklog().queue.delay(
                entity, DirtyQueue.Entry(commit: 1, foldedCount: 0), until: MonotonicTime(milliseconds: 500))
        }
        holds(registry.nextRelease(of: [index]) == MonotonicTime(milliseconds: 500))
        holds(!registry.release([index], at: MonotonicTime(milliseconds: 499)))
        holds(registry.release([index], at: MonotonicTime(milliseconds: 500)))
        holds(registry.nextRelease(of: [index]) == nil)
    }
}
