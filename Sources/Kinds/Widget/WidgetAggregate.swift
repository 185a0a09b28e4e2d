public import TelltaleModel
public import TelltaleStatechart

/// The values of many activities together, for widgets that tell them (`over`).
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
    /// Whether each account is shown all activities together; else those that the account may see.
    public let isForAll: Bool

    /// An object, because each commit looks at it, and a copy of its measure would touch many counts.
    public final class Value: Sendable {
        public let name: String
        public let measure: Measure

        init(name: String, measure: Measure) { (self.name, self.measure) = (name, measure) }
    }

    public enum Measure: Sendable {
        /// How many there are for which the guard holds.
        case count(Guard?)
        case sum(ValuePath)
        case least(ValuePath)
        case most(ValuePath)
        case tally(Tally)
        case first(List)
    }

    /// How much happened in the period that is under way.
    public struct Tally: Sendable {
        /// `nil` = how often.
        public var amount: ValuePath?
        /// It grows when an activity comes into this state.
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

    /// The first of the activities in an order.
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
        stateNames = Self.stateNames(condition, values)
        contentNames = Self.contentNames(condition, groups, values)
    }

    /// The values that are tallies.
    public let tallies: [(name: String, tally: Tally)]
    /// The states of which it depends whether they are active; `nil` = it may depend on all of them.
    public let stateNames: [String]?
    /// The members of the content that it depends on; `nil` = it may depend on all of it.
    public let contentNames: [String]?
}

extension WidgetAggregate {
    /// The members of the content that a condition, paths and values read.
    private static func contentNames(
        _ condition: Guard?, _ groups: [(parameter: String, path: ValuePath)], _ values: [Value]
    ) -> [String]? {
        var paths = (condition?.paths ?? []) + groups.map(\.path)
        for value in values {
            switch value.measure {
            case .count(let condition): paths += condition?.paths ?? []
            case .sum(let path), .least(let path), .most(let path): paths.append(path)
            // It looks when a state is entered.
            case .tally: break
            // Titles of states read what they like.
            case .first: return nil
            }
        }
        let read = paths.filter { $0.root == .content }
        guard read.allSatisfy({ !$0.names.isEmpty }) else { return nil }
        return Set(read.map { $0.names[0] }).sorted()
    }

    private static func stateNames(_ condition: Guard?, _ values: [Value]) -> [String]? {
        var conditions = [condition]
        var names: [String] = []
        for value in values {
            switch value.measure {
            case .count(let condition): conditions.append(condition)
            case .tally(let tally): names.append(tally.state)
            case .sum, .least, .most: break
            case .first: return nil
            }
        }
        for condition in conditions.compactMap({ $0 }) {
            guard !condition.readsLeaves else { return nil }
            names += condition.stateNames
        }
        return Set(names).sorted()
    }
}

extension WidgetAggregate.Tally {
    /// When the period that `time` is in began. A week begins on Monday.
    public func periodStart(at time: Timestamp) -> Timestamp {
        // Dates beyond any calendar are cut, so that no sum overflows. 1970-01-01 was a Thursday.
        let bound: Int64 = 1 << 53
        let shift = offset * 60_000 + (period == .week ? 3 * 86_400_000 : 0)
        let local = min(max(time.milliseconds, -bound), bound) + shift
        return Timestamp(milliseconds: CivilDate.floorDivide(local, period.length) * period.length - shift)
    }

    public func periodEnd(from start: Timestamp) -> Timestamp { start + Milliseconds(period.length) }
}
