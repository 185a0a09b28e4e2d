public import Kinds
public import TelltaleModel

/// One toggle: the confirmed value of a device and the value that a person requested.
///
/// Its transitions are Protocols/Line/line-protocol.md §9 and rules K1–K48 of Protocols/Surfaces/rules.md, which
/// `Protocols/Machines/toggle.table` tests. The confirmed value changes only when a provider reports it. The requested
/// value is shown beside it until the operation ends with an ``OperationResult``.
public struct Toggle: Hashable, Sendable {
    /// A value that a provider observed, and the time of the observation.
    public struct Observation: Hashable, Sendable {
        public var value: Bool
        public var at: Timestamp

        public init(value: Bool, at: Timestamp) {
            self.value = value
            self.at = at
        }
    }

    /// A requested value: in progress, or queued after the operation in progress.
    public struct Operation: Hashable, Sendable {
        public var id: OperationID
        public var wanted: Bool
        /// The connections that tapped for this value, oldest first, at most ``tapperLimit``. They are shown the
        /// requested value.
        public internal(set) var tappers: [ConnectionNumber]

        static let tapperLimit = 16

        /// - Returns: Whether the connection was added.
        mutating func join(_ connection: ConnectionNumber) -> Bool {
            guard !tappers.contains(connection) else { return false }
            if tappers.count >= Self.tapperLimit { tappers.removeFirst() }
            tappers.append(connection)
            return true
        }
    }

    /// The operation that the provider performs.
    public struct Flight: Hashable, Sendable {
        public var operation: Operation
        public var startedAt: Timestamp
        public var deadline: Timestamp
        /// The provider that the operation was sent to; `nil` if there is none.
        public var provider: ConnectionNumber?
    }

    public enum Phase: String, Hashable, Sendable {
        case settled, pending, unknown
    }

    /// The last confirmed value and its time; `nil` before the first report.
    public internal(set) var confirmed: Observation?
    /// Whether the confirmed value is the requested one because the provider reported `DONE` without a value.
    public internal(set) var isAssumed = false
    public internal(set) var flight: Flight?
    /// The operation that begins when the one in progress ends.
    public internal(set) var queued: Operation?
    /// A report that arrived during the operation, or that contradicts a value which was set a moment ago.
    public internal(set) var held: Observation?
    /// Until this time, a report that contradicts the confirmed value may have been made before the command.
    public internal(set) var settlesAt: Timestamp?
    /// The acting connection, for every toggle of the kind.
    public internal(set) var provider: ConnectionNumber?
    /// Whether a provider is or was connected.
    public internal(set) var wasServed = false
    public internal(set) var last: OperationEnd?
    /// The ends of consecutive operations without a rest between them: oldest first, up to ``last``, the newest
    /// ``endedLimit``.
    ///
    /// Two operations can end in one step, and rows are folded. A row with only one end would lose the others.
    var ended: [OperationEnd] = []
    /// Whether the next end comes after a rest. The ends before the rest are dropped with that end, not with the tap,
    /// because the tap may be folded into one row with them.
    var endsAnew = true

    static let endedLimit = 8

    /// The ends before ``last``, oldest first, since the toggle was last at rest; at most 7, the newest.
    public var endedBefore: ArraySlice<OperationEnd> { ended.dropLast() }

    /// A toggle without a report.
    ///
    /// - Parameter provider: The connection that acts for the kind now.
    public init(provider: ConnectionNumber? = nil) {
        self.provider = provider
        wasServed = provider != nil
    }

    public var phase: Phase {
        if flight != nil { .pending } else if confirmed != nil { .settled } else { .unknown }
    }

    public var value: Bool? { confirmed?.value }
    /// The value that the newest tap requested, while an operation is in progress.
    public var wanted: Bool? { queued?.wanted ?? flight?.operation.wanted }
    public var isAvailable: Bool { provider != nil }

    /// The time at which ``ToggleEvent/deadlineReached`` is next due; `nil` if there is none.
    public var deadline: Timestamp? {
        if let flight { flight.deadline } else if held != nil { settlesAt } else { nil }
    }

    /// The value that a connection shows: the requested one if it tapped, otherwise the confirmed one.
    public func shown(to connection: ConnectionNumber?, kind: ToggleKind) -> Bool? {
        guard flight != nil else { return value }
        if kind.optimisticEverywhere { return wanted }
        guard let connection else { return value }
        return isTapped(by: connection) ? wanted : value
    }

    /// Whether a connection tapped for the operation that is in progress or queued.
    public func isTapped(by connection: ConnectionNumber) -> Bool {
        guard let flight else { return false }
        return flight.operation.tappers.contains(connection) || queued?.tappers.contains(connection) ?? false
    }

    /// Applies an event and returns the required actions.
    ///
    /// - Throws: ``ControlRejection``; the toggle is then unchanged.
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
            // A provider with a fast clock must not make all later reports stale.
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
            beginQueued(kind: kind, at: time, outcome: &outcome)
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
