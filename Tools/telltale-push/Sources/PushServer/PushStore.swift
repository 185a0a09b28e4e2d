internal import ApplePush
internal import CSQLite
internal import Glibc
internal import TelltaleModel

/// The registrations and their lanes on disk: one SQLite file, one transaction a turn, synced.
///
/// For one thread at a time.
final class PushStore {
    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    private let path: String
    private let connection: OpaquePointer
    private var statements: [String: OpaquePointer] = [:]

    /// A file with another number belongs to another program, or to a later version.
    private static let version = 1

    /// Opens the file, and creates it if it is missing. No second process may have it open.
    ///
    /// - Parameter folder: `nil` = in memory.
    init(folder: String?) throws(Fault) {
        path = folder.map { "\($0)/push.sqlite" } ?? ":memory:"
        var raw: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        // Tokens are secrets, so nobody else may read the file and its log.
        let mask = umask(0o077)
        defer { umask(mask) }
        let code = unsafe sqlite3_open_v2(path, &raw, flags, nil)
        guard code == SQLITE_OK, let raw = unsafe raw else {
            let reason = unsafe raw.map { unsafe String(cString: sqlite3_errmsg($0)) } ?? "no memory"
            unsafe sqlite3_close_v2(raw)
            throw Fault(description: "\(path) cannot be opened: \(reason)")
        }
        unsafe connection = raw
        try execute("PRAGMA locking_mode = EXCLUSIVE")
        try execute("PRAGMA journal_mode = WAL")
        try execute("PRAGMA synchronous = FULL")
        try prepareSchema()
    }

    deinit {
        for statement in unsafe statements.values { unsafe sqlite3_finalize(statement) }
        unsafe sqlite3_close_v2(connection)
    }

    private func prepareSchema() throws(Fault) {
        let version = try rows("PRAGMA user_version") { unsafe Int(sqlite3_column_int64($0, 0)) }.first ?? 0
        guard version == 0 || version == Self.version else {
            throw Fault(description: "\(path) has version \(version), and this program writes \(Self.version)")
        }
        try execute("BEGIN")
        try execute("CREATE TABLE IF NOT EXISTS fact (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
        try execute(
            """
            CREATE TABLE IF NOT EXISTS registration (id TEXT PRIMARY KEY, at INTEGER NOT NULL, body TEXT NOT NULL)
            WITHOUT ROWID
            """)
        try execute(
            """
            CREATE TABLE IF NOT EXISTS lane (registration TEXT NOT NULL, key TEXT NOT NULL, state BLOB NOT NULL,
            PRIMARY KEY (registration, key)) WITHOUT ROWID
            """)
        try execute("PRAGMA user_version = \(Self.version)")
        try execute("COMMIT")
    }

    // MARK: Reading

    /// The epoch of the daemon's history that the lanes belong to.
    func epoch() throws(Fault) -> String? {
        try rows("SELECT value FROM fact WHERE name = 'epoch'") { Self.text($0, 0) }.first
    }

    /// Reads everything stored into a new ledger.
    func restore(into ledger: inout PushState) throws(Fault) {
        let kept = try rows("SELECT id, at, body FROM registration ORDER BY id") { row in
            (Self.text(row, 0), unsafe sqlite3_column_int64(row, 1), Self.text(row, 2))
        }
        for (id, at, body) in kept {
            guard let object = (try? JSONParser.parse(body))?.object,
                let registration = try? PushRegistration(id: id, object)
            else { throw Fault(description: "\(path): the registration \(id) cannot be read") }
            ledger.restore(registration, registeredAt: Timestamp(milliseconds: at))
        }
        let lanes = try rows("SELECT registration, key, state FROM lane") { row in
            (Self.text(row, 0), Self.text(row, 1), Self.bytes(row, 2))
        }
        for (id, key, bytes) in lanes {
            do throws(BinaryError) {
                try ledger.restore(PushState.LaneID(id, Key(key)), bytes)
            } catch {
                throw Fault(description: "\(path): the state of \(id) cannot be read: \(error)")
            }
        }
    }

    // MARK: Writing

    /// Writes a turn, all of it or nothing; it is on disk when this returns.
    func write(_ turn: PushState.Turn) throws(Fault) {
        guard !turn.lanes.isEmpty || !turn.registrations.isEmpty else { return }
        try execute("BEGIN IMMEDIATE")
        for (id, registration, at) in turn.registrations {
            if let registration {
                try run(
                    "INSERT OR REPLACE INTO registration VALUES (?1, ?2, ?3)",
                    [.text(id), .integer(at.milliseconds), .text(registration.json.description)])
            } else {
                try run("DELETE FROM registration WHERE id = ?1", [.text(id)])
            }
        }
        for (id, bytes) in turn.lanes {
            let name: [Value] = [.text(id.registration), .text(id.key?.text ?? "")]
            if let bytes {
                try run("INSERT OR REPLACE INTO lane VALUES (?1, ?2, ?3)", name + [.bytes(bytes)])
            } else {
                try run("DELETE FROM lane WHERE registration = ?1 AND key = ?2", name)
            }
        }
        try execute("COMMIT")
    }

    func write(epoch: String) throws(Fault) {
        try run("INSERT OR REPLACE INTO fact VALUES ('epoch', ?1)", [.text(epoch)])
    }

    // MARK: SQLite

    private enum Value {
        case text(String)
        case integer(Int64)
        case bytes([UInt8])
    }

    private func fault(_ what: String) -> Fault {
        Fault(description: "\(path): \(what): \(unsafe String(cString: sqlite3_errmsg(connection)))")
    }

    private func execute(_ sql: String) throws(Fault) {
        guard unsafe sqlite3_exec(connection, sql, nil, nil, nil) == SQLITE_OK else { throw fault(sql) }
    }

    private func statement(_ sql: String) throws(Fault) -> OpaquePointer {
        if let known = unsafe statements[sql] { return unsafe known }
        var raw: OpaquePointer?
        guard unsafe sqlite3_prepare_v2(connection, sql, -1, &raw, nil) == SQLITE_OK, let raw = unsafe raw else {
            throw fault(sql)
        }
        unsafe statements[sql] = raw
        return unsafe raw
    }

    private func run(_ sql: String, _ values: [Value]) throws(Fault) {
        let statement = unsafe try statement(sql)
        defer { unsafe sqlite3_reset(statement) }
        // SQLITE_TRANSIENT: SQLite copies the bytes.
        let copy = unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        for (index, value) in values.enumerated() {
            let parameter = CInt(index + 1)
            switch value {
            case .text(let text): unsafe sqlite3_bind_text(statement, parameter, text, -1, copy)
            case .integer(let number): unsafe sqlite3_bind_int64(statement, parameter, number)
            case .bytes(let bytes):
                unsafe bytes.withUnsafeBytes { buffer in
                    _ = unsafe sqlite3_bind_blob(statement, parameter, buffer.baseAddress, CInt(buffer.count), copy)
                }
            }
        }
        guard unsafe sqlite3_step(statement) == SQLITE_DONE else { throw fault("cannot be written") }
    }

    private func rows<Row>(_ sql: String, _ read: (OpaquePointer) -> Row) throws(Fault) -> [Row] {
        let statement = unsafe try statement(sql)
        defer { unsafe sqlite3_reset(statement) }
        var rows: [Row] = []
        while true {
            switch unsafe sqlite3_step(statement) {
            case SQLITE_ROW: rows.append(unsafe read(statement))
            case SQLITE_DONE: return rows
            default: throw fault("cannot be read")
            }
        }
    }

    private static func text(_ row: OpaquePointer, _ column: CInt) -> String {
        String(decoding: unsafe bytes(row, column), as: UTF8.self)
    }

    private static func bytes(_ row: OpaquePointer, _ column: CInt) -> [UInt8] {
        guard let start = unsafe sqlite3_column_blob(row, column) else { return [] }
        return unsafe Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(row, column))))
    }
}
