import Foundation
import Hub
import Journal

/// Writes one snapshot from a thread of its own, a chunk at a time, so that the loop goes on and commits go first.
enum SnapshotWriter {
    /// - Parameter completion: Is called once, on the snapshot's or the journal's thread.
    static func write(
        _ snapshot: HubSnapshot, to journal: JournalWriter, pruning: Pruning,
        completion: @escaping @Sendable (Result<Void, JournalError>) -> Void
    ) {
        Thread.detachNewThread {
            do throws(JournalError) {
                // Noted first: the journal takes nothing away before this snapshot is whole, and a crash in between
                // must not forget it.
                if pruning != Pruning() { journal.prune(pruning) { _ in } }
                try perform(.begin(at: snapshot.sequence), on: journal)
                do throws(JournalError) {
                    try snapshot.forEachChunk { (chunk) throws(JournalError) in try perform(.chunk(chunk), on: journal)
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
        let answer = Answer()
        journal.writeSnapshot(step) { answer.give($0) }
        try answer.wait().get()
    }

    /// What the journal's thread says to this one.
    private final class Answer: @unchecked Sendable {
        // Written before the signal and read after it, so by one thread at a time.
        private var result: Result<Void, JournalError> = .success(())
        private let semaphore = DispatchSemaphore(value: 0)

        func give(_ result: Result<Void, JournalError>) {
            self.result = result
            semaphore.signal()
        }

        func wait() -> Result<Void, JournalError> {
            semaphore.wait()
            return result
        }
    }
}
