public import Journal
internal import TelltaleModel

/// A journal in one SQLite file in one folder, with one daemon at a time.
///
/// A batch is one transaction of a write-ahead log, synced by its commit. Every record has a checksum that covers the
/// record before it, the head names the last record, and a sync marker outside the file holds the newest acknowledged
/// one. Missing or altered content is therefore detected and refused with its place, except for a last transaction that
/// was never acknowledged.
public final class SQLiteJournal: Journal {
    public let opening: JournalOpening
    public internal(set) var snapshot: JournalSnapshot?
    public var epoch: UInt64 { head.epoch }
    public var lastSequence: Int64 { head.sequence }
    public var prunedThrough: Int64 { head.prunedThrough }

    let folder: JournalFolder
    let options: Options
    let connection: SQLiteConnection
    let statements: Statements
    let rowBuffer = RowBuffer()
    /// The durable head.
    var head: Head
    /// The head after the batch being written, in an open transaction.
    var batch: Head?
    public internal(set) var mark: [UInt8]?
    public private(set) var formerMark: [UInt8]?
    /// The mark of the batch being written.
    var batchMark: [UInt8]?
    var hasReplicaTable: Bool
    var markStatement: SQLiteStatement?
    /// The snapshot being written.
    var draft: Draft?
    /// The blocks in the file by their names, as long as a snapshot is being written that has some.
    var knownBlocks: [String: Block]?
    var chunkReader: ChunkReader?
    /// Whether there may be blocks that no snapshot uses.
    var hasOldBlocks = true
    /// Whether ``tidy()`` may have work.
    var hasChores = true
    /// The number of the log's pages that were copied since it restarted and that cannot be copied further.
    var copiedLogLength = 0
    let copier: LogCopier?
    /// The number of copies by the ``copier`` since the whole log was last copied.
    var copyCount = 0
    /// The number of pages in the log at the first of these copies.
    var lengthToCopy = 0
    /// The size to which the log's file was extended, in bytes.
    var reservedLogByteCount = 0
    private let readHold: ReadHold
    private let lock: FolderLock
    let syncMarker: SyncMarker
    private let files: OpenFiles
    /// The error after which nothing is written any more.
    private var failure: JournalError?
    /// Whether the log should restart before the next transaction, to remove the remains of a failed one.
    private var needsFreshLog: Bool
    /// The time of the next attempt. Each one costs a look at the log, and a reader may prevent it for hours.
    private var nextFreshLog = ContinuousClock.now
    /// Whether the file states that the daemon stopped cleanly.
    private var isMarkedClean: Bool
    /// Whether the file states that it is being written, and with which durability.
    private var isMarkedInUse = false
    /// Whether every commit is still fully synced, although ``Options/sync`` requires less.
    private(set) var needsRelaxing = false
    private var nextRelaxing = ContinuousClock.now
    /// The newest record that was read, with which the link of the next one is checked.
    var lastRead: (sequence: Int64, checksum: UInt64)?

    struct Statements {
        // The statements of a batch, prepared once so that not every batch compiles them.
        let begin: SQLiteStatement
        let commit: SQLiteStatement
        let append: SQLiteStatement
        let appendMany: SQLiteStatement
        let writeHead: SQLiteStatement
        let readAfter: SQLiteStatement
        let readAt: SQLiteStatement
        let appendChunk: SQLiteStatement

        init(_ connection: SQLiteConnection) throws(JournalError) {
            begin = try connection.prepare(SQLiteConnection.beginning)
            commit = try connection.prepare(SQLiteConnection.committing)
            append = try connection.prepare(RowBuffer.insertion(ofRows: 1))
            appendMany = try connection.prepare(RowBuffer.insertion(ofRows: RowBuffer.rowCount))
            writeHead = try connection.prepare(Head.writing)
            readAfter = try connection.prepare("SELECT * FROM record WHERE sequence > ?1 ORDER BY sequence LIMIT ?2")
            readAt = try connection.prepare("SELECT * FROM record WHERE sequence = ?1")
            appendChunk = try connection.prepare("INSERT INTO chunk VALUES(?1, ?2, ?3)")
        }
    }

    /// Opens the journal in the folder `path`, or makes the folder and the journal.
    public init(_ path: String, _ options: Options = Options()) throws(JournalError) {
        let folder = JournalFolder(path: path)
        self.folder = folder
        self.options = options
        let (lock, opened) = try beforeEnd("start again") { () throws(JournalError) in
            try folder.make()
            let lock = try FolderLock(folder)
            return (lock, try Self.open(folder, options))
        }
        self.lock = lock
        syncMarker = opened.syncMarker
        copier = options.copiesLogAside ? try LogCopier(folder, options, opened.syncMarker) : nil
        needsFreshLog = opened.needsFreshLog
        connection = opened.connection
        readHold = try ReadHold(opened.connection)
        statements = opened.statements
        isMarkedClean = opened.head.isClean
        head = opened.head
        head.isClean = false
        head.sync = options.sync
        opening = opened.opening
        snapshot = opened.snapshot
        (mark, formerMark) = (opened.mark, opened.formerMark)
        hasReplicaTable = opened.mark != nil
        files = OpenFiles(folder)
    }

    // MARK: Writing

    public func write(_ part: [JournalRecord]) throws(JournalError) {
        guard let first = part.first else { return }
        var next = batch ?? head
        precondition(first.sequence == next.sequence + 1, "a gap before record \(first.sequence)")
        let what = "could not write \(next.sequence - head.sequence + Int64(part.count)) records"
        try attempt { () throws(JournalError) in
            if batch == nil { try beginBatch(what) }
            try append(part, to: &next, what)
            options.observer?(.partWritten)
        }
        batch = next
    }

    func beginBatch(_ what: String) throws(JournalError) {
        // While the log is copied, all of it should be, and then it should restart.
        let isCopied = copyCount > 0 || isLogLong
        if isCopied { readHold.end() } else { readHold.endIfOld() }
        do throws(JournalError) {
            try statements.begin.run(what)
        } catch {
            // Another program has written meanwhile, although it should not: what the hold reads is out of date.
            guard readHold.isHeld else { throw error }
            readHold.end()
            try statements.begin.run(what)
        }
        if !isCopied { try readHold.begin(what) }
    }

    public func commit() throws(JournalError) {
        guard let next = batch else { return }
        let what = "could not write \(next.sequence - head.sequence) records"
        try attempt { () throws(JournalError) in
            // The second page of every transaction. Without it the log of a lone record is one frame, and a damaged
            // frame before the last one could not be distinguished from an unfinished transaction.
            try next.write(with: statements.writeHead, what)
            options.observer?(.batchWritten)
            try statements.commit.run(what)
            try files.checkPlace(what)
        }
        batch = nil
        head = next
        if let batchMark = batchMark.take() {
            mark = batchMark
            hasReplicaTable = true
        }
        do throws(JournalError) {
            try syncMarker.write(epoch: head.epoch, sequence: head.sequence)
        } catch {
            throw fail(error)
        }
        hasChores = hasChores || copyCount > 0 || isLogLong || isLogTight
        options.observer?(.batchSynced)
    }

    /// The journal is no longer a copy of a log.
    func released() { (mark, formerMark) = (nil, mark) }

    /// Runs one transaction and handles its failure.
    func write(_ what: String, _ body: () throws(JournalError) -> Void) throws(JournalError) {
        precondition(batch == nil, "a batch is being written")
        readHold.end()
        try attempt { () throws(JournalError) in try connection.transaction(what, body) }
    }

    /// Runs a part of a transaction. If it fails, the whole transaction is rolled back.
    func attempt(_ body: () throws(JournalError) -> Void) throws(JournalError) {
        if let failure { throw failure }
        do throws(JournalError) {
            // Not within a batch, because SQLite copies no log during a transaction. A permanent reader prevents the
            // restart, and the batch continues without it.
            if needsFreshLog, batch == nil, ContinuousClock.now >= nextFreshLog {
                // Otherwise a crash could leave the remains of the failed transaction after the next one, where they
                // look like damage. The restart also frees the log's space.
                nextFreshLog = .now + .seconds(1)
                needsFreshLog = try !checkpoint(.truncating)
                reservedLogByteCount = 0
            }
            if !isMarkedInUse { try markInUse() }
            if needsRelaxing, batch == nil, ContinuousClock.now >= nextRelaxing { try relaxSync(waiting: .zero) }
            try body()
        } catch {
            connection.rollBack()
            readHold.end()
            (batch, batchMark) = (nil, nil)
            if case .full = error {
                connection.cutLog()
                reservedLogByteCount = 0
            }
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
        try connection.transaction(what) { () throws(JournalError) in
            try head.write(with: statements.writeHead, what)
        }
        isMarkedClean = false
        isMarkedInUse = true
        if options.sync != .full { try relaxSync(waiting: options.busyTimeout) }
    }

    /// Reduces the durability of later commits to the configured one.
    ///
    /// With `--sync off` not even a restarted log is synced, so the mark must be in the file itself before. A permanent
    /// reader prevents that, and until it ends every commit is fully synced.
    private func relaxSync(waiting timeout: Milliseconds) throws(JournalError) {
        nextRelaxing = .now + .seconds(1)
        needsRelaxing = true  // Stays set if the disk is full.
        needsRelaxing = try !checkpoint(.truncating, waiting: timeout)
        if !needsRelaxing { try connection.setSync(options.sync) }
    }

    func endReadHold() { readHold.end() }

    /// ``SQLiteConnection/checkpoint(_:waiting:)``, with the notifications of the sync marker.
    @discardableResult
    func checkpoint(
        _ checkpoint: SQLiteConnection.Checkpoint, waiting timeout: Milliseconds = .zero
    ) throws(JournalError) -> Bool {
        readHold.end()
        // Two checkpoints at once would block each other; and after a failed sync nothing may be copied.
        try copier?.finish()
        return try connection.checkpoint(checkpoint, of: folder, waiting: timeout, syncMarker)
    }

    /// Records an error that stops the journal permanently.
    func fail(_ error: JournalError) -> JournalError {
        if case .full = error {
            needsFreshLog = true
            nextFreshLog = .now
            nextRelaxing = .now
        } else {
            failure = failure ?? error
        }
        return error
    }

    /// The files stay open until the journal is released, so that the folder stays locked.
    public func close() throws(JournalError) {
        if let failure { throw failure }
        do throws(JournalError) {
            try end()
        } catch {
            guard case .full = error else { throw error }
            // Everything acknowledged is in the log, where the next start finds it.
        }
    }

    private func end() throws(JournalError) {
        try abandonSnapshot()
        // A journal that is marked as cleanly stopped is assumed to be complete.
        try connection.setSync(.full)
        needsRelaxing = false
        let what = "could not close the journal"
        var last = head
        last.isClean = true
        if !isMarkedClean {
            isMarkedInUse = true
            try write(what) { () throws(JournalError) in try last.write(with: statements.writeHead, what) }
            head = last
        }
        failure = .unusable(what: "could not write", cause: "the journal is closed", advice: "open it again")
        try checkpoint(.truncating, waiting: options.busyTimeout)
        // The sync of the folder makes the file's time of change durable, which the sync marker has recorded.
        try folder.sync()
        try syncMarker.sync()
    }
}
