private import Synchronization

/// The records on their way to the local copy, in bytes: what a disk that is slow, or hangs, makes a node hold in memory.
public final class CopyBacklog: Sendable {
    /// A node that owes its copy more reads no further.
    public static let byteLimit = 64 << 20
    /// So much less is owed when it reads on, for reading begins with a request to the engine.
    public static let resumeByteLimit = byteLimit / 2

    private let bytes = Atomic(0)

    public init() {}

    /// About as much as the records take.
    public static func byteCount(of records: [JournalRecord]) -> Int {
        records.reduce(0) { $0 + $1.body.count + $1.entity.utf8.count + 40 }
    }

    /// - Returns: Whether the copy has fallen behind by this.
    public func add(_ count: Int) -> Bool {
        let (old, new) = bytes.add(count, ordering: .relaxed)
        return old <= Self.byteLimit && new > Self.byteLimit
    }

    /// The copy has so much more. From any thread.
    ///
    /// - Returns: Whether it may be given more, and was perhaps behind before.
    public func remove(_ count: Int) -> Bool {
        let (old, new) = bytes.subtract(count, ordering: .relaxed)
        return old > Self.resumeByteLimit && new <= Self.resumeByteLimit
    }
}
