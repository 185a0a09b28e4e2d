public import Journal
public import TelltaleModel

/// The beginning of a history: how many records it has, and a checksum of all of them.
///
/// Each checksum covers the one before it, as in the journal, so two histories with the same end are the same.
public struct RecordChain: Hashable, Sendable {
    /// The newest record; 0 for none.
    public private(set) var sequence: Int64
    /// The checksum of that record; 0 for none.
    public private(set) var link: UInt64
    /// The time of that record.
    public private(set) var time: Timestamp

    public init(sequence: Int64 = 0, link: UInt64 = 0, time: Timestamp = .distantPast) {
        (self.sequence, self.link, self.time) = (sequence, link, time)
    }

    /// Adds a record.
    ///
    /// - Precondition: It is the next one; see ``continues(with:)``.
    public mutating func append(_ record: JournalRecord) {
        sequence = record.sequence
        link = record.checksum(after: link)
        time = record.time
    }

    /// Adds records.
    public mutating func append(_ records: [JournalRecord]) {
        for record in records { append(record) }
    }

    /// Whether these records follow without a gap.
    public func continues(with records: [JournalRecord]) -> Bool {
        for (index, record) in records.enumerated() where record.sequence != sequence &+ Int64(index) &+ 1 {
            return false
        }
        return true
    }
}
