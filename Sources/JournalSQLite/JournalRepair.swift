public import Journal
internal import TelltaleModel

/// Rebuilds a journal that a daemon can start from out of the intact parts of a damaged one.
///
/// It keeps the newest intact snapshot, every record after it up to the first damaged one, and the intact records of
/// the history before it. The damaged files are moved aside, not removed.
public struct JournalRepair {
    /// The kept and the lost parts.
    public struct Report: Hashable, Sendable {
        /// The folder of the damaged files.
        public var damagedFolder: String
        public var keptRecordCount: Int64
        /// The newest kept record.
        public var lastSequence: Int64
        /// The newest record of the damaged journal, by its head or its sync marker.
        public var lastSequenceBefore: Int64
        /// The number of unreadable records before the snapshot: parts of histories.
        public var lostHistoryCount: Int64
        public var snapshot: JournalSnapshot?
        /// The faults that were found, in order.
        public var findings: [String]
    }

    private let folder: JournalFolder
    private var report: Report

    /// Repairs the journal in the folder `path`, which no daemon may be using.
    ///
    /// A kill at any moment leaves the original files, the repaired journal, or no journal and files from which another
    /// repair continues. A daemon refuses the last state.
    public static func repair(
        _ path: String, progress: (_ done: Int64, _ all: Int64) -> Void
    ) throws(JournalError) -> Report {
        try beforeEnd("run it again") { () throws(JournalError) in
            let folder = JournalFolder(path: path)
            if try !JournalFolder.exists(folder.database), try folder.leftover("") == nil { try folder.checkExists() }
            let lock = try JournalLock(folder)
            defer { withExtendedLifetime(lock) {} }
            let replacement = DamagedFiles(folder)
            try replacement.removeEmptyFolders()
            if try !JournalFolder.exists(folder.database) {
                if try JournalFolder.exists(folder.repaired) { return try finish(folder, replacement) }
                try replacement.putBack()
                try folder.checkExists()
            }
            folder.removeDatabase(folder.repaired)
            var repair = JournalRepair(folder: folder)
            do throws(JournalError) {
                try repair.build(progress: progress)
            } catch {
                folder.removeDatabase(folder.copy)
                throw error
            }
            folder.removeDatabase(folder.copy)
            repair.report.damagedFolder = try replacement.replace()
            return repair.report
        }
    }

    /// Completes an earlier repair that was interrupted after it had built the repaired journal.
    private static func finish(
        _ folder: JournalFolder, _ replacement: DamagedFiles
    ) throws(JournalError) -> Report {
        var repair = JournalRepair(folder: folder)
        let damaged = try replacement.replace()
        repair.report.damagedFolder = damaged
        let connection = try SQLiteConnection(folder.database, .withoutLog)
        repair.report.lastSequence = try Head(reading: connection, folder: folder).sequence
        repair.report.lastSequenceBefore = max(
            repair.report.lastSequence, SyncMarker.read(JournalFolder(path: damaged), epoch: nil))
        repair.report.keptRecordCount = try connection.integer("SELECT count(*) FROM record") ?? 0
        repair.report.findings = [
            "an earlier repair was interrupted; it is finished now, and what it found is not known"
        ]
        return repair.report
    }

    private init(folder: JournalFolder) {
        self.folder = folder
        report = Report(
            damagedFolder: "", keptRecordCount: 0, lastSequence: 0,
            lastSequenceBefore: SyncMarker.read(folder, epoch: nil), lostHistoryCount: 0, snapshot: nil, findings: [])
    }

    /// Writes the repaired journal beside the damaged one, which it only reads.
    private mutating func build(progress: (Int64, Int64) -> Void) throws(JournalError) {
        let folder = folder
        let log = try WriteAheadLog(reading: folder.log)
        try OpenedJournal.checkLog(log, of: folder)
        // SQLite treats an empty file as a new database and removes its log.
        guard JournalFolder.size(of: folder.database) ?? 0 > 0 else { throw nothingToKeep }
        let source = try SQLiteConnection(folder.database, .readWrite)
        try source.readDamaged()
        try Self.checkIsOurs(folder, source)
        if let offset = log.damageOffset {
            report.findings.append("the write-ahead log is damaged from byte \(offset) on")
        }
        let head = found("the head") { () throws(JournalError) in try Head(reading: source, folder: folder) }
        report.lastSequenceBefore = max(report.lastSequenceBefore, head?.sequence ?? 0)
        let base = newestSnapshot(in: source, head)
        report.snapshot = base?.snapshot

        folder.removeDatabase(folder.copy)
        let draft = try SQLiteConnection(folder.copy, .create)
        let what = "could not write \(folder.copy)"
        try draft.execute("PRAGMA page_size = \(SQLiteJournal.Options().pageByteCount)", what)
        // The file is synced before it gets its name, and does not count until then.
        try draft.execute("PRAGMA synchronous = OFF", what)
        let epoch = head?.epoch ?? 1
        try OpenedJournal.create(Head(epoch: epoch), in: draft, what)
        var next = Head(epoch: epoch)
        next.origin = Head.isRepaired
        next.snapshot = base?.id ?? 0
        try draft.transaction(what) { () throws(JournalError) in
            if let base { try copySnapshot(base.snapshot, base.id, from: source, to: draft, what) }
            try copyHistory(through: base?.snapshot.sequence ?? 0, from: source, to: draft, &next, progress)
            try copyTail(from: source, to: draft, &next, progress)
            guard next.sequence > 0 || (head != nil && report.lastSequenceBefore == 0) else {
                throw nothingToKeep
            }
            try next.write(with: draft.prepare(Head.writing), what)
        }
        guard try draft.text("PRAGMA journal_mode = WAL") == "wal" else {
            throw .unusable(
                what: what, cause: "no write-ahead log on this file system", advice: "choose a folder on a local disk")
        }
        try draft.checkpoint(.truncating)
        try folder.adopt(folder.copy, as: folder.repaired)
        report.lastSequence = next.sequence
    }

    private var nothingToKeep: JournalError {
        .corrupt(
            place: "\(folder.database): no whole snapshot, and the records from 1 on are missing",
            advice:
                "put a backup in its place; telltale journal export \(shellQuoted(folder.path)) gives what can be read")
    }

    /// A damaged file header does not prove that the file is another program's: the tables decide.
    private static func checkIsOurs(_ folder: JournalFolder, _ source: SQLiteConnection) throws(JournalError) {
        do throws(JournalError) {
            try OpenedJournal.checkBeginning(of: folder)
        } catch {
            guard case .foreign = error else { return }
            let tables = try? source.prepare("SELECT sql FROM sqlite_schema")
            while let tables, (try? tables.step()) == true {
                if JournalSchema.tables.contains(tables.text(0)) { return }
            }
            throw error
        }
    }

    /// The newest intact snapshot that the head names, or without a readable head, the newest one with a valid seal.
    private mutating func newestSnapshot(
        in source: SQLiteConnection, _ head: Head?
    ) -> (id: Int64, snapshot: JournalSnapshot)? {
        let folder = folder
        if let head, head.snapshot == 0, head.prunedThrough == 0 { return nil }
        let ids = found("the snapshots") { () throws(JournalError) in
            let rows = try source.prepare("SELECT id FROM snapshot ORDER BY id DESC LIMIT 100")
            var ids: [Int64] = []
            while try rows.step() { ids.append(rows.integer(0)) }
            return ids
        }
        for id in ids ?? [] where id > 0 && id < .max / JournalSchema.chunkLimit {
            if let head, id > head.snapshot { continue }
            var guess = Head(epoch: 1)
            guess.snapshot = id
            guess.sequence = head?.sequence ?? .max
            let snapshot = found("snapshot \(id)") { () throws(JournalError) in
                try JournalCheck(source, folder, guess).checkChunks()
                return try SnapshotStore.readNewest(of: source, folder, guess)
            }
            if let snapshot = snapshot.flatMap(\.self) { return (id, snapshot) }
        }
        return nil
    }

    private func copySnapshot(
        _ snapshot: JournalSnapshot, _ id: Int64, from source: SQLiteConnection, to draft: SQLiteConnection,
        _ what: String
    ) throws(JournalError) {
        let reading = try source.prepare("SELECT * FROM snapshot WHERE id = \(id)")
        let writing = try draft.prepare("INSERT INTO snapshot VALUES(?1, ?2, ?3, ?4, ?5, ?6)")
        guard try reading.step() else { return }
        for column: CInt in 0..<6 { writing.bind(reading.integer(column), column + 1) }
        try writing.run(what)
        let first = id * JournalSchema.chunkLimit
        let chunks = try source.prepare("SELECT id, body, checksum FROM chunk WHERE id >= ?1 AND id < ?2")
        chunks.bind(first, 1)
        chunks.bind(first + Int64(snapshot.chunkCount), 2)
        let insert = try draft.prepare("INSERT INTO chunk VALUES(?1, ?2, ?3)")
        while try chunks.step() {
            insert.bind(chunks.integer(0), 1)
            insert.bind(chunks.word(2), 3)
            if chunks.isInteger(1) {
                insert.bind(chunks.integer(1), 2)
                try insert.run(what)
                try copyBlock(chunks.integer(1), from: source, to: draft, what)
            } else {
                let result = unsafe chunks.withBytes(1) { bytes in
                    unsafe insert.bind(blob: bytes, 2)
                    return Swift.Result { () throws(JournalError) in try insert.run(what) }
                }
                try result.get()
            }
        }
    }

    private func copyBlock(
        _ id: Int64, from source: SQLiteConnection, to draft: SQLiteConnection, _ what: String
    ) throws(JournalError) {
        try JournalSchema.addBlocks(to: draft, what)
        let block = try source.prepare("SELECT name, checksum, body FROM block WHERE id = \(id)")
        guard try block.step() else { return }
        let insert = try draft.prepare("INSERT OR IGNORE INTO block VALUES(\(id), ?1, ?2, ?3)")
        insert.bind(block.word(1), 2)
        let result = unsafe block.withBytes(0) { name in
            unsafe block.withBytes(2) { bytes in
                unsafe insert.bind(text: name, 1)
                unsafe insert.bind(blob: bytes, 3)
                return Swift.Result { () throws(JournalError) in try insert.run(what) }
            }
        }
        try result.get()
    }

    /// Copies the intact records that the snapshot contains.
    private mutating func copyHistory(
        through base: Int64, from source: SQLiteConnection, to draft: SQLiteConnection, _ head: inout Head,
        _ progress: (Int64, Int64) -> Void
    ) throws(JournalError) {
        head.sequence = base
        guard base > 0 else { return }
        let insert = try draft.prepare(Self.inserting)
        var scan = RecordScan(source, after: 0, through: base)
        var last: Int64 = 0
        while let row = scan.next() {
            if row.record.sequence > last + 1 { head.prunedThrough = row.record.sequence - 1 }
            try copy(row, with: insert, progress)
            last = row.record.sequence
            head.checksum = row.checksum
        }
        if last < base { head.prunedThrough = base }
        report.lostHistoryCount = scan.lost.count
        report.findings += scan.lost.findings
    }

    /// Copies every record after the snapshot up to the first damaged one.
    ///
    /// They are scanned separately from the history, so that damage there affects none of them.
    private mutating func copyTail(
        from source: SQLiteConnection, to draft: SQLiteConnection, _ head: inout Head,
        _ progress: (Int64, Int64) -> Void
    ) throws(JournalError) {
        let base = head.sequence
        let isBaseThere = base > head.prunedThrough
        let insert = try draft.prepare(Self.inserting)
        var scan = RecordScan(source, after: base)
        while let row = scan.next() {
            let hasLink = head.sequence > base || isBaseThere
            guard row.record.sequence == head.sequence + 1, !hasLink || row.link == head.checksum else { break }
            try copy(row, with: insert, progress)
            head.sequence = row.record.sequence
            head.checksum = row.checksum
        }
        guard head.sequence < report.lastSequenceBefore else { return }
        report.findings.append("record \(head.sequence + 1) is missing or not whole; nothing after it is kept")
    }

    private static let inserting = "INSERT INTO record VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)"

    private mutating func copy(
        _ row: RecordRow, with insert: SQLiteStatement, _ progress: (Int64, Int64) -> Void
    ) throws(JournalError) {
        try insertRecord(row, with: insert, "could not write \(folder.copy)")
        report.keptRecordCount += 1
        if report.keptRecordCount % 100_000 == 0 { progress(row.record.sequence, report.lastSequenceBefore) }
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
        try unsafe entity.withUnsafeBytes { entity throws(JournalError) in
            try unsafe body.withUnsafeBytes { body throws(JournalError) in
                unsafe insert.bind(text: entity, 3)
                unsafe insert.bind(blob: body, 5)
                try insert.run(what)
            }
        }
    }

    /// The result of `body`; `nil` and a finding if it throws.
    private mutating func found<Value>(_ name: String, _ body: () throws(JournalError) -> Value) -> Value? {
        do throws(JournalError) {
            return try body()
        } catch {
            // Without the advice, which is to run this command.
            if case .corrupt(let place, _) = error {
                report.findings.append("\(name): \(place)")
            } else {
                report.findings.append("\(name): \(error)")
            }
            return nil
        }
    }
}
