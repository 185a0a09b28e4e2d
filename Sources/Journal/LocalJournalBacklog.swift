private import Synchronization

/// The bytes of records that wait to be written to the local journal. Bounds the memory that a slow or hanging disk
/// costs a node.
public final class LocalJournalBacklog: Sendable {
    /// Above this, the node stops reading the log.
    public static let byteLimit = 64 << 20
    /// Reading resumes only at this lower mark, because it starts with a request to the log store.
    public static let resumeByteLimit = byteLimit / 2

    private let bytes = Atomic(0)

    public init() {}

    /// The approximate size of the records.
    public static func byteCount(of records: [JournalRecord]) -> Int {
        records.reduce(0) { $0 + $1.body.count + $1.entity.utf8.count + 40 }
    }

    /// - Returns: Whether this exceeds the limit, so that the node must stop reading.
    public func add(_ count: Int) -> Bool {
        let (old, new) = bytes.add(count, ordering: .relaxed)
        return old <= Self.byteLimit && new > Self.byteLimit
    }

    /// Counts bytes that were written. May be called from any thread.
    ///
    /// - Returns: Whether the count has fallen to the resume mark, so that the node may read again.
    public func remove(_ count: Int) -> Bool {
        let (old, new) = bytes.subtract(count, ordering: .relaxed)
        return old > Self.resumeByteLimit && new <= Self.resumeByteLimit
    }
}
