import Cluster
import Hub
import Journal
import Logging
import Server
import TelltaleEventLoop

// Snapshots are written one at a time.
extension Daemon {
    func writeSnapshot(_ pruning: Pruning) {
        // A node without a history, or whose local journal a checkpoint replaces, has no state to write.
        guard cluster?.member.mayTakeSnapshot != false else { return server.snapshotWritten(isWritten: false) }
        cluster?.flushLocalJournal()
        let (begins, refused) = snapshots.ask(.init(server.snapshot(), for: serverNumber, pruning: pruning))
        cluster?.member.isWritingSnapshot = snapshots.isWriting
        if let begins { begin(begins) }
        if let refused { answer(refused, isWritten: false) }
    }

    func snapshotEnded(_ result: Result<Void, JournalError>) {
        if case .failure(let error) = result {
            logger.warning("the snapshot was given up: \(server.isStopping ? error.ending("start again") : error)")
        }
        let (asker, next) = snapshots.ended()
        cluster?.member.isWritingSnapshot = snapshots.isWriting
        if let next { begin(next) }
        if let asker { answer(asker, isWritten: (try? result.get()) != nil) }
    }

    private func begin(_ request: SnapshotTurns<HubSnapshot>.Request) {
        let sender = mailbox.sender
        SnapshotWriter.write(request.content, to: journal, pruning: request.pruning) { result in
            _ = sender.post(.snapshotWritten(result))
        }
    }

    private func answer(_ asker: Int, isWritten: Bool) {
        // The snapshot of a replaced server does not concern its successor.
        if asker == serverNumber { server.snapshotWritten(isWritten: isWritten) }
    }
}

/// Writes one snapshot from its own thread, a chunk at a time, so that the loop is not blocked and commits go first.
enum SnapshotWriter {
    /// - Parameter completion: Called once, on the snapshot's or the journal's thread.
    static func write(
        _ snapshot: HubSnapshot, to journal: JournalWriter, pruning: Pruning,
        completion: @escaping @Sendable (Result<Void, JournalError>) -> Void
    ) {
        startThread(isBackground: true) {
            do throws(JournalError) {
                try perform(.begin(at: snapshot.sequence, pruning: pruning), on: journal)
                do throws(JournalError) {
                    try snapshot.forEachPiece { (piece) throws(JournalError) in
                        switch piece {
                        case .chunk(let bytes): try perform(.chunk(bytes), on: journal)
                        case .blocks(let blocks): try perform(.blocks(blocks), on: journal)
                        }
                    }
                    try perform(.finish, on: journal)
                } catch {
                    try? perform(.abandon, on: journal)
                    throw error
                }
                completion(.success(()))
            } catch {
                completion(.failure(error))
            }
        }
    }

    private static func perform(_ step: SnapshotStep, on journal: JournalWriter) throws(JournalError) {
        let answer = Monitor<Result<Void, JournalError>?>(nil)
        journal.writeSnapshot(step) { result in answer.change { $0 = result } }
        try answer.waitAndChange({ $0 != nil }, { $0.take() ?? .success(()) }).get()
    }
}
