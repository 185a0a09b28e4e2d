private import Synchronization

/// Gives a journal a thread of its own, so that a sync holds up nobody but those who wait for it.
///
/// Batches go first; between two of them it does one piece of something else: a read of a history, a chunk of a
/// snapshot, a little tidying. Completions are called on that thread, each exactly once; they must be quick and
/// must not block.
///
/// A journal that is ``Journal/isImmediate`` takes its batches on the thread of whoever submits them.
public final class JournalWriter: Sendable {
    public typealias Completion<Value> = @Sendable (Result<Value, JournalError>) -> Void

    private let inbox = Inbox()
    /// For journals that two threads use. Where one does, nobody waits for it.
    private let desk: Desk
    /// Whether ``appendAtOnce(_:)`` is the way to write.
    public let isImmediate: Bool

    /// Starts the thread. The journal belongs to it from now on.
    ///
    /// - Parameter onFailure: Hears of errors that answer nobody's request, those of tidying.
    public init(_ journal: sending any Journal, onFailure: @escaping @Sendable (JournalError) -> Void) {
        isImmediate = journal.isImmediate
        let desk = Desk(journal)
        self.desk = desk
        let inbox = inbox
        startThread { WriterThread(desk: desk, inbox: inbox, onFailure: onFailure).run() }
    }

    /// Writes a whole batch and syncs it before it returns, without waking a thread.
    ///
    /// - Precondition: The journal ``isImmediate``, and as of ``Journal/write(_:)``.
    public func appendAtOnce(_ batch: [JournalRecord]) -> Result<JournalReceipt, JournalError> {
        precondition(isImmediate, "this journal has to be waited for")
        return desk.use { journal in
            var whole = OpenBatch()
            whole.write(batch, to: journal)
            return whole.commit(to: journal).map {
                JournalReceipt(lastSequence: journal.lastSequence, duration: $0, wait: $0)
            }
        }
    }

    /// Writes a batch, or the rest of one, and syncs it, then calls back. Batches that wait together share one sync.
    ///
    /// - Precondition: As of ``Journal/write(_:)``, counted over everything that was submitted.
    public func append(_ batch: [JournalRecord], completion: @escaping Completion<JournalReceipt>) {
        let start = ContinuousClock.now
        inbox.post {
            $0.steps.append(.write(batch))
            $0.steps.append(.commit(start, completion))
        }
    }

    /// Writes a part of a batch whose rest comes soon with ``append(_:completion:)``, which tells what became of all of
    /// it: until then nothing else is done here.
    ///
    /// - Precondition: As of ``Journal/write(_:)``, counted over everything that was submitted.
    public func write(_ part: [JournalRecord]) {
        inbox.post { $0.steps.append(.write(part)) }
    }

    /// Reads a portion of a history, as ``Journal/readChain(endingAt:limit:)`` does. Keep `limit` within some hundreds.
    public func readChain(
        endingAt sequence: Int64, limit: Int, completion: @escaping Completion<[JournalRecord]>
    ) {
        inbox.post {
            $0.reads.append { journal in
                completion(
                    Result { () throws(JournalError) in try journal.readChain(endingAt: sequence, limit: limit) })
            }
        }
    }

    /// Does one step of a snapshot. Give the next chunk when the one before it has called back: so a snapshot costs
    /// no more memory than a chunk, and a full disk ends it early. After an error begin anew, later.
    public func writeSnapshot(_ step: SnapshotStep, completion: @escaping Completion<Void>) {
        inbox.post {
            $0.chores.append { journal in
                completion(
                    Result { () throws(JournalError) in
                        switch step {
                        case .begin(let sequence, let pruning):
                            if pruning != Pruning() { try journal.prune(pruning) }
                            try journal.beginSnapshot(at: sequence)
                        case .chunk(let bytes): try journal.appendToSnapshot(bytes)
                        case .finish: try journal.finishSnapshot()
                        case .abandon: try journal.abandonSnapshot()
                        }
                    })
            }
        }
    }

    /// Does everything that was submitted before, closes the journal in order and ends the thread.
    ///
    /// Nothing may be submitted afterwards.
    public func close(completion: @escaping Completion<Void>) {
        inbox.post { $0.close = completion }
    }
}

/// What became of a batch.
public struct JournalReceipt: Hashable, Sendable {
    /// The sequence of the newest durable record.
    public var lastSequence: Int64
    /// How long writing and syncing took, without what the parts of a batch were waited for.
    public var duration: Duration
    /// How long it took from the moment at which the journal was given the last of it.
    public var wait: Duration

    public init(lastSequence: Int64, duration: Duration, wait: Duration) {
        self.lastSequence = lastSequence
        self.duration = duration
        self.wait = wait
    }
}

/// A step of writing a snapshot; see ``Journal/beginSnapshot(at:)`` and what follows it.
public enum SnapshotStep: Hashable, Sendable {
    /// Notes first what nobody needs any more once the snapshot is whole: it is taken away bit by bit then, while nothing
    /// else is to be done. What is not noted would not be asked for again, so then there is no snapshot either.
    case begin(at: Int64, pruning: Pruning = Pruning())
    case chunk([UInt8])
    case finish
    case abandon
}

private enum Step: Sendable {
    case write([JournalRecord])
    /// Since when it is waited for, and who waits.
    case commit(ContinuousClock.Instant, JournalWriter.Completion<JournalReceipt>)

    var isCommit: Bool { if case .commit = self { true } else { false } }
}

private struct Orders: Sendable {
    var steps: [Step] = []
    var reads: [@Sendable (any Journal) -> Void] = []
    var chores: [@Sendable (any Journal) -> Void] = []
    var close: JournalWriter.Completion<Void>?

    var isEmpty: Bool { steps.isEmpty && reads.isEmpty && chores.isEmpty && close == nil }
}

/// What waits for the thread: the only thing that it shares.
private final class Inbox: Sendable {
    private let orders = Monitor(Orders())

    func post(_ change: (inout Orders) -> Void) {
        orders.change(change)
    }

    /// Everything that waits; waits for something first unless there is other work.
    func take(waiting: Bool) -> Orders {
        orders.take(waiting ? { !$0.isEmpty } : { _ in true }) { orders in
            defer { orders = Orders() }
            return orders
        }
    }
}

/// The journal, to one thread at a time.
private final class Desk: Sendable {
    private let journal: Mutex<any Journal>

    init(_ journal: sending any Journal) {
        self.journal = Mutex(journal)
    }

    func use<Result: Sendable>(_ body: (any Journal) -> Result) -> Result {
        journal.withLock { body($0) }
    }
}

private struct WriterThread {
    let desk: Desk
    let inbox: Inbox
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
            let orders = inbox.take(waiting: isIdle || batch.isOpen)
            if !orders.steps.isEmpty { desk.use { take(orders.steps, &batch, writingTo: $0) } }
            reads += orders.reads
            chores += orders.chores
            close = close ?? orders.close
            if !orders.steps.isEmpty { isUntidy = true }
            // It is a transaction, in which nothing else has a place.
            if batch.isOpen { continue }

            // In turn with chores: people who read all day must not keep a snapshot from being written.
            if !reads.isEmpty, !wasRead || chores.isEmpty {
                wasRead = true
                let read = reads.removeFirst()
                desk.use { read($0) }
                continue
            }
            wasRead = false
            if !chores.isEmpty {
                let chore = chores.removeFirst()
                desk.use { chore($0) }
                isUntidy = true
            } else if let close, reads.isEmpty {
                let result = desk.use { journal in Result { () throws(JournalError) in try journal.close() } }
                return close(result)
            } else if isUntidy {
                isUntidy = tidy()
            }
        }
    }

    /// Batches that wait together are one: they end with the last of their commits.
    private func take(_ steps: [Step], _ batch: inout OpenBatch, writingTo journal: any Journal) {
        let end = steps.lastIndex { $0.isCommit }
        for (index, step) in steps.enumerated() {
            switch step {
            case .write(let part): batch.write(part, to: journal)
            case .commit(let start, let completion): batch.waiting.append((batch.newest, start, completion))
            }
            if index == end { batch.finish(in: journal) }
        }
    }

    private func tidy() -> Bool {
        let outcome = desk.use { journal in Result { () throws(JournalError) in try journal.tidy() } }
        do throws(JournalError) {
            return try outcome.get()
        } catch {
            // Without space there is nothing to tidy with; the next batch will tell.
            guard case .full = error else {
                onFailure(error)
                return false
            }
            return false
        }
    }
}

/// What is written of a batch, and who waits for it.
private struct OpenBatch {
    /// The last record of each batch that ends with this commit, since when it is waited for, and whom to tell.
    var waiting:
        [(newest: Int64?, start: ContinuousClock.Instant, completion: JournalWriter.Completion<JournalReceipt>)] = []
    /// The last record that was submitted.
    private(set) var newest: Int64?
    /// Something was submitted, and is not committed.
    private(set) var isOpen = false
    private var duration = Duration.zero
    private var failure: JournalError?

    mutating func write(_ part: [JournalRecord], to journal: any Journal) {
        isOpen = true
        newest = part.last?.sequence ?? newest
        attempt { () throws(JournalError) in try journal.write(part) }
    }

    /// - Returns: How long it took, or what went wrong.
    mutating func commit(to journal: any Journal) -> Result<Duration, JournalError> {
        attempt { () throws(JournalError) in try journal.commit() }
        return failure.map { .failure($0) } ?? .success(duration)
    }

    /// Commits it, and tells those who wait.
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

    /// After a failure the batch is gone: the rest of it has nothing to follow.
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
