internal import Journal

/// The result of copying the write-ahead log.
struct LogCopy: Sendable {
    /// The number of the log's pages that are in the file, counted from its beginning.
    var length = 0
    /// Whether everything was copied that was committed at the start. A reader of older pages can prevent that.
    var isWhole = false
}

/// Copies the write-ahead log into the file while batches are written, on its own thread and connection.
///
/// It copies the pages that were committed when it started. The log restarts only after all pages are copied, so the
/// writer copies the last few pages between two batches.
final class LogCopier: Sendable {
    private struct State {
        var isWanted = false
        var sync = SQLiteJournal.Sync.full
        var isOver = false
        /// The result of the last copy, until it is taken.
        var outcome: Result<LogCopy, JournalError>?
    }

    // At most one thread waits at a time: the copier for work, or the owner for the copier.
    private let state = Monitor(State())

    /// - Parameter syncMarker: The journal's sync marker, which is notified before and after.
    init(_ folder: JournalFolder, _ options: SQLiteJournal.Options, _ syncMarker: SyncMarker) throws(JournalError) {
        let connection = try SQLiteConnection(folder.database, .readWrite, fileSystem: options.fileSystem)
        try OpenedJournal.configure(connection, options)
        let state = state
        startThread(isBackground: true) {
            while let sync = state.waitAndChange({ $0.isWanted || $0.isOver }, { $0.isOver ? nil : $0.sync }) {
                let outcome = Result { () throws(JournalError) in
                    try connection.setSync(sync)
                    return try connection.copyLog(of: folder, syncMarker)
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
        // The next opener of the folder must find no thread working in it.
        state.waitAndChange({ !$0.isWanted }, { _ in })
        state.change { $0.isOver = true }
    }

    /// - Parameter sync: The durability of the commits.
    /// - Precondition: It is not ``isAtWork``.
    func begin(_ sync: SQLiteJournal.Sync) {
        state.change {
            $0.isWanted = true
            $0.sync = sync
        }
    }

    var isAtWork: Bool { state.waitAndChange({ _ in true }, { $0.isWanted }) }

    /// The result of the last copy, which is returned once.
    func takeOutcome() throws(JournalError) -> LogCopy? {
        try state.waitAndChange({ _ in true }, { $0.outcome.take() })?.get()
    }

    /// Waits until the copier is idle.
    ///
    /// - Throws: The error of the copy, except for a full disk, which the caller notices itself.
    func finish() throws(JournalError) {
        do throws(JournalError) {
            _ = try state.waitAndChange({ !$0.isWanted }, { $0.outcome.take() })?.get()
        } catch {
            guard case .full = error else { throw error }
        }
    }
}
