internal import FanOut
internal import TelltaleModel

/// What is pending for a subscription with `deliver=notice`: one line for all changes since its reader last read.
///
/// It stores the keys that changed and were not read, at most ``keyLimit``. Beyond that it knows only the commits. A class like
/// ``Backlog``, because few subscriptions have one.
final class PendingNotice {
    /// Keys that are stored individually and counted.
    static let keyLimit = 1_000

    /// The commits of one or several keys that the reader has not read.
    struct Commits: Equatable {
        var first: Int64
        var last: Int64
    }

    private var unread: [Int32: Commits] = [:]
    /// How many of these changed after ``sentThrough``.
    private var newCount = 0
    /// Changes beyond ``keyLimit``, or between a cursor and its resume.
    private var others: Commits?
    /// The newest change.
    private(set) var newest: Int64 = 0
    /// The newest change that was sent.
    private var sentThrough: Int64 = 0
    /// A notice was sent, and nothing of it has been read since.
    private var isSent = false
    /// A change has been neither sent nor read.
    private var hasNews = false
    /// Such a change is to an activity or a control, which have no budget.
    private(set) var isUrgent = false
    /// A budget holds the notice back until then.
    var heldUntil: MonotonicTime?
    /// It was held back.
    var isHeld = false
    /// The charge for the last notice.
    var payment: MonotonicTime?

    /// Whether a notice is due.
    var isDue: Bool { hasNews && !isSent }

    /// The number of keys that changed and were not read; `nil` = more than are counted.
    var count: Int? { others == nil ? unread.count : nil }

    /// The oldest unread commit: a cursor stays below it.
    var oldest: Int64? {
        let first = unread.values.lazy.map(\.first).min()
        guard let others else { return first }
        return min(others.first, first ?? .max)
    }

    /// The changed keys in no particular order, and since when.
    var keys: [(entity: EntityIndex, first: Int64)] { unread.map { (EntityIndex($0.key), $0.value.first) } }

    // MARK: Changes

    /// Records that a commit changed a key, or something embedded in it.
    ///
    /// - Returns: True if the key was newly added; the caller retains it.
    func mark(_ entity: EntityIndex, first: Int64, last: Int64, hasBudget: Bool) -> Bool {
        newest = max(newest, last)
        hasNews = true
        if !hasBudget { isUrgent = true }
        if let known = unread[entity.rawValue] {
            let commits = Commits(first: known.first, last: max(known.last, last))
            if known.last <= sentThrough, commits.last > sentThrough { newCount += 1 }
            unread[entity.rawValue] = commits
            return false
        }
        guard unread.count < Self.keyLimit else {
            markOthers(first: first, last: last)
            return false
        }
        unread[entity.rawValue] = Commits(first: first, last: last)
        if last > sentThrough { newCount += 1 }
        return true
    }

    /// Records commits that changed more keys than are examined.
    func markOthers(first: Int64, last: Int64) {
        newest = max(newest, last)
        hasNews = true
        others = Commits(first: min(others?.first ?? first, first), last: max(others?.last ?? last, last))
    }

    /// Records that the notice is sent.
    func noteSent() {
        (isSent, hasNews, isUrgent, isHeld, heldUntil) = (true, false, false, false, nil)
        // No change is newer than the newest.
        (sentThrough, newCount) = (newest, 0)
    }

    // MARK: Reading

    /// Records that the reader has read the current state of a key.
    ///
    /// - Returns: Whether it had changed; it is no longer stored.
    func read(_ entity: EntityIndex) -> Bool {
        guard let commits = unread.removeValue(forKey: entity.rawValue) else { return false }
        if commits.last > sentThrough { newCount -= 1 }
        noteRead()
        return true
    }

    /// Records that the reader has read many keys, with the state of a commit or a later one.
    ///
    /// - Parameters:
    ///   - isEverything: They include everything that the subscription follows.
    ///   - isEverything: All that the subscription follows is among them.
    ///   - covers: Whether they include a key.
    /// - Returns: The keys that are no longer stored, in the order of their indices.
    func read(
        through commit: Int64, isEverything: Bool, covers: (EntityIndex) -> Bool
    ) -> [EntityIndex] {
        let read = unread.filter { $0.value.last <= commit && (isEverything || covers(EntityIndex($0.key))) }
        for (raw, commits) in read {
            unread[raw] = nil
            if commits.last > sentThrough { newCount -= 1 }
        }
        let hadOthers = others != nil
        if isEverything, let left = others {
            others = left.last <= commit ? nil : Commits(first: max(left.first, commit + 1), last: left.last)
        }
        // Part of the changes that are not stored individually may have been read.
        if isEverything || hadOthers || !read.isEmpty { noteRead() }
        return Self.inOrder(read.keys)
    }

    /// Lets the next change be sent again, and also one that came after the last notice.
    private func noteRead() {
        isSent = false
        hasNews = newCount > 0 || (others?.last ?? 0) > sentThrough
        if !hasNews { (isUrgent, isHeld, heldUntil) = (false, false, nil) }
    }

    /// Ends the subscription, and returns the keys to release in the order of their indices.
    func removeAll() -> [EntityIndex] {
        defer { (unread, newCount, others, hasNews) = ([:], 0, nil, false) }
        return Self.inOrder(unread.keys)
    }

    /// A recreated key gets the index that was released last, and lists follow indices: the order of a hash table would show in
    /// them.
    private static func inOrder(_ indices: some Sequence<Int32>) -> [EntityIndex] {
        indices.sorted().map { EntityIndex($0) }
    }
}
