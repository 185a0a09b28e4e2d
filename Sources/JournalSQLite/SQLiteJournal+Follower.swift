public import Journal

// A journal that is a node's copy of a replicated log.
extension SQLiteJournal {
    public func write(mark: [UInt8], epoch: UInt64) throws(JournalError) {
        let what = "could not write how far the log is here"
        try attempt { () throws(JournalError) in
            if batch == nil { try beginBatch(what) }
            if !hasReplicaTable { try JournalSchema.addReplica(to: connection, what) }
            var next = batch ?? head
            next.epoch = epoch
            if markStatement == nil {
                markStatement = try connection.prepare("INSERT OR REPLACE INTO replica VALUES(1, ?1, ?2, ?3)")
            }
            guard let statement = markStatement else { return }
            let checksum = unsafe mark.withUnsafeBytes { bytes in
                unsafe Checksum.block(id: next.sequence, body: bytes)
            }
            unsafe mark.withUnsafeBytes { bytes in unsafe statement.bind(blob: bytes, 1) }
            statement.bind(next.sequence, 2)
            statement.bind(checksum, 3)
            try statement.run(what)
            batch = next
        }
        batchMark = mark
    }

    public func release() throws(JournalError) {
        guard mark != nil else { return }
        let what = "could not end the copy of a log"
        try write(what) { () throws(JournalError) in try connection.execute("DELETE FROM replica", what) }
        released()
    }

    /// - Returns: `nil` for a journal that is no copy of a log.
    static func readMark(
        of connection: SQLiteConnection, _ folder: JournalFolder, _ head: Head
    ) throws(JournalError) -> [UInt8]? {
        guard try JournalSchema.hasReplica(connection) else { return nil }
        let row = try connection.prepare("SELECT mark, sequence, checksum FROM replica WHERE id = 1")
        guard try row.step() else { return nil }
        let mark = unsafe row.withBytes(0) { unsafe [UInt8]($0) }
        let checksum = unsafe mark.withUnsafeBytes { bytes in unsafe Checksum.block(id: row.integer(1), body: bytes) }
        guard checksum == row.word(2), row.integer(1) == head.sequence else {
            throw .corrupt(
                place: "\(folder.database): the mark of record \(row.integer(1)) does not fit record \(head.sequence)",
                advice: "move the folder away: the node then reads the whole log again")
        }
        return mark
    }
}
