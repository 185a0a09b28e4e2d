internal import Journal

/// Reads the intact records of a damaged file in order, and skips unreadable parts.
struct RecordScan {
    private let connection: SQLiteConnection
    private let limit: Int64
    private let rowsPerQuery: Int64
    private var statement: SQLiteStatement?
    private var rowCount: Int64 = 0
    /// The start of the next query.
    private var position: Int64
    /// The newest record that was returned.
    private var last: Int64
    private(set) var lost = LostRecords()

    /// Scans the records after `sequence`, up to and including `limit`.
    ///
    /// - Parameter rowsPerQuery: The length of a query. A query is a read transaction, which prevents a running daemon
    ///   from restarting its log.
    init(
        _ connection: SQLiteConnection, after sequence: Int64, through limit: Int64 = .max, rowsPerQuery: Int64 = .max
    ) {
        self.connection = connection
        self.limit = limit
        self.rowsPerQuery = rowsPerQuery
        position = sequence
        last = sequence
    }

    mutating func next() -> RecordRow? {
        while true {
            do throws(JournalError) {
                if let row = try nextInQuery() { return row }
                // A query with fewer rows than requested was the last one.
                guard rowCount == rowsPerQuery, last < limit else { return nil }
                statement = nil
                guard last > position || skipUnreadable() else { return nil }
                position = max(position, last)
            } catch {
                statement = nil
                position = max(position, last)
                guard skipUnreadable() else { return nil }
            }
        }
    }

    private mutating func nextInQuery() throws(JournalError) -> RecordRow? {
        if statement == nil {
            rowCount = 0
            statement = try query(after: position)
        }
        guard let statement else { return nil }
        while try statement.step() {
            rowCount += 1
            let row = RecordRow(statement)
            let sequence = row.record.sequence
            guard row.isWhole else {
                // The sequence of a damaged record is not trustworthy either, so it does not advance the scan.
                if sequence > last, sequence <= limit { lost.add(sequence...sequence) }
                continue
            }
            // A damaged page can contain a record twice.
            guard sequence > last else { continue }
            last = min(sequence, limit)
            return sequence > limit ? nil : row
        }
        return nil
    }

    private func query(after sequence: Int64) throws(JournalError) -> SQLiteStatement {
        try connection.prepare(
            "SELECT * FROM record WHERE sequence > \(sequence) ORDER BY sequence LIMIT \(rowsPerQuery)")
    }

    /// Continues after pages that cannot be read.
    ///
    /// It advances one record at a time at first, to find intact records between damaged pages, and then in growing
    /// steps, because one damaged inner page can cover millions.
    ///
    /// - Returns: Whether there may be more records.
    private mutating func skipUnreadable() -> Bool {
        let start = position
        guard start < limit else { return false }
        var unreadable = start
        var step: Int64 = 1
        var readable: Int64?
        while readable == nil {
            let (sum, overflow) = unreadable.addingReportingOverflow(step)
            let probe = overflow ? limit : min(sum, limit)
            if isReadable(after: probe) {
                readable = probe
            } else if probe == limit {
                lost.add(start + 1...limit)
                return false
            } else {
                unreadable = probe
                if probe - start > 2_000 { step = overflow ? .max : step &* 2 }
                if step <= 0 { step = .max }
            }
        }
        guard var end = readable else { return false }
        while end - unreadable > 1 {
            let middle = unreadable + (end - unreadable) / 2
            if isReadable(after: middle) { end = middle } else { unreadable = middle }
        }
        lost.add(start + 1...end)
        position = end
        return true
    }

    private func isReadable(after sequence: Int64) -> Bool {
        do throws(JournalError) {
            _ = try query(after: sequence).step()
            return true
        } catch {
            return false
        }
    }
}

/// The records that a scan did not find intact, as sorted ranges.
struct LostRecords: Hashable {
    private(set) var ranges: [ClosedRange<Int64>] = []

    /// The number of records, some of which may have been pruned before.
    var count: Int64 {
        ranges.reduce(0) { sum, range in
            let size = range.upperBound.subtractingReportingOverflow(range.lowerBound)
            let total = sum.addingReportingOverflow(size.partialValue)
            return size.overflow || total.overflow || total.partialValue == .max ? .max : total.partialValue + 1
        }
    }

    mutating func add(_ range: ClosedRange<Int64>) {
        guard let newest = ranges.last else {
            ranges = [range]
            return
        }
        guard range.upperBound > newest.upperBound else { return }
        if range.lowerBound - 1 <= newest.upperBound {
            ranges[ranges.count - 1] = newest.lowerBound...range.upperBound
        } else {
            ranges.append(range)
        }
    }

    /// A list for people, limited to the first hundred ranges.
    var findings: [String] {
        var findings = ranges.prefix(100).map { range in
            switch range.upperBound {
            case range.lowerBound: "record \(range.lowerBound) is not whole"
            case .max: "the records from \(range.lowerBound) on cannot be read"
            default: "the records \(range.lowerBound) to \(range.upperBound) are not whole"
            }
        }
        if ranges.count > 100 { findings.append("and records in \(ranges.count - 100) more places") }
        return findings
    }
}
