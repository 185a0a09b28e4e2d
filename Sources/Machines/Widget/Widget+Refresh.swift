public import Kinds
public import TelltaleModel

// Widgets whose content is loaded from a provider.
extension Widget {
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
