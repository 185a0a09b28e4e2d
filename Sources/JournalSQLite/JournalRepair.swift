internal import Glibc
public import Journal
internal import Model

/// Makes a journal that a daemon can start from out of what is whole in a damaged one.
///
/// What is kept is the newest whole snapshot, every record after it up to the first that is not whole, and what is
/// whole of the history before it. The damaged files are moved aside, not removed.
public struct JournalRepair {
    /// What was kept, and what was not.
    public struct Report: Hashable, Sendable {
        /// Where the damaged files are now.
        public var damagedFolder: String
        public var keptRecordCount: Int64
        /// The newest record that was kept.
        public var lastSequence: Int64
        /// The newest record of the damaged journal, as far as its head or its witness say.
        public var lastSequenceBefore: Int64
        /// Records before the snapshot that cannot be read: parts of histories.
        public var lostHistoryCount: Int64
        public var snapshot: JournalSnapshot?
        /// What was found, in order.
        public var findings: [String]
    }

    private let folder: JournalFolder
    private let damaged: JournalFolder
    private var report: Report

    /// Repairs the journal in the folder `path`, which no daemon may be using.
    public static func repair(
        _ path: String, progress: (_ done: Int64, _ all: Int64) -> Void
    ) throws(JournalError) -> Report {
        let folder = JournalFolder(path: path)
        guard JournalFolder.size(of: folder.database) != nil else {
            throw .foreign(file: path, reason: "has no journal")
        }
        let lock = try FolderLock(folder)
        defer { withExtendedLifetime(lock) {} }
        let acknowledged = Witness.read(folder, epoch: nil)
        let damaged = JournalFolder(path: "\(path)/damaged-\(time(nil))")
        try damaged.make()
        try move(from: folder, to: damaged)
        do throws(JournalError) {
            var repair = JournalRepair(folder: folder, damaged: damaged, acknowledged: acknowledged)
            try repair.run(progress: progress)
            return repair.report
        } catch {
            folder.remove(folder.draft)
            try move(from: damaged, to: folder)
            _ = unsafe rmdir(damaged.path)
            throw error
        }
    }

    private init(folder: JournalFolder, damaged: JournalFolder, acknowledged: Int64) {
        self.folder = folder
        self.damaged = damaged
        report = Report(
            damagedFolder: damaged.path, keptRecordCount: 0, lastSequence: 0, lastSequenceBefore: acknowledged,
            lostHistoryCount: 0, snapshot: nil, findings: [])
    }

    private mutating func run(progress: (Int64, Int64) -> Void) throws(JournalError) {
        let damaged = damaged
        let log = try WriteAheadLog(reading: damaged.log)
        if let offset = log.damageOffset {
            report.findings.append("the write-ahead log is damaged from byte \(offset) on")
        }
        let source = try SQLiteConnection(damaged.database, .readWrite)
        var head = found("the head") { () throws(JournalError) in try Head(reading: source, folder: damaged) }
        report.lastSequenceBefore = max(report.lastSequenceBefore, head?.sequence ?? 0)
        let base = head.flatMap { head in
            found("the snapshot") { () throws(JournalError) in
                try JournalCheck(source, damaged, head).checkChunks()
                return try SQLiteJournal.readSnapshot(of: source, damaged, head)
            }
        }
        let snapshot = base.flatMap(\.self)
        report.snapshot = snapshot

        folder.remove(folder.draft)
        let draft = try SQLiteConnection(folder.draft, .create)
        let what = "could not write \(folder.draft)"
        try draft.execute("PRAGMA page_size = \(SQLiteJournal.Options().pageByteCount)", what)
        try draft.execute("PRAGMA synchronous = OFF", what)  // It counts when it has its name, and is synced before.
        let epoch = head?.epoch ?? 1
        try SQLiteJournal.create(Head(epoch: epoch), in: draft, what)
        var next = Head(epoch: epoch)
        next.origin = Head.isRepaired
        try draft.transaction(what) { () throws(JournalError) in
            if let snapshot, let head {
                next.snapshot = try copySnapshot(snapshot, head, from: source, to: draft, what)
            }
            try copyRecords(after: snapshot?.sequence ?? 0, from: source, to: draft, &next, what, progress: progress)
            try next.write(with: draft.prepare(Head.writing), what)
        }
        head = nil
        guard try draft.text("PRAGMA journal_mode = WAL") == "wal" else {
            throw .failed(what: what, cause: "no write-ahead log on this file system")
        }
        try draft.checkpoint(.truncating)
        folder.remove(folder.draft + "-wal")
        folder.remove(folder.draft + "-shm")
        try folder.adoptDraft()
        report.lastSequence = next.sequence
    }

    private func copySnapshot(
        _ snapshot: JournalSnapshot, _ head: Head, from source: SQLiteConnection, to draft: SQLiteConnection,
        _ what: String
    ) throws(JournalError) -> Int64 {
        let reading = try source.prepare("SELECT * FROM snapshot WHERE id = \(head.snapshot)")
        let writing = try draft.prepare("INSERT INTO snapshot VALUES(?1, ?2, ?3, ?4, ?5, ?6)")
        guard try reading.step() else { return 0 }
        for column: CInt in 0..<6 { writing.bind(reading.integer(column), column + 1) }
        try writing.run(what)
        let first = head.snapshot * JournalSchema.chunkLimit
        let chunks = try source.prepare("SELECT id, body, checksum FROM chunk WHERE id >= ?1 AND id < ?2")
        chunks.bind(first, 1)
        chunks.bind(first + Int64(snapshot.chunkCount), 2)
        let insert = try draft.prepare("INSERT INTO chunk VALUES(?1, ?2, ?3)")
        while try chunks.step() {
            insert.bind(chunks.integer(0), 1)
            insert.bind(chunks.word(2), 3)
            let result = unsafe chunks.withBytes(1) { bytes in
                unsafe insert.bind(blob: bytes, 2)
                return Swift.Result { () throws(JournalError) in try insert.run(what) }
            }
            try result.get()
        }
        return head.snapshot
    }

    /// Copies every whole record up to the first after `base` that is not.
    private mutating func copyRecords(
        after base: Int64, from source: SQLiteConnection, to draft: SQLiteConnection, _ head: inout Head,
        _ what: String,
        progress: (Int64, Int64) -> Void
    ) throws(JournalError) {
        let insert = try draft.prepare("INSERT INTO record VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)")
        var scan = RecordScan(source)
        head.sequence = base
        var last: (sequence: Int64, checksum: UInt64)?
        while let row = scan.next() {
            let record = row.record
            if record.sequence > base {
                let isNext = record.sequence == head.sequence + 1
                let fits = last.map { $0.sequence != record.sequence - 1 || $0.checksum == row.link } ?? true
                guard row.isWhole, isNext, fits else {
                    report.findings.append(
                        "record \(head.sequence + 1) is missing or not whole; nothing after it is kept")
                    break
                }
                head.sequence = record.sequence
            } else if !row.isWhole {
                report.findings.append("record \(record.sequence) is not whole")
                continue
            }
            if record.sequence <= base, record.sequence > (last?.sequence ?? 0) + 1 {
                head.prunedThrough = record.sequence - 1
            }
            try insertRecord(row, with: insert, what)
            last = (record.sequence, row.checksum)
            report.keptRecordCount += 1
            if report.keptRecordCount % 100_000 == 0 { progress(record.sequence, report.lastSequenceBefore) }
        }
        if base > 0, (last?.sequence ?? 0) < base { head.prunedThrough = base }
        if base == 0, head.sequence == 0, report.lastSequenceBefore > 0 {
            throw .corrupt(
                place: "\(folder.database): no whole snapshot, and the records from 1 on are missing",
                advice: "put a backup in its place; telltale journal export reads what is there")
        }
        head.checksum = last?.checksum ?? 0
        report.lostHistoryCount = scan.unreadableCount
    }

    private func insertRecord(_ row: RecordRow, with insert: SQLiteStatement, _ what: String) throws(JournalError) {
        let record = row.record
        insert.bind(record.sequence, 1)
        insert.bind(record.time.milliseconds, 2)
        insert.bind(record.previous, 4)
        insert.bind(row.link, 6)
        insert.bind(row.checksum, 7)
        let entity = record.entity.utf8.span
        let body = record.body.span
        try unsafe entity.withUnsafeBufferPointer { entity throws(JournalError) in
            try unsafe body.withUnsafeBytes { body throws(JournalError) in
                unsafe insert.bind(text: entity, 3)
                unsafe insert.bind(blob: body, 5)
                try insert.run(what)
            }
        }
    }

    /// What can be read, or `nil` and a finding.
    private mutating func found<Value>(_ name: String, _ body: () throws(JournalError) -> Value) -> Value? {
        do throws(JournalError) {
            return try body()
        } catch {
            report.findings.append("\(name): \(error)")
            return nil
        }
    }

    private static func move(from: JournalFolder, to: JournalFolder) throws(JournalError) {
        for (old, new) in [
            (from.database, to.database), (from.log, to.log), (from.sharedMemory, to.sharedMemory),
            (from.witness, to.witness),
        ] where unsafe rename(old, new) != 0 && errno != ENOENT {
            throw .failed(what: "could not move \(old) to \(new)", cause: systemMessage(errno))
        }
        try from.sync()
        try to.sync()
    }
}

/// Reads the records of a damaged file, over what cannot be read.
private struct RecordScan {
    private let connection: SQLiteConnection
    private var statement: SQLiteStatement?
    private var last: Int64 = 0
    private var failureCount = 0
    private(set) var unreadableCount: Int64 = 0

    init(_ connection: SQLiteConnection) {
        self.connection = connection
    }

    mutating func next() -> RecordRow? {
        while failureCount < 10_000 {
            do throws(JournalError) {
                if statement == nil {
                    statement = try connection.prepare(
                        "SELECT * FROM record WHERE sequence > \(last) ORDER BY sequence")
                }
                guard let statement, try statement.step() else { return nil }
                let row = RecordRow(statement)
                last = row.record.sequence
                return row
            } catch {
                // The page of this record is broken, perhaps: the next one may not be.
                statement = nil
                last += 1
                failureCount += 1
                unreadableCount += 1
            }
        }
        return nil
    }
}
