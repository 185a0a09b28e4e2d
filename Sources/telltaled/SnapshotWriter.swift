import Cluster
import Hub
import Journal
import Logging
import Server
import TelltaleEventLoop

// Snapshots are written one at a time, for the server or for a standby.
extension Daemon {
    func writeSnapshot(_ snapshot: HubSnapshot, _ pruning: Pruning, for asker: SnapshotTurns<HubSnapshot>.Asker) {
        let (begins, refused) = snapshots.ask(.init(snapshot, for: asker, pruning: pruning))
        cluster?.member.isWritingSnapshot = snapshots.isWriting
        if let begins { begin(begins) }
        if let refused { answer(refused, isWritten: false) }
    }

    /// A server's own snapshot.
    func writeSnapshot(_ pruning: Pruning) {
        guard let cluster, !cluster.isLeading else {
            return writeSnapshot(server.snapshot(), pruning, for: .server(serverNumber))
        }
        // This is a standby that stops. Its server has no history.
        guard let snapshot = cluster.takeSnapshot() else { return server.snapshotWritten(isWritten: true) }
        writeSnapshot(snapshot, Pruning(), for: .server(serverNumber))
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

    private func answer(_ asker: SnapshotTurns<HubSnapshot>.Asker, isWritten: Bool) {
        switch asker {
        // The snapshot of a replaced server does not concern its successor.
        case .server(let number): if number == serverNumber { server.snapshotWritten(isWritten: isWritten) }
        case .standby: cluster?.snapshotWritten(isWritten: isWritten)
        }
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
