import FanOut
import TestSupport
import Testing

struct PatternIndexTests {
    typealias Selector = PatternIndex.Selector

    struct Lookup: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let selectors: [Selector]
        /// The followers of key 5 of kind 1, as positions in `selectors`.
        let followers: [Int32]
    }

    /// Key 5 of kind 1 is looked up; 6 is another key, 2 another kind.
    static let lookups = [
        Lookup(testDescription: "no subscription", selectors: [], followers: []),
        Lookup(testDescription: "everything", selectors: [.all], followers: [0]),
        Lookup(testDescription: "its kind", selectors: [.kind(1)], followers: [0]),
        Lookup(testDescription: "another kind", selectors: [.kind(2)], followers: []),
        Lookup(testDescription: "its key", selectors: [.key(EntityIndex(5))], followers: [0]),
        Lookup(testDescription: "another key", selectors: [.key(EntityIndex(6))], followers: []),
        Lookup(
            testDescription: "each pattern once, and others between",
            selectors: [.kind(2), .key(EntityIndex(5)), .key(EntityIndex(6)), .all, .kind(1)], followers: [1, 3, 4]),
        Lookup(
            testDescription: "each pattern by two subscriptions",
            selectors: [.all, .all, .kind(1), .kind(1), .key(EntityIndex(5)), .key(EntityIndex(5))],
            followers: [0, 1, 2, 3, 4, 5]),
    ]

    @Test("The followers of a key are found by every pattern that matches it", arguments: lookups)
    func followers(_ lookup: Lookup) {
        var index = PatternIndex()
        for (number, selector) in lookup.selectors.enumerated() {
            index.insert(SubscriptionIndex(Int32(number)), selector)
        }
        #expect(followers(in: index) == lookup.followers)
        #expect(index.hasSeveralFollowers(of: EntityIndex(5), 1) == (lookup.followers.count > 1))
    }

    @Test("A removed subscription is not found, and the others still are", arguments: lookups)
    func removal(_ lookup: Lookup) {
        for removed in lookup.selectors.indices {
            var index = PatternIndex()
            for (number, selector) in lookup.selectors.enumerated() {
                index.insert(SubscriptionIndex(Int32(number)), selector)
            }
            index.remove(SubscriptionIndex(Int32(removed)), lookup.selectors[removed])
            #expect(followers(in: index) == lookup.followers.filter { $0 != Int32(removed) })
        }
    }

    @Test func `one subscription may follow by several patterns, and loses one at a time`() {
        var index = PatternIndex()
        let selectors: [Selector] = [.all, .kind(1), .key(EntityIndex(5))]
        for selector in selectors { index.insert(SubscriptionIndex(9), selector) }
        for (number, selector) in selectors.enumerated() {
            #expect(followers(in: index).count == selectors.count - number)
            index.remove(SubscriptionIndex(9), selector)
        }
        #expect(followers(in: index) == [])
    }

    @Test func `removing an unknown subscription changes nothing`() {
        var index = PatternIndex()
        index.insert(SubscriptionIndex(0), .kind(1))
        for selector in [Selector.all, .kind(1), .kind(2), .key(EntityIndex(5))] {
            index.remove(SubscriptionIndex(7), selector)
        }
        index.remove(SubscriptionIndex(0), .all)
        #expect(followers(in: index) == [0])
    }

    @Test func `followers are appended to the caller's list`() {
        var index = PatternIndex()
        index.insert(SubscriptionIndex(1), .all)
        var followers = [SubscriptionIndex(8)]
        index.appendFollowers(of: EntityIndex(0), 0, to: &followers)
        #expect(followers == [SubscriptionIndex(8), SubscriptionIndex(1)])
    }

    @Test("Random insertions and removals agree with a scan of all subscriptions", arguments: 0..<30 as Range<UInt64>)
    func sameAsScan(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var index = PatternIndex()
        var all: [Int32: Selector] = [:]
        for step in 0..<200 {
            let number = Int32(random.below(12))
            if let selector = all.removeValue(forKey: number) {
                index.remove(SubscriptionIndex(number), selector)
            } else {
                let selectors: [Selector] = [
                    .all, .kind(Int32(random.below(3))), .key(EntityIndex(Int32(random.below(4)))),
                ]
                let selector = selectors[Int(random.below(3))]
                all[number] = selector
                index.insert(SubscriptionIndex(number), selector)
            }
            let (entity, kind) = (EntityIndex(Int32(random.below(4))), Int32(random.below(3)))
            let expected = all.filter { $0.value == .all || $0.value == .kind(kind) || $0.value == .key(entity) }
            expect(
                followers(in: index, of: entity, kind) == expected.keys.sorted(), "seed \(seed), step \(step)")
            expect(
                index.hasSeveralFollowers(of: entity, kind) == (expected.count > 1), "seed \(seed), step \(step)")
        }
    }

    private func followers(
        in index: PatternIndex, of entity: EntityIndex = EntityIndex(5), _ kind: Int32 = 1
    ) -> [Int32] {
        var followers: [SubscriptionIndex] = []
        index.appendFollowers(of: entity, kind, to: &followers)
        return followers.map(\.rawValue).sorted()
    }
}
