import Journal

/// A journal in memory that calls an observer with each part before it takes it. The observer may refuse the part. The
/// journal may have no room to note prunings.
final class ObservedJournal: Journal {
    private let journal = InMemoryJournal(epoch: 1)
    private let onWrite: @Sendable (_ part: [JournalRecord]) throws(JournalError) -> Void

    private let refusesPruning: Bool

    init(
        refusesPruning: Bool = false,
        onWrite: @escaping @Sendable (_ part: [JournalRecord]) throws(JournalError) -> Void
    ) {
        self.refusesPruning = refusesPruning
        self.onWrite = onWrite
    }

    func write(_ part: [JournalRecord]) throws(JournalError) {
        try onWrite(part)
        try journal.write(part)
    }

    func commit() throws(JournalError) { try journal.commit() }

    var epoch: UInt64 { journal.epoch }
    var opening: JournalOpening { journal.opening }
    var lastSequence: Int64 { journal.lastSequence }
    var prunedThrough: Int64 { journal.prunedThrough }
    var snapshot: JournalSnapshot? { journal.snapshot }

    func readChunk(_ index: Int) throws(JournalError) -> [UInt8] { try journal.readChunk(index) }
    func readRecords(after sequence: Int64, limit: Int) throws(JournalError) -> [JournalRecord] {
        try journal.readRecords(after: sequence, limit: limit)
    }
    func record(at sequence: Int64) throws(JournalError) -> JournalRecord? { try journal.record(at: sequence) }
    func link(at sequence: Int64) throws(JournalError) -> UInt64? { try journal.link(at: sequence) }
    func beginSnapshot(at sequence: Int64) throws(JournalError) { try journal.beginSnapshot(at: sequence) }
    func appendToSnapshot(_ chunk: [UInt8]) throws(JournalError) { try journal.appendToSnapshot(chunk) }
    func appendToSnapshot(_ blocks: [SnapshotBlock]) throws(JournalError) { try journal.appendToSnapshot(blocks) }
    func finishSnapshot() throws(JournalError) { try journal.finishSnapshot() }
    func abandonSnapshot() throws(JournalError) { try journal.abandonSnapshot() }
    func prune(_ pruning: Pruning) throws(JournalError) {
        guard !refusesPruning else { throw .full(what: "could not note what to prune", cause: "test") }
        try journal.prune(pruning)
    }
    func tidy() throws(JournalError) -> Bool { try journal.tidy() }
    func close() throws(JournalError) { try journal.close() }
}
