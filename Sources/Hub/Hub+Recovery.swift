internal import FanOut
public import Journal
internal import Kinds
internal import Machines
internal import TelltaleModel

/// Why a journal's past does not give a state that can be trusted.
public enum RecoveryError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A record or a snapshot is not of the form that this release writes.
    case unreadable(place: String, reason: String)
    /// The same input gives another result than it gave when it was recorded.
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

extension Hub {
    /// Does again what a record says, and compares.
    public mutating func replay(_ record: JournalRecord) throws(RecoveryError) {
        let body: RecordBody
        do throws(BinaryError) {
            body = try RecordBody(decoding: record.body)
        } catch {
            throw .unreadable(place: "record \(record.sequence)", reason: error.description)
        }
        time = max(time, record.time)
        wall = max(wall, body.wall)
        // What is replayed is durable.
        defer { undo.removeAll(keepingCapacity: true) }
        let applied: DecisionResult
        do {
            applied = try apply(body.input, sequence: record.sequence)
        } catch {
            throw .diverged(
                sequence: record.sequence, entity: record.entity, expected: body.verdict.rawValue,
                computed: "a refusal: \(error)")
        }
        sequence = record.sequence
        durableSequence = record.sequence
        _ = link(applied.entity)
        if let change = applied.change { changes.touch(change.entity) }
        if case .pruned = body.input, let entity = applied.entity {
            // Whether the journal had heard of it is not known; asked for twice it does no harm.
            prunedChains.append(record.sequence)
            endChain(of: entity)
            changes.remove(entity)
            entities.freeIfUnused(entity)
        }
        forgetIDs()
        markAge()
        guard applied.verdict == body.verdict, applied.rev == body.rev, applied.stateHash == body.stateHash else {
            throw .diverged(
                sequence: record.sequence, entity: record.entity,
                expected: "\(body.verdict.rawValue), \(body.state), rev \(body.rev), hash \(body.stateHash)",
                computed:
                    "\(applied.verdict.rawValue), \(applied.description), rev \(applied.rev), hash \(applied.stateHash)"
            )
        }
    }
}
