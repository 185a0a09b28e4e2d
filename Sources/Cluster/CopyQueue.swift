internal import Journal
internal import Replication

/// Records on their way to the local copy.
///
/// They are kept together with the place of the log up to which they go, and never without it: a start trusts what the copy
/// has.
struct CopyQueue: Sendable {
    private var records: [JournalRecord] = []
    /// So many of ``records`` go up to ``next``.
    private var count = 0
    private var next: LogReader?
    /// As the copy has it, with what was taken for it.
    private(set) var reader: LogReader

    init(_ reader: LogReader) {
        self.reader = reader
    }

    mutating func append(_ more: [JournalRecord]) { if records.isEmpty { records = more } else { records += more } }

    /// The records so far go up to here.
    mutating func note(_ reader: LogReader) {
        guard reader.position > self.reader.position else { return }
        next = reader
        count = records.count
    }

    /// The records that can be kept; `nil` = nothing new.
    mutating func take() -> (records: [JournalRecord], reader: LogReader)? {
        guard let next = next.take() else { return nil }
        let kept = count == records.count ? records : Array(records.prefix(count))
        records = Array(records.dropFirst(count))
        count = 0
        reader = next
        return (kept, next)
    }
}
