/// The durable record of everything that was accepted, in order.
///
/// All calls block, and all come from one thread at a time: first from the one that recovers, then from those of a
/// ``JournalWriter``. What a call returned is durable.
///
/// A recovery opens the journal, reads ``snapshot`` chunk by chunk, then ``readRecords(after:limit:)`` from the
/// snapshot's sequence on until it gives none.
public protocol Journal: AnyObject {
    /// The lineage of this history: another one whenever history may have been lost or forked.
    var epoch: UInt64 { get }

    /// Whether a commit waits for nothing outside the process, so that it costs less than waking another thread for it.
    /// `false` where a journal does not say.
    var isImmediate: Bool { get }

    /// How the journal was found.
    var opening: JournalOpening { get }

    /// The sequence of the newest record, 0 = there is none.
    var lastSequence: Int64 { get }

    /// Records at or before it may be missing, because they were pruned; none after it.
    var prunedThrough: Int64 { get }

    /// The newest whole snapshot.
    var snapshot: JournalSnapshot? { get }

    /// One chunk of ``snapshot``, as it was written. Counts from 0.
    func readChunk(_ index: Int) throws(JournalError) -> [UInt8]

    /// The records that follow `sequence`, oldest first, at most `limit` of them; none at the end.
    ///
    /// After ``prunedThrough`` they are without gaps, or it throws ``JournalError/corrupt(place:advice:)``.
    func readRecords(after sequence: Int64, limit: Int) throws(JournalError) -> [JournalRecord]

    /// One record, or `nil` when it was pruned or never was.
    func record(at sequence: Int64) throws(JournalError) -> JournalRecord?

    /// Writes the next part of a batch. Nobody is told of it, and nothing of it is there, until ``commit()``.
    ///
    /// So a long batch is on its way to the disk while its end is still being decided. Until it is committed nothing else
    /// may be called. When this throws, the whole batch is gone, and the next part begins another.
    ///
    /// - Precondition: The first record's sequence is one more than that of the record before it in the batch, or than
    ///   ``lastSequence``, and so on without gaps.
    func write(_ part: [JournalRecord]) throws(JournalError)

    /// Syncs the batch that was written: all of it or nothing. Without one it does nothing.
    func commit() throws(JournalError)

    /// Begins a snapshot of the state after the record `sequence`; an unfinished one is dropped.
    ///
    /// The one that is there stays ``snapshot`` until ``finishSnapshot()``. Batches may be appended in between.
    ///
    /// - Precondition: `sequence` lies between that of ``snapshot`` and ``lastSequence``.
    func beginSnapshot(at sequence: Int64) throws(JournalError)

    /// Adds a chunk, best between 64 KiB and 1 MiB long: a batch waits until the chunk before it is written.
    ///
    /// - Precondition: A snapshot was begun.
    func appendToSnapshot(_ chunk: [UInt8]) throws(JournalError)

    /// Makes what was begun the ``snapshot``.
    ///
    /// - Precondition: A snapshot was begun.
    func finishSnapshot() throws(JournalError)

    /// Drops what was begun, if anything was.
    func abandonSnapshot() throws(JournalError)

    /// Notes what nobody needs any more; ``tidy()`` takes it away.
    ///
    /// What the newest snapshot does not contain is kept until one does, because a replay needs it.
    func prune(_ pruning: Pruning) throws(JournalError)

    /// Does a little of what can wait: pruning, dropping old snapshots. Takes some milliseconds at most.
    ///
    /// - Returns: Whether there is more to do now.
    func tidy() throws(JournalError) -> Bool

    /// Ends in order, so that the next opening finds ``JournalOpening/Ending/clean``. The journal is unusable then.
    ///
    /// A journal that is dropped without it ends as if the process had been killed.
    func close() throws(JournalError)
}

extension Journal {
    public var isImmediate: Bool { false }

    /// Writes a batch and syncs it: all of it or nothing.
    ///
    /// - Precondition: As of ``write(_:)``, and no batch is being written.
    public func append(_ batch: [JournalRecord]) throws(JournalError) {
        try write(batch)
        try commit()
    }

    /// The history of an entity backwards: the record at `sequence`, the one before it, and so on, newest first.
    ///
    /// Ends early where the older part was pruned.
    ///
    /// - Parameter limit: How many records at most; go on with the last one's ``JournalRecord/previous``.
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

    /// Writes a whole snapshot at once.
    public func writeSnapshot(at sequence: Int64, chunks: some Sequence<[UInt8]>) throws(JournalError) {
        try beginSnapshot(at: sequence)
        for chunk in chunks { try appendToSnapshot(chunk) }
        try finishSnapshot()
    }
}

/// The commands that errors recommend.
public enum JournalAdvice {
    /// For what is damaged, where the folder is not known.
    public static let repair = "run: telltale journal repair DIR"
}
