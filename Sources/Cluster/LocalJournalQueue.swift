internal import Journal
internal import Replication
internal import TelltaleModel

/// Records on their way to the local journal.
///
/// They are stored together with the log position that they reach, and never without it: a start trusts what the local
/// journal says.
struct LocalJournalQueue: Sendable {
    private var records: [JournalRecord] = []
    private var byteCount = 0
    /// How many of ``records`` reach ``next``.
    private var count = 0
    private var next: LogReader?
    /// When the oldest that can be stored came.
    private var since = MonotonicTime.distantFuture
    /// As the local journal has it, with the records that were already taken.
    private(set) var reader: LogReader

    init(_ reader: LogReader) {
        self.reader = reader
    }

    mutating func append(_ more: [JournalRecord]) {
        byteCount += LocalJournalBacklog.byteCount(of: more)
        if records.isEmpty { records = more } else { records += more }
    }

    /// Marks that the records so far reach this position.
    mutating func note(_ reader: LogReader, at now: MonotonicTime) {
        guard reader.position > (next ?? self.reader).position else { return }
        if next == nil { since = now }
        next = reader
        count = records.count
    }

    /// When the records that can be stored have waited for `pause`, or since when they are too many to wait.
    func deadline(after pause: Milliseconds, byteLimit: Int) -> MonotonicTime {
        guard next != nil else { return .distantFuture }
        return byteCount < byteLimit ? since + pause : since
    }

    /// The records that can be stored; `nil` = there is nothing new.
    mutating func take() -> (records: [JournalRecord], reader: LogReader)? {
        guard let next = next.take() else { return nil }
        let kept = count == records.count ? records : Array(records.prefix(count))
        records = Array(records.dropFirst(count))
        byteCount = LocalJournalBacklog.byteCount(of: records)
        count = 0
        since = .distantFuture
        reader = next
        return (kept, next)
    }
}
