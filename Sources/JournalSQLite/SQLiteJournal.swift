public import Journal
internal import TelltaleModel

/// A journal in one SQLite file in one folder, with one daemon at a time.
///
/// A batch is one transaction of a write-ahead log, synced by its commit. Every record has a checksum that covers the
/// record before it, the head names the last record, and a sync marker outside the file holds the newest acknowledged
/// one. Missing or altered content is therefore detected and refused with its place, except for a last transaction that
/// was never acknowledged.
///
/// This type appends and reads records. Its transactions are those of a ``JournalFile``, which a ``SnapshotStore`` and
/// a ``RecordPruner`` use as well.
public final class SQLiteJournal: Journal {
    public let opening: JournalOpening
    public private(set) var formerMark: [UInt8]?

    private let file: JournalFile
    private let connection: SQLiteConnection
    // The statements of a batch, prepared once so that not every batch compiles them.
    private let append: SQLiteStatement
    private let appendMany: SQLiteStatement
    /// Prepared when its table exists.
    private var markStatement: SQLiteStatement?
    private let rowBuffer = RowBuffer()
    private let readAfter: SQLiteStatement
    private let readAt: SQLiteStatement
    /// The newest record that was read, with which the link of the next one is checked.
    private var lastRead: (sequence: Int64, checksum: UInt64)?
    private let snapshots: SnapshotStore
    private var pruner: RecordPruner

    /// Opens the journal in the folder `path`, or makes the folder and the journal.
    public init(_ path: String, _ options: Options = Options()) throws(JournalError) {
        let opened = try beforeEnd("start again") { () throws(JournalError) in try OpenedJournal(path, options) }
        opening = opened.opening
        formerMark = opened.formerMark
        file = try JournalFile(opened, options)
        connection = opened.connection
        append = try connection.prepare(RowBuffer.insertion(ofRows: 1))
        appendMany = try connection.prepare(RowBuffer.insertion(ofRows: RowBuffer.rowCount))
        readAfter = try connection.prepare("SELECT * FROM record WHERE sequence > ?1 ORDER BY sequence LIMIT ?2")
        readAt = try connection.prepare("SELECT * FROM record WHERE sequence = ?1")
        snapshots = try SnapshotStore(opened.snapshot, file, connection)
        pruner = RecordPruner(file, connection)
    }

    public var epoch: UInt64 { file.head.epoch }
    public var lastSequence: Int64 { file.head.sequence }
    public var prunedThrough: Int64 { file.head.prunedThrough }

    // MARK: Appending

    public func write(_ part: [JournalRecord]) throws(JournalError) {
        if part.isEmpty { return }
        let what = "could not write \(file.batchCount + Int64(part.count)) records"
        try file.addToBatch(what) { transaction throws(JournalError) in
            try insert(part, &transaction)
            file.report(.partWritten)
        }
    }

    public func commit() throws(JournalError) {
        guard try file.commitBatch() else { return }
        try file.acknowledge()
        file.report(.batchSynced)
    }

    /// Inserts records, and moves the head past them.
    ///
    /// - Precondition: They follow the head without a gap.
    private func insert(
        _ part: [JournalRecord], _ transaction: inout JournalFile.Transaction
    ) throws(JournalError) {
        var rest = part[...]
        while !rest.isEmpty {
            let many = rest.prefix(RowBuffer.rowCount)
            if many.count == RowBuffer.rowCount, RowBuffer.holds(many) {
                try insert(many, with: appendMany, &transaction)
            } else {
                // One at a time: the last records of a part, and long ones.
                for index in many.indices { try insert(many[index...index], with: append, &transaction) }
            }
            rest = rest.dropFirst(many.count)
        }
    }

    private func insert(
        _ records: ArraySlice<JournalRecord>, with statement: SQLiteStatement,
        _ transaction: inout JournalFile.Transaction
    ) throws(JournalError) {
        rowBuffer.clear()
        guard records.count > 1 || RowBuffer.holds(records) else {
            return try insertLong(records[records.startIndex], with: statement, &transaction)
        }
        for (row, record) in records.enumerated() {
            let link = moved(&transaction.head, behind: record)
            unsafe bind(
                record, at: row, of: statement, link: link, checksum: transaction.head.checksum,
                entity: rowBuffer.copy(record.entity.utf8.span), body: rowBuffer.copy(record.body.span))
        }
        try transaction.run(statement)
    }

    private func insertLong(
        _ record: JournalRecord, with statement: SQLiteStatement, _ transaction: inout JournalFile.Transaction
    ) throws(JournalError) {
        let link = moved(&transaction.head, behind: record)
        let entity = record.entity.utf8.span
        let checksum = transaction.head.checksum
        try unsafe entity.withUnsafeBytes { entity throws(JournalError) in
            try unsafe record.body.span.withUnsafeBytes { body throws(JournalError) in
                unsafe bind(record, at: 0, of: statement, link: link, checksum: checksum, entity: entity, body: body)
                try transaction.run(statement)
            }
        }
    }

    /// Moves the head past a record. Returns the checksum of the record before it.
    private func moved(_ head: inout Head, behind record: JournalRecord) -> UInt64 {
        precondition(record.sequence == head.sequence + 1, "a gap before record \(record.sequence)")
        let link = head.checksum
        head.checksum = record.checksum(after: link)
        head.sequence = record.sequence
        return link
    }

    private func bind(
        _ record: JournalRecord, at row: Int, of statement: SQLiteStatement, link: UInt64, checksum: UInt64,
        entity: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer
    ) {
        let first = CInt(7 * row)
        statement.bind(record.sequence, first + 1)
        statement.bind(record.time.milliseconds, first + 2)
        unsafe statement.bind(text: entity, first + 3)
        statement.bind(record.previous, first + 4)
        unsafe statement.bind(blob: body, first + 5)
        statement.bind(link, first + 6)
        statement.bind(checksum, first + 7)
    }

    // MARK: Reading

    public func readRecords(after sequence: Int64, limit: Int) throws(JournalError) -> [JournalRecord] {
        let statement = readAfter
        statement.bind(sequence, 1)
        statement.bind(Int64(limit), 2)
        defer { statement.reset() }
        var records: [JournalRecord] = []
        records.reserveCapacity(min(limit, 65_536))
        var expected = sequence + 1
        while try statement.step() {
            let row = try row(of: statement)
            let record = row.record
            guard record.sequence == expected || record.sequence - 1 <= file.head.prunedThrough else {
                throw file.damage("record \(expected) is missing")
            }
            if let lastRead, lastRead.sequence == record.sequence - 1, lastRead.checksum != row.link {
                throw file.damage("record \(record.sequence) does not follow the one before it")
            }
            lastRead = (record.sequence, row.checksum)
            expected = record.sequence + 1
            records.append(record)
        }
        guard records.isEmpty ? sequence < file.head.sequence : false else { return records }
        guard file.head.sequence > file.head.prunedThrough else { return records }
        throw file.damage("record \(max(sequence, file.head.prunedThrough) + 1) is missing")
    }

    public func record(at sequence: Int64) throws(JournalError) -> JournalRecord? {
        let statement = readAt
        statement.bind(sequence, 1)
        defer { statement.reset() }
        guard try statement.step() else {
            guard sequence <= file.head.prunedThrough || sequence > file.head.sequence else {
                throw file.damage("record \(sequence) is missing")
            }
            return nil
        }
        return try row(of: statement).record
    }

    public func link(at sequence: Int64) throws(JournalError) -> UInt64? {
        if sequence == file.head.sequence { return file.head.checksum }
        // The record itself may be pruned.
        let statement = readAt
        statement.bind(sequence + 1, 1)
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        return try row(of: statement).link
    }

    private func row(of statement: SQLiteStatement) throws(JournalError) -> RecordRow {
        let row = RecordRow(statement)
        let (sequence, head) = (row.record.sequence, file.head)
        guard row.isWhole, sequence < head.sequence || (sequence == head.sequence && row.checksum == head.checksum)
        else { throw file.damage("record \(sequence) does not fit its checksum") }
        return row
    }

    // MARK: The local journal of a replicated log

    public var mark: [UInt8]? { file.mark }

    public func write(mark: [UInt8], epoch: UInt64) throws(JournalError) {
        try file.addToBatch("could not write how far the log is here") { transaction throws(JournalError) in
            transaction.head.epoch = epoch
            try write(mark, &transaction)
        }
    }

    private func write(_ mark: [UInt8], _ transaction: inout JournalFile.Transaction) throws(JournalError) {
        if transaction.mark == nil { try JournalSchema.addReplica(to: connection, transaction.what) }
        let statement = if let markStatement { markStatement } else { try connection.prepare(ReplicaTable.writing) }
        markStatement = statement
        try ReplicaTable.write(mark, with: statement, in: &transaction)
    }

    public func release() throws(JournalError) {
        guard let mark else { return }
        try file.write("could not end the copy of a log") { transaction throws(JournalError) in
            try ReplicaTable.release(in: connection, &transaction)
        }
        formerMark = mark
    }

    public func beginCheckpoint(at sequence: Int64) throws(JournalError) {
        precondition(sequence >= lastSequence, "a base that is older than what is here")
        try snapshots.begin(at: sequence)
    }

    public func finishCheckpoint(link: UInt64, mark: [UInt8], epoch: UInt64) throws(JournalError) {
        precondition(epoch == self.epoch || lastSequence == 0, "a history has one epoch")
        try snapshots.finish("could not make a base the copy of the log") { draft, transaction throws(JournalError) in
            transaction.head.epoch = epoch
            (transaction.head.sequence, transaction.head.checksum) = (draft.sequence, link)
            (transaction.head.prunedThrough, transaction.head.pruning) = (draft.sequence, draft.sequence)
            try write(mark, &transaction)
        }
        pruner.snapshotFinished()
        lastRead = nil
        try file.acknowledge()
    }

    // MARK: Snapshots

    public var snapshot: JournalSnapshot? { snapshots.newest }

    public func readChunk(_ index: Int) throws(JournalError) -> [UInt8] { try snapshots.readChunk(index) }

    public func beginSnapshot(at sequence: Int64) throws(JournalError) {
        precondition(sequence <= lastSequence, "a snapshot of what is not yet durable")
        precondition(sequence >= snapshot?.sequence ?? 0, "a snapshot older than the one there is")
        try snapshots.begin(at: sequence)
    }

    public func appendToSnapshot(_ chunk: [UInt8]) throws(JournalError) {
        try snapshots.append(chunk)
    }

    public func appendToSnapshot(_ blocks: [SnapshotBlock]) throws(JournalError) {
        try snapshots.append(blocks)
    }

    public func finishSnapshot() throws(JournalError) {
        try snapshots.finish("could not finish a snapshot")
        pruner.snapshotFinished()
    }

    /// ``tidy()`` removes its chunks.
    public func abandonSnapshot() throws(JournalError) {
        snapshots.abandon()
    }

    // MARK: Pruning, and the end

    public func prune(_ pruning: Pruning) throws(JournalError) {
        try pruner.note(pruning)
    }

    public func tidy() throws(JournalError) -> Bool {
        try file.stoppingOnFailure { () throws(JournalError) in
            try file.tidyLog()
            if try snapshots.tidy() { return true }
            return try pruner.tidy(covered: snapshot?.sequence ?? 0)
        }
    }

    public func close() throws(JournalError) {
        snapshots.abandon()
        try file.close()
    }
}
