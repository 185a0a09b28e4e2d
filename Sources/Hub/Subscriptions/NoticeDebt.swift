internal import FanOut
internal import TelltaleModel

/// The debt to a subscription with `deliver=notice`: one line for all that changed since its reader has read.
///
/// It holds the keys that changed and were not read, at most ``keyLimit`` of them. Of what changed beyond them it knows the commits
/// alone. An object, as ``Backlog`` is: few subscriptions have one.
final class NoticeDebt {
    /// Keys that are told apart and counted.
    static let keyLimit = 1_000

    /// The commits of a key, or of several, that the reader has not read.
    struct Commits: Equatable {
        var first: Int64
        var last: Int64
    }

    private var unread: [Int32: Commits] = [:]
    /// How many of these have changed behind ``toldThrough``.
    private var newCount = 0
    /// Of what changed beyond ``keyLimit``, or between a cursor and its resume.
    private var others: Commits?
    /// The newest change.
    private(set) var newest: Int64 = 0
    /// The newest change that was told.
    private var toldThrough: Int64 = 0
    /// It was told, and nothing of it has been read since.
    private var isTold = false
    /// A change that was not told is not read either.
    private var hasNews = false
    /// Such a change is of an activity or a control, which have no budget.
    private(set) var isUrgent = false
    /// A budget holds the line back until then.
    var heldUntil: MonotonicTime?
    /// It was held back.
    var isHeld = false
    /// The payment for the last line.
    var payment: MonotonicTime?

    /// Whether a line is due.
    var isOwed: Bool { hasNews && !isTold }

    /// How many keys changed that were not read; `nil` = more than are counted.
    var count: Int? { others == nil ? unread.count : nil }

    /// The oldest commit that was not read: a cursor stays below it.
    var oldest: Int64? {
        let first = unread.values.lazy.map(\.first).min()
        guard let others else { return first }
        return min(others.first, first ?? .max)
    }

    /// The keys that changed, in no particular order, and since when.
    var keys: [(entity: EntityIndex, first: Int64)] { unread.map { (EntityIndex($0.key), $0.value.first) } }

    // MARK: Changes

    /// A commit changed a key, or what is drawn of it.
    ///
    /// - Returns: Whether the key is noted from now on, and is to be held until it is not.
    func mark(_ entity: EntityIndex, first: Int64, last: Int64, hasBudget: Bool) -> Bool {
        newest = max(newest, last)
        hasNews = true
        if !hasBudget { isUrgent = true }
        if let known = unread[entity.rawValue] {
            let commits = Commits(first: known.first, last: max(known.last, last))
            if known.last <= toldThrough, commits.last > toldThrough { newCount += 1 }
            unread[entity.rawValue] = commits
            return false
        }
        guard unread.count < Self.keyLimit else {
            markOthers(first: first, last: last)
            return false
        }
        unread[entity.rawValue] = Commits(first: first, last: last)
        if last > toldThrough { newCount += 1 }
        return true
    }

    /// Commits changed more than is looked at.
    func markOthers(first: Int64, last: Int64) {
        newest = max(newest, last)
        hasNews = true
        others = Commits(first: min(others?.first ?? first, first), last: max(others?.last ?? last, last))
    }

    /// The line leaves.
    func tell() {
        (isTold, hasNews, isUrgent, isHeld, heldUntil) = (true, false, false, false, nil)
        // The newest change of all: none is behind it.
        (toldThrough, newCount) = (newest, 0)
    }

    // MARK: Reading

    /// The reader has read a key as it is now.
    ///
    /// - Returns: Whether it was one that changed; it is not noted any more.
    func read(_ entity: EntityIndex) -> Bool {
        guard let commits = unread.removeValue(forKey: entity.rawValue) else { return false }
        if commits.last > toldThrough { newCount -= 1 }
        noteRead()
        return true
    }

    /// The reader has read many keys as they were behind a commit, or later.
    ///
    /// - Parameters:
    ///   - isEverything: All that the subscription follows is among them.
    ///   - covers: Whether a key is.
    /// - Returns: The keys that are not noted any more, in the order of their indices.
    func read(
        through commit: Int64, isEverything: Bool, covers: (EntityIndex) -> Bool
    ) -> [EntityIndex] {
        let read = unread.filter { $0.value.last <= commit && (isEverything || covers(EntityIndex($0.key))) }
        for (raw, commits) in read {
            unread[raw] = nil
            if commits.last > toldThrough { newCount -= 1 }
        }
        let hadOthers = others != nil
        if isEverything, let left = others {
            others = left.last <= commit ? nil : Commits(first: max(left.first, commit + 1), last: left.last)
        }
        // Of what is not told apart, a part may have been read.
        if isEverything || hadOthers || !read.isEmpty { noteRead() }
        return Self.inOrder(read.keys)
    }

    /// The next change is told again, and so is one that came behind the line.
    private func noteRead() {
        isTold = false
        hasNews = newCount > 0 || (others?.last ?? 0) > toldThrough
        if !hasNews { (isUrgent, isHeld, heldUntil) = (false, false, nil) }
    }

    /// The subscription ends: the keys that it holds, in the order of their indices.
    func removeAll() -> [EntityIndex] {
        defer { (unread, newCount, others, hasNews) = ([:], 0, nil, false) }
        return Self.inOrder(unread.keys)
    }

    /// A key that comes anew gets the index that was released last, and lists go by indices: an order of the process would show
    /// in them.
    private static func inOrder(_ indices: some Sequence<Int32>) -> [EntityIndex] {
        indices.sorted().map { EntityIndex($0) }
    }
}
