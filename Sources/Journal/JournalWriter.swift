private import Synchronization

/// Runs a journal on its own thread, so that a sync blocks only the requests that wait for it.
///
/// Batches have priority. Between two batches the thread does one piece of other work: a read of a history, a chunk of
/// a snapshot, or a step of tidying. Completions are called on that thread, each exactly once; they must be quick and
/// must not block.
///
/// A journal that is ``Journal/isImmediate`` writes its batches on the caller's thread.
public final class JournalWriter: Sendable {
    public typealias Completion<Value> = @Sendable (Result<Value, JournalError>) -> Void

    private let queue = WorkQueue()
    /// The exclusive access to the journal, for journals that two threads use. With a single thread it never blocks.
    private let exclusive: ExclusiveJournal
    /// Whether batches are written with ``appendAtOnce(_:)``.
    public let isImmediate: Bool

    /// Starts the thread and takes ownership of the journal.
    ///
    /// - Parameter onFailure: Called with errors that belong to no request: those of tidying.
    public init(_ journal: sending any Journal, onFailure: @escaping @Sendable (JournalError) -> Void) {
        isImmediate = journal.isImmediate
        let exclusive = ExclusiveJournal(journal)
        self.exclusive = exclusive
        let queue = queue
        startThread { WriterThread(exclusive: exclusive, queue: queue, onFailure: onFailure).run() }
    }

    /// Writes a whole batch and syncs it before it returns, without waking a thread.
    ///
    /// - Precondition: The journal ``isImmediate``, and the precondition of ``Journal/write(_:)`` holds.
    public func appendAtOnce(_ batch: [JournalRecord]) -> Result<JournalReceipt, JournalError> {
        precondition(isImmediate, "this journal has to be waited for")
        return exclusive.use { journal in
            var whole = OpenBatch()
            whole.write(batch, to: journal)
            return whole.commit(to: journal).map {
                JournalReceipt(lastSequence: journal.lastSequence, duration: $0, wait: $0)
            }
        }
    }

    /// Writes a batch, or the rest of one, syncs it and calls back. Batches that wait together share one sync.
    ///
    /// - Precondition: That of ``Journal/write(_:)``, counted over everything that was submitted.
    public func append(_ batch: [JournalRecord], completion: @escaping Completion<JournalReceipt>) {
        let start = ContinuousClock.now
        queue.post {
            $0.steps.append(.write(batch))
            $0.steps.append(.commit(start, completion))
        }
    }

    /// Writes records that a replicated log holds, and how much of the log they are: ``Journal/write(mark:epoch:)``.
    ///
    /// - Precondition: That of ``Journal/write(_:)``, counted over everything that was submitted, and that of the mark.
    public func keepRecords(
        _ records: [JournalRecord], mark: [UInt8], epoch: UInt64, completion: @escaping Completion<JournalReceipt>
    ) {
        let start = ContinuousClock.now
        queue.post {
            if !records.isEmpty { $0.steps.append(.write(records)) }
            $0.steps.append(.mark(mark, epoch: epoch))
            $0.steps.append(.commit(start, completion))
        }
    }

    /// Writes a part of a batch. The rest follows soon with ``append(_:completion:)``, whose completion reports the
    /// result of the whole batch. Until then the thread does no other work.
    ///
    /// - Precondition: That of ``Journal/write(_:)``, counted over everything that was submitted.
    public func write(_ part: [JournalRecord]) {
        queue.post { $0.steps.append(.write(part)) }
    }

    /// Reads a part of a history with ``Journal/readChain(endingAt:limit:)``. A `limit` of some hundreds keeps batches
    /// from waiting.
    public func readChain(
        endingAt sequence: Int64, limit: Int, completion: @escaping Completion<[JournalRecord]>
    ) {
        queue.post {
            $0.reads.append { journal in
                completion(
                    Result { () throws(JournalError) in try journal.readChain(endingAt: sequence, limit: limit) })
            }
        }
    }

    /// Reads anything, after the batches that were submitted before. If it takes long, later batches wait.
    public func read(_ body: @escaping @Sendable (any Journal) -> Void) {
        queue.post { $0.reads.append(body) }
    }

    /// Performs one step of a snapshot. The caller submits the next chunk after the completion of the one before, so
    /// that a snapshot takes no more memory than a chunk and a full disk ends it early. After an error, start a new
    /// snapshot later.
    public func writeSnapshot(_ step: SnapshotStep, completion: @escaping Completion<Void>) {
        queue.post {
            $0.chores.append { journal in
                completion(
                    Result { () throws(JournalError) in
                        switch step {
                        case .begin(let sequence, let pruning):
                            // For the local journal of a log, a snapshot is requested before it is known whether its records were
                            // stored.
                            guard sequence <= journal.lastSequence else {
                                throw .unusable(
                                    what: "could not begin a snapshot",
                                    cause: "record \(sequence) is not durable; the newest is \(journal.lastSequence)",
                                    advice: "start again")
                            }
                            if pruning != Pruning() { try journal.prune(pruning) }
                            try journal.beginSnapshot(at: sequence)
                        case .chunk(let bytes): try journal.appendToSnapshot(bytes)
                        case .blocks(let blocks): try journal.appendToSnapshot(blocks)
                        case .finish: try journal.finishSnapshot()
                        case .abandon: try journal.abandonSnapshot()
                        }
                    })
            }
        }
    }

    /// Does other work, after that which was submitted before.
    func submit(_ chore: @escaping @Sendable (any Journal) -> Void) { queue.post { $0.chores.append(chore) } }

    /// Completes everything that was submitted before, closes the journal cleanly and ends the thread.
    ///
    /// - Precondition: The caller submits nothing afterwards.
    public func close(completion: @escaping Completion<Void>) {
        queue.post { $0.close = completion }
    }

    // MARK: Loading the checkpoint with which the local journal of a log begins

    /// Reads anything, after the steps of snapshots and checkpoints that were submitted before.
    public func readLater(_ body: @escaping @Sendable (any Journal) -> Void) {
        submit(body)
    }

    /// Performs one step of a checkpoint: ``Journal/beginCheckpoint(at:)`` and the calls after it. No batch and no snapshot
    /// may be submitted before the
    /// last one has completed.
    public func loadCheckpoint(_ step: CheckpointStep, completion: @escaping Completion<Void>) {
        submit { journal in
            completion(
                Result { () throws(JournalError) in
                    switch step {
                    case .begin(let sequence): try journal.beginCheckpoint(at: sequence)
                    case .chunk(let bytes): try journal.appendToSnapshot(bytes)
                    case .finish(let link, let mark, let epoch):
                        try journal.finishCheckpoint(link: link, mark: mark, epoch: epoch)
                    case .abandon: try journal.abandonSnapshot()
                    }
                })
        }
    }
}

/// The result of a batch.
public struct JournalReceipt: Hashable, Sendable {
    /// The sequence of the newest durable record.
    public var lastSequence: Int64
    /// The time for writing and syncing, without the time between the parts of a batch.
    public var duration: Duration
    /// The time from the submission of the batch's last part to its completion.
    public var wait: Duration
}

/// A step of writing a snapshot: see ``Journal/beginSnapshot(at:)`` and the calls after it.
public enum SnapshotStep: Hashable, Sendable {
    /// First records the pruning that the snapshot makes possible. The journal prunes step by step after the snapshot
    /// is finished, while it has no other work. If the pruning cannot be recorded, there is no snapshot either, because
    /// the pruning would not be requested again.
    ///
    /// Throws ``JournalError/unusable(what:cause:advice:)`` if the record is not durable, because it could not be
    /// stored.
    case begin(at: Int64, pruning: Pruning = Pruning())
    case chunk([UInt8])
    case blocks([SnapshotBlock])
    case finish
    case abandon
}

private enum WriterStep: Sendable {
    case write([JournalRecord])
    case mark([UInt8], epoch: UInt64)
    /// The time of the submission, and the completion to call.
    case commit(ContinuousClock.Instant, JournalWriter.Completion<JournalReceipt>)

    var isCommit: Bool { if case .commit = self { true } else { false } }
}

private struct SubmittedWork: Sendable {
    var steps: [WriterStep] = []
    var reads: [@Sendable (any Journal) -> Void] = []
    var chores: [@Sendable (any Journal) -> Void] = []
    var close: JournalWriter.Completion<Void>?

    var isEmpty: Bool { steps.isEmpty && reads.isEmpty && chores.isEmpty && close == nil }
}

/// The submitted work: the only state that the two threads share.
private final class WorkQueue: Sendable {
    private let work = Monitor(SubmittedWork())

    func post(_ change: (inout SubmittedWork) -> Void) {
        work.change(change)
    }

    /// Takes all submitted work. If `waiting`, blocks until there is some.
    func nextWork(waiting: Bool) -> SubmittedWork {
        work.waitAndChange(waiting ? { !$0.isEmpty } : { _ in true }) { work in
            defer { work = SubmittedWork() }
            return work
        }
    }
}

/// Gives the journal to one thread at a time.
private final class ExclusiveJournal: Sendable {
    private let journal: Mutex<any Journal>

    init(_ journal: sending any Journal) {
        self.journal = Mutex(journal)
    }

    func use<Result: Sendable>(_ body: (any Journal) -> Result) -> Result {
        journal.withLock { body($0) }
    }
}

private struct WriterThread {
    let exclusive: ExclusiveJournal
    let queue: WorkQueue
    let onFailure: @Sendable (JournalError) -> Void

    func run() {
        var reads: [@Sendable (any Journal) -> Void] = []
        var chores: [@Sendable (any Journal) -> Void] = []
        var close: JournalWriter.Completion<Void>?
        var isUntidy = true
        var wasRead = false
        var batch = OpenBatch()
        while true {
            let isIdle = reads.isEmpty && chores.isEmpty && close == nil && !isUntidy
            let work = queue.nextWork(waiting: isIdle || batch.isOpen)
            if !work.steps.isEmpty { exclusive.use { performSteps(work.steps, &batch, writingTo: $0) } }
            reads += work.reads
            chores += work.chores
            close = close ?? work.close
            if !work.steps.isEmpty { isUntidy = true }
            // A batch is one transaction, which allows no other work in between.
            if batch.isOpen { continue }

            // Reads and chores alternate: continuous reads must not prevent a snapshot from being written.
            if !reads.isEmpty, !wasRead || chores.isEmpty {
                wasRead = true
                let read = reads.removeFirst()
                exclusive.use { read($0) }
                continue
            }
            wasRead = false
            if !chores.isEmpty {
                let chore = chores.removeFirst()
                exclusive.use { chore($0) }
                isUntidy = true
            } else if let close, reads.isEmpty {
                let result = exclusive.use { journal in Result { () throws(JournalError) in try journal.close() } }
                return close(result)
            } else if isUntidy {
                isUntidy = tidy()
            }
        }
    }

    /// Batches that wait together are committed as one: the last commit ends all of them.
    private func performSteps(_ steps: [WriterStep], _ batch: inout OpenBatch, writingTo journal: any Journal) {
        let end = steps.lastIndex { $0.isCommit }
        for (index, step) in steps.enumerated() {
            switch step {
            case .write(let part): batch.write(part, to: journal)
            case .mark(let mark, let epoch): batch.write(mark: mark, epoch: epoch, to: journal)
            case .commit(let start, let completion): batch.waiting.append((batch.newest, start, completion))
            }
            if index == end { batch.finish(in: journal) }
        }
    }

    private func tidy() -> Bool {
        let outcome = exclusive.use { journal in Result { () throws(JournalError) in try journal.tidy() } }
        do throws(JournalError) {
            return try outcome.get()
        } catch {
            // On a full disk, tidying waits; the next batch reports the error.
            guard case .full = error else {
                onFailure(error)
                return false
            }
            return false
        }
    }
}

/// The batch being written, and the requests that wait for it.
private struct OpenBatch {
    /// For each batch that ends with this commit: its last record, the time of its submission, and its completion.
    var waiting:
        [(newest: Int64?, start: ContinuousClock.Instant, completion: JournalWriter.Completion<JournalReceipt>)] = []
    /// The last record that was submitted.
    private(set) var newest: Int64?
    /// Whether records were submitted that are not committed.
    private(set) var isOpen = false
    private var duration = Duration.zero
    private var failure: JournalError?

    mutating func write(_ part: [JournalRecord], to journal: any Journal) {
        isOpen = true
        newest = part.last?.sequence ?? newest
        attempt { () throws(JournalError) in try journal.write(part) }
    }

    mutating func write(mark: [UInt8], epoch: UInt64, to journal: any Journal) {
        isOpen = true
        attempt { () throws(JournalError) in try journal.write(mark: mark, epoch: epoch) }
    }

    /// - Returns: The duration of the commit, or the error.
    mutating func commit(to journal: any Journal) -> Result<Duration, JournalError> {
        attempt { () throws(JournalError) in try journal.commit() }
        return failure.map { .failure($0) } ?? .success(duration)
    }

    /// Commits the batch and calls the completions.
    mutating func finish(in journal: any Journal) {
        let outcome = commit(to: journal)
        let end = ContinuousClock.now
        for (newest, start, completion) in waiting {
            completion(
                outcome.map {
                    JournalReceipt(lastSequence: newest ?? journal.lastSequence, duration: $0, wait: end - start)
                })
        }
        self = OpenBatch()
    }

    /// After a failure the batch is discarded, because the rest of it would leave a gap.
    private mutating func attempt(_ body: () throws(JournalError) -> Void) {
        guard failure == nil else { return }
        let start = ContinuousClock.now
        do throws(JournalError) {
            try body()
        } catch {
            failure = error
        }
        duration += ContinuousClock.now - start
    }
}

/// A step of loading a checkpoint.
public enum CheckpointStep: Hashable, Sendable {
    case begin(at: Int64)
    case chunk([UInt8])
    case finish(link: UInt64, mark: [UInt8], epoch: UInt64)
    /// Abandons the begun checkpoint. The journal is as before, and may be written again.
    case abandon
}
