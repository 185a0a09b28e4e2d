public import Journal
internal import TelltaleModel

/// The journal of one machine: one SQLite file in one folder, with one daemon at a time.
///
/// A batch is one transaction of a write-ahead log, synced by its commit. Every record carries a checksum that covers
/// the record before it, the head says where they end, and a witness outside the file how far was acknowledged: what
/// is missing or altered is refused with its place, but for a last transaction that nobody was told of.
public final class SQLiteJournal: Journal {
    /// How sure a commit is.
    public enum Sync: String, CaseIterable, Hashable, Sendable {
        /// Survives a power failure. The only one with which `OK` is a promise.
        case full
        /// Survives a kill; a power failure may take the newest commits.
        case normal
        /// Survives a kill; a power failure may take everything.
        case off
    }

    public struct Options: Sendable {
        public var sync = Sync.full
        /// Up to this size every record and chunk is checked when the journal is opened, not only what is needed.
        /// In bytes; more is checked by `telltale journal verify`.
        public var checkedByteCount = 32 << 20
        /// The log is copied into the file when it is longer: each time a batch waits for the last of it, and for the
        /// beginning of the next log. In bytes; what is longer is copied in longer bursts, and read at a recovery.
        public var logByteCount = 16 << 20
        /// The log's file is kept longer than the log, by this much at most, so that a commit finds its bytes there. A
        /// commit that makes a file longer has the file system sync its own books too, which takes about as long again.
        /// In bytes; 0 for a log as long as its content.
        public var logReserveByteCount = 1 << 20
        /// Most of the log is copied beside the writing, by a thread of its own, so that a batch does not wait for that.
        public var copiesLogAside = false
        /// Called at each step, by the thread that writes or the one that copies: for tests that kill the process there.
        public var observer: (@Sendable (Step) -> Void)?
        /// Makes the first epoch, and another one where history may have been lost. Never 0.
        public var makeEpoch: @Sendable () -> UInt64 = { UInt64.random(in: 1 ... .max) }
        /// An SQLite VFS by name, for tests with faults; `nil` is the operating system's.
        package var fileSystem: String?
        package var pageByteCount = 8_192
        /// How long an opening and a closing wait for who reads the log, in milliseconds. Neither needs the log to be
        /// empty; it is only better.
        package var busyMilliseconds: Int32 = 250

        public init() {}
    }

    /// Where a process may be killed to see what it leaves behind.
    public enum Step: String, CaseIterable, Hashable, Sendable {
        /// A part of a batch is in SQLite's cache; the rest has not come, or comes now.
        case partWritten = "part-written"
        /// A batch is in SQLite's cache; nothing of it is in the file.
        case batchWritten = "batch-written"
        /// It is synced; nobody was told.
        case batchSynced = "batch-synced"
        case chunkWritten = "chunk-written"
        case snapshotFinished = "snapshot-finished"
        case pruned
        /// All of the log is in the file, or what was committed when a copy beside the writing began.
        case logCopied = "log-copied"
    }

    public let opening: JournalOpening
    public internal(set) var snapshot: JournalSnapshot?
    public var epoch: UInt64 { head.epoch }
    public var lastSequence: Int64 { head.sequence }
    public var prunedThrough: Int64 { head.prunedThrough }

    let folder: JournalFolder
    let options: Options
    let connection: SQLiteConnection
    let statements: Statements
    /// What is durable.
    var head: Head
    /// The head after the batch that is being written, in a transaction that is open.
    private var batch: Head?
    /// The snapshot that is being written.
    var draft: (id: Int64, sequence: Int64, chunkCount: Int64, byteCount: Int64, checksum: UInt64)?
    /// Whether ``tidy()`` may find something.
    var hasChores = true
    /// Pages of the log that were copied since it began anew, as far as they ever will be.
    var copiedLogLength = 0
    let copier: LogCopier?
    /// How often the ``copier`` was begun since the log was copied whole.
    var copyCount = 0
    /// How many pages the log had when it was begun first.
    var lengthToCopy = 0
    /// How many bytes the log's file was made to have.
    var reservedLogByteCount = 0
    private let lock: FolderLock
    private let witness: SyncMarker
    /// After this nothing is written any more.
    private var failure: JournalError?
    /// What is left of a failed transaction in the log should go before the next one.
    private var needsFreshLog: Bool
    /// When that is tried again. Each time costs a look at the log, and a reader may stay for hours.
    private var nextFreshLog = ContinuousClock.now
    /// Whether the file says that the daemon stopped in order.
    private var isMarkedClean: Bool
    /// Whether the file says that it is being written to, and how its commits are synced.
    private var isMarkedInUse = false
    /// Everything is synced still, though ``Options/sync`` asks for less.
    private(set) var needsRelaxing = false
    private var nextRelaxing = ContinuousClock.now
    /// The newest record that was read, so that the next one's link can be checked.
    private var lastRead: (sequence: Int64, checksum: UInt64)?

    struct Statements {
        let append: SQLiteStatement
        let writeHead: SQLiteStatement
        let readAfter: SQLiteStatement
        let readAt: SQLiteStatement
        let appendChunk: SQLiteStatement
        let readChunk: SQLiteStatement

        init(_ connection: SQLiteConnection) throws(JournalError) {
            append = try connection.prepare("INSERT INTO record VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)")
            writeHead = try connection.prepare(Head.writing)
            readAfter = try connection.prepare("SELECT * FROM record WHERE sequence > ?1 ORDER BY sequence LIMIT ?2")
            readAt = try connection.prepare("SELECT * FROM record WHERE sequence = ?1")
            appendChunk = try connection.prepare("INSERT INTO chunk VALUES(?1, ?2, ?3)")
            readChunk = try connection.prepare("SELECT body, checksum FROM chunk WHERE id = ?1")
        }
    }

    /// Opens the journal in `path`, or makes one, folder and all.
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
        witness = opened.witness
        copier = options.copiesLogAside ? try LogCopier(folder, options, opened.witness) : nil
        needsFreshLog = opened.needsFreshLog
        connection = opened.connection
        statements = opened.statements
        isMarkedClean = opened.head.isClean
        head = opened.head
        head.isClean = false
        head.sync = options.sync
        opening = opened.opening
        snapshot = opened.snapshot
    }

    // MARK: Writing

    public func write(_ part: [JournalRecord]) throws(JournalError) {
        guard let first = part.first else { return }
        var next = batch ?? head
        precondition(first.sequence == next.sequence + 1, "a gap before record \(first.sequence)")
        let what = "could not write \(next.sequence - head.sequence + Int64(part.count)) records"
        try attempt { () throws(JournalError) in
            if batch == nil { try connection.begin(what) }
            for record in part {
                precondition(record.sequence == next.sequence + 1, "a gap before record \(record.sequence)")
                next.checksum = try insert(record, link: next.checksum, what)
                next.sequence = record.sequence
            }
            options.observer?(.partWritten)
        }
        batch = next
    }

    public func commit() throws(JournalError) {
        guard let next = batch else { return }
        let what = "could not write \(next.sequence - head.sequence) records"
        try attempt { () throws(JournalError) in
            try next.write(with: statements.writeHead, what)
            options.observer?(.batchWritten)
            try connection.commit(what)
        }
        batch = nil
        head = next
        do throws(JournalError) {
            try witness.write(epoch: head.epoch, sequence: head.sequence)
        } catch {
            throw fail(error)
        }
        hasChores = hasChores || copyCount > 0 || isLogLong || isLogTight
        options.observer?(.batchSynced)
    }

    private func insert(_ record: JournalRecord, link: UInt64, _ what: String) throws(JournalError) -> UInt64 {
        let statement = statements.append
        let entity = record.entity.utf8.span
        let body = record.body.span
        return try unsafe entity.withUnsafeBufferPointer { entity throws(JournalError) in
            try unsafe body.withUnsafeBytes { body throws(JournalError) in
                let checksum = unsafe Checksum.record(
                    link: link, sequence: record.sequence, time: record.time.milliseconds, previous: record.previous,
                    entity: UnsafeRawBufferPointer(entity), body: body)
                statement.bind(record.sequence, 1)
                statement.bind(record.time.milliseconds, 2)
                unsafe statement.bind(text: entity, 3)
                statement.bind(record.previous, 4)
                unsafe statement.bind(blob: body, 5)
                statement.bind(link, 6)
                statement.bind(checksum, 7)
                try statement.run(what)
                return checksum
            }
        }
    }

    /// One transaction, and what follows from its failure.
    func write(_ what: String, _ body: () throws(JournalError) -> Void) throws(JournalError) {
        precondition(batch == nil, "a batch is being written")
        try attempt { () throws(JournalError) in try connection.transaction(what, body) }
    }

    /// A piece of a transaction, or all of it: when it fails, nothing of the transaction stays.
    private func attempt(_ body: () throws(JournalError) -> Void) throws(JournalError) {
        if let failure { throw failure }
        do throws(JournalError) {
            // Not in the middle of a batch: SQLite copies no log within a transaction. A reader that stays keeps it from
            // being copied at all, and the batch goes on without.
            if needsFreshLog, batch == nil, ContinuousClock.now >= nextFreshLog {
                // Without this a crash could leave pieces of the failed transaction behind the next one, where they
                // look like damage. It also gives the log's space back.
                nextFreshLog = .now + .seconds(1)
                needsFreshLog = try !checkpoint(.truncating)
                reservedLogByteCount = 0
            }
            if !isMarkedInUse { try markInUse() }
            if needsRelaxing, batch == nil, ContinuousClock.now >= nextRelaxing { try relaxSync(waiting: 0) }
            try body()
        } catch {
            connection.rollBack()
            batch = nil
            if case .full = error {
                connection.cutLog()
                reservedLogByteCount = 0
            }
            throw fail(error)
        }
    }

    /// Notes in the file that it is being written to, and how, before anything else is.
    ///
    /// Not at the opening, so that a start that fails for another reason, an address in use say, leaves the journal as
    /// stopped in order as it was. This is synced in any case: it must not be lost with what it warns of.
    private func markInUse() throws(JournalError) {
        let what = "could not begin to write \(folder.database)"
        try connection.transaction(what) { () throws(JournalError) in
            try head.write(with: statements.writeHead, what)
        }
        isMarkedClean = false
        isMarkedInUse = true
        if options.sync != .full { try relaxSync(waiting: options.busyMilliseconds) }
    }

    /// Syncs no better than was asked for from here on.
    ///
    /// With `--sync off` not even a log that begins anew is synced, so the mark must be in the file itself before. A reader
    /// that stays keeps it out of there; until it has gone everything is synced.
    private func relaxSync(waiting milliseconds: Int32) throws(JournalError) {
        nextRelaxing = .now + .seconds(1)
        needsRelaxing = true  // And stays so where the disk is full.
        needsRelaxing = try !checkpoint(.truncating, waiting: milliseconds)
        if !needsRelaxing { try connection.setSync(options.sync) }
    }

    /// ``SQLiteConnection/checkpoint(_:waiting:)``, and what the witness is to know of it.
    @discardableResult
    func checkpoint(
        _ checkpoint: SQLiteConnection.Checkpoint, waiting milliseconds: Int32 = 0
    ) throws(JournalError) -> Bool {
        // Two at once would be in each other's way; and after a sync that failed nothing is copied any more.
        try copier?.finish()
        return try connection.checkpoint(checkpoint, of: folder, waiting: milliseconds, witness)
    }

    /// Remembers what must stop the journal for good.
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

    /// The files stay open until the journal goes, so that the folder stays locked.
    public func close() throws(JournalError) {
        if let failure { throw failure }
        do throws(JournalError) {
            try end()
        } catch {
            guard case .full = error else { throw error }
            // It is not tried again, and what was acknowledged is in the log.
            throw error.ending("start again")
        }
    }

    private func end() throws(JournalError) {
        try abandonSnapshot()
        // Whoever finds it stopped in order takes it for whole.
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
        try checkpoint(.truncating, waiting: options.busyMilliseconds)
        // With the names the file system makes the file's time of change durable, which the witness has noted.
        try folder.sync()
        try witness.sync()
    }

    // MARK: Reading

    public func readRecords(after sequence: Int64, limit: Int) throws(JournalError) -> [JournalRecord] {
        let statement = statements.readAfter
        statement.bind(sequence, 1)
        statement.bind(Int64(limit), 2)
        defer { statement.reset() }
        var records: [JournalRecord] = []
        records.reserveCapacity(min(limit, 65_536))
        var expected = sequence + 1
        while try statement.step() {
            let row = try row(of: statement)
            let record = row.record
            guard record.sequence == expected || record.sequence - 1 <= head.prunedThrough else {
                throw damage("record \(expected) is missing")
            }
            if let lastRead, lastRead.sequence == record.sequence - 1, lastRead.checksum != row.link {
                throw damage("record \(record.sequence) does not follow the one before it")
            }
            lastRead = (record.sequence, row.checksum)
            expected = record.sequence + 1
            records.append(record)
        }
        guard records.isEmpty ? sequence < head.sequence : false else { return records }
        guard head.sequence > head.prunedThrough else { return records }
        throw damage("record \(max(sequence, head.prunedThrough) + 1) is missing")
    }

    public func record(at sequence: Int64) throws(JournalError) -> JournalRecord? {
        let statement = statements.readAt
        statement.bind(sequence, 1)
        defer { statement.reset() }
        guard try statement.step() else {
            guard sequence <= head.prunedThrough || sequence > head.sequence else {
                throw damage("record \(sequence) is missing")
            }
            return nil
        }
        return try row(of: statement).record
    }

    private func row(of statement: SQLiteStatement) throws(JournalError) -> RecordRow {
        let row = RecordRow(statement)
        let sequence = row.record.sequence
        guard row.isWhole, sequence < head.sequence || (sequence == head.sequence && row.checksum == head.checksum)
        else { throw damage("record \(sequence) does not fit its checksum") }
        return row
    }

    func damage(_ what: String) -> JournalError {
        .corrupt(place: "\(folder.database): \(what)", advice: folder.repairAdvice)
    }
}

extension SQLiteJournal.Sync {
    var code: Int64 {
        switch self {
        case .full: 2
        case .normal: 1
        case .off: 0
        }
    }

    init?(code: Int64) {
        guard let sync = Self.allCases.first(where: { $0.code == code }) else { return nil }
        self = sync
    }
}
