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

// The transition for each event. Numbers refer to rows of `Protocols/Machines/toggle.table`.

extension Toggle {
    mutating func tapped(
        _ tap: Operation, by connection: ConnectionNumber, kind: ToggleKind, at time: Timestamp
    ) -> ControlOutcome {
        var outcome = ControlOutcome(.applied)
        outcome.operation = tap.id
        guard var flight else {
            // K6: the value is already set. If it is assumed, or a held report contradicts it, the tap sends it again.
            if value == tap.wanted, !isAssumed, held == nil {
                outcome.verdict = .noop
                outcome.operation = nil
                return outcome
            }
            endsAnew = true
            begin(tap, kind: kind, at: time, outcome: &outcome)
            return outcome
        }
        var isNews = false
        if tap.wanted == flight.operation.wanted {
            // K15: the tap wants the value of the operation in progress, so the queued operation is dropped.
            outcome.operation = flight.operation.id
            isNews = flight.operation.join(connection)
            self.flight = flight
            if let queued {
                end(queued.id, .superseded, outcome: &outcome)
                self.queued = nil
                isNews = true
            }
        } else if var queued {
            outcome.operation = queued.id
            isNews = queued.join(connection)
            self.queued = queued
        } else {
            queued = tap
            isNews = true
        }
        if isNews { outcome.effects.insert(.publish) } else { outcome.verdict = .noop }
        return outcome
    }

    mutating func providerChanged(to provider: ConnectionNumber?) -> ControlOutcome {
        guard provider != self.provider else { return ControlOutcome(.noop) }
        var outcome = ControlOutcome(.applied)
        if (provider == nil) != (self.provider == nil) { outcome.effects = .publish }
        self.provider = provider
        if provider != nil { wasServed = true }
        if flight != nil {
            // The progress of the provider that left is unknown. The value is absolute, so setting it twice does no
            // harm.
            flight?.provider = provider
            perform(outcome: &outcome)
        }
        return outcome
    }

    mutating func reported(_ report: Observation, at time: Timestamp) -> ControlOutcome {
        if let confirmed, report.at < confirmed.at { return ControlOutcome(.stale) }
        if let held, report.at < held.at { return ControlOutcome(.stale) }
        if flight != nil || (settlesAt.map { time < $0 } ?? false && report.value != value) {
            held = report
            return ControlOutcome(.deferred)
        }
        let isNews = report.value != value || isAssumed
        confirm(report)
        var outcome = ControlOutcome(isNews ? .applied : .noop)
        if isNews { outcome.effects = .publish }
        return outcome
    }

    mutating func done(_ flight: Flight, value: Bool?, kind: ToggleKind, at time: Timestamp) -> ControlOutcome {
        var outcome = ControlOutcome(.applied)
        let wanted = flight.operation.wanted
        // A report that arrived during the operation is older than this answer, and orders the later ones.
        let newest = max(flight.startedAt, confirmed?.at ?? .distantPast, held?.at ?? .distantPast)
        let wasSeen = held.map { $0.value == wanted && $0.at >= flight.startedAt } ?? false
        confirm(Observation(value: value ?? wanted, at: newest))
        isAssumed = value == nil && !wasSeen
        if self.value == wanted {
            let settlesAt = flight.startedAt + kind.settle
            self.settlesAt = time < settlesAt ? settlesAt : nil
            end(flight.operation.id, .confirmed, outcome: &outcome)
        } else {
            end(flight.operation.id, .reverted(.overridden), outcome: &outcome)
        }
        beginQueued(kind: kind, at: time, outcome: &outcome)
        return outcome
    }

    mutating func deadlineReached(kind: ToggleKind, at time: Timestamp) -> ControlOutcome {
        var outcome = ControlOutcome(.applied)
        if let flight {
            revert(flight, provider == nil ? .unavailable : .timeout, outcome: &outcome)
            beginQueued(kind: kind, at: time, outcome: &outcome)
        } else if let held {
            confirm(held)
            outcome.effects = .publish
        }
        return outcome
    }

    mutating func restarted(kind: ToggleKind, at time: Timestamp) -> ControlOutcome {
        var outcome = providerChanged(to: nil)
        // Connection numbers start again after a restart.
        flight?.operation.tappers = []
        queued?.tappers = []
        guard let flight else { return outcome }
        outcome.verdict = .applied
        outcome.effects = .publish
        switch kind.restore {
        case .reported:
            revert(flight, .unavailable, outcome: &outcome)
            beginQueued(kind: kind, at: time, outcome: &outcome)
        case .reissue:
            self.flight?.deadline = time + kind.timeout
        }
        return outcome
    }

    // MARK: Parts of a transition

    private mutating func begin(
        _ operation: Operation, kind: ToggleKind, at time: Timestamp, outcome: inout ControlOutcome
    ) {
        flight = Flight(operation: operation, startedAt: time, deadline: time + kind.timeout, provider: provider)
        settlesAt = nil
        outcome.effects.insert(.publish)
        perform(outcome: &outcome)
    }

    private func perform(outcome: inout ControlOutcome) {
        guard let flight, let provider = flight.provider else { return }
        outcome.steps.append(
            .perform(
                ControlPerformance(
                    operation: flight.operation.id, tap: .set(flight.operation.wanted), deadline: flight.deadline,
                    provider: provider)))
    }

    /// Ends the operation in progress without its value: the last reported value is shown.
    mutating func revert(
        _ flight: Flight, _ reason: OperationResult.Reason, failure: ProviderFailure? = nil,
        outcome: inout ControlOutcome
    ) {
        if let held { confirm(held) }
        end(flight.operation.id, .reverted(reason), failure: failure, outcome: &outcome)
    }

    /// After an operation has ended: begins the queued one, or settles the toggle.
    mutating func beginQueued(kind: ToggleKind, at time: Timestamp, outcome: inout ControlOutcome) {
        flight = nil
        guard let queued else { return }
        self.queued = nil
        if provider == nil {
            end(queued.id, .reverted(.unavailable), outcome: &outcome)
        } else {
            begin(queued, kind: kind, at: time, outcome: &outcome)
        }
    }

    private mutating func confirm(_ observation: Observation) {
        confirmed = observation
        isAssumed = false
        held = nil
        settlesAt = nil
    }

    private mutating func end(
        _ operation: OperationID, _ result: OperationResult, failure: ProviderFailure? = nil,
        outcome: inout ControlOutcome
    ) {
        let end = OperationEnd(operation, result, failure: failure)
        last = end
        if endsAnew { ended = [] }
        endsAnew = false
        if ended.count >= Self.endedLimit { ended.removeFirst() }
        ended.append(end)
        outcome.steps.append(.ended(end))
        outcome.effects.insert(.publish)
    }
}
