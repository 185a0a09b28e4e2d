public import TelltaleModel

/// How a widget asks its provider for timelines: the ask that is under way, and the one that comes next.
///
/// A value without a clock. Its transitions are the rules W10–W16 of Protocols/Widgets/rules.md;
/// `Protocols/Machines/asking.table` tests them. An ask begins in ``deadlineReached(operation:timeout:at:wall:)`` and
/// nowhere else: what makes one due only plans it.
public struct Asking: Hashable, Sendable {
    /// Why a provider is asked. A later one outranks those before it.
    public enum Reason: String, CaseIterable, Hashable, Comparable, Sendable {
        case first, atEnd, after, asked, configured, tapped

        private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
        public static func < (left: Reason, right: Reason) -> Bool { left.rank < right.rank }
    }

    /// An ask that the provider has not answered.
    public struct Flight: Hashable, Sendable {
        public var operation: OperationID
        public var reason: Reason
        /// By the real clock.
        public var deadline: Timestamp
        public var provider: ConnectionNumber
    }

    /// An ask that comes, by the kinds' clock.
    struct Plan: Hashable, Sendable {
        var reason: Reason
        var date: Timestamp

        /// One ask for both.
        func joined(_ other: Plan?) -> Plan {
            guard let other else { return self }
            return Plan(reason: max(reason, other.reason), date: min(date, other.date))
        }
    }

    /// The connection that acts for the kind.
    public internal(set) var provider: ConnectionNumber?
    public internal(set) var flight: Flight?
    var plan: Plan?
    /// One more ask, behind the one under way (W15).
    var behind: Plan?
    /// Asks that failed since the last answer.
    var failureCount = 0
    /// When the newest ask began.
    var askedAt: Timestamp?
    /// A policy's date is that of the earliest ask: each key has its own place in the minute behind it (W11).
    let spread: Milliseconds

    /// - Parameter key: The widget's.
    public init(key: Key, at now: Timestamp) {
        spread = .seconds(Int64(StableHash.of(Array(key.text.utf8).span) % 60))
        plan = Plan(reason: .first, date: now)
    }

    /// When ``deadlineReached(operation:timeout:at:wall:)`` is next due, by the kinds' clock.
    public var planDeadline: Timestamp? { flight == nil && provider != nil ? plan?.date : nil }

    /// The same, by the real clock.
    public var flightDeadline: Timestamp? { flight?.deadline }

    // MARK: What makes an ask due

    /// A timeline was taken. An ask of its policy follows, unless one is under way.
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

    /// Two asks begin so long apart (W12).
    private func earliest(_ floor: Milliseconds) -> Timestamp { askedAt.map { $0 + floor } ?? .distantPast }

    /// - Parameter isFree: It may come at once: its sender serves the kind, or a person tapped (W12).
    /// - Returns: `applied` where the provider is asked now, else `deferred`.
    mutating func reload(_ reason: Reason, isFree: Bool, floor: Milliseconds, at now: Timestamp) -> Verdict {
        let wish = Plan(reason: reason, date: isFree ? now : max(now, earliest(floor)))
        guard flight == nil else {
            behind = wish.joined(behind)
            return .deferred
        }
        plan = wish.joined(plan)
        return planDeadline.map { $0 <= now } == true ? .applied : .deferred
    }

    // MARK: What happens to an ask

    /// - Returns: The operation that ended with the provider that it was sent to.
    mutating func provided(by provider: ConnectionNumber?, at now: Timestamp) -> OperationID? {
        self.provider = provider
        guard let flight, flight.provider != provider else { return nil }
        // The next one is asked at once: an ask changes nothing, so twice does no harm.
        self.flight = nil
        plan = Plan(reason: flight.reason, date: now).joined(behind.take())
        return flight.operation
    }

    /// - Returns: Whether it is the answer to the ask that is under way.
    mutating func answered(_ operation: OperationID, by connection: ConnectionNumber) -> Bool {
        guard let flight, flight.operation == operation, flight.provider == connection else { return false }
        self.flight = nil
        failureCount = 0
        return true
    }

    /// After the timeline of an answer was taken: the ask behind it may come before that of its policy.
    mutating func settle() {
        guard let behind = behind.take() else { return }
        plan = behind.joined(plan)
    }

    /// The ask under way came to nothing (W14).
    mutating func failed(at now: Timestamp) -> OperationID? {
        guard let flight = flight.take() else { return nil }
        failureCount += 1
        let pauses: [Int64] = [5, 15, 60]
        let pause = failureCount <= pauses.count ? pauses[failureCount - 1] : 300
        plan = Plan(reason: flight.reason, date: now + .seconds(pause)).joined(behind.take())
        return flight.operation
    }

    /// Nothing is asked any more.
    mutating func end() -> OperationID? {
        (plan, behind, failureCount) = (nil, nil, 0)
        return flight.take()?.operation
    }

    /// Begins the ask that is due, or gives up the one whose answer is late.
    mutating func deadlineReached(
        operation: OperationID, timeout: Milliseconds, at now: Timestamp, wall: Timestamp
    ) -> (ask: TimelineAsk?, ended: OperationID?) {
        if let flight {
            return (nil, flight.deadline <= wall ? failed(at: now) : nil)
        }
        guard let provider, let plan, plan.date <= now else { return (nil, nil) }
        let flight = Flight(operation: operation, reason: plan.reason, deadline: wall + timeout, provider: provider)
        (self.flight, self.plan, askedAt) = (flight, nil, now)
        return (
            TimelineAsk(operation: operation, reason: flight.reason, deadline: flight.deadline, provider: provider), nil
        )
    }
}

/// The line `DO op= key= action=timeline reason= deadline=`.
public struct TimelineAsk: Hashable, Sendable {
    public var operation: OperationID
    public var reason: Asking.Reason
    public var deadline: Timestamp
    /// The connection that the line is sent to.
    public var provider: ConnectionNumber
}
