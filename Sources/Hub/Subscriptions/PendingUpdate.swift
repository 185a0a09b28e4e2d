internal import FanOut
internal import TelltaleModel

/// Commits of one key that are pending as one row, in eight bytes.
struct PendingCommits: Equatable {
    private var bits: UInt64

    /// The count has 16 bits.
    private static let foldedLimit: UInt64 = 1 << 16 - 1

    /// `nil` for a sequence that leaves no room for the count: 2^47 and above.
    init?(first: Int64) {
        guard (0..<1 << 47).contains(first) else { return nil }
        bits = UInt64(first) << 16
    }

    /// The oldest commit.
    var first: Int64 { Int64(bits >> 16) }

    /// How many commits it has besides the oldest.
    var foldedCount: Int64 { Int64(bits & Self.foldedLimit) }

    /// Adds a commit; returns whether there was room for it.
    mutating func fold() -> Bool {
        guard bits & Self.foldedLimit < Self.foldedLimit else { return false }
        bits += 1
        return true
    }
}

extension DirtyQueue.Entry {
    init(_ commits: PendingCommits) { self.init(commit: commits.first, foldedCount: commits.foldedCount) }
}

/// The result of marking a commit as pending for a subscription.
enum MarkResult {
    case begun, folded
    /// Only a backlog can express it.
    case refused
}

/// The pending commits of the only key that a subscription follows, and what their row depends on besides them.
struct PendingUpdate {
    let entity: EntityIndex
    let commits: PendingCommits
    /// The subscription's number.
    let number: Int32
    let selection: UInt16
    let view: ViewName
    /// Every subscription for which all of this is equal gets the same row: ``RowCache``. None has received the cursor of a
    /// pending commit, so the rows have the same cursor too.
    let isUsual: Bool
}
