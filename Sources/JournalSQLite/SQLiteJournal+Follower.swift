public import Journal

// A journal that holds a node's copy of a replicated log.
extension SQLiteJournal {
    public func write(mark: [UInt8], epoch: UInt64) throws(JournalError) {
        let what = "could not write how far the log is here"
        try attempt { () throws(JournalError) in
            if batch == nil { try beginBatch(what) }
            if !hasReplicaTable { try JournalSchema.addReplica(to: connection, what) }
            var next = batch ?? head
            next.epoch = epoch
            try write(mark, at: next.sequence, what)
            batch = next
        }
        batchMark = mark
    }

    public func beginBase(at sequence: Int64) throws(JournalError) {
        precondition(sequence >= head.sequence, "a base that is older than what is here")
        try beginDraft(at: sequence)
    }

    public func finishBase(link: UInt64, mark: [UInt8], epoch: UInt64) throws(JournalError) {
        guard let draft else { preconditionFailure("no base was begun") }
        precondition(epoch == head.epoch || head.sequence == 0, "a history has one epoch")
        let what = "could not make a base the copy of the log"
        var next = head
        next.epoch = epoch
        (next.sequence, next.checksum) = (draft.sequence, link)
        (next.prunedThrough, next.pruning) = (draft.sequence, draft.sequence)
        try finish(draft, next, what) { () throws(JournalError) in
            if !hasReplicaTable { try JournalSchema.addReplica(to: connection, what) }
            try write(mark, at: draft.sequence, what)
        }
        self.mark = mark
        (hasReplicaTable, lastRead) = (true, nil)
        do throws(JournalError) {
            try syncMarker.write(epoch: head.epoch, sequence: head.sequence)
        } catch {
            throw fail(error)
        }
    }

    private func write(_ mark: [UInt8], at sequence: Int64, _ what: String) throws(JournalError) {
        if markStatement == nil {
            markStatement = try connection.prepare("INSERT OR REPLACE INTO replica VALUES(1, ?1, ?2, ?3)")
        }
        guard let statement = markStatement else { return }
        let checksum = unsafe mark.withUnsafeBytes { bytes in unsafe Checksum.block(id: sequence, body: bytes) }
        unsafe mark.withUnsafeBytes { bytes in unsafe statement.bind(blob: bytes, 1) }
        statement.bind(sequence, 2)
        statement.bind(checksum, 3)
        try statement.run(what)
    }

    public func release() throws(JournalError) {
        guard mark != nil else { return }
        let what = "could not end the copy of a log"
        try write(what) { () throws(JournalError) in
            try connection.execute("DELETE FROM replica WHERE id <> 1", what)
            try connection.execute("UPDATE replica SET id = 2 WHERE id = 1", what)
        }
        released()
    }

    /// - Returns: `nil` for a journal that is not a copy of a log.
    static func readMark(
        of connection: SQLiteConnection, _ folder: JournalFolder, _ head: Head
    ) throws(JournalError) -> [UInt8]? {
        guard let found = try readMark(1, of: connection) else { return nil }
        guard found.isWhole, found.sequence == head.sequence else {
            throw .corrupt(
                place: "\(folder.database): the mark of record \(found.sequence) does not fit record \(head.sequence)",
                advice: "move the folder away: the node then reads the whole log again")
        }
        return found.mark
    }

    /// - Returns: ``formerMark``.
    static func readFormerMark(
        of connection: SQLiteConnection, _ folder: JournalFolder
    ) throws(JournalError) -> [UInt8]? {
        guard let found = try readMark(2, of: connection) else { return nil }
        guard found.isWhole else {
            throw .corrupt(
                place: "\(folder.database): the mark of the log that it left", advice: JournalAdvice.repair)
        }
        return found.mark
    }

    private static func readMark(
        _ id: Int64, of connection: SQLiteConnection
    ) throws(JournalError) -> (mark: [UInt8], sequence: Int64, isWhole: Bool)? {
        guard try JournalSchema.hasReplica(connection) else { return nil }
        let row = try connection.prepare("SELECT mark, sequence, checksum FROM replica WHERE id = \(id)")
        guard try row.step() else { return nil }
        let mark = unsafe row.withBytes(0) { unsafe [UInt8]($0) }
        let checksum = unsafe mark.withUnsafeBytes { bytes in unsafe Checksum.block(id: row.integer(1), body: bytes) }
        return (mark, row.integer(1), checksum == row.word(2))
    }
}
