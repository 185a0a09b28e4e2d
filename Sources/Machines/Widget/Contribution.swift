public import Kinds
public import TelltaleModel
internal import TelltaleStatechart

/// The contribution of one activity to an aggregate.
public struct Contribution: Hashable, Sendable {
    /// The id of the widget for its group, which stands for this configuration.
    public var group: String
    public var configuration: JSON
    /// One for each value of the aggregate.
    public var parts: [Part]

    public init(group: String, configuration: JSON, parts: [Part]) {
        (self.group, self.configuration, self.parts) = (group, configuration, parts)
    }

    public enum Part: Hashable, Sendable {
        case nothing
        /// One more.
        case one
        /// An amount, in millionths.
        case amount(Int64)
        // Boxed: an event changes few parts, and smaller parts stay inline.
        /// A value to be compared.
        indirect case ordered(OrderKey)
        /// An entry of a list: its rank, with ties broken by the activity's id, and the content shown.
        indirect case listed(OrderKey, id: String, JSON)
        /// A value that should be a number and is not.
        case fault
    }

    /// How many of its parts should be numbers and are not.
    public var faultCount: Int { parts.count { $0 == .fault } }
}

/// A value by which activities are ordered: numbers before texts.
public enum OrderKey: Hashable, Comparable, Sendable {
    case number(Double)
    case text(String)

    public init?(_ json: JSON?) {
        if let number = json?.double {
            self = .number(number)
        } else if let text = json?.string {
            self = .text(text)
        } else {
            return nil
        }
    }

    public static func < (left: OrderKey, right: OrderKey) -> Bool {
        switch (left, right) {
        case (.number(let left), .number(let right)): left < right
        case (.number, .text): true
        case (.text, .number): false
        case (.text(let left), .text(let right)): left.utf8.lexicographicallyPrecedes(right.utf8)
        }
    }

    public var json: JSON {
        switch self {
        case .number(let number): JSON(number)
        case .text(let text): .string(text)
        }
    }
}

/// Exact sums of decimal numbers.
public enum Millionths {
    /// Larger numbers are rejected, because their sums would not be exact.
    private static let limit = 1e12

    /// A number in millionths, rounded; `nil` if it is not a number or too large.
    public static func of(_ json: JSON?) -> Int64? {
        if case .integer(let integer)? = json {
            let (product, overflows) = integer.multipliedReportingOverflow(by: 1_000_000)
            return overflows ? nil : product
        }
        guard let number = json?.double, number.magnitude <= limit else { return nil }
        return Int64((number * 1_000_000).rounded())
    }

    public static func json(_ sum: Int128) -> JSON {
        if sum % 1_000_000 == 0, let whole = Int64(exactly: sum / 1_000_000) { return .integer(whole) }
        return JSON(Double(sum) / 1_000_000)
    }
}

/// One activity, read for all aggregates of a commit: the parts that guards and paths read are extracted once.
///
/// A class, because it is passed to each aggregate, and a copy would update a dozen reference counts.
public final class AggregateReader {
    private let lifecycle: Activity.Lifecycle
    private let values: MachineValues
    private let makeActivity: () -> Activity
    /// Created on demand: most events do not change what guards and lists read.
    private lazy var activity = makeActivity()
    private lazy var subject = activity.guardSubject(values)

    /// - Parameter activity: Returns the whole activity, if it is needed.
    public init(lifecycle: Activity.Lifecycle, attributes: JSON, content: JSON, _ activity: @escaping () -> Activity) {
        self.lifecycle = lifecycle
        values = MachineValues(attributes: attributes, content: content)
        makeActivity = activity
    }

    private func holds(_ condition: Guard?) -> Bool { condition.map { $0.holds(for: subject) ?? false } ?? true }

    /// The contribution of the activity to an aggregate; `nil` if it does not count.
    public func contribution(to aggregate: WidgetAggregate, parameters: [WidgetParameter]) -> Contribution? {
        guard lifecycle != .dismissed, holds(aggregate.condition) else { return nil }
        guard let (group, configuration) = group(in: aggregate, parameters) else { return nil }
        let parts = aggregate.values.map { part(of: $0) }
        return Contribution(group: group, configuration: configuration, parts: parts)
    }

    private func group(
        in aggregate: WidgetAggregate, _ parameters: [WidgetParameter]
    ) -> (id: String, configuration: JSON)? {
        guard !aggregate.groups.isEmpty else { return (WidgetParameter.mainID, [:]) }
        var object = JSONObject()
        for group in aggregate.groups {
            // A value that is not a text is not a configuration.
            guard let value = group.path.value(in: values), value.string?.isEmpty == false,
                parameters.contains(where: { $0.name == group.parameter && $0.takes(value) })
            else { return nil }
            object[group.parameter] = value
        }
        let configuration = JSON.object(object)
        return (WidgetParameter.id(of: configuration, parameters: parameters), configuration)
    }

    /// The part of the activity in one value.
    public func part(of value: WidgetAggregate.Value) -> Contribution.Part {
        switch value.measure {
        case .count(let condition): return holds(condition) ? .one : .nothing
        case .sum(let path):
            guard let value = path.value(in: values), value != .null else { return .nothing }
            return Millionths.of(value).map { .amount($0) } ?? .fault
        case .least(let path), .most(let path):
            guard let value = path.value(in: values), value != .null else { return .nothing }
            return OrderKey(value).map { .ordered($0) } ?? .fault
        case .tally: return .nothing
        case .first(let list):
            let place: OrderKey? =
                list.order.map { OrderKey($0.value(in: values)) } ?? .number(Double(activity.startedAt.milliseconds))
            guard let place else { return .fault }
            let context = activity.templateContext
            var shown = JSONObject()
            for (name, template) in list.show { shown[name] = template.value(in: context) ?? .null }
            return .listed(place, id: String(activity.key.id), .object(shown))
        }
    }
}

extension Activity {
    /// Whether a state of this key or path is active.
    public func isIn(state name: String) -> Bool {
        machine.configuration(in: kind.statechart).contains { state in
            kind.statechart.states[state.rawValue].key == name || kind.statechart.states[state.rawValue].path == name
        }
    }

    /// How much the activity adds to a tally; `nil` for a value that should be a number and is not.
    public func amount(of tally: WidgetAggregate.Tally) -> Int64? {
        guard let path = tally.amount else { return 1_000_000 }
        guard let value = path.value(in: MachineValues(attributes: attributes, content: content)), value != .null else {
            return 0
        }
        return Millionths.of(value)
    }
}
