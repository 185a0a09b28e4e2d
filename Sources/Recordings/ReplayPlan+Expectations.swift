public import TelltaleModel

extension Trace.Case {
    /// The final state of this case according to the data, in the names of the shipped kinds (Programs/README.md).
    ///
    /// An order's source gives a final status. Where no event of the source has that name, it is the state of the last
    /// event. A flight's source gives no status, so its last event decides.
    public var expectedState: String? {
        if let finalStatus { return Self.statesOfStatuses[finalStatus] ?? finalStatus }
        return rows.last.map { Self.statesOfEvents[$0.event] ?? $0.event }
    }

    private static let statesOfStatuses = [
        "shipped": "handed_to_carrier", "invoiced": "approved", "processing": "approved",
    ]
    private static let statesOfEvents = [
        "scheduled_departure": "scheduled", "arrived_dest_local": "arrived", "diverted_or_unknown": "diverted",
    ]
}

/// Whether every case ended as the data says.
public struct OutcomeCheck: Hashable, Sendable {
    public struct Disagreement: Hashable, Sendable, CustomStringConvertible {
        public var key: Key
        public var expected: String
        public var found: String
        /// The place that shows the state.
        public var place: String

        public var description: String { "\(key): the data says \(expected), \(place) says \(found)" }
    }

    public private(set) var agreementCount = 0
    public private(set) var disagreements: [Disagreement] = []
    /// Cases by the states that the data gives them.
    public private(set) var counts: [String: Int] = [:]

    public init() {}

    public var isClean: Bool { disagreements.isEmpty }

    /// - Parameters:
    ///   - expected: The state that the data gives.
    ///   - found: Each place that shows the case, and the state that it shows; `nil` for none.
    public mutating func compare(_ key: Key, expected: String, found: [(place: String, state: String?)]) {
        counts[expected, default: 0] += 1
        let wrong = found.filter { $0.state != expected }
        if wrong.isEmpty { agreementCount += 1 }
        disagreements += wrong.map {
            Disagreement(key: key, expected: expected, found: $0.state ?? "nothing", place: $0.place)
        }
    }

    /// `484 delivered, 5 handed_to_carrier`: the most frequent first.
    public var countsText: String {
        counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { "\($0.value) \($0.key)" }
            .joined(separator: ", ")
    }
}
