internal import Kinds
internal import TelltaleModel

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
