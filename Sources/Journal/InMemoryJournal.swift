/// A journal in memory, for tests and for the simulator.
///
/// ``contents`` is the durable state. A test simulates a crash with a new journal that is made from it.
public final class InMemoryJournal: Journal {
    /// The durable state.
    public struct Contents: Hashable, Sendable {
        public var epoch: UInt64
        /// Oldest first, with gaps for pruned records.
        public var records: [JournalRecord] = []
        public var lastSequence: Int64 = 0
        public var prunedThrough: Int64 = 0
        public var snapshotSequence: Int64?
        public var snapshotChunks: [[UInt8]] = []
        public var pruning = Pruning()
        public var mark: [UInt8]?
        public var formerMark: [UInt8]?
        /// The checksum of the last record in a checkpoint or the newest snapshot, if a checkpoint was installed or records were
        /// pruned.
        public var checkpointLink = CheckpointLink()
        public var isClosed = false

        public init(epoch: UInt64) {
            self.epoch = epoch
        }
    }

    public struct CheckpointLink: Hashable, Sendable {
        public var sequence: Int64 = 0
        public var checksum: UInt64 = 0
    }

    public private(set) var contents: Contents
    public let opening: JournalOpening
    /// Records that were written and not committed.
    private var batch: [JournalRecord] = []
    private var batchMark: (mark: [UInt8], epoch: UInt64)?
    private var draft: (sequence: Int64, chunks: [[UInt8]])?
    private var failure: JournalError?

    /// Thrown by every write while it is set. A full disk recovers when this becomes `nil`; any other fault is
    /// permanent.
    public var fault: JournalError?

    public init(epoch: UInt64) {
        contents = Contents(epoch: epoch)
        opening = JournalOpening(ending: .new)
    }

    /// Opens the durable state of an earlier journal.
    public init(_ contents: Contents) {
        self.contents = contents
        opening = JournalOpening(ending: contents.isClosed ? .clean : .unclean)
        self.contents.isClosed = false
    }

    public var isImmediate: Bool { true }
    public var epoch: UInt64 { contents.epoch }
    public var lastSequence: Int64 { contents.lastSequence }
    public var prunedThrough: Int64 { contents.prunedThrough }

    public var snapshot: JournalSnapshot? {
        contents.snapshotSequence.map { sequence in
            JournalSnapshot(
                sequence: sequence, chunkCount: contents.snapshotChunks.count,
                byteCount: contents.snapshotChunks.reduce(0) { $0 + Int64($1.count) })
        }
    }

    public func readChunk(_ index: Int) throws(JournalError) -> [UInt8] {
        guard contents.snapshotChunks.indices.contains(index) else {
            throw .corrupt(place: "the snapshot has no chunk \(index)", advice: JournalAdvice.repair)
        }
        return contents.snapshotChunks[index]
    }

    public func readRecords(after sequence: Int64, limit: Int) throws(JournalError) -> [JournalRecord] {
        Array(contents.records[position(after: sequence)...].prefix(max(0, limit)))
    }

    public func record(at sequence: Int64) throws(JournalError) -> JournalRecord? {
        guard let record = contents.records[position(after: sequence &- 1)...].first else { return nil }
        return record.sequence == sequence ? record : nil
    }

    /// Counted from the beginning, the checkpoint or the newest snapshot: the tests' journals are short.
    public func link(at sequence: Int64) throws(JournalError) -> UInt64? {
        var (last, link) = (contents.checkpointLink.sequence, contents.checkpointLink.checksum)
        guard sequence >= last else { return nil }
        for record in contents.records[position(after: last)...].prefix(while: { $0.sequence <= sequence }) {
            guard record.sequence == last + 1 else { return nil }
            (last, link) = (record.sequence, record.checksum(after: link))
        }
        return last == sequence ? link : nil
    }

    public func write(_ part: [JournalRecord]) throws(JournalError) {
        let next = lastSequence + Int64(batch.count) + 1
        for (index, record) in part.enumerated() {
            precondition(record.sequence == next + Int64(index), "a gap before record \(record.sequence)")
        }
        try checkWritable(dropping: part)
        batch += part
    }

    public var mark: [UInt8]? { contents.mark }
    public var formerMark: [UInt8]? { contents.formerMark }

    public func write(mark: [UInt8], epoch: UInt64) throws(JournalError) {
        try checkWritable(dropping: [])
        batchMark = (mark, epoch)
    }

    public func release() throws(JournalError) {
        precondition(batch.isEmpty && batchMark == nil, "a batch is being written")
        try checkWritable("could not release the history")
        guard let mark = contents.mark.take() else { return }
        contents.formerMark = mark
    }

    public func commit() throws(JournalError) {
        guard !batch.isEmpty || batchMark != nil else { return }
        try checkWritable(dropping: [])
        contents.records += batch
        contents.lastSequence += Int64(batch.count)
        batch = []
        guard let batchMark = batchMark.take() else { return }
        (contents.mark, contents.epoch) = (batchMark.mark, batchMark.epoch)
    }

    /// An error discards the batch that the part belongs to.
    private func checkWritable(dropping part: [JournalRecord]) throws(JournalError) {
        do throws(JournalError) {
            try checkWritable("could not write \(batch.count + part.count) records")
        } catch {
            (batch, batchMark) = ([], nil)
            throw error
        }
    }

    public func beginSnapshot(at sequence: Int64) throws(JournalError) {
        precondition(sequence <= lastSequence, "a snapshot of what is not yet durable")
        precondition(sequence >= contents.snapshotSequence ?? 0, "a snapshot older than the one there is")
        try checkWritable("could not begin a snapshot")
        draft = (sequence, [])
    }

    public func appendToSnapshot(_ chunk: [UInt8]) throws(JournalError) {
        precondition(draft != nil, "no snapshot was begun")
        try checkWritable("could not write a snapshot")
        draft?.chunks.append(chunk)
    }

    public func appendToSnapshot(_ blocks: [SnapshotBlock]) throws(JournalError) {
        for block in blocks { try appendToSnapshot(block.bytes) }
    }

    public func finishSnapshot() throws(JournalError) {
        try checkWritable("could not finish a snapshot")
        guard let draft else { preconditionFailure("no snapshot was begun") }
        contents.snapshotSequence = draft.sequence
        contents.snapshotChunks = draft.chunks
        self.draft = nil
    }

    public func abandonSnapshot() throws(JournalError) {
        draft = nil
    }

    public func beginCheckpoint(at sequence: Int64) throws(JournalError) {
        precondition(sequence >= lastSequence, "a base that is older than what is here")
        try checkWritable("could not begin a base")
        draft = (sequence, [])
    }

    public func finishCheckpoint(link: UInt64, mark: [UInt8], epoch: UInt64) throws(JournalError) {
        try checkWritable("could not finish a base")
        guard let draft else { preconditionFailure("no base was begun") }
        contents = Contents(epoch: epoch)
        (contents.lastSequence, contents.prunedThrough) = (draft.sequence, draft.sequence)
        (contents.snapshotSequence, contents.snapshotChunks) = (draft.sequence, draft.chunks)
        contents.mark = mark
        contents.checkpointLink = CheckpointLink(sequence: draft.sequence, checksum: link)
        self.draft = nil
    }

    public func prune(_ pruning: Pruning) throws(JournalError) {
        try checkWritable("could not prune")
        contents.pruning.through = max(contents.pruning.through, pruning.through)
        contents.pruning.chains += pruning.chains
    }

    public func tidy() throws(JournalError) -> Bool {
        let covered = contents.snapshotSequence ?? 0
        let due = contents.pruning.chains.filter { $0 <= covered }
        let through = min(contents.pruning.through, covered)
        guard !due.isEmpty || through > 0 else { return false }
        try checkWritable("could not prune")
        var doomed: Set<Int64> = []
        for head in due {
            for record in try readChain(endingAt: head, limit: .max) { doomed.insert(record.sequence) }
        }
        if let link = try link(at: covered) {
            contents.checkpointLink = CheckpointLink(sequence: covered, checksum: link)
        }
        contents.records.removeAll { $0.sequence <= through || doomed.contains($0.sequence) }
        contents.prunedThrough = max(contents.prunedThrough, through, doomed.max() ?? 0)
        contents.pruning.chains.removeAll { $0 <= covered }
        if contents.pruning.through <= covered { contents.pruning.through = 0 }
        return false
    }

    public func close() throws(JournalError) {
        try checkWritable("could not close")
        contents.isClosed = true
    }

    /// The index of the first record after `sequence`.
    private func position(after sequence: Int64) -> Int {
        var low = 0
        var high = contents.records.count
        while low < high {
            let middle = low + (high - low) / 2
            if contents.records[middle].sequence <= sequence { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private func checkWritable(_ what: String) throws(JournalError) {
        if let failure { throw failure }
        switch fault {
        case nil: return
        case .full(_, let cause)?: throw .full(what: what, cause: cause)
        case let fault?:
            failure = fault
            throw fault
        }
    }
}
