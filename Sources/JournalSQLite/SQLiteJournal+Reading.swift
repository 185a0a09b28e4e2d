public import Journal

extension SQLiteJournal {
    public func readRecords(after sequence: Int64, limit: Int) throws(JournalError) -> [JournalRecord] {
        let statement = statements.readAfter
        statement.bind(sequence, 1)
        statement.bind(Int64(limit), 2)
        defer { statement.reset() }
        var records: [JournalRecord] = []
        records.reserveCapacity(min(limit, 65_536))
        var expected = sequence + 1
        while try statement.step() {
            let row = try row(of: statement)
            let record = row.record
            guard record.sequence == expected || record.sequence - 1 <= head.prunedThrough else {
                throw damage("record \(expected) is missing")
            }
            if let lastRead, lastRead.sequence == record.sequence - 1, lastRead.checksum != row.link {
                throw damage("record \(record.sequence) does not follow the one before it")
            }
            lastRead = (record.sequence, row.checksum)
            expected = record.sequence + 1
            records.append(record)
        }
        guard records.isEmpty ? sequence < head.sequence : false else { return records }
        guard head.sequence > head.prunedThrough else { return records }
        throw damage("record \(max(sequence, head.prunedThrough) + 1) is missing")
    }

    public func record(at sequence: Int64) throws(JournalError) -> JournalRecord? {
        let statement = statements.readAt
        statement.bind(sequence, 1)
        defer { statement.reset() }
        guard try statement.step() else {
            guard sequence <= head.prunedThrough || sequence > head.sequence else {
                throw damage("record \(sequence) is missing")
            }
            return nil
        }
        return try row(of: statement).record
    }

    public func link(at sequence: Int64) throws(JournalError) -> UInt64? {
        if sequence == head.sequence { return head.checksum }
        // The record itself may be pruned.
        let statement = statements.readAt
        statement.bind(sequence + 1, 1)
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        return try row(of: statement).link
    }

    private func row(of statement: SQLiteStatement) throws(JournalError) -> RecordRow {
        let row = RecordRow(statement)
        let sequence = row.record.sequence
        guard row.isWhole, sequence < head.sequence || (sequence == head.sequence && row.checksum == head.checksum)
        else { throw damage("record \(sequence) does not fit its checksum") }
        return row
    }

    func damage(_ what: String) -> JournalError {
        .corrupt(place: "\(folder.database): \(what)", advice: folder.repairAdvice)
    }
}
