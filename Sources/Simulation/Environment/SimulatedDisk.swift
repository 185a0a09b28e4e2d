import Journal

/// A disk that is slow, fills up, and loses unsynced writes at a crash.
///
/// A batch that is being written at a crash is there as a whole or not at all, as the journal's transaction promises.
/// The tests of the SQLite journal prove that against a disk that tears.
final class SimulatedDisk {
    /// The contents while no daemon has it open.
    private var closed: InMemoryJournal.Contents
    private var journal: InMemoryJournal?
    /// The batch under way.
    private(set) var writing: [JournalRecord]?
    var isFull = false
    /// The next sync fails, and whether the disk has the batch then is `keepsFailed`.
    var failsNext = false
    var keepsFailed = false
    /// The last snapshot had no room.
    private(set) var refusedSnapshot = false

    /// The outcome of a batch.
    enum Outcome {
        case written, full, failed
    }
    /// Called when a batch does not follow the last record; only a daemon with a bug writes one.
    var refusedGap: (_ sequence: Int64, _ last: Int64) -> Void = { _, _ in }
    /// Called with the records that have become durable.
    var written: (([JournalRecord]) -> Void)?

    init(epoch: UInt64) {
        closed = InMemoryJournal.Contents(epoch: epoch)
    }

    var contents: InMemoryJournal.Contents { journal?.contents ?? closed }

    /// The newest record that would survive a crash now.
    var durableSequence: Int64 { journal?.lastSequence ?? closed.lastSequence }

    /// Opens the contents, as a daemon that starts does.
    func open() -> InMemoryJournal {
        let journal = InMemoryJournal(closed)
        self.journal = journal
        return journal
    }

    func begin(_ records: [JournalRecord]) {
        writing = records
    }

    /// The sync returns.
    ///
    func finish() -> Outcome {
        guard let records = writing, journal != nil else { return .full }
        writing = nil
        if isFull { return .full }
        if failsNext {
            failsNext = false
            if keepsFailed { _ = append(records) }
            return .failed
        }
        return append(records) ? .written : .full
    }

    private func append(_ records: [JournalRecord]) -> Bool {
        guard let journal else { return false }
        if let first = records.first, first.sequence != journal.lastSequence + 1 {
            refusedGap(first.sequence, journal.lastSequence)
            return false
        }
        do {
            try journal.append(records)
        } catch {
            return false
        }
        written?(records)
        return true
    }

    /// - Returns: Whether there was room.
    func writeSnapshot(at sequence: Int64, chunks: [[UInt8]], pruning: Pruning) -> Bool {
        refusedSnapshot = isFull
        guard let journal, !isFull else { return false }
        do {
            if pruning != Pruning() { try journal.prune(pruning) }
            try journal.writeSnapshot(at: sequence, chunks: chunks)
            _ = try journal.tidy()
            return true
        } catch {
            return false
        }
    }

    /// The power goes.
    func crash(keepingUnsynced isKept: Bool) {
        if isKept, !isFull { _ = finish() }
        writing = nil
        closed = contents
        journal = nil
    }

    /// Acknowledged records are lost: only a seeded bug does that, between a crash and the next opening.
    func lose(_ count: Int) {
        let count = min(count, closed.records.count)
        closed.records.removeLast(count)
        closed.lastSequence -= Int64(count)
    }

    func readChain(endingAt sequence: Int64, limit: Int) -> Result<[JournalRecord], JournalError> {
        guard let journal else { return .success([]) }
        return Result { () throws(JournalError) in try journal.readChain(endingAt: sequence, limit: limit) }
    }
}
