public import Kinds
internal import TelltaleModel
internal import TelltaleStatechart

/// The names that the aggregates over one kind of activity read, as bits, so that a commit looks at each name once.
public struct AggregatePlan: Sendable {
    /// The bits of one aggregate.
    public struct Reads: Sendable {
        /// What decides whether an activity counts, and in which group.
        public var membership: UInt64 = 0
        /// For each value, what an activity's part depends on.
        public var values: [UInt64] = []
        /// The states that tallies count.
        public var tallies: UInt64 = 0

        public var all: UInt64 { values.reduce(membership | tallies, |) }
    }

    /// One for each aggregate, in their order.
    public private(set) var reads: [Reads] = []
    private var contentNames: [(name: String, bit: UInt64)] = []
    /// Indexed by the states of the machine.
    private var stateBits: [UInt64] = []

    /// Set with each change, for reads that may depend on anything and for names without their own bit.
    private static let anything: UInt64 = 1 << 63
    /// Set if the activity or its life-cycle state is another one.
    private static let life: UInt64 = 1 << 62
    private static let nameLimit = 62

    /// - Parameter kind: The kind of the activities.
    public init(_ aggregates: [WidgetAggregate], of kind: ActivityKind) {
        var contentBits: [String: UInt64] = [:]
        var namedStates: [String: UInt64] = [:]
        var count = 0
        func bits(_ names: Set<String>, in known: inout [String: UInt64]) -> UInt64 {
            names.sorted().reduce(0) { result, name in
                if let bit = known[name] { return result | bit }
                let bit = count < Self.nameLimit ? 1 << UInt64(count) : Self.anything
                count += 1
                known[name] = bit
                return result | bit
            }
        }
        func bits(of reads: WidgetAggregate.Reads) -> UInt64 {
            (reads.isAnything ? Self.anything : 0) | bits(reads.contentNames, in: &contentBits)
                | bits(reads.stateNames, in: &namedStates)
        }
        for aggregate in aggregates {
            var own = Reads()
            own.membership = bits(of: aggregate.membership) | Self.life
            own.values = aggregate.values.map { bits(of: $0.reads) }
            own.tallies = bits(of: aggregate.tallyReads)
            reads.append(own)
        }
        contentNames = contentBits.map { ($0.key, $0.value) }.sorted { $0.0 < $1.0 }
        stateBits = kind.statechart.states.map { (namedStates[$0.key] ?? 0) | (namedStates[$0.path] ?? 0) }
    }

    /// The bits of what a commit changed in an activity.
    ///
    /// - Returns: All bits if the activity or its life-cycle state is another one.
    public func changes(of activity: borrowing Activity, since former: borrowing Activity) -> UInt64 {
        guard former.origin === activity.origin, former.lifecycle == activity.lifecycle else { return .max }
        var changes = Self.anything
        let (old, new) = (former.content, activity.content)
        for (name, bit) in contentNames where old[name] != new[name] { changes |= bit }
        guard !former.machine.hasConfiguration(of: activity.machine) else { return changes }
        let chart = activity.kind.statechart
        let (left, entered) = (former.machine.configuration(in: chart), activity.machine.configuration(in: chart))
        for state in left where !entered.contains(state) { changes |= bits(of: state.rawValue) }
        for state in entered where !left.contains(state) { changes |= bits(of: state.rawValue) }
        return changes
    }

    /// All bits for a state of another machine.
    private func bits(of state: Int) -> UInt64 { stateBits.indices.contains(state) ? stateBits[state] : .max }
}
