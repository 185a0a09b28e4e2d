internal import Journal

/// The schema of the file. Other programs may read it with `sqlite3`; a write by one breaks the checksums.
enum JournalSchema {
    /// "TLTL", by which `file` and the journal recognise the format.
    static let applicationID: Int64 = 0x544C_544C
    /// Incremented with every change of the schema below.
    static let version: Int64 = 3
    static let oldestVersion: Int64 = 1

    static let tables = [
        // One row: the position of the journal. Its checksum is that of the newest record, and its seal covers the row.
        """
        CREATE TABLE head(id INTEGER PRIMARY KEY, epoch INTEGER, sequence INTEGER, checksum INTEGER, \
        snapshot INTEGER, pruned INTEGER, pruning INTEGER, clean INTEGER, sync INTEGER, origin INTEGER, seal INTEGER)
        """,
        // link is the checksum of the record before it, so that a record can be checked by itself.
        """
        CREATE TABLE record(sequence INTEGER PRIMARY KEY, time INTEGER, entity TEXT, previous INTEGER, body BLOB, \
        link INTEGER, checksum INTEGER)
        """,
        // The complete snapshot is the one that the head names. Its checksum is that of its last chunk.
        """
        CREATE TABLE snapshot(id INTEGER PRIMARY KEY, sequence INTEGER, chunks INTEGER, bytes INTEGER, \
        checksum INTEGER, seal INTEGER)
        """,
        // id: that of the snapshot times 2^20, plus the chunk's number from 0. The body may be the id of a block.
        "CREATE TABLE chunk(id INTEGER PRIMARY KEY, body BLOB, checksum INTEGER)",
        // The last records of histories to prune.
        "CREATE TABLE doomed(sequence INTEGER PRIMARY KEY)",
    ]

    /// Version 2 has this table as well. A journal gets it with the first block that it stores.
    ///
    /// A chunk whose body is an integer is the block of that id, and its checksum covers that of the block.
    static let blockTable = "CREATE TABLE block(id INTEGER PRIMARY KEY, name TEXT, checksum INTEGER, body BLOB)"

    /// Version 3 has this table as well. A journal gets it with the first mark that it stores: it then holds a node's
    /// copy of a replicated log, and the mark says how much of it. Row 1 is about the record of that sequence; row 2 is
    /// the last mark of a journal that left its log.
    static let replicaTable =
        "CREATE TABLE replica(id INTEGER PRIMARY KEY, mark BLOB, sequence INTEGER, checksum INTEGER)"

    /// Whether these are all tables that a journal has, and no others.
    static func isWhole(_ tables: [String]) -> Bool {
        guard tables.starts(with: Self.tables) else { return false }
        let rest = tables.dropFirst(Self.tables.count)
        return Set(rest).count == rest.count && rest.allSatisfy { [blockTable, replicaTable].contains($0) }
    }

    /// Creates ``blockTable`` if it is missing, within a transaction.
    static func addBlocks(to connection: SQLiteConnection, _ what: String) throws(JournalError) {
        guard try !hasBlocks(connection) else { return }
        try connection.execute(blockTable, what)
        let version = try connection.integer("PRAGMA user_version") ?? 0
        try connection.execute("PRAGMA user_version = \(max(version, 2))", what)
    }

    /// Creates ``replicaTable`` if it is missing, within a transaction.
    static func addReplica(to connection: SQLiteConnection, _ what: String) throws(JournalError) {
        guard try !hasReplica(connection) else { return }
        try connection.execute(replicaTable, what)
        try connection.execute("PRAGMA user_version = 3", what)
    }

    static func hasReplica(_ connection: SQLiteConnection) throws(JournalError) -> Bool {
        try connection.integer("SELECT 1 FROM sqlite_schema WHERE name = 'replica'") != nil
    }

    static func hasBlocks(_ connection: SQLiteConnection) throws(JournalError) -> Bool {
        try connection.integer("SELECT 1 FROM sqlite_schema WHERE name = 'block'") != nil
    }

    static let chunkLimit: Int64 = 1 << 20
}

/// The row of `head`.
struct Head: Hashable {
    var epoch: UInt64
    var sequence: Int64 = 0
    var checksum: UInt64 = 0
    /// The id of the newest complete snapshot; 0 for none.
    var snapshot: Int64 = 0
    var prunedThrough: Int64 = 0
    /// Records up to this one should be pruned.
    var pruning: Int64 = 0
    var isClean = true
    /// The durability that the daemon uses, or last used.
    var sync = SQLiteJournal.Sync.full
    /// The identity of the file, which a copy does not share, or one of the two values below.
    var origin: Int64 = 0

    static let isBackup: Int64 = -1
    static let isRepaired: Int64 = -2

    /// Whether no daemon has written to the file at its present place.
    var isCopy: Bool { origin == Self.isBackup || origin == Self.isRepaired }

    var seal: UInt64 {
        Checksum.words(
            epoch, UInt64(bitPattern: sequence), checksum, UInt64(bitPattern: snapshot),
            UInt64(bitPattern: prunedThrough), UInt64(bitPattern: pruning), isClean ? 1 : 0,
            UInt64(bitPattern: sync.code), UInt64(bitPattern: origin))
    }

    init(epoch: UInt64) {
        self.epoch = epoch
    }

    init(reading connection: SQLiteConnection, folder: JournalFolder) throws(JournalError) {
        let row = try connection.prepare("SELECT * FROM head WHERE id = 1")
        guard try row.step(), let sync = SQLiteJournal.Sync(code: row.integer(8)) else {
            throw folder.damage("the head is missing")
        }
        epoch = row.word(1)
        sequence = row.integer(2)
        checksum = row.word(3)
        snapshot = row.integer(4)
        prunedThrough = row.integer(5)
        pruning = row.integer(6)
        isClean = row.integer(7) != 0
        self.sync = sync
        origin = row.integer(9)
        guard row.word(10) == seal else { throw folder.damage("the head does not fit its seal") }
    }

    static let writing =
        "INSERT OR REPLACE INTO head VALUES(1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"

    func write(with statement: SQLiteStatement, _ what: @autoclosure () -> String) throws(JournalError) {
        statement.bind(epoch, 1)
        statement.bind(sequence, 2)
        statement.bind(checksum, 3)
        statement.bind(snapshot, 4)
        statement.bind(prunedThrough, 5)
        statement.bind(pruning, 6)
        statement.bind(isClean ? Int64(1) : 0, 7)
        statement.bind(sync.code, 8)
        statement.bind(origin, 9)
        statement.bind(seal, 10)
        try statement.run(what())
    }
}
