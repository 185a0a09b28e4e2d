public import TelltaleModel
public import TelltaleStatechart

/// Values over many activities, for widgets that show them (`over`).
public final class WidgetAggregate: Sendable {
    /// The most values of a kind, and the most entries of a list.
    public static let valueLimit = 16
    public static let listLimit = 16

    /// The kind of the activities.
    public let kind: String
    /// For each parameter, the path of its value in an activity: one widget for each configuration.
    public let groups: [(parameter: String, path: ValuePath)]
    /// Which activities count.
    public let condition: Guard?
    public let values: [Value]
    /// Whether each account sees the values of all activities together; otherwise of those that it may see.
    public let isForAll: Bool

    /// A class, because each commit reads it, and a copy of its measure would update many reference counts.
    public final class Value: Sendable {
        public let name: String
        public let measure: Measure
        public let ranking: Ranking
        /// The names that an activity's part of the value depends on.
        public let reads: Reads

        init(name: String, measure: Measure) {
            (self.name, self.measure) = (name, measure)
            ranking = Ranking(measure)
            reads = Reads(measure)
        }
    }

    /// How a value follows from the parts of its activities.
    public enum Ranking: Hashable, Sendable {
        case count, sum, least, most, tally
        /// With the most entries to show.
        case first(Int)
    }

    /// The names that a part depends on while its activity stays the same one: its attributes do not change.
    public struct Reads: Hashable, Sendable {
        /// Members of the content.
        public var contentNames: Set<String> = []
        /// States by their keys or paths.
        public var stateNames: Set<String> = []
        /// It may depend on anything.
        public var isAnything = false
    }

    public enum Measure: Sendable {
        /// The number of activities for which the guard holds.
        case count(Guard?)
        case sum(ValuePath)
        case least(ValuePath)
        case most(ValuePath)
        case tally(Tally)
        case first(List)
    }

    /// How much happened in the current period.
    public struct Tally: Sendable {
        /// `nil` = the number of times.
        public var amount: ValuePath?
        /// It grows when an activity enters this state.
        public var state: String
        public var period: Period
        /// Minutes east of UTC.
        public var offset: Int64
    }

    public enum Period: String, CaseIterable, Hashable, Sendable {
        case hour, day, week

        var length: Int64 {
            switch self {
            case .hour: 3_600_000
            case .day: 86_400_000
            case .week: 604_800_000
            }
        }
    }

    /// The first activities in an order.
    public struct List: Sendable {
        public var limit: Int
        /// `nil` = by their starts.
        public var order: ValuePath?
        public var show: [(name: String, template: Template)]
    }

    init(
        kind: String, groups: [(parameter: String, path: ValuePath)], condition: Guard?, values: [Value],
        isForAll: Bool
    ) {
        (self.kind, self.groups, self.condition) = (kind, groups, condition)
        (self.values, self.isForAll) = (values, isForAll)
        tallies = values.compactMap { value in
            if case .tally(let tally) = value.measure { (value.name, tally) } else { nil }
        }
        membership = Reads(condition, groups.map(\.path))
        tallyReads = Reads(stateNames: Set(tallies.map(\.tally.state)))
    }

    /// The values that are tallies.
    public let tallies: [(name: String, tally: Tally)]
    /// The names that decide whether an activity counts, and in which group.
    public let membership: Reads
    /// The states that tallies count.
    public let tallyReads: Reads
}

extension WidgetAggregate.Ranking {
    init(_ measure: WidgetAggregate.Measure) {
        switch measure {
        case .count: self = .count
        case .sum: self = .sum
        case .least: self = .least
        case .most: self = .most
        case .tally: self = .tally
        case .first(let list): self = .first(list.limit)
        }
    }
}

extension WidgetAggregate.Reads {
    init(_ measure: WidgetAggregate.Measure) {
        switch measure {
        case .count(let condition): self.init(condition, [])
        case .sum(let path), .least(let path), .most(let path): self.init(nil, [path])
        // It is evaluated when a state is entered.
        case .tally: self.init()
        // Titles of states may read anything.
        case .first: self.init(isAnything: true)
        }
    }

    init(_ condition: Guard?, _ paths: [ValuePath]) {
        for path in paths + (condition?.paths ?? []) where path.root == .content {
            if let name = path.names.first { contentNames.insert(name) } else { isAnything = true }
        }
        if let condition {
            stateNames = Set(condition.stateNames)
            if condition.readsLeaves { isAnything = true }
        }
    }
}

extension WidgetAggregate.Tally {
    /// When the period that contains `time` began. A week begins on Monday.
    public func periodStart(at time: Timestamp) -> Timestamp {
        // Dates beyond any calendar are clamped, so that no sum overflows. 1970-01-01 was a Thursday.
        let bound: Int64 = 1 << 53
        let shift = offset * 60_000 + (period == .week ? 3 * 86_400_000 : 0)
        let local = min(max(time.milliseconds, -bound), bound) + shift
        return Timestamp(milliseconds: CivilDate.floorDivide(local, period.length) * period.length - shift)
    }

    public func periodEnd(from start: Timestamp) -> Timestamp { start + Milliseconds(period.length) }
}
