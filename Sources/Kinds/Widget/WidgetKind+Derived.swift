internal import TelltaleModel
public import TelltaleStatechart

// Kinds of widgets that show activities.
extension WidgetKind {
    /// The kind of the activities that its widgets show; `nil` for one that shows none.
    public var activityKind: String? {
        switch source {
        case .each(let kind, _), .one(let kind, _): kind
        case .over(let aggregate): aggregate.kind
        case .pushed, .refreshed, .schedule: nil
        }
    }

    /// Whether each of its widgets shows one activity.
    public var isDerived: Bool {
        switch source {
        case .each, .one: true
        case .pushed, .refreshed, .schedule, .over: false
        }
    }

    /// The values over many activities that its widgets show; `nil` if they show none.
    public var aggregate: WidgetAggregate? { if case .over(let aggregate) = source { aggregate } else { nil } }

    /// Whether its views depend on the state of its activity.
    public var viewsReadState: Bool { views.values.contains(where: \.readsState) }

    public var isAggregate: Bool { aggregate != nil }

    /// Whether a widget comes and goes with its activity.
    public var isEach: Bool { if case .each = source { true } else { false } }

    /// The condition under which an activity is shown.
    public var condition: Guard? { if case .each(_, let condition) = source { condition } else { nil } }

    /// The id of the widget that shows the activity `id`; `nil` = none.
    public func widgetID(ofActivity id: String) -> String? {
        switch source {
        case .each: id
        case .one(_, let fixed?): fixed == id ? WidgetParameter.mainID : nil
        case .one(_, nil): activityID(ofWidget: id) == id ? id : nil
        case .pushed, .refreshed, .schedule, .over: nil
        }
    }

    /// The id of the activity that the widget `id` shows; `nil` = none.
    public func activityID(ofWidget id: String) -> String? {
        switch source {
        case .each: return id
        case .one(_, let fixed?): return id == WidgetParameter.mainID ? fixed : nil
        case .one(_, nil):
            guard let name = parameters.first?.name else { return nil }
            return configuration(ofID: id)?[name]?.string
        case .pushed, .refreshed, .schedule, .over: return nil
        }
    }
}

extension ActivityKind {
    /// Whether a state of its machine has this key or path.
    func hasState(named name: String) -> Bool {
        statechart.states.contains { $0.key == name || $0.path == name }
    }
}
