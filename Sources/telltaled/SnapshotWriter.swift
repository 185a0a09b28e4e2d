import Hub
import Journal

/// Writes one snapshot from a thread of its own, a chunk at a time, so that the loop goes on and commits go first.
enum SnapshotWriter {
    /// - Parameter completion: Is called once, on the snapshot's or the journal's thread.
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
        try answer.take({ $0 != nil }, { $0.take() ?? .success(()) }).get()
    }
}
