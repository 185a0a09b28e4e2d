internal import CSQLite
internal import Glibc
internal import Journal

/// One connection to one SQLite file, confined to the thread that uses it.
///
/// The pointer is valid from `init` to `deinit`; statements keep their connection alive. That makes the unsafe calls
/// in this file and in ``SQLiteStatement`` right.
@safe final class SQLiteConnection {
    enum Access: CInt {
        /// The file alone, as it was when its write-ahead log was copied into it last.
        case withoutLog
        case readWrite
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
    fileprivate let raw: OpaquePointer
    /// How many pages the write-ahead log holds, told by SQLite after each commit.
    private let logPageCount: UnsafeMutablePointer<CInt>
    /// Known since ``takeCheckpoints()``.
    private var pageByteCount: Int64 = 0

    /// How long to wait for a lock that another program has. Only those hold one who should not, and not for long.
    private static let busyMilliseconds: CInt = 10_000

    /// - Parameter fileSystem: The name of an SQLite VFS; `nil` is the operating system's.
    init(_ path: String, _ access: Access, fileSystem: String? = nil) throws(JournalError) {
        var opened: OpaquePointer?
        let name = access == .withoutLog ? Self.immutable(path) : path
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
        unsafe sqlite3_busy_timeout(opened, Self.busyMilliseconds)
        // Closing must not touch a file that was refused.
        unsafe clibsqlite_keep_wal(opened)
    }

    /// The name with which SQLite takes a file for one that nobody writes to, so that it looks for no log.
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

    /// Takes the checkpoints away from SQLite, whose own would swallow the error of a failed sync.
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

    /// Pages in the write-ahead log, after the newest commit; counted since ``takeCheckpoints()``.
    var logLength: Int { unsafe Int(logPageCount.pointee) }

    /// Makes the write-ahead log a file of at least `byteCount` bytes, where there is room for that.
    func lengthenLog(to byteCount: Int) {
        unsafe _ = clibsqlite_lengthen_log(raw, Int64(byteCount))
    }

    /// Takes away what a transaction that failed has left in the write-ahead log, behind the newest commit.
    ///
    /// Nobody reads that. It may be whole, where the failure came after it was written; and beside pieces of other
    /// failures, that a later commit is too short to overwrite, it looks like damage after a crash.
    func cutLog() {
        // It is never less than there is, but at first, when nothing is known of the log that was there before.
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

    /// The first column of the first row, or `nil` without one.
    func integer(_ sql: String) throws(JournalError) -> Int64? {
        let statement = try prepare(sql)
        return try statement.step() ? statement.integer(0) : nil
    }

    func text(_ sql: String) throws(JournalError) -> String? {
        let statement = try prepare(sql)
        return try statement.step() ? statement.text(0) : nil
    }

    /// Runs `body` in one transaction: all of it is durable at the end, or nothing of it is there.
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

    /// Begins a transaction. What fails before ``commit(_:)`` is for the caller to ``rollBack()``.
    func begin(_ what: @autoclosure () -> String) throws(JournalError) {
        try execute("BEGIN IMMEDIATE", what())
    }

    func commit(_ what: @autoclosure () -> String) throws(JournalError) {
        try execute("COMMIT", what())
    }

    /// Ends a transaction that failed, where SQLite has not ended it by itself.
    func rollBack() {
        guard unsafe sqlite3_get_autocommit(raw) == 0 else { return }
        unsafe sqlite3_exec(raw, "ROLLBACK", nil, nil, nil)
    }

    enum Checkpoint {
        /// As far as it goes without waiting for a reader.
        case passive
        /// All of it, and the log begins anew.
        case truncating
    }

    /// Copies the write-ahead log into the file, and syncs both.
    ///
    /// - Parameter milliseconds: How long to wait for a reader that is in the way of ``Checkpoint/truncating``.
    /// - Returns: Whether all of it was copied; a reader can be in the way.
    @discardableResult
    func checkpoint(_ checkpoint: Checkpoint, waiting milliseconds: Int32 = 0) throws(JournalError) -> Bool {
        guard let (frames, copied) = try frames(after: checkpoint, waiting: milliseconds) else { return false }
        return frames == copied
    }

    /// - Returns: How many pages the log has, and how many of them are in the file now; `nil` where somebody was in the way
    ///   altogether.
    private func frames(
        after checkpoint: Checkpoint, waiting milliseconds: Int32
    ) throws(JournalError) -> (all: CInt, copied: CInt)? {
        var frames: CInt = 0
        var copied: CInt = 0
        unsafe sqlite3_busy_timeout(raw, milliseconds)
        defer { unsafe sqlite3_busy_timeout(raw, Self.busyMilliseconds) }
        let mode = checkpoint == .passive ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_TRUNCATE
        let code = unsafe sqlite3_wal_checkpoint_v2(raw, nil, mode, &frames, &copied)
        if code & 0xFF == SQLITE_BUSY { return nil }
        guard code == SQLITE_OK else { throw error(code, "could not copy the write-ahead log into \(path)") }
        return (frames, copied)
    }

    /// Reads on where a file does not fit its own header or schema, and changes nothing.
    func readDamaged() throws(JournalError) {
        try execute("PRAGMA query_only = ON", "could not open \(path)")
        try execute("PRAGMA writable_schema = ON", "could not open \(path)")
    }

    /// How sure the next commits are.
    func setSync(_ sync: SQLiteJournal.Sync) throws(JournalError) {
        try execute("PRAGMA synchronous = \(sync.rawValue)", "could not open \(path)")
    }

    /// As ``checkpoint(_:waiting:)``, of a journal's file: the witness is told, before and after.
    func checkpoint(
        _ checkpoint: Checkpoint, of folder: JournalFolder, waiting milliseconds: Int32, _ witness: SyncMarker
    ) throws(JournalError) -> Bool {
        try witness.databaseChanges()
        let isWhole = try self.checkpoint(checkpoint, waiting: milliseconds)
        try witness.databaseSettled(FileIdentity(of: folder.database).changeTime)
        return isWhole
    }

    /// Copies of the log what is committed, while others may write to it; the witness is told, before and after.
    func copyLog(of folder: JournalFolder, _ witness: SyncMarker) throws(JournalError) -> LogCopy {
        try witness.databaseChanges()
        let frames = try frames(after: .passive, waiting: 0)
        try witness.databaseSettled(FileIdentity(of: folder.database).changeTime)
        return frames.map { LogCopy(length: Int($0.copied), isWhole: $0.copied == $0.all) } ?? LogCopy()
    }

    /// What SQLite's code means for a journal.
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
            // The log's index grows with the log, 32 KiB at a time, and SQLite keeps no error number of it.
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

    /// Copies everything into another file while the journal may be written to.
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

/// One prepared statement; columns and parameters are numbered as SQLite does it.
@safe final class SQLiteStatement {
    private let raw: OpaquePointer
    private let connection: SQLiteConnection

    fileprivate init(_ raw: OpaquePointer, of connection: SQLiteConnection) {
        unsafe self.raw = raw
        self.connection = connection
    }

    deinit {
        unsafe sqlite3_finalize(raw)
    }

    func bind(_ value: Int64, _ parameter: CInt) {
        unsafe sqlite3_bind_int64(raw, parameter, value)
    }

    func bind(_ value: UInt64, _ parameter: CInt) {
        unsafe sqlite3_bind_int64(raw, parameter, Int64(bitPattern: value))
    }

    /// The bytes must stay where they are until ``reset()`` or the next ``bind(blob:_:)``.
    func bind(blob bytes: UnsafeRawBufferPointer, _ parameter: CInt) {
        guard bytes.count > 0 else {
            unsafe sqlite3_bind_zeroblob(raw, parameter, 0)
            return
        }
        unsafe sqlite3_bind_blob64(raw, parameter, bytes.baseAddress, UInt64(bytes.count), nil)
    }

    /// As ``bind(blob:_:)``, for UTF-8.
    func bind(text bytes: UnsafeBufferPointer<UInt8>, _ parameter: CInt) {
        guard let start = bytes.baseAddress, bytes.count > 0 else {
            unsafe clibsqlite_bind_empty_text(raw, parameter)
            return
        }
        let count = CInt(bytes.count)
        unsafe start.withMemoryRebound(to: CChar.self, capacity: bytes.count) { start in
            _ = unsafe sqlite3_bind_text(raw, parameter, start, count, nil)
        }
    }

    /// - Returns: Whether there is a row.
    func step(_ what: @autoclosure () -> String? = nil) throws(JournalError) -> Bool {
        let code = unsafe sqlite3_step(raw)
        switch code {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default:
            let error = connection.error(code, what() ?? "could not read \(connection.path)")
            unsafe sqlite3_reset(raw)
            throw error
        }
    }

    /// Executes a statement that gives no rows, and makes it ready for the next time.
    func run(_ what: @autoclosure () -> String) throws(JournalError) {
        _ = try step(what())
        reset()
    }

    func reset() {
        unsafe sqlite3_reset(raw)
    }

    func integer(_ column: CInt) -> Int64 { unsafe sqlite3_column_int64(raw, column) }
    func word(_ column: CInt) -> UInt64 { UInt64(bitPattern: integer(column)) }
    func text(_ column: CInt) -> String { unsafe withBytes(column) { unsafe String(decoding: $0, as: UTF8.self) } }

    /// The bytes of a column, valid within `body` alone.
    func withBytes<Result>(_ column: CInt, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let start = unsafe sqlite3_column_blob(raw, column)
        let count = unsafe Int(sqlite3_column_bytes(raw, column))
        return unsafe body(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count))
    }
}

func systemMessage(_ code: CInt) -> String {
    unsafe String(cString: strerror(code))
}
