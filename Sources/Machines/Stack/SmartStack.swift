public import TelltaleModel

/// The watch's Smart Stack: which widgets it shows, and in which order (Protocols/Widgets/rules.md, W37, W43, W45).
///
/// Live activities precede all widgets. The order is a function of the widgets and a moment, so a watch without a connection
/// knows the next orders. `Protocols/Machines/smart-stack.table` tests it.
public struct SmartStack: Sendable {
    /// W37.
    public static let widgetLimit = 10

    public struct Member: Hashable, Sendable {
        public var key: Key
        public var relevance: Relevance
        /// The position that it is pinned to, from 1.
        public var pin: Int?
        /// Whether a person placed it. Any other widget is present only while it is relevant.
        public var isPlaced: Bool

        public init(_ key: Key, _ relevance: Relevance, pin: Int? = nil, isPlaced: Bool = true) {
            (self.key, self.relevance, self.pin, self.isPlaced) = (key, relevance, pin, isPlaced)
        }
    }

    /// The placed ones in the order of their positions, then the unplaced ones.
    public var members: [Member]

    public init(_ members: [Member]) { self.members = members }

    /// The widgets that are shown at a moment, from the top: at most 10.
    ///
    /// Pinned widgets are at their positions. The others fill the gaps by relevance: the more relevant first, then scheduled
    /// before usual content, then the earlier start, then the position. Irrelevant ones follow by position. A pin beyond the end
    /// moves to the end. If two pins have the same position, the second is ignored.
    public func keys(at now: Timestamp) -> [Key] {
        var pinned: [Int: Key] = [:]
        var others: [(key: Key, score: Relevance.Score?)] = []
        for member in members {
            let score = member.relevance.score(at: now)
            guard member.isPlaced || score != nil else { continue }
            if let pin = member.pin, (1...Self.widgetLimit).contains(pin), pinned[pin] == nil {
                pinned[pin] = member.key
            } else {
                others.append((member.key, score))
            }
        }
        let ranked = others.enumerated().sorted { left, right in
            switch (left.element.score, right.element.score) {
            case (let one?, let other?):
                if one.precedes(other) { return true }
                return other.precedes(one) ? false : left.offset < right.offset
            case (_?, nil): return true
            case (nil, _?): return false
            case (nil, nil): return left.offset < right.offset
            }
        }
        var next = ranked.map(\.element.key)[...]
        var keys: [Key] = []
        for place in 1...Self.widgetLimit {
            if let key = pinned[place] ?? next.popFirst() { keys.append(key) }
        }
        return keys
    }

    /// - Complexity: O(d · n log n), d = the number of its members' future dates.
    public func future(at now: Timestamp) -> Turns<[Key]> {
        var dates: Set<Timestamp> = []
        for member in members { dates.formUnion(member.relevance.steps.map(\.date)) }
        return Turns(at: now, dates: dates, keys)
    }
}
