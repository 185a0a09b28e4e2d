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

    public struct Value: Sendable {
        public var name: String
        public var measure: Measure
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
    }

    /// The values that are tallies.
    public let tallies: [(name: String, tally: Tally)]
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
