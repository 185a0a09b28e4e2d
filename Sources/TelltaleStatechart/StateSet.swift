/// A set of states of one machine, one bit each, by index.
///
/// A machine of up to 64 states, as nearly all are, stores its sets in one word. A larger one stores the rest in an
/// array of the same length in every set of that machine, so that equal sets are equal values.
struct StateSet: Hashable, Sendable {
    private var low: UInt64 = 0
    private var high: [UInt64] = []

    /// The empty set for a machine of `stateCount` states.
    init(stateCount: Int) {
        if stateCount > 64 { high = [UInt64](repeating: 0, count: (stateCount - 1) / 64) }
    }

    /// `nil` if the words do not fit a machine of `stateCount` states.
    init?(words: [UInt64], stateCount: Int) {
        guard stateCount > 0, words.count == (stateCount + 63) / 64 else { return nil }
        let unused = words.count * 64 - stateCount
        guard unused == 0 || words[words.count - 1] >> UInt64(64 - unused) == 0 else { return nil }
        low = words[0]
        high = Array(words.dropFirst())
    }

    var words: [UInt64] { [low] + high }

    var isEmpty: Bool { low == 0 && high.allSatisfy { $0 == 0 } }

    func contains(_ state: Int) -> Bool {
        if state < 64 { return low & (1 << UInt64(state)) != 0 }
        return high[state / 64 - 1] & (1 << UInt64(state % 64)) != 0
    }

    mutating func insert(_ state: Int) {
        if state < 64 { low |= 1 << UInt64(state) } else { high[state / 64 - 1] |= 1 << UInt64(state % 64) }
    }

    mutating func remove(_ state: Int) {
        if state < 64 { low &= ~(1 << UInt64(state)) } else { high[state / 64 - 1] &= ~(1 << UInt64(state % 64)) }
    }

    mutating func insert(_ states: Range<Int>) {
        for state in states { insert(state) }
    }

    mutating func formUnion(_ other: StateSet) {
        low |= other.low
        for index in high.indices { high[index] |= other.high[index] }
    }

    mutating func formIntersection(_ other: StateSet) {
        low &= other.low
        for index in high.indices { high[index] &= other.high[index] }
    }

    mutating func subtract(_ other: StateSet) {
        low &= ~other.low
        for index in high.indices { high[index] &= ~other.high[index] }
    }

    func intersection(_ other: StateSet) -> StateSet {
        var result = self
        result.formIntersection(other)
        return result
    }

    /// The set as one word; `nil` for a machine of more than 64 states.
    var word: UInt64? { high.isEmpty ? low : nil }

    /// Replaces the set of a machine of at most 64 states.
    mutating func replaceAll(by word: UInt64) { low = word }

    func intersects(_ other: StateSet) -> Bool {
        if low & other.low != 0 { return true }
        for index in high.indices where high[index] & other.high[index] != 0 { return true }
        return false
    }

    func isSubset(of other: StateSet) -> Bool {
        if low & ~other.low != 0 { return false }
        for index in high.indices where high[index] & ~other.high[index] != 0 { return false }
        return true
    }

    /// The first member at or after `index`.
    func first(from index: Int) -> Int? {
        if index < 64 {
            let rest = low & (~0 << UInt64(index))
            if rest != 0 { return rest.trailingZeroBitCount }
        }
        var word = Swift.max(index / 64 - 1, 0)
        var offset = index < 64 ? 0 : index % 64
        while word < high.count {
            let rest = high[word] & (~0 << UInt64(offset))
            if rest != 0 { return (word + 1) * 64 + rest.trailingZeroBitCount }
            word += 1
            offset = 0
        }
        return nil
    }

    /// The last member before `index`.
    func last(before index: Int) -> Int? {
        var word = Swift.min((index - 1) / 64 - 1, high.count - 1)
        while word >= 0 {
            let used = index - (word + 1) * 64
            let rest = used >= 64 ? high[word] : high[word] & ((1 << UInt64(used)) - 1)
            if rest != 0 { return (word + 1) * 64 + 63 - rest.leadingZeroBitCount }
            word -= 1
        }
        let rest = index >= 64 ? low : low & ((1 << UInt64(Swift.max(index, 0))) - 1)
        return rest == 0 ? nil : 63 - rest.leadingZeroBitCount
    }
}

/// Iterates in the order of indices: parents before children, regions in their order. It is SCXML's document order,
/// which is the entry order; its reverse is the exit order.
extension StateSet: Sequence {
    struct Iterator: IteratorProtocol {
        fileprivate let set: StateSet
        fileprivate var position = 0

        mutating func next() -> Int? {
            guard let state = set.first(from: position) else { return nil }
            position = state + 1
            return state
        }
    }

    func makeIterator() -> Iterator { Iterator(set: self) }
}
