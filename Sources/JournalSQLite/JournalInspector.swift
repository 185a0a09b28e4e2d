internal import Glibc
public import Journal
internal import TelltaleModel

/// Reads a journal from outside, with or without a daemon that uses it, and changes nothing.
public final class JournalInspector {
    /// The properties that are known without reading all records.
    public struct Summary: Hashable, Sendable {
        public var epoch: UInt64
        /// The durability that the daemon uses, or last used.
        public var sync: SQLiteJournal.Sync
        /// The process that uses the journal, by its own entry; `nil` if there is none.
        public var user: String?
        /// Whether the last daemon stopped cleanly; `false` while a daemon runs.
        public var isClean: Bool
        public var recordCount: Int64
        public var firstSequence: Int64
        public var lastSequence: Int64
        /// The times of the first and the last record, in Unix milliseconds.
        public var firstTime: Int64
        public var lastTime: Int64
        public var prunedThrough: Int64
        public var snapshot: JournalSnapshot?
        /// As ``Journal/mark``: how much of a cluster's log this node's journal holds.
        public var mark: [UInt8]?
        /// The size of the file and of its write-ahead log, in bytes.
        public var fileByteCount: Int
        public var logByteCount: Int
    }

    private let folder: JournalFolder
    private let connection: SQLiteConnection
    /// Held if no daemon runs, so that none starts to write during the inspection.
    private let lock: JournalLock?
    private let user: String?

    /// Opens the journal in the folder `path`.
    public init(_ path: String) throws(JournalError) {
        let folder = JournalFolder(path: path)
        let opened = try beforeEnd("run it again") { () throws(JournalError) in
            try folder.checkExists()
            var lock: JournalLock?
            var user: String?
            do throws(JournalError) {
                lock = try JournalLock(folder)
            } catch {
                guard case .locked(_, let by) = error else { throw error }
                user = by
            }
            try OpenedJournal.checkBeginning(of: folder)
            if lock != nil { try OpenedJournal.checkLog(WriteAheadLog(reading: folder.log), of: folder) }
            let connection = try SQLiteConnection(folder.database, .readWrite)
            try connection.execute("PRAGMA query_only = ON", "could not open \(folder.database)")
            return (lock: lock, user: user, connection: connection)
        }
        self.folder = folder
        lock = opened.lock
        user = opened.user
        connection = opened.connection
    }

    public func summary() throws(JournalError) -> Summary {
        try reading { head throws(JournalError) in
            let record = try connection.prepare(
                "SELECT count(*), coalesce(min(sequence), 0), coalesce(max(sequence), 0) FROM record")
            _ = try record.step()
            let first = record.integer(1)
            let last = record.integer(2)
            return Summary(
                epoch: head.epoch, sync: head.sync, user: user, isClean: head.isClean, recordCount: record.integer(0),
                firstSequence: first, lastSequence: head.sequence,
                firstTime: try connection.integer("SELECT time FROM record WHERE sequence = \(first)") ?? 0,
                lastTime: try connection.integer("SELECT time FROM record WHERE sequence = \(last)") ?? 0,
                prunedThrough: head.prunedThrough,
                snapshot: try SnapshotStore.readNewest(of: connection, folder, head),
                mark: try ReplicaTable.mark(in: connection, folder, head),
                fileByteCount: JournalFolder.size(of: folder.database) ?? 0,
                logByteCount: JournalFolder.size(of: folder.log) ?? 0)
        }
    }

    /// Reads the whole journal and compares it with its checksums.
    ///
    /// - Parameter progress: Called from time to time with the newest record that is intact and the total.
    public func verify(progress: (_ done: Int64, _ all: Int64) -> Void) throws(JournalError) {
        // The log of a running daemon changes while it is read.
        let log = lock == nil ? WriteAheadLog([]) : try WriteAheadLog(reading: folder.log)
        try reading { head throws(JournalError) in
            _ = try OpenedJournal.checkContents(of: connection, folder, log: log)
            try JournalCheck(connection, folder, head).run(progress: progress)
        }
    }

    /// Reads what a recovery reads, in one consistent state: the newest snapshot chunk by chunk, then the records after
    /// it.
    ///
    /// - Parameter record: Called with `nil` between the last chunk and the first record.
    public func recover(
        chunk: ([UInt8]) throws -> Void, record: (JournalRecord?) throws -> Void
    ) throws {
        try connection.execute("BEGIN", "could not read \(folder.database)")
        defer { connection.rollBack() }
        let head = try Head(reading: connection, folder: folder)
        let snapshot = try SnapshotStore.readNewest(of: connection, folder, head)
        let reader = try ChunkReader(connection)
        var link = UInt64(bitPattern: snapshot?.sequence ?? 0)
        for number in 0..<Int64(snapshot?.chunkCount ?? 0) {
            guard let next = try reader.chunk(number, ofSnapshot: head.snapshot, link: link), next.isWhole else {
                throw folder.damage("chunk \(number) of the snapshot is missing or does not fit its checksum")
            }
            link = next.checksum
            try chunk(next.bytes)
        }
        try record(nil)
        var last = snapshot?.sequence ?? 0
        while true {
            let portion = try readRecords(after: last, limit: 4_096)
            guard let newest = portion.last else { return }
            for next in portion { try record(next) }
            last = newest.sequence
        }
    }

    /// Reads up to `limit` records after `sequence`, oldest first; none at the end.
    public func readRecords(after sequence: Int64, limit: Int) throws(JournalError) -> [JournalRecord] {
        let statement = try connection.prepare("SELECT * FROM record WHERE sequence > ?1 ORDER BY sequence LIMIT ?2")
        statement.bind(sequence, 1)
        statement.bind(Int64(limit), 2)
        var records: [JournalRecord] = []
        while try statement.step() {
            let row = RecordRow(statement)
            guard row.isWhole else {
                throw folder.damage("record \(row.record.sequence) does not fit its checksum")
            }
            records.append(row.record)
        }
        return records
    }

    /// Reads every intact record after `sequence`, oldest first, even of a damaged journal.
    ///
    /// - Parameter portion: Called with some of the records at a time.
    /// - Returns: The parts that could not be read; empty if all records are intact.
    public func readWhole(after sequence: Int64, portion: ([JournalRecord]) throws -> Void) throws -> [String] {
        try connection.readDamaged()
        var scan = RecordScan(connection, after: sequence, rowsPerQuery: 1_000)
        var records: [JournalRecord] = []
        while let row = scan.next() {
            records.append(row.record)
            guard records.count == 1_000 else { continue }
            try portion(records)
            records = []
        }
        try portion(records)
        return scan.lost.findings
    }

    /// Copies the journal into a folder from which a daemon can start. The daemon that uses this journal continues.
    ///
    /// A daemon that starts from the copy continues another history, so the copy gets a new epoch then. If this throws,
    /// the folder is unchanged.
    public func backup(
        to path: String, progress: (_ done: Int, _ all: Int) -> Void
    ) throws(JournalError) {
        try beforeEnd("run it again") { () throws(JournalError) in
            let copy = JournalFolder(path: path)
            let isNew = try !JournalFolder.exists(path)
            do throws(JournalError) {
                try copy.make()
                try writeBackup(to: copy, progress: progress)
            } catch {
                copy.removeDatabase(copy.copy)
                if isNew { _ = unsafe rmdir(path) }
                throw error
            }
        }
    }

    private func writeBackup(
        to copy: JournalFolder, progress: (_ done: Int, _ all: Int) -> Void
    ) throws(JournalError) {
        guard try !JournalFolder.exists(copy.database) else {
            throw .unusable(
                what: "could not write \(copy.database)", cause: "there is a journal already",
                advice: "give a folder that does not exist yet")
        }
        let what = "could not write \(copy.database)"
        copy.removeDatabase(copy.copy)
        do {
            let destination = try SQLiteConnection(copy.copy, .create)
            // One transaction gives one consistent state, however much is written in the meantime.
            try reading { _ throws(JournalError) in try connection.backup(to: destination, progress: progress) }
            var head = try Head(reading: destination, folder: copy)
            head.origin = Head.isBackup
            head.isClean = true
            try destination.transaction(what) { () throws(JournalError) in
                try head.write(with: destination.prepare(Head.writing), what)
            }
            try destination.checkpoint(.truncating)
        }
        try copy.adopt(copy.copy, as: copy.database)
        copy.removeDatabase(copy.copy)
    }

    /// Calls `body` with the head in one read transaction.
    private func reading<Result>(_ body: (Head) throws(JournalError) -> Result) throws(JournalError) -> Result {
        try beforeEnd("run it again") { () throws(JournalError) in
            try connection.execute("BEGIN", "could not read \(folder.database)")
            defer { connection.rollBack() }
            return try body(Head(reading: connection, folder: folder))
        }
    }
}
