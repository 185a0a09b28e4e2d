internal import Glibc
public import Journal
internal import TelltaleModel

/// A journal looked at from outside, with or without a daemon that uses it. Nothing is changed.
public final class JournalInspector {
    /// What is known without reading everything.
    public struct Summary: Hashable, Sendable {
        public var epoch: UInt64
        /// How the daemon syncs, or synced last.
        public var sync: SQLiteJournal.Sync
        /// Which process uses it, as it says itself; `nil` when none does.
        public var user: String?
        /// Whether the last daemon that wrote to it stopped in order. A running one has not yet.
        public var isClean: Bool
        public var recordCount: Int64
        public var firstSequence: Int64
        public var lastSequence: Int64
        /// When the first and the last of the records were decided, in Unix ms.
        public var firstTime: Int64
        public var lastTime: Int64
        public var prunedThrough: Int64
        public var snapshot: JournalSnapshot?
        /// The file and its write-ahead log, in bytes.
        public var fileByteCount: Int
        public var logByteCount: Int
    }

    private let folder: JournalFolder
    private let connection: SQLiteConnection
    /// Held while no daemon runs, so that none begins to write in the middle.
    private let lock: FolderLock?
    private let user: String?

    /// Opens the journal in the folder `path`.
    public init(_ path: String) throws(JournalError) {
        let folder = JournalFolder(path: path)
        let opened = try beforeEnd("run it again") { () throws(JournalError) in
            try folder.checkIsThere()
            var lock: FolderLock?
            var user: String?
            do throws(JournalError) {
                lock = try FolderLock(folder)
            } catch {
                guard case .locked(_, let by) = error else { throw error }
                user = by
            }
            try SQLiteJournal.checkBeginning(of: folder)
            if lock != nil { try SQLiteJournal.checkLog(WriteAheadLog(reading: folder.log), of: folder) }
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
                snapshot: try SQLiteJournal.readSnapshot(of: connection, folder, head),
                fileByteCount: JournalFolder.size(of: folder.database) ?? 0,
                logByteCount: JournalFolder.size(of: folder.log) ?? 0)
        }
    }

    /// Reads everything and compares it with its checksums.
    ///
    /// - Parameter progress: Told now and then up to which record of how many everything is as it was written.
    public func verify(progress: (_ done: Int64, _ all: Int64) -> Void) throws(JournalError) {
        // The log of a running daemon changes while we read it.
        let log = lock == nil ? WriteAheadLog([]) : try WriteAheadLog(reading: folder.log)
        try reading { head throws(JournalError) in
            _ = try SQLiteJournal.checkContents(of: connection, folder, log: log)
            try JournalCheck(connection, folder, head).run(progress: progress)
        }
    }

    /// What a recovery reads: the newest snapshot chunk by chunk, then the records after it, all of one moment.
    ///
    /// - Parameter record: Is called with `nil` between the last chunk and the first record.
    public func recover(
        chunk: ([UInt8]) throws -> Void, record: (JournalRecord?) throws -> Void
    ) throws {
        try connection.execute("BEGIN", "could not read \(folder.database)")
        defer { connection.rollBack() }
        let head = try Head(reading: connection, folder: folder)
        let snapshot = try SQLiteJournal.readSnapshot(of: connection, folder, head)
        let first = head.snapshot * JournalSchema.chunkLimit
        let statement = try connection.prepare("SELECT body FROM chunk WHERE id BETWEEN ?1 AND ?2 ORDER BY id")
        statement.bind(first, 1)
        statement.bind(first + Int64(snapshot?.chunkCount ?? 0) - 1, 2)
        while try statement.step() {
            try chunk(unsafe statement.withBytes(0) { unsafe Array($0) })
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

    /// The records that follow `sequence`, oldest first, at most `limit` of them; none at the end.
    public func readRecords(after sequence: Int64, limit: Int) throws(JournalError) -> [JournalRecord] {
        let statement = try connection.prepare("SELECT * FROM record WHERE sequence > ?1 ORDER BY sequence LIMIT ?2")
        statement.bind(sequence, 1)
        statement.bind(Int64(limit), 2)
        var records: [JournalRecord] = []
        while try statement.step() {
            let row = RecordRow(statement)
            guard row.isWhole else {
                throw .corrupt(
                    place: "\(folder.database): record \(row.record.sequence) does not fit its checksum",
                    advice: folder.repairAdvice)
            }
            records.append(row.record)
        }
        return records
    }

    /// Reads every record after `sequence` that is whole, oldest first, also of a damaged journal.
    ///
    /// - Parameter portion: Is given some of them at a time.
    /// - Returns: What could not be read; nothing when all is whole.
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

    /// Copies the journal into a folder, from which a daemon can start; the daemon that uses this one goes on.
    ///
    /// Who starts from it later is at another point of history, so it gets another epoch then. When it throws, the
    /// folder is as it was.
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
            // Within one transaction all of it is of one moment, however much is written meanwhile.
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
