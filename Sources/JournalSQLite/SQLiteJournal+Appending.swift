internal import Journal
internal import TelltaleModel

/// Memory for the texts and bodies of the rows that one statement appends: SQLite reads them where they are, until the
/// statement has run.
///
/// The pointer is valid from `init` to `deinit`.
@safe final class RowBuffer {
    /// The number of rows in one statement. A row then costs a fifth less than alone; more than sixteen rows gain
    /// nothing.
    static let rowCount = 16
    /// Rows with more bytes are appended one by one.
    static let byteCount = 1 << 16

    private let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 8)
    private var offset = 0

    deinit {
        unsafe bytes.deallocate()
    }

    /// The statement for `count` rows. A failure rolls the whole batch back, so the statement needs no rollback of its
    /// own.
    static func insertion(ofRows count: Int) -> String {
        "INSERT OR FAIL INTO record VALUES"
            + Array(repeating: "(?, ?, ?, ?, ?, ?, ?)", count: count).joined(separator: ", ")
    }

    /// Whether there is room for these records.
    static func holds(_ records: ArraySlice<JournalRecord>) -> Bool {
        records.reduce(0) { $0 + $1.entity.utf8.count + $1.body.count } <= byteCount
    }

    func clear() { offset = 0 }

    /// A copy that stays valid until ``clear()``.
    ///
    /// - Precondition: There is room; see ``holds(_:)``.
    func copy(_ span: Span<UInt8>) -> UnsafeRawBufferPointer {
        let start = offset
        offset += span.count
        let target = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[start..<offset])
        unsafe span.withUnsafeBytes { unsafe target.copyMemory(from: $0) }
        return UnsafeRawBufferPointer(target)
    }
}

extension SQLiteJournal {
    /// Appends records, and moves the head past them.
    ///
    /// - Precondition: They follow `head` without a gap.
    func append(_ part: [JournalRecord], to head: inout Head, _ what: String) throws(JournalError) {
        var rest = part[...]
        while !rest.isEmpty {
            let many = rest.prefix(RowBuffer.rowCount)
            if many.count == RowBuffer.rowCount, RowBuffer.holds(many) {
                try insert(many, with: statements.appendMany, to: &head, what)
            } else {
                // One at a time: the last records of a part, and long ones.
                for index in many.indices { try insert(many[index...index], with: statements.append, to: &head, what) }
            }
            rest = rest.dropFirst(many.count)
        }
    }

    private func insert(
        _ records: ArraySlice<JournalRecord>, with statement: SQLiteStatement, to head: inout Head, _ what: String
    ) throws(JournalError) {
        rowBuffer.clear()
        guard records.count > 1 || RowBuffer.holds(records) else {
            return try insertLong(records[records.startIndex], with: statement, to: &head, what)
        }
        for (row, record) in records.enumerated() {
            let link = moved(&head, behind: record)
            unsafe bind(
                record, at: row, of: statement, link: link, checksum: head.checksum,
                entity: rowBuffer.copy(record.entity.utf8.span), body: rowBuffer.copy(record.body.span))
        }
        try statement.run(what)
    }

    private func insertLong(
        _ record: JournalRecord, with statement: SQLiteStatement, to head: inout Head, _ what: String
    ) throws(JournalError) {
        let link = moved(&head, behind: record)
        let entity = record.entity.utf8.span
        let checksum = head.checksum
        try unsafe entity.withUnsafeBytes { entity throws(JournalError) in
            try unsafe record.body.span.withUnsafeBytes { body throws(JournalError) in
                unsafe bind(record, at: 0, of: statement, link: link, checksum: checksum, entity: entity, body: body)
                try statement.run(what)
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
}
