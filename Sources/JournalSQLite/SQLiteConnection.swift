internal import CSQLite
internal import Glibc
internal import Journal
internal import TelltaleModel

/// One connection to one SQLite file, confined to the thread that uses it.
///
/// The pointer is valid from `init` to `deinit`, and statements keep their connection alive. The unsafe calls in this
/// file and in ``SQLiteStatement`` rely on that.
@safe final class SQLiteConnection {
    enum Access: CInt {
        /// The file alone, without its write-ahead log.
        case withoutLog
        case readWrite
        /// A file that is not there yet, for its owner alone.
        case create

        var flags: CInt {
            switch self {
            case .withoutLog: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
            case .readWrite: SQLITE_OPEN_READWRITE
            case .create: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
            }
        }
    }

    let path: String
    private let raw: OpaquePointer
    /// The number of pages in the write-ahead log, which SQLite reports after each commit.
    private let logPageCount: UnsafeMutablePointer<CInt>
    /// Set by ``takeCheckpoints()``.
    private var pageByteCount: Int64 = 0

    /// The time to wait for a lock of another program. Only programs that should not open the file hold one, and not
    /// for long.
    private static let busyTimeout = Milliseconds.seconds(10)

    /// Evaluated once in a process, before its first connection. Has no effect if other code has used SQLite before.
    private static let isUncounted: Bool = clibsqlite_count_no_memory() == SQLITE_OK

    /// - Parameter fileSystem: The name of an SQLite VFS; `nil` for the operating system's.
    init(_ path: String, _ access: Access, fileSystem: String? = nil) throws(JournalError) {
        _ = Self.isUncounted
        var opened: OpaquePointer?
        let name = access == .withoutLog ? Self.immutable(path) : path
        if access == .create { try OwnFile.make(path) }
        let code = unsafe sqlite3_open_v2(name, &opened, access.flags | SQLITE_OPEN_NOMUTEX, fileSystem)
        guard code == SQLITE_OK, let opened = unsafe opened else {
            let cause = unsafe String(cString: sqlite3_errstr(code))
            let system = unsafe opened == nil ? 0 : sqlite3_system_errno(opened)
            unsafe sqlite3_close_v2(opened)
            let what = "could not open \(path)"
            throw system == 0 ? .failed(what: what, cause: cause) : systemError(what, system)
        }
        self.path = path
        unsafe raw = opened
        unsafe logPageCount = .allocate(capacity: 1)
        unsafe logPageCount.initialize(to: 0)
        unsafe sqlite3_extended_result_codes(opened, 1)
        unsafe sqlite3_busy_timeout(opened, CInt(clamping: Self.busyTimeout.count))
        // Closing must not change a file that was refused.
        unsafe clibsqlite_keep_wal(opened)
    }

    /// A URI for which SQLite assumes that the file has no writer, and does not open its log.
    private static func immutable(_ path: String) -> String {
        var name = "file:"
        for character in path.unicodeScalars {
            switch character {
            case "%": name += "%25"
            case "?": name += "%3f"
            case "#": name += "%23"
            default: name.unicodeScalars.append(character)
            }
        }
        return name + "?immutable=1"
    }

    deinit {
        unsafe sqlite3_wal_hook(raw, nil, nil)
        unsafe sqlite3_close_v2(raw)
        unsafe logPageCount.deallocate()
    }

    /// Disables SQLite's automatic checkpoints, which would ignore the error of a failed sync.
    func takeCheckpoints() throws(JournalError) {
        try execute("PRAGMA wal_autocheckpoint = 0", "could not open \(path)")
        pageByteCount = try integer("PRAGMA page_size") ?? 0
        unsafe sqlite3_wal_hook(
            raw,
            { count, _, _, pages in
                unsafe count?.assumingMemoryBound(to: CInt.self).pointee = pages
                return SQLITE_OK
            }, logPageCount)
    }

    /// The number of pages in the write-ahead log after the newest commit, counted since ``takeCheckpoints()``.
    var logLength: Int { unsafe Int(logPageCount.pointee) }

    /// Extends the write-ahead log to at least `byteCount` bytes, if there is space.
    func lengthenLog(to byteCount: Int) {
        unsafe _ = clibsqlite_lengthen_log(raw, Int64(byteCount))
    }

    /// Truncates the part of the write-ahead log that a failed transaction has written after the newest commit.
    ///
    /// SQLite ignores that part. But it may hold a complete transaction, if the failure came after the write. And next
    /// to the remains of other failures, which a shorter commit does not overwrite, it looks like damage after a crash.
    func cutLog() {
        // The count is never too low, except before the first commit, when the length of an existing log is unknown.
        guard logLength > 0, pageByteCount > 0 else { return }
        unsafe _ = clibsqlite_cut_log(raw, 32 + Int64(logLength) * (24 + pageByteCount))
    }

    func execute(_ sql: String, _ what: @autoclosure () -> String) throws(JournalError) {
        let code = unsafe sqlite3_exec(raw, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw error(code, what()) }
    }

    func prepare(_ sql: String) throws(JournalError) -> SQLiteStatement {
        var statement: OpaquePointer?
        let code = unsafe sqlite3_prepare_v3(raw, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK, let statement = unsafe statement else {
            throw error(code, "could not read \(path)")
        }
        return unsafe SQLiteStatement(statement, of: self)
    }

    /// The first column of the first row; `nil` without a row.
    func integer(_ sql: String) throws(JournalError) -> Int64? {
        let statement = try prepare(sql)
        return try statement.step() ? statement.integer(0) : nil
    }

    func text(_ sql: String) throws(JournalError) -> String? {
        let statement = try prepare(sql)
        return try statement.step() ? statement.text(0) : nil
    }

    /// Runs `body` in one transaction: all of it is durable at the end, or nothing of it is stored.
    func transaction<Result>(
        _ what: @autoclosure () -> String, _ body: () throws(JournalError) -> Result
    ) throws(JournalError) -> Result {
        do throws(JournalError) {
            try begin(what())
            let result = try body()
            try commit(what())
            return result
        } catch {
            rollBack()
            throw error
        }
    }

    /// Begins a transaction. If a call fails before ``commit(_:)``, the caller calls ``rollBack()``.
    func begin(_ what: @autoclosure () -> String) throws(JournalError) {
        try execute(Self.beginning, what())
    }

    func commit(_ what: @autoclosure () -> String) throws(JournalError) {
        try execute(Self.committing, what())
    }

    static let beginning = "BEGIN IMMEDIATE"
    static let committing = "COMMIT"

    /// Ends a failed transaction, unless SQLite has already ended it.
    func rollBack() {
        guard unsafe sqlite3_get_autocommit(raw) == 0 else { return }
        unsafe sqlite3_exec(raw, "ROLLBACK", nil, nil, nil)
    }

    enum Checkpoint {
        /// As far as possible without waiting for a reader.
        case passive
        /// Completely, and restarts the log.
        case truncating
    }

    /// Copies the write-ahead log into the file and syncs both.
    ///
    /// - Parameter timeout: The time to wait for a reader that prevents ``Checkpoint/truncating``.
    /// - Returns: Whether all of it was copied; a reader can prevent that.
    @discardableResult
    func checkpoint(_ checkpoint: Checkpoint, waiting timeout: Milliseconds = .zero) throws(JournalError) -> Bool {
        guard let (frames, copied) = try frames(after: checkpoint, waiting: timeout) else { return false }
        return frames == copied
    }

    /// - Returns: The number of pages in the log, and the number of them that are in the file; `nil` if another
    ///   connection prevented the checkpoint.
    private func frames(
        after checkpoint: Checkpoint, waiting timeout: Milliseconds
    ) throws(JournalError) -> (all: CInt, copied: CInt)? {
        var frames: CInt = 0
        var copied: CInt = 0
        unsafe sqlite3_busy_timeout(raw, CInt(clamping: timeout.count))
        defer { unsafe sqlite3_busy_timeout(raw, CInt(clamping: Self.busyTimeout.count)) }
        let mode = checkpoint == .passive ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_TRUNCATE
        let code = unsafe sqlite3_wal_checkpoint_v2(raw, nil, mode, &frames, &copied)
        if code & 0xFF == SQLITE_BUSY { return nil }
        guard code == SQLITE_OK else { throw error(code, "could not copy the write-ahead log into \(path)") }
        return (frames, copied)
    }

    /// Continues to read a file that contradicts its own header or schema, without changing it.
    func readDamaged() throws(JournalError) {
        try execute("PRAGMA query_only = ON", "could not open \(path)")
        try execute("PRAGMA writable_schema = ON", "could not open \(path)")
    }

    /// Sets the durability of the next commits.
    func setSync(_ sync: SQLiteJournal.Sync) throws(JournalError) {
        let mode = sync == .follower ? SQLiteJournal.Sync.normal : sync
        try execute("PRAGMA synchronous = \(mode.rawValue)", "could not open \(path)")
    }

    /// As ``checkpoint(_:waiting:)`` for a journal's file. Notifies the sync marker before and after.
    func checkpoint(
        _ checkpoint: Checkpoint, of folder: JournalFolder, waiting timeout: Milliseconds, _ syncMarker: SyncMarker
    ) throws(JournalError) -> Bool {
        try syncMarker.databaseChanges()
        let isWhole = try self.checkpoint(checkpoint, waiting: timeout)
        try syncMarker.databaseSettled(FileIdentity(of: folder.database).changeTime)
        return isWhole
    }

    /// Copies the committed part of the log while other connections may write to it. Notifies the sync marker before
    /// and after.
    func copyLog(of folder: JournalFolder, _ syncMarker: SyncMarker) throws(JournalError) -> LogCopy {
        try syncMarker.databaseChanges()
        let frames = try frames(after: .passive, waiting: .zero)
        try syncMarker.databaseSettled(FileIdentity(of: folder.database).changeTime)
        return frames.map { LogCopy(length: Int($0.copied), isWhole: $0.copied == $0.all) } ?? LogCopy()
    }

    /// Translates SQLite's code to a journal's error.
    func error(_ code: CInt, _ what: String) -> JournalError {
        let latest = errno
        let message = unsafe String(cString: sqlite3_errmsg(raw))
        let system = code & 0xFF == SQLITE_IOERR ? unsafe clibsqlite_last_errno(raw) : unsafe sqlite3_system_errno(raw)
        let cause = system == 0 ? "\(message) (SQLite code \(code))" : "\(message): \(systemMessage(system))"
        switch code & 0xFF {
        case SQLITE_FULL:
            return .full(what: what, cause: message)
        case SQLITE_IOERR where code == clibsqlite_ioerr_write && [ENOSPC, EDQUOT, EFBIG].contains(system):
            return .full(what: what, cause: systemMessage(system))
        case SQLITE_IOERR where code == clibsqlite_ioerr_shmsize && [ENOSPC, EDQUOT, EFBIG].contains(latest):
            // The log's shared-memory index grows with the log, and SQLite keeps no error number for it.
            return .full(what: what, cause: systemMessage(latest))
        case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_ERROR, SQLITE_SCHEMA, SQLITE_MISMATCH, SQLITE_CONSTRAINT:
            return .corrupt(place: "\(path): \(message)", advice: JournalFolder.repairAdvice(file: path))
        case SQLITE_BUSY, SQLITE_LOCKED:
            return .unusable(
                what: what, cause: "another program keeps \(path) locked", advice: "stop that one, then start again")
        case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH, SQLITE_CANTOPEN:
            guard system == 0 else { return systemError(what, system) }
            return .unusable(what: what, cause: message, advice: "give its user the right to write to it")
        default:
            return .failed(what: what, cause: cause)
        }
    }

    /// Copies the whole database into another file, while other connections may write to it.
    func backup(
        to destination: SQLiteConnection, progress: (_ done: Int, _ all: Int) -> Void
    ) throws(JournalError) {
        guard let backup = unsafe sqlite3_backup_init(destination.raw, "main", raw, "main") else {
            throw destination.error(unsafe sqlite3_errcode(destination.raw), "could not begin \(destination.path)")
        }
        var code = SQLITE_OK
        repeat {
            unsafe code = sqlite3_backup_step(backup, 2_048)
            let all = unsafe Int(sqlite3_backup_pagecount(backup))
            let left = unsafe Int(sqlite3_backup_remaining(backup))
            progress(all - left, all)
        } while code == SQLITE_OK
        let ending = unsafe sqlite3_backup_finish(backup)
        guard code == SQLITE_DONE, ending == SQLITE_OK else {
            throw destination.error(code == SQLITE_DONE ? ending : code, "could not write \(destination.path)")
        }
    }
}

func systemMessage(_ code: CInt) -> String {
    unsafe String(cString: strerror(code))
}
