public import Kinds
public import TelltaleModel

/// One button: an action that runs once at a time.
///
/// Its transitions are Protocols/Line/line-protocol.md §9 and rules N1–N23 of Protocols/Surfaces/rules.md, which
/// `Protocols/Machines/button.table` tests. A button of a kind with `raises` works without a provider: its only effect
/// is the event that it raises. With a provider, the event is raised after the provider has reported `DONE`.
public struct Button: Hashable, Sendable {
    /// The operation in progress.
    public struct Flight: Hashable, Sendable {
        public var operation: OperationID
        public var deadline: Timestamp
        /// The provider that the operation was sent to; `nil` if there is none.
        public var provider: ConnectionNumber?
        /// The account for which the press starts an activity; `nil` = everyone.
        public var account: String?
    }

    public enum Phase: String, Hashable, Sendable {
        case idle, performing
    }

    public internal(set) var flight: Flight?
    /// Presses before this time are refused.
    public internal(set) var coolingUntil: Timestamp?
    /// The acting connection, for every button of the kind.
    public internal(set) var provider: ConnectionNumber?
    public internal(set) var last: OperationEnd?

    /// - Parameter provider: The connection that acts for the kind now.
    public init(provider: ConnectionNumber? = nil) {
        self.provider = provider
    }

    public var phase: Phase { flight == nil ? .idle : .performing }

    public func isAvailable(kind: ButtonKind) -> Bool { provider != nil || kind.raises != nil }

    /// The time at which ``ButtonEvent/deadlineReached`` is next due; `nil` if there is none.
    public var deadline: Timestamp? { flight?.deadline }

    /// Applies an event and returns the required actions.
    ///
    /// - Parameter key: The button's own key, from which the id of the target activity is rendered.
    /// - Throws: ``ControlRejection``; the button is then unchanged.
    public mutating func apply(
        _ event: ButtonEvent, key: Key, kind: ButtonKind, at time: Timestamp
    ) throws(ControlRejection) -> ControlOutcome {
        switch event {
        case .tapped(let operation, let isLocked, let account):
            guard isAvailable(kind: kind) else { throw .unavailable }
            guard !(isLocked && kind.requiresAuthentication) else { throw .locked }
            return try pressed(operation, by: account, key: key, kind: kind, at: time)
        case .providerChanged(let provider, let asksAgain):
            guard provider != self.provider else { return ControlOutcome(.noop) }
            var outcome = replaceProvider(with: provider, kind: kind)
            guard let flight else { return outcome }
            if asksAgain || kind.isRepeatable {
                self.flight?.provider = provider
                perform(outcome: &outcome)
            } else {
                endUnknown(flight.operation, key: key, kind: kind, at: time, outcome: &outcome)
                coolingUntil = kind.cooldown > .zero ? time + kind.cooldown : nil
            }
            return outcome
        case .reported:
            return ControlOutcome(.noop)
        case .done(let operation, let connection):
            guard let flight, flight.operation == operation, flight.provider == connection else {
                return ControlOutcome(.ignored)
            }
            var outcome = ControlOutcome(.applied)
            end(operation, .confirmed, key: key, kind: kind, at: time, outcome: &outcome)
            return outcome
        case .failed(let operation, let failure, let connection):
            guard let flight, flight.operation == operation, flight.provider == connection else {
                return ControlOutcome(.ignored)
            }
            var outcome = ControlOutcome(.applied)
            end(operation, .reverted(.failed), failure: failure, key: key, kind: kind, at: time, outcome: &outcome)
            return outcome
        case .deadlineReached:
            guard let flight, flight.deadline <= time else { return ControlOutcome(.ignored) }
            var outcome = ControlOutcome(.applied)
            let reason: OperationResult.Reason = provider == nil ? .unavailable : .timeout
            end(flight.operation, .reverted(reason), key: key, kind: kind, at: time, outcome: &outcome)
            return outcome
        case .raiseRefused(let operation, let failure):
            guard last?.operation == operation, last?.result == .confirmed else { return ControlOutcome(.ignored) }
            // The action had no effect, so its end is reported and it may be pressed again at once.
            var outcome = ControlOutcome(.applied)
            end(operation, .reverted(.failed), failure: failure, key: key, kind: kind, at: time, outcome: &outcome)
            return outcome
        case .restarted:
            var outcome = provider == nil ? ControlOutcome(.noop) : replaceProvider(with: nil, kind: kind)
            guard let flight else { return outcome }
            endUnknown(flight.operation, key: key, kind: kind, at: time, outcome: &outcome)
            return outcome
        case .kindChanged:
            var outcome = ControlOutcome(.applied)
            outcome.effects = .publish
            return outcome
        }
    }

    private mutating func pressed(
        _ operation: OperationID, by account: String?, key: Key, kind: ButtonKind, at time: Timestamp
    ) throws(ControlRejection) -> ControlOutcome {
        if let flight {
            // N7: a press during an operation does not start another.
            var outcome = ControlOutcome(.noop)
            outcome.operation = flight.operation
            return outcome
        }
        if let coolingUntil, time < coolingUntil { throw .cooling(until: coolingUntil) }
        var outcome = ControlOutcome(.applied)
        outcome.operation = operation
        outcome.effects = .publish
        coolingUntil = nil
        flight = Flight(
            operation: operation, deadline: time + kind.timeout, provider: provider, account: account)
        guard provider != nil else {
            end(operation, .confirmed, key: key, kind: kind, at: time, outcome: &outcome)
            return outcome
        }
        perform(outcome: &outcome)
        return outcome
    }

    private mutating func replaceProvider(with provider: ConnectionNumber?, kind: ButtonKind) -> ControlOutcome {
        var outcome = ControlOutcome(.applied)
        let wasAvailable = isAvailable(kind: kind)
        self.provider = provider
        if isAvailable(kind: kind) != wasAvailable { outcome.effects = .publish }
        return outcome
    }

    /// The provider is gone and may have acted. Acting twice may do harm, so the press is not sent to another one.
    private mutating func endUnknown(
        _ operation: OperationID, key: Key, kind: ButtonKind, at time: Timestamp, outcome: inout ControlOutcome
    ) {
        outcome.verdict = .applied
        end(operation, .reverted(.unavailable), key: key, kind: kind, at: time, outcome: &outcome)
    }

    private func perform(outcome: inout ControlOutcome) {
        guard let flight, let provider = flight.provider else { return }
        outcome.steps.append(
            .perform(
                ControlPerformance(
                    operation: flight.operation, tap: .press, deadline: flight.deadline, provider: provider)))
    }

    private mutating func end(
        _ operation: OperationID, _ result: OperationResult, failure: ProviderFailure? = nil, key: Key,
        kind: ButtonKind, at time: Timestamp, outcome: inout ControlOutcome
    ) {
        let account = flight?.account
        flight = nil
        // An action that was not done may be tried again at once; one that timed out may have been done.
        switch result {
        case .confirmed, .reverted(.timeout): coolingUntil = kind.cooldown > .zero ? time + kind.cooldown : nil
        case .reverted, .superseded: coolingUntil = nil
        }
        let end = OperationEnd(operation, result, failure: failure)
        last = end
        outcome.effects.insert(.publish)
        outcome.steps.append(.ended(end))
        if result == .confirmed, let raises = kind.raises {
            outcome.steps.append(
                .raise(
                    RaisedEvent(
                        operation: operation, id: raises.activityID(of: key, operation: operation), account: account,
                        raises)))
        }
    }
}

extension ButtonKind.Raises {
    /// The activity's id: the template rendered for the button's own key, or the operation's id without a template. The
    /// result may be no valid id; the sender of the event then fails the press.
    func activityID(of key: Key, operation: OperationID) -> String {
        guard let id else { return operation.description }
        guard let template = try? Template(id) else { return id }
        let context = TemplateContext(
            key: key, attributes: .null, content: .null, stateKey: "", stateTitle: "", progress: nil)
        return template.rendered(in: context)
    }
}
