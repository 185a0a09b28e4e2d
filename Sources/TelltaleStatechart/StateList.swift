/// An ordered list of states. Up to four, which a step rarely exceeds, are stored inline without allocation.
public struct StateList: Hashable, Sendable, RandomAccessCollection, ExpressibleByArrayLiteral,
    CustomStringConvertible
{
    /// Four indices of 16 bits, the first in the lowest bits.
    private var packedWord: UInt64 = 0
    private var packedCount: UInt8 = 0
    private var more: [StateIndex] = []

    public init() {}

    public init(arrayLiteral elements: StateIndex...) {
        for element in elements { append(element) }
    }

    public init(_ elements: some Sequence<StateIndex>) {
        for element in elements { append(element) }
    }

    /// The members of `set` at or after `index`.
    init(_ set: StateSet, from index: Int) {
        var index = index
        while let state = set.first(from: index) {
            append(StateIndex(rawValue: state))
            index = state + 1
        }
    }

    /// The members of a set of at most 64 states, one bit each.
    init(word: UInt64) {
        var rest = word
        while rest != 0 {
            append(StateIndex(rawValue: rest.trailingZeroBitCount))
            rest &= rest &- 1
        }
    }

    /// Restores a list from its ``packed`` form.
    init(packed word: UInt64, count: UInt8) {
        packedWord = word
        packedCount = count
    }

    /// The whole list in one word; `nil` if it has more than four states.
    var packed: (word: UInt64, count: UInt8)? { more.isEmpty ? (packedWord, packedCount) : nil }

    public var isEmpty: Bool { packedCount == 0 }
    public var startIndex: Int { 0 }
    public var endIndex: Int { Int(packedCount) + more.count }

    public subscript(position: Int) -> StateIndex {
        precondition(position >= 0 && position < endIndex, "out of bounds")
        if position >= 4 { return more[position - 4] }
        return StateIndex(rawValue: Int(packedWord >> UInt64(16 * position) & 0xFFFF))
    }

    public mutating func append(_ state: StateIndex) {
        // A machine has at most `Statechart.stateLimit` states, so its indices fit; any other index goes to the array.
        if packedCount < 4, let word = UInt16(exactly: state.rawValue) {
            packedWord |= UInt64(word) << UInt64(16 * packedCount)
            packedCount += 1
        } else {
            precondition(packedCount == 4, "no machine has a state of this index")
            more.append(state)
        }
    }

    public var description: String { Array(self).description }
}
