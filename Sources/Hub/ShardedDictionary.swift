internal import Model

/// A dictionary that does not stop to grow: from some size on it is many small ones, and each grows by itself.
///
/// A `Dictionary` that is full moves every entry to a larger place at once: with 800,000 ids that took a quarter of a
/// second, in which nobody was served.
struct ShardedDictionary<Name: StablyHashed, Value: Sendable>: Sendable {
    /// One, or ``shardCount``.
    private var shards: [[Name: Value]] = [[:]]
    private(set) var count = 0

    /// Of a million entries each has some 16,000; moving as many takes one or two milliseconds.
    private static var shardCount: Int { 64 }
    /// Up to so many entries there is one, so that a small dictionary takes little memory.
    private static var loneLimit: Int { 1_024 }

    subscript(name: Name) -> Value? {
        get { shards[position(of: name)][name] }
        set {
            let position = position(of: name)
            if let newValue {
                if shards[position].updateValue(newValue, forKey: name) == nil { count += 1 }
                if count > Self.loneLimit, shards.count == 1 { split() }
            } else if shards[position].removeValue(forKey: name) != nil {
                count -= 1
            }
        }
    }

    /// Makes room for so many entries in all.
    mutating func reserveCapacity(_ capacity: Int) {
        guard capacity > Self.loneLimit else { return shards[0].reserveCapacity(capacity) }
        if shards.count == 1 { split() }
        // They do not fill evenly.
        let share = capacity / Self.shardCount
        for position in shards.indices { shards[position].reserveCapacity(share + share / 8) }
    }

    private mutating func split() {
        let all = shards[0]
        shards = Array(repeating: [:], count: Self.shardCount)
        for (name, value) in all { shards[position(of: name)][name] = value }
    }

    private func position(of name: Name) -> Int {
        shards.count == 1 ? 0 : Int(truncatingIfNeeded: name.stableHash & UInt64(Self.shardCount - 1))
    }
}

/// What has a hash that is the same in every process; only speed depends on it.
protocol StablyHashed: Hashable, Sendable {
    var stableHash: UInt64 { get }
}

extension String: StablyHashed {
    var stableHash: UInt64 { StableHash.of(self) }
}

extension Key: StablyHashed {
    var stableHash: UInt64 { StableHash.of(text) }
}
