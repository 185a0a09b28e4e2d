internal import CSQLite
internal import Journal

/// One prepared statement. Columns count from 0 and parameters from 1, as in SQLite.
@safe final class SQLiteStatement {
    private let raw: OpaquePointer
    private let connection: SQLiteConnection

    init(_ raw: OpaquePointer, of connection: SQLiteConnection) {
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

    /// The bytes must stay valid until ``reset()`` or the next ``bind(blob:_:)``.
    func bind(blob bytes: UnsafeRawBufferPointer, _ parameter: CInt) {
        guard bytes.count > 0 else {
            unsafe sqlite3_bind_zeroblob(raw, parameter, 0)
            return
        }
        unsafe sqlite3_bind_blob64(raw, parameter, bytes.baseAddress, UInt64(bytes.count), nil)
    }

    /// As ``bind(blob:_:)``, for UTF-8.
    func bind(text bytes: UnsafeRawBufferPointer, _ parameter: CInt) {
        guard let start = bytes.baseAddress, bytes.count > 0 else {
            unsafe clibsqlite_bind_empty_text(raw, parameter)
            return
        }
        unsafe sqlite3_bind_text(raw, parameter, start.assumingMemoryBound(to: CChar.self), CInt(bytes.count), nil)
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

    /// Executes a statement without rows and resets it.
    func run(_ what: @autoclosure () -> String) throws(JournalError) {
        _ = try step(what())
        reset()
    }

    func reset() {
        unsafe sqlite3_reset(raw)
    }

    func isInteger(_ column: CInt) -> Bool { unsafe sqlite3_column_type(raw, column) == SQLITE_INTEGER }
    func integer(_ column: CInt) -> Int64 { unsafe sqlite3_column_int64(raw, column) }
    func word(_ column: CInt) -> UInt64 { UInt64(bitPattern: integer(column)) }
    func text(_ column: CInt) -> String { unsafe withBytes(column) { unsafe String(decoding: $0, as: UTF8.self) } }

    /// Calls `body` with the bytes of a column, which are valid only during the call.
    func withBytes<Result>(_ column: CInt, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let start = unsafe sqlite3_column_blob(raw, column)
        let count = unsafe Int(sqlite3_column_bytes(raw, column))
        return unsafe body(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count))
    }
}
