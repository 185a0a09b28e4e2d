internal import Journal
internal import Replication

/// Records on their way to the local journal.
///
/// They are stored together with the log position that they reach, and never without it: a start trusts what the local
/// journal says.
struct LocalJournalQueue: Sendable {
    private var records: [JournalRecord] = []
    /// How many of ``records`` reach ``next``.
    private var count = 0
    private var next: LogReader?
    /// As the local journal has it, with the records that were already taken.
    private(set) var reader: LogReader

    init(_ reader: LogReader) {
        self.reader = reader
    }

    mutating func append(_ more: [JournalRecord]) { if records.isEmpty { records = more } else { records += more } }

    /// Marks that the records so far reach this position.
    mutating func note(_ reader: LogReader) {
        guard reader.position > self.reader.position else { return }
        next = reader
        count = records.count
    }

    /// The records that can be stored; `nil` = there is nothing new.
    mutating func take() -> (records: [JournalRecord], reader: LogReader)? {
        guard let next = next.take() else { return nil }
        let kept = count == records.count ? records : Array(records.prefix(count))
        records = Array(records.dropFirst(count))
        count = 0
        reader = next
        return (kept, next)
    }
}
