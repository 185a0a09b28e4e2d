internal import Journal
internal import TelltaleModel

/// The file of an open journal: its head, its transactions, and its failures.
///
/// Whatever writes to the file does so with the open ``Transaction``, which only this type makes.
final class JournalFile {
    /// The open transaction.
    struct Transaction: ~Copyable {
        /// The head at the end of the transaction.
        var head: Head
        /// ``Journal/mark``, likewise.
        var mark: [UInt8]?
        /// What its errors begin with: "could not …".
        fileprivate(set) var what: String

        fileprivate init(_ head: Head, _ mark: [UInt8]?, _ what: String) {
            self.head = head
            self.mark = mark
            self.what = what
        }

        func run(_ statement: SQLiteStatement) throws(JournalError) { try statement.run(what) }
    }

    /// A step that a reader of the log can prevent for hours. Each attempt costs a check of the log, so there is one a
    /// second until it succeeds.
    private struct RepeatedStep {
        var isNeeded = false
        private var next = ContinuousClock.now

        init(isNeeded: Bool = false) { self.isNeeded = isNeeded }

        var isDue: Bool { isNeeded && ContinuousClock.now >= next }

        mutating func attempt(_ step: () throws(JournalError) -> Bool) throws(JournalError) {
            next = .now + .seconds(1)
            isNeeded = true  // Stays set if the disk is full.
            isNeeded = try !step()
        }

        mutating func makeDue() { next = .now }
    }

    /// The durable head.
    private(set) var head: Head
    /// ``Journal/mark``, as durable as the head.
    private(set) var mark: [UInt8]?
    /// The transaction of the batch being written.
    private var batch: Transaction?
    private let folder: JournalFolder
    private let options: SQLiteJournal.Options
    private let connection: SQLiteConnection
    private let commitStatement: SQLiteStatement
    private let writeHead: SQLiteStatement
    private let syncMarker: SyncMarker
    private let openFiles: OpenFiles
    private var log: LogKeeper
    /// The error after which nothing is written any more.
    private var failure: JournalError?
    /// The restart of the log before the next transaction, which removes the remains of a failed one.
    private var freshLog: RepeatedStep
    /// Reduces the durability to the configured one. Until then every commit is fully synced.
    private var relaxing = RepeatedStep()
    /// Whether the file states that it is being written, and with which durability.
    private var isMarkedInUse = false
    /// Released after everything that has the files open.
    private let lock: JournalLock

    init(_ opened: OpenedJournal, _ options: SQLiteJournal.Options) throws(JournalError) {
        folder = opened.folder
        self.options = options
        connection = opened.connection
        commitStatement = try opened.connection.prepare(SQLiteConnection.committing)
        writeHead = try opened.connection.prepare(Head.writing)
        syncMarker = opened.syncMarker
        openFiles = OpenFiles(opened.folder)
        log = try LogKeeper(opened, options)
        freshLog = RepeatedStep(isNeeded: opened.needsFreshLog)
        (head, mark) = (opened.head, opened.mark)
        lock = opened.lock
    }

    // MARK: Transactions

    /// The number of records in the batch so far.
    var batchCount: Int64 { (batch?.head.sequence ?? head.sequence) - head.sequence }

    /// Runs `body` in the transaction of the batch, which it begins if there is none. An error discards the batch.
    func addToBatch(
        _ what: String, _ body: (inout Transaction) throws(JournalError) -> Void
    ) throws(JournalError) {
        try attempt { () throws(JournalError) in
            if batch == nil { try log.beginTransaction(what) }
            var transaction = batch.take() ?? Transaction(head, mark, what)
            transaction.what = what
            try body(&transaction)
            batch = consume transaction
        }
    }

    /// Commits the batch.
    ///
    /// - Returns: Whether there was one.
    func commitBatch() throws(JournalError) -> Bool {
        guard let next = batch?.head else { return false }
        let what = "could not write \(batchCount) records"
        try attempt { () throws(JournalError) in
            // The second page of every transaction. Without it the log of a lone record is one frame, and a damaged
            // frame before the last one could not be distinguished from an unfinished transaction.
            try next.write(with: writeHead, what)
            report(.batchWritten)
            try commitStatement.run(what)
            try openFiles.checkPlace(what)
        }
        (head, mark) = (next, batch?.mark)
        batch = nil
        return true
    }

    /// Records in the sync marker that everything up to the head is acknowledged.
    func acknowledge() throws(JournalError) {
        try stoppingOnFailure { () throws(JournalError) in
            try syncMarker.write(epoch: head.epoch, sequence: head.sequence)
        }
    }

    /// Runs one transaction, which writes the head.
    func change(_ what: String, _ body: (inout Transaction) throws(JournalError) -> Void) throws(JournalError) {
        try write(what) { transaction throws(JournalError) in
            try body(&transaction)
            try transaction.head.write(with: writeHead, what)
        }
    }

    /// Runs one transaction, which does not change the head.
    func write(_ what: String, _ body: (inout Transaction) throws(JournalError) -> Void) throws(JournalError) {
        precondition(batch == nil, "a batch is being written")
        log.endReadHold()
        try attempt { () throws(JournalError) in
            (head, mark) = try connection.transaction(what) { () throws(JournalError) in
                var transaction = Transaction(head, mark, what)
                try body(&transaction)
                return (transaction.head, transaction.mark)
            }
        }
    }

    /// Runs a part of a transaction. If it fails, the whole transaction is rolled back.
    private func attempt(_ body: () throws(JournalError) -> Void) throws(JournalError) {
        if let failure { throw failure }
        do throws(JournalError) {
            // Not within a batch, because SQLite copies no log during a transaction. A permanent reader prevents the
            // restart, and the batch continues without it.
            if freshLog.isDue, batch == nil {
                // Otherwise a crash could leave the remains of the failed transaction after the next one, where they
                // look like damage. The restart also frees the log's space.
                try freshLog.attempt { () throws(JournalError) in try log.restart() }
            }
            if !isMarkedInUse { try markInUse() }
            if relaxing.isDue, batch == nil { try relaxSync(waiting: .zero) }
            try body()
        } catch {
            connection.rollBack()
            log.endReadHold()
            batch = nil
            if case .full = error { log.cut() }
            throw fail(error)
        }
    }

    /// Records in the file that it is being written and with which durability, before the first write.
    ///
    /// This does not happen at opening, so that a start that fails for another reason, such as an address in use,
    /// leaves the journal marked as cleanly stopped. The mark is always synced, because it must not be lost together
    /// with the writes that it announces.
    private func markInUse() throws(JournalError) {
        let what = "could not begin to write \(folder.database)"
        var next = head
        (next.isClean, next.sync) = (false, options.sync)
        try connection.transaction(what) { () throws(JournalError) in try next.write(with: writeHead, what) }
        (head, isMarkedInUse) = (next, true)
        if options.sync != .full { try relaxSync(waiting: options.busyTimeout) }
    }

    /// Reduces the durability of later commits to the configured one.
    ///
    /// With `--sync off` not even a restarted log is synced, so the mark must be in the file itself before. A permanent
    /// reader prevents that, and until it ends every commit is fully synced.
    private func relaxSync(waiting timeout: Milliseconds) throws(JournalError) {
        try relaxing.attempt { () throws(JournalError) in try log.checkpoint(.truncating, waiting: timeout) }
        if !relaxing.isNeeded { try connection.setSync(options.sync) }
    }

    // MARK: Failures

    /// Runs work that is no transaction, and whose errors stop the journal as well.
    func stoppingOnFailure<Result>(_ body: () throws(JournalError) -> Result) throws(JournalError) -> Result {
        do throws(JournalError) { return try body() } catch { throw fail(error) }
    }

    /// Records an error that stops the journal permanently.
    private func fail(_ error: JournalError) -> JournalError {
        if case .full = error {
            freshLog.isNeeded = true
            freshLog.makeDue()
            relaxing.makeDue()
        } else {
            failure = failure ?? error
        }
        return error
    }

    func damage(_ what: String) -> JournalError { folder.damage(what) }

    // MARK: The log, and the end

    func tidyLog() throws(JournalError) {
        try log.copy(relaxing.isNeeded ? .full : options.sync)
        log.extend()
    }

    func report(_ step: SQLiteJournal.Step) { options.observer?(step) }

    /// Marks the journal as cleanly stopped. The files stay open until it is released, so that the folder stays locked.
    func close() throws(JournalError) {
        if let failure { throw failure }
        do throws(JournalError) {
            try end()
        } catch {
            guard case .full = error else { throw error }
            // Everything acknowledged is in the log, where the next start finds it.
        }
    }

    private func end() throws(JournalError) {
        // A journal that is marked as cleanly stopped is assumed to be complete.
        try connection.setSync(.full)
        relaxing.isNeeded = false
        if !head.isClean {
            isMarkedInUse = true
            try change("could not close the journal") { ($0.head.isClean, $0.head.sync) = (true, options.sync) }
        }
        failure = .unusable(what: "could not write", cause: "the journal is closed", advice: "open it again")
        try log.checkpoint(.truncating, waiting: options.busyTimeout)
        // The sync of the folder makes the file's time of change durable, which the sync marker has recorded.
        try folder.sync()
        try syncMarker.sync()
    }
}
