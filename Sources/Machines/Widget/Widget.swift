public import Kinds
public import TelltaleModel

/// One widget: the timeline that was posted for it, or the source that it is computed from.
///
/// A value without a clock: events carry their time, and what is shown at a moment is a function of the value and the moment. So
/// reaching the date of an entry changes nothing here. `Protocols/Machines/widget.table` tests it.
public struct Widget: Sendable {
    public enum Phase: String, CaseIterable, Hashable, Sendable {
        /// Nothing is known yet, or all content is in the future.
        case placeholder
        /// More entries follow.
        case fresh
        /// The last entry is shown.
        case exhausted
        /// Ended.
        case gone
    }

    /// Every parameter of its kind with its value.
    public internal(set) var configuration: JSON
    /// `for=`: the accounts whose devices may show it, sorted; empty for all accounts.
    public let accounts: [String]
    /// When the key was created.
    public internal(set) var createdAt: Timestamp
    public internal(set) var entries: [WidgetEntry] = []
    public internal(set) var policy = WidgetPolicy.atEnd
    /// When the newest timeline was accepted; `nil` before the first.
    public internal(set) var asOf: Timestamp?
    public internal(set) var isGone = false
    /// The phase as of its last change.
    public internal(set) var committedPhase = Phase.placeholder
    /// For a widget that shows an activity: how many deadlines came as predicted since the newest commit that changed the widget,
    /// up to 255. `nil` for every other widget.
    public internal(set) var keptCount: UInt8?
    /// For an aggregate widget: its tallies. `nil` for every other widget.
    public internal(set) var tallies: [WidgetTally]?
    /// The state of its refreshes; `nil` for a widget that no provider loads.
    public internal(set) var refresh: Refresh?
    var newestVersion: Int64?
    var newestAt = Timestamp.distantPast

    /// - Parameter isDerived: Whether it shows an activity.
    public init(configuration: JSON, accounts: [String] = [], isDerived: Bool = false, at now: Timestamp) {
        self.configuration = configuration
        self.accounts = accounts.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        createdAt = now
        keptCount = isDerived ? 0 : nil
    }

    /// Makes a widget that a provider loads.
    public init(refresh key: Key, configuration: JSON, accounts: [String] = [], at now: Timestamp) {
        self.init(configuration: configuration, accounts: accounts, at: now)
        refresh = Refresh(key: key, at: now)
    }

    /// Makes an aggregate widget, with tallies of these names.
    public init(configuration: JSON, tallies: [String], at now: Timestamp) {
        self.init(configuration: configuration, at: now)
        self.tallies = tallies.map { WidgetTally(name: $0, start: now, amount: 0) }
        asOf = now
    }

    /// An event for a widget.
    public enum Event: Sendable {
        case timeline(WidgetTimeline)
        /// `type=reload`: plans a refresh by the provider; a noop without one.
        case reload
        case ended
        /// It uses a newer version of its kind.
        case kindChanged(configuration: JSON)
    }

    /// The result of an event.
    public struct Outcome: Hashable, Sendable {
        public var verdict: Verdict
        /// Its row changed: the key gets a new `rev`.
        public var isChanged: Bool
        /// The operation that ended with the event.
        public var ended: OperationID?

        public init(_ verdict: Verdict, isChanged: Bool = false) {
            (self.verdict, self.isChanged) = (verdict, isChanged)
        }
    }

    /// Applies one event.
    ///
    /// - Parameters:
    ///   - happenedAt: `at=`; `nil` for the time of receipt.
    ///   - version: `ver=`.
    ///   - aheadLimit: An event dated further ahead than this is ignored.
    ///   - floor: The least time between the starts of two refreshes by a provider.
    public mutating func apply(
        _ event: Event, happenedAt: Timestamp? = nil, version: Int64? = nil, kind: WidgetKind,
        aheadLimit: Milliseconds = .hours(8), floor: Milliseconds = .minutes(5), at now: Timestamp
    ) -> Outcome {
        if let happenedAt, happenedAt - now > aheadLimit { return Outcome(.ignored) }
        switch event {
        case .reload:
            guard !isGone else { return Outcome(.ignored) }
            return Outcome(refresh?.reload(.asked, isFree: false, floor: floor, at: now) ?? .noop)
        case .kindChanged(let configuration):
            self.configuration = configuration
            committedPhase = phase(at: now, kind: kind)
            return Outcome(.applied, isChanged: true)
        case .timeline(let timeline):
            guard !isOlder(happenedAt ?? now, version) else { return Outcome(.stale) }
            remember(happenedAt ?? now, version)
            let outcome = replaceTimeline(timeline, kind: kind, at: now)
            refresh?.took(timeline, floor: floor)
            return outcome
        case .ended:
            guard !isGone else { return Outcome(.ignored) }
            guard !isOlder(happenedAt ?? now, version) else { return Outcome(.stale) }
            remember(happenedAt ?? now, version)
            (isGone, entries, committedPhase) = (true, [], .gone)
            var outcome = Outcome(.applied, isChanged: true)
            outcome.ended = refresh?.end()
            return outcome
        }
    }

    mutating func replaceTimeline(_ timeline: WidgetTimeline, kind: WidgetKind, at now: Timestamp) -> Outcome {
        let known = isGone ? [] : entries.cut(at: now)
        var merged = timeline.entries.cut(at: now)
        // The current entry stays until the first new date (W9).
        if let shown = known.first, shown.date <= now, let first = merged.first, first.date > now {
            merged.insert(shown, at: 0)
        }
        // If content can become stale, an accepted timeline makes it current again.
        let renews = kind.stale != nil && asOf != now
        if !isGone, asOf != nil, merged == known, timeline.policy == policy, !renews { return Outcome(.noop) }
        (entries, policy, asOf, isGone) = (merged, timeline.policy, now, false)
        committedPhase = phase(at: now, kind: kind)
        return Outcome(.applied, isChanged: true)
    }

    func isOlder(_ happenedAt: Timestamp, _ version: Int64?) -> Bool {
        if let version, let newestVersion, version < newestVersion { return true }
        return happenedAt < newestAt
    }

    mutating func remember(_ happenedAt: Timestamp, _ version: Int64?) {
        newestAt = max(newestAt, happenedAt)
        if let version { newestVersion = newestVersion.map { max($0, version) } ?? version }
    }

    public func phase(at now: Timestamp, kind: WidgetKind) -> Phase {
        guard !isGone else { return .gone }
        guard kind.isPushed else { return .fresh }
        guard let shown = entries.lastIndex(where: { $0.date <= now }) else { return .placeholder }
        return shown == entries.count - 1 ? .exhausted : .fresh
    }

    // MARK: Derived from an activity

    /// Whether it shows an activity.
    public var isDerived: Bool { keptCount != nil }

    /// Counts a deadline of the activity that came as predicted: nothing is sent to screens.
    public mutating func keep() { keptCount = keptCount.map { $0 == .max ? $0 : $0 + 1 } }

    /// An event changed the activity, so the row is out of date.
    ///
    /// - Parameter isShown: Whether there is an activity. From the first one on, no placeholder is shown.
    public mutating func overtake(isShown: Bool, at now: Timestamp) {
        keptCount = keptCount.map { _ in 0 }
        if isShown { asOf = now }
    }

    /// Its activity is gone.
    public mutating func leave() {
        (isGone, entries, committedPhase) = (true, [], .gone)
        keptCount = keptCount.map { _ in 0 }
    }

    // MARK: Audience

    public func isVisible(to account: String) -> Bool { accounts.isEmpty || accounts.contains(account) }
}

// MARK: What is shown

/// The content of a widget from a date on: one entry of its row.
public struct WidgetMoment: Hashable, Sendable {
    public enum Content: Hashable, Sendable {
        case placeholder
        case content(JSON)
        /// A live activity, in its present or a future state.
        case activity(ActivityViewState)
        /// The values of many activities: an object.
        case values(JSON)
        /// Nothing is drawn from then on.
        case nothing
    }

    public var date: Timestamp
    public var content: Content
    /// Out of date from here on.
    public var isStale: Bool

    public init(date: Timestamp, content: Content, isStale: Bool = false) {
        (self.date, self.content, self.isStale) = (date, content, isStale)
    }
}

extension Widget {
    /// The moment shown at `now`, and the following ones.
    ///
    /// - Parameters:
    ///   - activity: The activity that a derived widget shows; `nil` = none.
    ///   - settings: The settings of the activity.
    public func future(
        at now: Timestamp, kind: WidgetKind, activity: Activity? = nil, settings: ActivitySettings = ActivitySettings()
    ) -> WidgetFuture {
        switch kind.source {
        case .each, .one:
            if let activity {
                let future = activity.future(at: now, settings: settings, where: kind.condition)
                guard kind.isEach, let relevance = kind.relevance else { return future }
                return future.kept(while: relevance, of: activity.key, at: now)
            }
            // Placeholders precede the first content only (W14).
            let date = min(asOf ?? createdAt, now)
            return WidgetFuture(
                moments: [WidgetMoment(date: date, content: asOf == nil ? .placeholder : .nothing)])
        case .over(let aggregate): return aggregateFuture(at: now, aggregate, values: JSONObject())
        case .schedule(let schedule):
            return WidgetFuture(moments: moments(at: now, kind: kind), continuesAt: schedule.moreKnown(after: now))
        case .pushed, .refreshed: return WidgetFuture(moments: moments(at: now, kind: kind))
        }
    }

    /// The moment shown at `now` and the following ones, for a widget that shows no activity; never empty, in ascending order of
    /// dates.
    public func moments(at now: Timestamp, kind: WidgetKind) -> [WidgetMoment] {
        switch kind.source {
        case .each, .one, .over: return withPlaceholder([], at: now)
        case .schedule(let schedule):
            let moments = schedule.entries(at: now).map { WidgetMoment(date: $0.date, content: .content($0.content)) }
            return withPlaceholder(moments, at: now)
        case .pushed, .refreshed:
            let moments = entries.cut(at: now).map { WidgetMoment(date: $0.date, content: .content($0.content)) }
            return markingStale(withPlaceholder(moments, at: now), after: kind.stale).cut(at: now)
        }
    }

    private func withPlaceholder(_ moments: [WidgetMoment], at now: Timestamp) -> [WidgetMoment] {
        if let first = moments.first, first.date <= now { return moments }
        // Before the first entry, even if the clock puts its creation later.
        let date = min(asOf ?? createdAt, now)
        return [WidgetMoment(date: date, content: .placeholder)] + moments
    }

    /// Becoming stale is a moment like any other (W26).
    private func markingStale(_ moments: [WidgetMoment], after span: Milliseconds?) -> [WidgetMoment] {
        guard let span, let asOf else { return moments }
        let staleAt = asOf + span
        var marked: [WidgetMoment] = []
        for (index, moment) in moments.enumerated() {
            guard case .content = moment.content else {
                marked.append(moment)
                continue
            }
            let next = index + 1 < moments.count ? moments[index + 1].date : .distantFuture
            if moment.date < staleAt { marked.append(moment) }
            if next > staleAt {
                var stale = moment
                stale.isStale = true
                stale.date = max(moment.date, staleAt)
                marked.append(stale)
            }
        }
        return marked
    }

    // MARK: Widgets whose content is loaded from a provider

    public enum RefreshEvent: Sendable {
        /// The acting connection of the kind changed; `nil` = none.
        case providerChanged(to: ConnectionNumber?)
        case answered(OperationID, WidgetTimeline, by: ConnectionNumber)
        case failed(OperationID, by: ConnectionNumber)
        /// - Parameter isFree: Its sender serves the kind.
        case reload(isFree: Bool)
        case deadlineReached(OperationID)
        /// The daemon restarted, so all earlier connections are closed.
        case restarted
    }

    public struct RefreshOutcome: Sendable {
        public var verdict: Verdict
        /// Its row changed: the key gets a new `rev`.
        public var isChanged = false
        public var refresh: TimelineRefresh?
        public var ended: OperationID?
    }

    /// Whether a provider loads its content.
    public var isRefreshed: Bool { refresh != nil }

    /// Applies one event of a refresh.
    ///
    /// - Parameters:
    ///   - floor: The least time between the starts of two refreshes.
    ///   - now: The kinds' clock.
    ///   - wall: The real clock.
    public mutating func apply(
        _ event: RefreshEvent, kind: WidgetKind, floor: Milliseconds, at now: Timestamp, wall: Timestamp
    ) -> RefreshOutcome {
        guard refresh != nil else { return RefreshOutcome(verdict: .ignored) }
        var outcome = RefreshOutcome(verdict: .applied)
        switch event {
        case .providerChanged(let provider): outcome.ended = refresh?.provided(by: provider, at: now)
        case .restarted: outcome.ended = refresh?.provided(by: nil, at: now)
        case .answered(let operation, let timeline, let connection):
            guard refresh?.accept(operation, by: connection) == true else { return RefreshOutcome(verdict: .ignored) }
            outcome.ended = operation
            // The answer is dated now. A posted timeline with a later date stays, and so does its policy.
            if isOlder(now, nil) {
                outcome.verdict = .stale
                refresh?.took(WidgetTimeline(entries: entries, policy: policy), floor: floor)
            } else {
                remember(now, nil)
                let taken = replaceTimeline(timeline, kind: kind, at: now)
                (outcome.verdict, outcome.isChanged) = (taken.verdict, taken.isChanged)
                refresh?.took(timeline, floor: floor)
            }
            refresh?.settle()
        case .failed(let operation, let connection):
            guard refresh?.flight?.operation == operation, refresh?.flight?.provider == connection else {
                return RefreshOutcome(verdict: .ignored)
            }
            outcome.ended = refresh?.failed(at: now)
        case .reload(let isFree):
            guard !isGone else { return RefreshOutcome(verdict: .ignored) }
            outcome.verdict = refresh?.reload(.asked, isFree: isFree, floor: floor, at: now) ?? .ignored
        case .deadlineReached(let operation):
            let result = refresh?.deadlineReached(operation: operation, timeout: kind.timeout, at: now, wall: wall)
            (outcome.refresh, outcome.ended) = (result?.ask, result?.ended)
        }
        return outcome
    }

    /// Starts refreshing again, by the version of its kind in force: before it ended, the widget may have had another source.
    public mutating func reviveRefresh(with kind: WidgetKind, key: Key, at now: Timestamp) {
        guard isGone, isRefreshed != kind.isRefreshed else { return }
        refresh = kind.isRefreshed ? Refresh(key: key, at: now) : nil
    }

    /// Adopts another version of its kind.
    ///
    /// - Returns: The operation that ended because of it.
    public mutating func alignRefresh(with kind: WidgetKind, key: Key, at now: Timestamp) -> OperationID? {
        guard kind.isRefreshed, !isGone else {
            defer { refresh = nil }
            return refresh?.flight?.operation
        }
        if refresh == nil { refresh = Refresh(key: key, at: now) }
        return nil
    }

    // MARK: Widgets that aggregate many activities

    /// Whether it aggregates many activities.
    public var isAggregate: Bool { tallies != nil }

    /// Records that a commit changed a value.
    ///
    /// - Parameter amounts: How much each tally grows, in millionths.
    public mutating func tally(
        _ amounts: [(name: String, amount: Int64)], _ aggregate: WidgetAggregate, at now: Timestamp
    ) {
        asOf = now
        for (name, tally) in aggregate.tallies {
            guard let index = tallies?.firstIndex(where: { $0.name == name }) else { continue }
            let start = tally.periodStart(at: now)
            if tallies?[index].start != start { tallies?[index] = WidgetTally(name: name, start: start, amount: 0) }
            for grown in amounts where grown.name == name {
                let (sum, overflows) = (tallies?[index].amount ?? 0).addingReportingOverflow(grown.amount)
                if !overflows { tallies?[index].amount = sum }
            }
        }
    }

    /// Keeps the tallies that the kind of `other` also has, and takes the rest from `other`.
    public mutating func keepTallies(of other: Widget) {
        tallies = tallies?.map { own in other.tallies?.first { $0.name == own.name } ?? own }
        if other.isAggregate { createdAt = other.createdAt }
    }

    /// The moment shown at `now`, and those at which a tally is reset.
    ///
    /// - Parameter values: All values without the tallies.
    public func aggregateFuture(
        at now: Timestamp, _ aggregate: WidgetAggregate, values: JSONObject
    ) -> WidgetFuture {
        var ends: [(name: String, amount: Int64, end: Timestamp)] = []
        for (name, tally) in aggregate.tallies {
            let own = tallies?.first { $0.name == name }
            // A tally of zero does not change at the end of its period.
            let end = own.map { $0.amount == 0 ? now : tally.periodEnd(from: tally.periodStart(at: $0.start)) } ?? now
            ends.append((name, own?.amount ?? 0, end))
        }
        let begin = min(asOf ?? createdAt, now)
        let dates = [begin] + Set(ends.filter { $0.amount != 0 && $0.end > begin }.map(\.end)).sorted()
        let moments = dates.map { date in
            var all = values
            for tally in ends { all[tally.name] = Millionths.json(date < tally.end ? Int128(tally.amount) : 0) }
            return WidgetMoment(date: date, content: .values(.object(all)))
        }
        return WidgetFuture(moments: moments).cut(at: now)
    }
}

extension [WidgetMoment] {
    func cut(at now: Timestamp) -> [WidgetMoment] {
        guard let shown = lastIndex(where: { $0.date <= now }) else { return self }
        return Array(self[shown...])
    }
}

extension Refresh {
    func encode(to writer: inout BinaryWriter) {
        writer.write(provider) { $0.write($1) }
        writer.write(flight) { writer, flight in
            writer.write(flight.operation.number)
            writer.write(flight.reason.rawValue)
            writer.write(flight.deadline)
            writer.write(flight.provider)
        }
        for plan in [plan, behind] {
            writer.write(plan) { writer, plan in
                writer.write(plan.reason.rawValue)
                writer.write(plan.date)
            }
        }
        writer.write(failureCount)
        writer.write(refreshedAt) { $0.write($1) }
        writer.write(spread.count)
    }

    init(from reader: inout BinaryReader) throws(BinaryError) {
        provider = try reader.readOptional { (reader) throws(BinaryError) in try reader.readInt64() }
        flight = try reader.readOptional { (reader) throws(BinaryError) in
            Flight(
                operation: OperationID(try reader.readInt64()), reason: try Reason(from: &reader),
                deadline: try reader.readTimestamp(), provider: try reader.readInt64())
        }
        plan = try Plan.read(from: &reader)
        behind = try Plan.read(from: &reader)
        failureCount = try reader.readInt()
        refreshedAt = try reader.readOptional { (reader) throws(BinaryError) in try reader.readTimestamp() }
        spread = Milliseconds(try reader.readInt64())
    }
}

extension Refresh.Reason {
    fileprivate init(from reader: inout BinaryReader) throws(BinaryError) {
        guard let reason = Self(rawValue: try reader.readString()) else { throw reader.failure("unknown reason") }
        self = reason
    }
}

extension Refresh.Plan {
    fileprivate static func read(from reader: inout BinaryReader) throws(BinaryError) -> Self? {
        try reader.readOptional { (reader) throws(BinaryError) in
            Self(reason: try Refresh.Reason(from: &reader), date: try reader.readTimestamp())
        }
    }
}

/// How much happened in a period.
public struct WidgetTally: Hashable, Sendable {
    public let name: String
    /// When the period of its last growth began.
    public internal(set) var start: Timestamp
    /// In millionths.
    public internal(set) var amount: Int64
}
