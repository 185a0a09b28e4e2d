internal import Journal

/// The rows of `replica`: how far a journal is a node's local journal of a replicated log, or was one.
enum ReplicaTable {
    static let writing = "INSERT OR REPLACE INTO replica VALUES(1, ?1, ?2, ?3)"

    /// Writes the mark of the transaction's last record.
    ///
    /// - Parameter statement: ``writing``.
    static func write(
        _ mark: [UInt8], with statement: SQLiteStatement, in transaction: inout JournalFile.Transaction
    ) throws(JournalError) {
        let sequence = transaction.head.sequence
        try unsafe mark.span.withUnsafeBytes { bytes throws(JournalError) in
            unsafe statement.bind(blob: bytes, 1)
            statement.bind(sequence, 2)
            unsafe statement.bind(Checksum.block(id: sequence, body: bytes), 3)
            try transaction.run(statement)
        }
        transaction.mark = mark
    }

    /// Makes the mark the former one.
    static func release(
        in connection: SQLiteConnection, _ transaction: inout JournalFile.Transaction
    ) throws(JournalError) {
        try connection.execute("DELETE FROM replica WHERE id <> 1", transaction.what)
        try connection.execute("UPDATE replica SET id = 2 WHERE id = 1", transaction.what)
        transaction.mark = nil
    }

    /// - Returns: ``Journal/mark``.
    static func mark(
        in connection: SQLiteConnection, _ folder: JournalFolder, _ head: Head
    ) throws(JournalError) -> [UInt8]? {
        guard let found = try row(1, in: connection) else { return nil }
        guard found.isWhole, found.sequence == head.sequence else {
            throw .corrupt(
                place: "\(folder.database): the mark of record \(found.sequence) does not fit record \(head.sequence)",
                advice: "move the folder away: the node then reads the whole log again")
        }
        return found.mark
    }

    /// - Returns: ``Journal/formerMark``.
    static func formerMark(
        in connection: SQLiteConnection, _ folder: JournalFolder
    ) throws(JournalError) -> [UInt8]? {
        guard let found = try row(2, in: connection) else { return nil }
        guard found.isWhole else {
            throw .corrupt(
                place: "\(folder.database): the mark of the log that it left", advice: JournalAdvice.repair)
        }
        return found.mark
    }

    private static func row(
        _ id: Int64, in connection: SQLiteConnection
    ) throws(JournalError) -> (mark: [UInt8], sequence: Int64, isWhole: Bool)? {
        guard try JournalSchema.hasReplica(connection) else { return nil }
        let row = try connection.prepare("SELECT mark, sequence, checksum FROM replica WHERE id = \(id)")
        guard try row.step() else { return nil }
        let mark = unsafe row.withBytes(0) { unsafe [UInt8]($0) }
        let checksum = unsafe mark.withUnsafeBytes { bytes in unsafe Checksum.block(id: row.integer(1), body: bytes) }
        return (mark, row.integer(1), checksum == row.word(2))
    }
}
