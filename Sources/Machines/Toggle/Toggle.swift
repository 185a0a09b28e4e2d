public import Kinds
public import TelltaleModel

/// One toggle: what is known of the real thing, and what somebody wants of it.
///
/// line-protocol.md §9, and rules K1–K48 of rules.md as `Protocols/Machines/toggle.table` has them. The value that rows
/// show as confirmed changes only when a provider says so; what a person wants is shown beside it, until the operation
/// ends in one of the ways that ``OperationResult`` names.
public struct Toggle: Hashable, Sendable {
    /// What a provider saw, and when.
    public struct Observation: Hashable, Sendable {
        public var value: Bool
        public var at: Timestamp

        public init(value: Bool, at: Timestamp) {
            self.value = value
            self.at = at
        }
    }

    /// A wish: in flight, or waiting for the one that is.
    public struct Operation: Hashable, Sendable {
        public var id: OperationID
        public var wanted: Bool
        /// The connections that tapped it, oldest first, at most ``tapperLimit``: they are shown what they want.
        public internal(set) var tappers: [ConnectionNumber]

        static let tapperLimit = 16

        /// - Returns: Whether it was not known before.
        mutating func join(_ connection: ConnectionNumber) -> Bool {
            guard !tappers.contains(connection) else { return false }
            if tappers.count >= Self.tapperLimit { tappers.removeFirst() }
            tappers.append(connection)
            return true
        }
    }

    /// The operation that the provider is at.
    public struct Flight: Hashable, Sendable {
        public var operation: Operation
        public var startedAt: Timestamp
        public var deadline: Timestamp
        /// Who was told to do it; `nil` while nobody is there.
        public var provider: ConnectionNumber?
    }

    public enum Phase: String, Hashable, Sendable {
        case settled, pending, unknown
    }

    /// The last confirmed value, and when it was true; `nil` = nobody has said yet.
    public internal(set) var confirmed: Observation?
    /// The confirmed value is what was asked for: the provider said that it acted, not what came of it.
    public internal(set) var isAssumed = false
    public internal(set) var flight: Flight?
    /// Begins when the flight ends.
    public internal(set) var queued: Operation?
    /// A report that came during the flight, or that contradicts a value which was set a moment ago.
    public internal(set) var held: Observation?
    /// Until then a report against the confirmed value may be one from before the command.
    public internal(set) var settlesAt: Timestamp?
    /// The connection that acts, for every toggle of the kind.
    public internal(set) var provider: ConnectionNumber?
    /// A provider is here, or has been.
    public internal(set) var wasServed = false
    public internal(set) var last: OperationEnd?
    /// How operations ended one upon the other, without the toggle coming to rest between: oldest first, up to ``last``;
    /// the newest ``endedLimit``.
    ///
    /// Two can end in one step, and rows are folded: one end a row would leave ends that nobody is ever told.
    var ended: [OperationEnd] = []
    /// The next end comes after a rest. What ended before the rest is forgotten with it and not with the tap, which may be
    /// folded into one row with the end before it.
    var endsAnew = true

    static let endedLimit = 8

    /// What ended before ``last``, oldest first, since the toggle was last at rest; at most 7, the newest.
    public var endedBefore: ArraySlice<OperationEnd> { ended.dropLast() }

    /// A toggle that nobody has reported yet.
    ///
    /// - Parameter provider: Who acts for its kind now.
    public init(provider: ConnectionNumber? = nil) {
        self.provider = provider
        wasServed = provider != nil
    }

    public var phase: Phase {
        if flight != nil { .pending } else if confirmed != nil { .settled } else { .unknown }
    }

    public var value: Bool? { confirmed?.value }
    /// What the newest tap wants, while an operation is in flight.
    public var wanted: Bool? { queued?.wanted ?? flight?.operation.wanted }
    public var isAvailable: Bool { provider != nil }

    /// When to apply ``ToggleEvent/deadlineReached`` next, or `nil` while nothing is due.
    public var deadline: Timestamp? {
        if let flight { flight.deadline } else if held != nil { settlesAt } else { nil }
    }

    /// What a connection is to draw: the wanted value where it was tapped, the confirmed one elsewhere.
    public func shown(to connection: ConnectionNumber?, kind: ToggleKind) -> Bool? {
        guard flight != nil else { return value }
        if kind.optimisticEverywhere { return wanted }
        guard let connection else { return value }
        return isTapped(by: connection) ? wanted : value
    }

    /// Whether a connection tapped what is in flight, or waits.
    public func isTapped(by connection: ConnectionNumber) -> Bool {
        guard let flight else { return false }
        return flight.operation.tappers.contains(connection) || queued?.tappers.contains(connection) ?? false
    }

    /// Takes an event, and says what is to be done. A rejection leaves everything as it was.
    public mutating func apply(
        _ event: ToggleEvent, kind: ToggleKind, at time: Timestamp
    ) throws(ControlRejection) -> ControlOutcome {
        switch event {
        case .tapped(let value, let operation, let connection, let isLocked):
            guard provider != nil else { throw .unavailable }
            guard !(isLocked && kind.requiresAuthentication) else { throw .locked }
            return tapped(
                Operation(id: operation, wanted: value, tappers: [connection]), by: connection, kind: kind, at: time)
        case .providerChanged(let provider):
            return providerChanged(to: provider)
        case .reported(let value, let observedAt):
            // A provider whose clock is ahead must not shut out all reports to come.
            return reported(Observation(value: value, at: min(observedAt ?? time, time)), at: time)
        case .done(let operation, let value, let connection):
            guard let flight, flight.operation.id == operation, flight.provider == connection else {
                return ControlOutcome(.ignored)
            }
            return done(flight, value: value, kind: kind, at: time)
        case .failed(let operation, let failure, let connection):
            guard let flight, flight.operation.id == operation, flight.provider == connection else {
                return ControlOutcome(.ignored)
            }
            var outcome = ControlOutcome(.applied)
            revert(flight, .failed, failure: failure, outcome: &outcome)
            takeOff(kind: kind, at: time, outcome: &outcome)
            return outcome
        case .deadlineReached:
            guard let deadline, deadline <= time else { return ControlOutcome(.ignored) }
            return deadlineReached(kind: kind, at: time)
        case .restarted:
            return restarted(kind: kind, at: time)
        case .kindChanged:
            var outcome = ControlOutcome(.applied)
            outcome.effects = .publish
            return outcome
        }
    }
}
