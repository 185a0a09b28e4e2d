public import Kinds
public import TelltaleModel

// Widgets whose content is loaded from a provider.
extension Widget {
    public enum AskingEvent: Sendable {
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

    public struct AskingOutcome: Sendable {
        public var verdict: Verdict
        /// Its row changed: the key gets a new `rev`.
        public var isChanged = false
        public var ask: TimelineAsk?
        public var ended: OperationID?
    }

    /// Whether a provider loads its content.
    public var isAsked: Bool { asking != nil }

    /// Applies one event of a refresh.
    ///
    /// - Parameters:
    ///   - floor: The least time between the starts of two refreshes.
    ///   - now: The kinds' clock.
    ///   - wall: The real clock.
    public mutating func apply(
        _ event: AskingEvent, kind: WidgetKind, floor: Milliseconds, at now: Timestamp, wall: Timestamp
    ) -> AskingOutcome {
        guard asking != nil else { return AskingOutcome(verdict: .ignored) }
        var outcome = AskingOutcome(verdict: .applied)
        switch event {
        case .providerChanged(let provider): outcome.ended = asking?.provided(by: provider, at: now)
        case .restarted: outcome.ended = asking?.provided(by: nil, at: now)
        case .answered(let operation, let timeline, let connection):
            guard asking?.answered(operation, by: connection) == true else { return AskingOutcome(verdict: .ignored) }
            outcome.ended = operation
            // The answer is dated now. A posted timeline with a later date stays, and so does its policy.
            if isOlder(now, nil) {
                outcome.verdict = .stale
                asking?.took(WidgetTimeline(entries: entries, policy: policy), floor: floor)
            } else {
                remember(now, nil)
                let taken = take(timeline, kind: kind, at: now)
                (outcome.verdict, outcome.isChanged) = (taken.verdict, taken.isChanged)
                asking?.took(timeline, floor: floor)
            }
            asking?.settle()
        case .failed(let operation, let connection):
            guard asking?.flight?.operation == operation, asking?.flight?.provider == connection else {
                return AskingOutcome(verdict: .ignored)
            }
            outcome.ended = asking?.failed(at: now)
        case .reload(let isFree):
            guard !isGone else { return AskingOutcome(verdict: .ignored) }
            outcome.verdict = asking?.reload(.asked, isFree: isFree, floor: floor, at: now) ?? .ignored
        case .deadlineReached(let operation):
            let result = asking?.deadlineReached(operation: operation, timeout: kind.timeout, at: now, wall: wall)
            (outcome.ask, outcome.ended) = (result?.ask, result?.ended)
        }
        return outcome
    }

    /// Starts refreshing again, by the version of its kind in force: before it ended, the widget may have had another source.
    public mutating func reviveAsking(with kind: WidgetKind, key: Key, at now: Timestamp) {
        guard isGone, isAsked != kind.isAsked else { return }
        asking = kind.isAsked ? Asking(key: key, at: now) : nil
    }

    /// Adopts another version of its kind.
    ///
    /// - Returns: The operation that ended because of it.
    public mutating func alignAsking(with kind: WidgetKind, key: Key, at now: Timestamp) -> OperationID? {
        guard kind.isAsked, !isGone else {
            defer { asking = nil }
            return asking?.flight?.operation
        }
        if asking == nil { asking = Asking(key: key, at: now) }
        return nil
    }
}

extension Asking {
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
        writer.write(askedAt) { $0.write($1) }
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
        askedAt = try reader.readOptional { (reader) throws(BinaryError) in try reader.readTimestamp() }
        spread = Milliseconds(try reader.readInt64())
    }
}

extension Asking.Reason {
    fileprivate init(from reader: inout BinaryReader) throws(BinaryError) {
        guard let reason = Self(rawValue: try reader.readString()) else { throw reader.failure("unknown reason") }
        self = reason
    }
}

extension Asking.Plan {
    fileprivate static func read(from reader: inout BinaryReader) throws(BinaryError) -> Self? {
        try reader.readOptional { (reader) throws(BinaryError) in
            Self(reason: try Asking.Reason(from: &reader), date: try reader.readTimestamp())
        }
    }
}
