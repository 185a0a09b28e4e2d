import FanOut
import TestSupport
import Testing

struct AudienceIndexTests {
    @Test func `an account sees its own activities and the public ones, in the order of the table`() {
        var index = AudienceIndex()
        index.insert(EntityIndex(5), kind: 1, accounts: [])
        index.insert(EntityIndex(3), kind: 2, accounts: [])
        index.insert(EntityIndex(4), kind: 1, accounts: [7, 8])
        #expect(index.visible(to: 7, kind: nil).map(\.rawValue) == [3, 4, 5])
        #expect(index.visible(to: 8, kind: 2).map(\.rawValue) == [3, 4])
        #expect(index.visible(to: 9, kind: nil).map(\.rawValue) == [3, 5])
        #expect(index.visible(to: nil, kind: 1).map(\.rawValue) == [5])
        #expect(!index.contains(EntityIndex(0)) && !index.contains(EntityIndex(6)) && index.contains(EntityIndex(4)))
    }

    @Test func `keys and followers that are gone leave nothing behind`() {
        var audience = AudienceIndex()
        var patterns = PatternIndex()
        for number in 0..<10 as Range<Int32> {
            let (entity, follower) = (EntityIndex(0), SubscriptionIndex(number))
            audience.insert(entity, kind: number, accounts: [])
            audience.remove(entity, kind: number, accounts: [])
            audience.insert(entity, kind: 0, accounts: [number])
            audience.remove(entity, kind: 0, accounts: [number])
            for selector in [PatternIndex.Selector.all, .kind(number), .key(EntityIndex(number))] {
                patterns.insert(follower, selector)
                patterns.remove(follower, selector)
            }
        }
        // One place for the one key that there is; of accounts, kinds and followers none.
        let left = [Mirror(reflecting: audience), Mirror(reflecting: patterns)].flatMap(\.children).map { part in
            Mirror(reflecting: part.value).children.count
        }
        #expect(left == [1, 0, 0, 0, 0, 0, 0])
    }

    @Test func `after any insertions and removals the index finds the same as a full search`() {
        for seed in 0..<50 as Range<UInt64> {
            var random = SeededGenerator(seed: seed)
            var index = AudienceIndex()
            var all: [Int32: (kind: Int32, accounts: [Int32])] = [:]
            for _ in 0..<200 {
                let raw = Int32(random.below(24))
                if let known = all.removeValue(forKey: raw) {
                    index.remove(EntityIndex(raw), kind: known.kind, accounts: known.accounts)
                    index.remove(EntityIndex(raw), kind: known.kind, accounts: known.accounts)
                } else {
                    let accounts = (0..<3 as Range<Int32>).filter { _ in random.chance(40) }
                    all[raw] = (Int32(random.below(3)), accounts)
                    index.insert(EntityIndex(raw), kind: all[raw]?.kind ?? 0, accounts: accounts)
                }
                let account = Int32(random.below(3))
                let kind = random.chance(50) ? Int32(random.below(3)) : nil
                let expected = all.filter { _, value in
                    value.accounts.isEmpty ? kind == nil || kind == value.kind : value.accounts.contains(account)
                }
                expect(
                    index.visible(to: account, kind: kind).map(\.rawValue) == expected.keys.sorted(), "seed \(seed)")
                expect(index.contains(EntityIndex(raw)) == (all[raw] != nil), "seed \(seed)")
            }
        }
    }
}
