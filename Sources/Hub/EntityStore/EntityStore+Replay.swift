internal import FanOut
internal import Journal
internal import Kinds
internal import Machines
internal import TelltaleModel

/// Why a journal does not give a trustworthy state.
public enum RecoveryError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A record or a snapshot does not have the form that this release writes.
    case unreadable(place: String, reason: String)
    /// The same input gives a different result than when it was recorded.
    case diverged(sequence: Int64, entity: String, expected: String, computed: String)

    public var description: String {
        switch self {
        case .unreadable(let place, let reason):
            "\(place) cannot be read: \(reason) (start the release that wrote it, stop it in order, then this one)"
        case .diverged(let sequence, let entity, let expected, let computed):
            "record \(sequence) (\(entity)) gave \(expected) when it was written and gives \(computed) now (start the release that wrote it, stop it in order, then this one)"
        }
    }
}

extension EntityStore {
    /// Applies a record again, and compares the result.
    mutating func replay(_ record: JournalRecord) throws(RecoveryError) {
        let body: RecordBody
        do throws(BinaryError) {
            body = try RecordBody(decoding: record.body)
        } catch {
            throw .unreadable(place: "record \(record.sequence)", reason: error.description)
        }
        setClocks(time: record.time, wall: body.wall)
        defer { finishReplay() }
        let result: DecisionResult
        do {
            result = try apply(body.entry, as: record.sequence)
        } catch {
            throw .diverged(
                sequence: record.sequence, entity: record.entity, expected: body.verdict.rawValue,
                computed: "a refusal: \(error)")
        }
        _ = advance(to: record.sequence, about: result.entity)
        if let change = result.change { touch(change.entity) }
        for change in result.derived?.changes ?? [] { touch(change.entity) }
        for change in settledChanges() { touch(change.entity) }
        // The journal may have heard of the chain's end already; a second time does no harm.
        if case .pruned = body.entry, let entity = result.entity { endChain(of: entity) }
        guard result.verdict == body.verdict, result.rev == body.rev, result.stateHash == body.stateHash else {
            throw .diverged(
                sequence: record.sequence, entity: record.entity,
                expected: "\(body.verdict.rawValue), \(body.state), rev \(body.rev), hash \(body.stateHash)",
                computed:
                    "\(result.verdict.rawValue), \(result.description), rev \(result.rev), hash \(result.stateHash)"
            )
        }
    }
}
