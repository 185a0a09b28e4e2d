internal import Journal

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
