public import Kinds
public import TelltaleModel

/// One button: a thing that can be done, once at a time.
///
/// line-protocol.md §9, and rules N1–N23 of rules.md as `Protocols/Machines/button.table` has them. A button of a kind
/// with `raises` works without a provider: the event that it sends is all that it does. With a provider, the event is
/// sent when the provider has done its part.
public struct Button: Hashable, Sendable {
    /// The operation that is being performed.
    public struct Flight: Hashable, Sendable {
        public var operation: OperationID
        public var deadline: Timestamp
        /// Who was told to do it; `nil` while nobody is there.
        public var provider: ConnectionNumber?
    }

    public enum Phase: String, Hashable, Sendable {
        case idle, performing
    }

    public internal(set) var flight: Flight?
    /// Presses before then are refused.
    public internal(set) var coolingUntil: Timestamp?
    /// The connection that acts, for every button of the kind.
    public internal(set) var provider: ConnectionNumber?
    public internal(set) var last: OperationEnd?

    /// - Parameter provider: Who acts for its kind now.
    public init(provider: ConnectionNumber? = nil) {
        self.provider = provider
    }

    public var phase: Phase { flight == nil ? .idle : .performing }

    public func isAvailable(kind: ButtonKind) -> Bool { provider != nil || kind.raises != nil }

    /// When to apply ``ButtonEvent/deadlineReached`` next, or `nil` while nothing is due.
    public var deadline: Timestamp? { flight?.deadline }

    /// Takes an event, and says what is to be done. A rejection leaves everything as it was.
    ///
    /// - Parameter key: The button's own key, for the id of the activity that it raises an event to.
    public mutating func apply(
        _ event: ButtonEvent, key: Key, kind: ButtonKind, at time: Timestamp
    ) throws(ControlRejection) -> ControlOutcome {
        switch event {
        case .pressed(let operation, let isLocked):
            guard isAvailable(kind: kind) else { throw .unavailable }
            guard !(isLocked && kind.requiresAuthentication) else { throw .locked }
            return try pressed(operation, key: key, kind: kind, at: time)
        case .providerChanged(let provider):
            return providerChanged(to: provider, kind: kind)
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
            // Nothing came of it: that is its result, and it may be tried again at once.
            var outcome = ControlOutcome(.applied)
            end(operation, .reverted(.failed), failure: failure, key: key, kind: kind, at: time, outcome: &outcome)
            return outcome
        case .restarted:
            var outcome = providerChanged(to: nil, kind: kind)
            guard let flight else { return outcome }
            // It is not known whether it was done, and doing it twice may do harm: a press is never issued again.
            outcome.verdict = .applied
            end(flight.operation, .reverted(.unavailable), key: key, kind: kind, at: time, outcome: &outcome)
            return outcome
        case .kindChanged:
            var outcome = ControlOutcome(.applied)
            outcome.effects = .publish
            return outcome
        }
    }

    private mutating func pressed(
        _ operation: OperationID, key: Key, kind: ButtonKind, at time: Timestamp
    ) throws(ControlRejection) -> ControlOutcome {
        if let flight {
            // N7: not a toggle; pressing harder does not do it twice.
            var outcome = ControlOutcome(.noop)
            outcome.operation = flight.operation
            return outcome
        }
        if let coolingUntil, time < coolingUntil { throw .cooling(until: coolingUntil) }
        var outcome = ControlOutcome(.applied)
        outcome.operation = operation
        outcome.effects = .publish
        coolingUntil = nil
        guard provider != nil else {
            end(operation, .confirmed, key: key, kind: kind, at: time, outcome: &outcome)
            return outcome
        }
        flight = Flight(operation: operation, deadline: time + kind.timeout, provider: provider)
        perform(outcome: &outcome)
        return outcome
    }

    private mutating func providerChanged(to provider: ConnectionNumber?, kind: ButtonKind) -> ControlOutcome {
        guard provider != self.provider else { return ControlOutcome(.noop) }
        var outcome = ControlOutcome(.applied)
        let wasAvailable = isAvailable(kind: kind)
        self.provider = provider
        if isAvailable(kind: kind) != wasAvailable { outcome.effects = .publish }
        if flight != nil {
            flight?.provider = provider
            perform(outcome: &outcome)
        }
        return outcome
    }

    private func perform(outcome: inout ControlOutcome) {
        guard let flight, let provider = flight.provider else { return }
        outcome.steps.append(
            .perform(
                ControlPerformance(
                    operation: flight.operation, action: .press, deadline: flight.deadline, provider: provider)))
    }

    private mutating func end(
        _ operation: OperationID, _ result: OperationResult, failure: ProviderFailure? = nil, key: Key,
        kind: ButtonKind, at time: Timestamp, outcome: inout ControlOutcome
    ) {
        flight = nil
        // What was not done may be tried again at once; what timed out may well have been done.
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
                .raise(RaisedEvent(operation: operation, id: raises.activityID(of: key, operation: operation), raises)))
        }
    }
}

extension ButtonKind.Raises {
    /// The activity's id: the template filled in over the button's own key, or the operation's id where there is no
    /// template. What the template gives may be no id at all; who sends the event finds out, and the press has failed.
    func activityID(of key: Key, operation: OperationID) -> String {
        guard let id else { return operation.description }
        guard let template = try? Template(id) else { return id }
        let context = TemplateContext(
            key: key, attributes: .null, content: .null, stateKey: "", stateTitle: "", progress: nil)
        return template.rendered(in: context)
    }
}
