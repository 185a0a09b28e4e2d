/// The durable, ordered log of everything that was accepted.
///
/// All calls block, and all come from one thread at a time: first the recovering thread, then that of a
/// ``JournalWriter``. Everything that a call has written is durable when the call returns.
///
/// A recovery opens the journal, reads ``snapshot`` chunk by chunk, and then calls ``readRecords(after:limit:)`` from
/// the snapshot's sequence on until it returns none.
public protocol Journal: AnyObject {
    /// The identity of this history. It is replaced whenever history may have been lost or forked.
    var epoch: UInt64 { get }

    /// Whether a commit waits for nothing outside the process and thus costs less than waking another thread. `false`
    /// by default.
    var isImmediate: Bool { get }

    /// The state of the journal when it was opened.
    var opening: JournalOpening { get }

    /// The sequence of the newest record; 0 if there is none.
    var lastSequence: Int64 { get }

    /// Records up to and including this one may have been pruned; none after it.
    var prunedThrough: Int64 { get }

    /// The newest complete snapshot.
    var snapshot: JournalSnapshot? { get }

    /// Reads one chunk of ``snapshot``, as it was written. `index` counts from 0.
    func readChunk(_ index: Int) throws(JournalError) -> [UInt8]

    /// Reads up to `limit` records after `sequence`, oldest first; none at the end.
    ///
    /// - Throws: ``JournalError/corrupt(place:advice:)`` for a gap after ``prunedThrough``.
    func readRecords(after sequence: Int64, limit: Int) throws(JournalError) -> [JournalRecord]

    /// Reads one record; `nil` if it was pruned or never existed.
    func record(at sequence: Int64) throws(JournalError) -> JournalRecord?

    /// The checksum of a record, which the next one continues; `nil` if it is no longer known. It is known for the
    /// newest record, and for those since ``snapshot``.
    func link(at sequence: Int64) throws(JournalError) -> UInt64?

    /// Writes the next part of a batch. It is neither durable nor readable until ``commit()``.
    ///
    /// This lets the beginning of a long batch be written while its end is still being decided. Until the commit no
    /// other call is allowed. If this throws, the whole batch is discarded and the next part begins another one.
    ///
    /// - Precondition: Sequences have no gaps, from the record after ``lastSequence`` on.
    func write(_ part: [JournalRecord]) throws(JournalError)

    /// Syncs the written batch: all of it or nothing. Does nothing without a batch.
    func commit() throws(JournalError)

    /// How much of a replicated log this journal holds, in the node's encoding: ``write(mark:epoch:)``. `nil` for a
    /// journal that is not the local journal of a log, and by default.
    var mark: [UInt8]? { get }

    /// Writes ``mark`` as a part of the batch; a batch may hold nothing else. It becomes durable with the records of the batch.
    ///
    /// - Parameter epoch: The present ``epoch``. Only a journal without records, or one whose history an operator moves
    ///   to another log, may get a new one.
    func write(mark: [UInt8], epoch: UInt64) throws(JournalError)

    /// The last ``mark`` of a journal that was released from its log; `nil` if it never followed one, which is the default. A new log
    /// for this history begins after the terms of the old log.
    var formerMark: [UInt8]? { get }

    /// Releases the journal from its log: ``mark`` becomes ``formerMark``, durably, and the history continues in this journal alone.
    ///
    /// - Precondition: No batch is being written.
    func release() throws(JournalError)

    /// Begins a snapshot of the state after the record `sequence`, and discards an unfinished one.
    ///
    /// The existing ``snapshot`` stays until ``finishSnapshot()``. Batches may be appended in between.
    ///
    /// - Precondition: `sequence` is between that of ``snapshot`` and ``lastSequence``.
    func beginSnapshot(at sequence: Int64) throws(JournalError)

    /// Adds a chunk, preferably of 64 KiB to 1 MiB, because a batch waits until the chunk before it is written.
    ///
    /// - Precondition: A snapshot was begun.
    func appendToSnapshot(_ chunk: [UInt8]) throws(JournalError)

    /// Adds blocks, each as one chunk. A block that the journal has already is not written again.
    ///
    /// - Precondition: A snapshot was begun.
    func appendToSnapshot(_ blocks: [SnapshotBlock]) throws(JournalError)

    /// Makes the begun snapshot the ``snapshot``.
    ///
    /// - Precondition: A snapshot was begun.
    func finishSnapshot() throws(JournalError)

    /// Discards the begun snapshot, if there is one.
    func abandonSnapshot() throws(JournalError)

    /// Begins a checkpoint: a snapshot of the same history from another node, which replaces everything here. Its chunks
    /// follow, then ``finishCheckpoint(link:mark:epoch:)``. An unfinished snapshot is discarded. No batch is written in
    /// between.
    ///
    /// - Precondition: `sequence` is ``lastSequence`` or more.
    func beginCheckpoint(at sequence: Int64) throws(JournalError)

    /// Makes the begun checkpoint the ``snapshot`` and its record the ``lastSequence``, and counts the records before it as
    /// pruned: all of it or nothing.
    ///
    /// - Parameter link: The checksum of the checkpoint's record, which the next record continues.
    /// - Precondition: A checkpoint was begun, and that of ``write(mark:epoch:)``.
    func finishCheckpoint(link: UInt64, mark: [UInt8], epoch: UInt64) throws(JournalError)

    /// Records that data is no longer needed; ``tidy()`` removes it.
    ///
    /// Records after the newest snapshot are kept until a snapshot contains them, because a replay needs them.
    func prune(_ pruning: Pruning) throws(JournalError)

    /// Does one step of deferred work: pruning, or removing old snapshots. Takes a few milliseconds at most.
    ///
    /// - Returns: Whether there is more work.
    func tidy() throws(JournalError) -> Bool

    /// Closes the journal, so that the next opening finds ``JournalOpening/Ending/clean``. No other call is allowed
    /// afterwards.
    ///
    /// A journal that is released without this call is in the same state as after a kill of the process.
    func close() throws(JournalError)
}

extension Journal {
    public var isImmediate: Bool { false }
    public var mark: [UInt8]? { nil }
    public var formerMark: [UInt8]? { nil }
    public func write(mark: [UInt8], epoch: UInt64) throws(JournalError) {
        throw .unusable(
            what: "could not write how far a log is here", cause: "this journal is no copy of one",
            advice: "use another journal")
    }
    public func release() throws(JournalError) {}

    public func beginCheckpoint(at sequence: Int64) throws(JournalError) { throw Self.noLocalJournal }
    public func finishCheckpoint(link: UInt64, mark: [UInt8], epoch: UInt64) throws(JournalError) {
        throw Self.noLocalJournal
    }
    private static var noLocalJournal: JournalError {
        .unusable(
            what: "could not take a base", cause: "this journal is no copy of a log", advice: "use another journal")
    }

    /// Writes a batch and syncs it: all of it or nothing.
    ///
    /// - Precondition: That of ``write(_:)``, and no batch is being written.
    public func append(_ batch: [JournalRecord]) throws(JournalError) {
        try write(batch)
        try commit()
    }

    /// Reads the history of an entity backwards: the record at `sequence`, the entity's record before it, and so on.
    ///
    /// Ends early at a record that was pruned.
    ///
    /// - Parameter limit: The largest number of records. Continue with the last one's ``JournalRecord/previous``.
    public func readChain(endingAt sequence: Int64, limit: Int) throws(JournalError) -> [JournalRecord] {
        var chain: [JournalRecord] = []
        var next = sequence
        while next > 0, chain.count < limit {
            guard let record = try record(at: next) else {
                guard next > prunedThrough else { break }
                throw .corrupt(place: "record \(next) is missing", advice: JournalAdvice.repair)
            }
            guard record.previous < next, record.entity == chain.first?.entity ?? record.entity else {
                throw .corrupt(
                    place: "record \(next) is not of the history that led to it", advice: JournalAdvice.repair)
            }
            chain.append(record)
            next = record.previous
        }
        return chain
    }

    /// Writes a whole snapshot.
    public func writeSnapshot(at sequence: Int64, chunks: some Sequence<[UInt8]>) throws(JournalError) {
        try beginSnapshot(at: sequence)
        for chunk in chunks { try appendToSnapshot(chunk) }
        try finishSnapshot()
    }
}

/// The commands that errors recommend.
public enum JournalAdvice {
    /// For damage, if the folder is not known.
    public static let repair = "run: telltale journal repair DIR"
}
