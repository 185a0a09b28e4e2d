public import TelltaleModel

/// How a widget is refreshed by its provider: the refresh in progress, and the next one.
///
/// A value without a clock. Its transitions are the rules W10–W16 of Protocols/Widgets/rules.md;
/// `Protocols/Machines/asking.table` tests them. A refresh begins only in ``deadlineReached(operation:timeout:at:wall:)``;
/// everything else only plans one.
public struct Refresh: Hashable, Sendable {
    /// Why a widget is refreshed. A later reason outranks those before it.
    public enum Reason: String, CaseIterable, Hashable, Comparable, Sendable {
        case first, atEnd, after, asked, configured, tapped

        private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
        public static func < (left: Reason, right: Reason) -> Bool { left.rank < right.rank }
    }

    /// A refresh that the provider has not answered.
    public struct Flight: Hashable, Sendable {
        public var operation: OperationID
        public var reason: Reason
        /// On the real clock.
        public var deadline: Timestamp
        public var provider: ConnectionNumber
    }

    /// A planned refresh, on the kinds' clock.
    struct Plan: Hashable, Sendable {
        var reason: Reason
        var date: Timestamp

        /// Combines two plans into one refresh.
        func joined(_ other: Plan?) -> Plan {
            guard let other else { return self }
            return Plan(reason: max(reason, other.reason), date: min(date, other.date))
        }
    }

    /// The acting connection of the kind.
    public internal(set) var provider: ConnectionNumber?
    public internal(set) var flight: Flight?
    var plan: Plan?
    /// Another refresh, after the one in progress (W15).
    var behind: Plan?
    /// Failed refreshes since the last answer.
    var failureCount = 0
    /// When the newest refresh began.
    var refreshedAt: Timestamp?
    /// The date of a policy is a lower bound: each key has its own offset within the minute after it (W11).
    let spread: Milliseconds

    /// - Parameter key: The widget's key.
    public init(key: Key, at now: Timestamp) {
        spread = .seconds(Int64(StableHash.of(Array(key.text.utf8).span) % 60))
        plan = Plan(reason: .first, date: now)
    }

    /// When ``deadlineReached(operation:timeout:at:wall:)`` is next due, on the kinds' clock.
    public var planDeadline: Timestamp? { flight == nil && provider != nil ? plan?.date : nil }

    /// When it is next due on the real clock.
    public var flightDeadline: Timestamp? { flight?.deadline }

    // MARK: What makes a refresh due

    /// A timeline was accepted. A refresh by its policy follows, unless one is in progress.
    mutating func took(_ timeline: WidgetTimeline, floor: Milliseconds) {
        guard flight == nil else { return }
        plan = nil
        switch timeline.policy {
        case .atEnd: timeline.entries.last.map { plan(.atEnd, from: $0.date, floor: floor) }
        case .after(let date): plan(.after, from: date, floor: floor)
        case .never: break
        }
    }

    private mutating func plan(_ reason: Reason, from date: Timestamp, floor: Milliseconds) {
        plan = Plan(reason: reason, date: max(date + spread, earliest(floor)))
    }

    /// The earliest start of the next refresh, `floor` after the last one (W12).
    private func earliest(_ floor: Milliseconds) -> Timestamp { refreshedAt.map { $0 + floor } ?? .distantPast }

    /// - Parameter isFree: It may start at once: its sender serves the kind, or a person tapped (W12).
    /// - Returns: `applied` if the refresh starts now, else `deferred`.
    mutating func reload(_ reason: Reason, isFree: Bool, floor: Milliseconds, at now: Timestamp) -> Verdict {
        let wish = Plan(reason: reason, date: isFree ? now : max(now, earliest(floor)))
        guard flight == nil else {
            behind = wish.joined(behind)
            return .deferred
        }
        plan = wish.joined(plan)
        return planDeadline.map { $0 <= now } == true ? .applied : .deferred
    }

    // MARK: What happens to a refresh

    /// - Returns: The operation that ended because its provider changed.
    mutating func provided(by provider: ConnectionNumber?, at now: Timestamp) -> OperationID? {
        self.provider = provider
        guard let flight, flight.provider != provider else { return nil }
        // The next provider gets the request at once: a refresh changes nothing, so repeating it does no harm.
        self.flight = nil
        plan = Plan(reason: flight.reason, date: now).joined(behind.take())
        return flight.operation
    }

    /// - Returns: Whether it is the answer to the refresh in progress.
    mutating func accept(_ operation: OperationID, by connection: ConnectionNumber) -> Bool {
        guard let flight, flight.operation == operation, flight.provider == connection else { return false }
        self.flight = nil
        failureCount = 0
        return true
    }

    /// After the timeline of an answer was accepted: a waiting refresh may precede that of its policy.
    mutating func settle() {
        guard let behind = behind.take() else { return }
        plan = behind.joined(plan)
    }

    /// The refresh in progress failed (W14).
    mutating func failed(at now: Timestamp) -> OperationID? {
        guard let flight = flight.take() else { return nil }
        failureCount += 1
        let pauses: [Int64] = [5, 15, 60]
        let pause = failureCount <= pauses.count ? pauses[failureCount - 1] : 300
        plan = Plan(reason: flight.reason, date: now + .seconds(pause)).joined(behind.take())
        return flight.operation
    }

    /// Ends all refreshes.
    mutating func end() -> OperationID? {
        (plan, behind, failureCount) = (nil, nil, 0)
        return flight.take()?.operation
    }

    /// Begins the due refresh, or gives up the one whose answer is late.
    mutating func deadlineReached(
        operation: OperationID, timeout: Milliseconds, at now: Timestamp, wall: Timestamp
    ) -> (ask: TimelineRefresh?, ended: OperationID?) {
        if let flight {
            return (nil, flight.deadline <= wall ? failed(at: now) : nil)
        }
        guard let provider, let plan, plan.date <= now else { return (nil, nil) }
        let flight = Flight(operation: operation, reason: plan.reason, deadline: wall + timeout, provider: provider)
        (self.flight, self.plan, refreshedAt) = (flight, nil, now)
        return (
            TimelineRefresh(operation: operation, reason: flight.reason, deadline: flight.deadline, provider: provider),
            nil
        )
    }
}

/// The line `DO op= key= action=timeline reason= deadline=`.
public struct TimelineRefresh: Hashable, Sendable {
    public var operation: OperationID
    public var reason: Refresh.Reason
    public var deadline: Timestamp
    /// The connection that the line is sent to.
    public var provider: ConnectionNumber
}
