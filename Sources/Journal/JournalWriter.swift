/// Gives a journal a thread of its own, so that a sync holds up nobody but those who wait for it.
///
/// Batches go first; between two of them it does one piece of something else: a read of a history, a chunk of a
/// snapshot, a little tidying. Completions are called on that thread, each exactly once; they must be quick and
/// must not block.
public final class JournalWriter: Sendable {
    public typealias Completion<Value> = @Sendable (Result<Value, JournalError>) -> Void

    private let inbox = Inbox()

    /// Starts the thread. The journal belongs to it from now on.
    ///
    /// - Parameter onFailure: Hears of errors that answer nobody's request, those of tidying.
    public init(_ journal: sending any Journal, onFailure: @escaping @Sendable (JournalError) -> Void) {
        let inbox = inbox
        var handedOver: (any Journal)? = journal
        startThread {
            guard let journal = handedOver.take() else { return }
            WriterThread(journal: journal, inbox: inbox, onFailure: onFailure).run()
        }
    }

    /// Writes a batch and syncs it, then calls back. Batches that wait together share one sync.
    ///
    /// - Precondition: As of ``Journal/append(_:)``, counted over everything that was submitted.
    public func append(_ batch: [JournalRecord], completion: @escaping Completion<JournalReceipt>) {
        inbox.post { $0.appends.append(Append(batch: batch, completion: completion)) }
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
                        case .begin(let sequence): try journal.beginSnapshot(at: sequence)
                        case .chunk(let bytes): try journal.appendToSnapshot(bytes)
                        case .finish: try journal.finishSnapshot()
                        case .abandon: try journal.abandonSnapshot()
                        }
                    })
            }
        }
    }

    /// Notes what nobody needs any more; it is taken away bit by bit while nothing else is to be done.
    public func prune(_ pruning: Pruning, completion: @escaping Completion<Void>) {
        inbox.post {
            $0.chores.append { journal in
                completion(Result { () throws(JournalError) in try journal.prune(pruning) })
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
    /// How long writing and syncing took.
    public var duration: Duration

    public init(lastSequence: Int64, duration: Duration) {
        self.lastSequence = lastSequence
        self.duration = duration
    }
}

/// A step of writing a snapshot; see ``Journal/beginSnapshot(at:)`` and what follows it.
public enum SnapshotStep: Hashable, Sendable {
    case begin(at: Int64)
    case chunk([UInt8])
    case finish
    case abandon
}

private struct Append: Sendable {
    var batch: [JournalRecord]
    var completion: JournalWriter.Completion<JournalReceipt>
}

private struct Orders: Sendable {
    var appends: [Append] = []
    var reads: [@Sendable (any Journal) -> Void] = []
    var chores: [@Sendable (any Journal) -> Void] = []
    var close: JournalWriter.Completion<Void>?

    var isEmpty: Bool { appends.isEmpty && reads.isEmpty && chores.isEmpty && close == nil }
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

private struct WriterThread {
    let journal: any Journal
    let inbox: Inbox
    let onFailure: @Sendable (JournalError) -> Void

    func run() {
        var reads: [@Sendable (any Journal) -> Void] = []
        var chores: [@Sendable (any Journal) -> Void] = []
        var close: JournalWriter.Completion<Void>?
        var isUntidy = true
        while true {
            let orders = inbox.take(waiting: reads.isEmpty && chores.isEmpty && close == nil && !isUntidy)
            append(orders.appends)
            reads += orders.reads
            chores += orders.chores
            close = close ?? orders.close

            if !reads.isEmpty {
                reads.removeFirst()(journal)
            } else if !chores.isEmpty {
                chores.removeFirst()(journal)
                isUntidy = true
            } else if let close {
                return close(Result { () throws(JournalError) in try journal.close() })
            } else {
                if !orders.appends.isEmpty { isUntidy = true }
                if isUntidy { isUntidy = tidy() }
            }
        }
    }

    private func append(_ appends: [Append]) {
        guard let first = appends.first else { return }
        let batch = appends.count == 1 ? first.batch : appends.flatMap(\.batch)
        let clock = ContinuousClock()
        let start = clock.now
        let result = Result { () throws(JournalError) in
            try journal.append(batch)
            return JournalReceipt(lastSequence: journal.lastSequence, duration: clock.now - start)
        }
        for append in appends {
            append.completion(
                result.map { receipt in
                    JournalReceipt(
                        lastSequence: append.batch.last?.sequence ?? receipt.lastSequence, duration: receipt.duration)
                })
        }
    }

    private func tidy() -> Bool {
        do throws(JournalError) {
            return try journal.tidy()
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
