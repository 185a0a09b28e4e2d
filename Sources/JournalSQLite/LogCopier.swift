internal import Journal

/// What a copy of the write-ahead log came to.
struct LogCopy: Sendable {
    /// Pages of the log that are in the file now, from its beginning on.
    var length = 0
    /// They are all that was committed when it began. Otherwise somebody reads what was before them.
    var isWhole = false
}

/// Copies the write-ahead log into the file while batches go on being written: on a thread of its own, with a connection
/// of its own.
///
/// It copies what was committed when it began. The log can begin anew only when all of it is copied, so the last few
/// pages are for whoever writes, between two batches.
final class LogCopier: Sendable {
    private struct State {
        var isWanted = false
        var sync = SQLiteJournal.Sync.full
        var isOver = false
        /// Of the last one, until somebody asks.
        var outcome: Result<LogCopy, JournalError>?
    }

    // At no time does more than one wait for it: the thread for work, or the owner for the thread.
    private let state = Monitor(State())

    /// - Parameter witness: The journal's; it is told before and after.
    init(_ folder: JournalFolder, _ options: SQLiteJournal.Options, _ witness: SyncMarker) throws(JournalError) {
        let connection = try SQLiteConnection(folder.database, .readWrite, fileSystem: options.fileSystem)
        try SQLiteJournal.configure(connection, options)
        let state = state
        startThread(isBackground: true) {
            while let sync = state.take({ $0.isWanted || $0.isOver }, { $0.isOver ? nil : $0.sync }) {
                let outcome = Result { () throws(JournalError) in
                    try connection.setSync(sync)
                    return try connection.copyLog(of: folder, witness)
                }
                options.observer?(.logCopied)
                state.change {
                    $0.isWanted = false
                    $0.outcome = outcome
                }
            }
        }
    }

    deinit {
        // Whoever opens the folder next is to find nobody at work in it.
        state.take({ !$0.isWanted }, { _ in })
        state.change { $0.isOver = true }
    }

    /// - Parameter sync: As sure as the commits are.
    /// - Precondition: It is not ``isAtWork``.
    func begin(_ sync: SQLiteJournal.Sync) {
        state.change {
            $0.isWanted = true
            $0.sync = sync
        }
    }

    var isAtWork: Bool { state.take({ _ in true }, { $0.isWanted }) }

    /// What the last one came to, once.
    func takeOutcome() throws(JournalError) -> LogCopy? {
        try state.take({ _ in true }, { $0.outcome.take() })?.get()
    }

    /// Waits until it is not at work.
    ///
    /// - Throws: What went wrong, but for a full disk, which whoever waits finds out without it.
    func finish() throws(JournalError) {
        do throws(JournalError) {
            _ = try state.take({ !$0.isWanted }, { $0.outcome.take() })?.get()
        } catch {
            guard case .full = error else { throw error }
        }
    }
}
