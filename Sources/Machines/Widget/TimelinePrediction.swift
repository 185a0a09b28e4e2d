public import Kinds
public import TelltaleModel
public import TelltaleStatechart

/// The view state of an activity in a widget.
public struct ActivityViewState: Hashable, Sendable {
    let attributes: JSON
    let content: JSON
    let stateKey: String
    let stateTitle: String
    let progress: Double?
    let regions: [TemplateContext.Region]
    let lifecycle: Activity.Lifecycle
    /// For views that depend on the state. Everything that they read of it stands above too, as far as it is seen.
    private let subject: GuardSubject

    init(_ activity: Activity) {
        let context = activity.templateContext
        (attributes, content) = (context.attributes, context.content)
        (stateKey, stateTitle) = (context.stateKey, context.stateTitle)
        (progress, regions) = (context.progress, context.regions)
        lifecycle = activity.lifecycle
        subject = activity.guardSubject(MachineValues(attributes: context.attributes, content: context.content))
    }

    public static func == (left: ActivityViewState, right: ActivityViewState) -> Bool {
        (left.attributes, left.content, left.stateKey, left.stateTitle, left.progress, left.lifecycle)
            == (right.attributes, right.content, right.stateKey, right.stateTitle, right.progress, right.lifecycle)
            && left.regions == right.regions
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(attributes)
        hasher.combine(content)
        hasher.combine(stateKey)
        hasher.combine(stateTitle)
        hasher.combine(progress)
        hasher.combine(regions)
        hasher.combine(lifecycle)
    }

    /// The values that the templates of the widget `key` read.
    public func context(key: Key, configuration: JSON) -> TemplateContext {
        var context = TemplateContext(
            key: key, attributes: attributes, content: content, stateKey: stateKey, stateTitle: stateTitle,
            progress: progress)
        context.regions = regions
        context.widget = WidgetContext(configuration: configuration, lifecycle: lifecycle.rawValue)
        context.subject = subject
        return context
    }
}

/// The known moments of a widget.
public struct WidgetFuture: Hashable, Sendable {
    /// Never empty, in ascending order of dates.
    public var moments: [WidgetMoment]
    /// When more is known, so that a row is due. Always after the moment for which the future was computed. `nil` if the moments
    /// are complete.
    public var continuesAt: Timestamp?

    public init(moments: [WidgetMoment], continuesAt: Timestamp? = nil) {
        (self.moments, self.continuesAt) = (moments, continuesAt)
    }

    /// The moments from the one shown at `now` on.
    func cut(at now: Timestamp) -> WidgetFuture {
        WidgetFuture(moments: moments.cut(at: now), continuesAt: continuesAt)
    }
}

extension Activity {
    /// W19: how many deadlines are predicted, and how far ahead.
    public static let foreseenLimit = 16
    public static let predictionSpan = Milliseconds.hours(24)
    /// How many overdue deadlines may be passed on the way.
    private static let overdueLimit = 128

    /// The moments of a widget that shows the activity, from `now` on, if no event comes. A copy of the activity runs through its
    /// deadlines, and each visible change is a moment.
    ///
    /// - Parameter condition: While it does not hold, nothing is drawn.
    /// - Complexity: At most 16 deadlines after `now`, and 128 that are already due.
    public func future(
        at now: Timestamp, settings: ActivitySettings, where condition: Guard? = nil
    ) -> WidgetFuture {
        var copy = self
        var moments = [copy.moment(at: min(shownSince, now), where: condition)]
        var (aheadCount, overdueCount) = (0, 0)
        while let deadline = copy.deadline {
            if deadline > now {
                guard deadline - now <= Self.predictionSpan else {
                    return WidgetFuture(
                        moments: moments, continuesAt: deadline + Milliseconds(0 - Self.predictionSpan.count)
                    ).cut(at: now)
                }
                aheadCount += 1
            } else {
                overdueCount += 1
            }
            guard aheadCount <= Self.foreseenLimit, overdueCount <= Self.overdueLimit,
                copy.deadlineReached(by: deadline, settings: settings) != nil
            else {
                let next = max(deadline, now + Milliseconds(1))
                return WidgetFuture(moments: moments, continuesAt: next).cut(at: now)
            }
            moments.append(next: copy.moment(at: deadline, where: condition))
        }
        return WidgetFuture(moments: moments).cut(at: now)
    }

    /// When its current view state began.
    private var shownSince: Timestamp {
        switch lifecycle {
        case .pending: updatedAt
        case .active: max(startedAt, updatedAt)
        case .stale: max(startedAt, updatedAt, staleAt ?? .distantPast)
        case .ended: max(updatedAt, endedAt ?? .distantPast)
        case .dismissed: max(updatedAt, removeAt ?? .distantPast)
        }
    }

    private func moment(at date: Timestamp, where condition: Guard?) -> WidgetMoment {
        guard lifecycle != .pending, lifecycle != .dismissed, !isWithheld, satisfies(condition) else {
            return WidgetMoment(date: date, content: .nothing)
        }
        return WidgetMoment(date: date, content: .activity(ActivityViewState(self)), isStale: lifecycle == .stale)
    }

    /// Whether a widget of activities with this condition shows the activity.
    public func satisfies(_ condition: Guard?) -> Bool {
        guard let condition else { return true }
        return condition.holds(for: guardSubject(MachineValues(attributes: attributes, content: content))) ?? false
    }

    func guardSubject(_ values: MachineValues) -> GuardSubject {
        GuardSubject(values, lifecycle: lifecycle.rawValue, machine, in: kind.statechart)
    }

    /// Whether an event that changed no row also left the future unchanged. It compares the machine's deadlines and waiting
    /// events, the stale date of a future start, and the moment from which the kind's stale time counts in future states.
    ///
    /// All other parts that determine the future also change the row.
    public func hasFuture(of other: Activity) -> Bool {
        let isAsFresh = freshAt == other.freshAt || staleDate != nil || kind.stale == nil
        return isAsFresh && machine == other.machine && staleDate == other.staleDate
    }
}

extension [WidgetMoment] {
    /// Appends a moment that is not before the last one, if it looks different.
    fileprivate mutating func append(next moment: WidgetMoment) {
        var moment = moment
        if let last { moment.date = Swift.max(moment.date, last.date) }
        // Several changes at one date become one.
        if let last, last.date == moment.date { removeLast() }
        if let last, last.content == moment.content, last.isStale == moment.isStale { return }
        append(moment)
    }
}
