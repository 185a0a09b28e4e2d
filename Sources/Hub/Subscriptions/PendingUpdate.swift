internal import FanOut
internal import TelltaleModel

/// Commits of one key that wait in one row, in eight bytes.
struct PendingCommits: Equatable {
    private var bits: UInt64

    /// Of 16 bits.
    private static let foldedLimit: UInt64 = 1 << 16 - 1

    /// `nil` for one so late that it leaves no room for a count: the 2^47th.
    init?(first: Int64) {
        guard (0..<1 << 47).contains(first) else { return nil }
        bits = UInt64(first) << 16
    }

    /// The oldest one.
    var first: Int64 { Int64(bits >> 16) }

    /// How many there are beside it.
    var foldedCount: Int64 { Int64(bits & Self.foldedLimit) }

    /// Counts one more; returns whether there was room for it.
    mutating func fold() -> Bool {
        guard bits & Self.foldedLimit < Self.foldedLimit else { return false }
        bits += 1
        return true
    }
}

extension DirtyQueue.Entry {
    init(_ commits: PendingCommits) { self.init(commit: commits.first, foldedCount: commits.foldedCount) }
}

/// The outcome of owing a commit to a subscription.
enum Owing {
    case begun, folded
    /// Only its backlog can say it.
    case refused
}

/// Commits of the one key that a subscription follows, and what their row depends on beside them.
struct PendingUpdate {
    let entity: EntityIndex
    let commits: PendingCommits
    /// Of the subscription.
    let number: Int32
    let selection: UInt16
    let view: ViewName
    /// Every other subscription of which all this is the same is sent the same row: ``RowCache``. None has been told
    /// the cursor of a commit that it is owed, so the rows have one cursor too.
    let isUsual: Bool
}
