internal import DequeModule

/// What one subscription has yet to be sent: keys, never rendered messages.
///
/// Keys leave in the order in which they became dirty, so a key that changes all the time cannot starve the others. A
/// key that changes again while it waits keeps its place and is counted as folded.
public struct DirtyQueue: Sendable {
    /// Why a row stands for more than one commit, or comes although nothing was committed (line-protocol.md §5).
    public enum Cause: String, Sendable {
        case slow, rate, resume
    }

    /// One key that waits.
    public struct Entry: Sendable {
        /// The oldest commit that the subscriber lacks of this key.
        public var firstCommit: Int64
        /// Commits of the key itself that the row stands for beyond the first.
        public var foldedCount: Int64 = 0
        public var cause: Cause?
        /// A commit changed the key itself. Where none did, what surrounds it changed what is drawn of it.
        public var hasOwnCommit = true
        /// Part of the snapshot: its row is a `SNAP`.
        public var isSnapshot = false
        /// A deletion is told even if this subscription never showed the key.
        public var tellsDeletion = false
        /// What goes out before the row, in order.
        public var announcements: [Announcement] = []
        /// Milestones that found no room, by state: the newest ``DirtyQueue/announcementLimit``.
        public var missed: [String] = []
    }

    /// A key that waits with one commit and nothing else to say: the usual one.
    public struct FreshKey: Hashable, Sendable {
        public let entity: EntityIndex
        public let commit: Int64
    }

    public enum Item: Sendable {
        case row(EntityIndex, Entry)
        /// The snapshot, or the resume, is complete.
        case live
    }

    /// The most milestones, and the most alerts, that wait in one subscription, and the most names of milestones that one
    /// row says were missed (line-protocol.md §5).
    public static let announcementLimit = 64

    /// What waits while that is only a few fresh keys, in their order: without a table, and comparable as a whole.
    /// When it is not empty, all the rest is.
    public private(set) var fresh: [FreshKey] = []
    private var order: Deque<Int32> = []
    private var entries: [Int32: Entry] = [:]
    /// What `rate=` holds back, and what it has let go that has not left. One or none, in an array and not in an optional:
    /// of a hundred thousand subscriptions hardly any has it, and this is a word where there is nothing.
    private var held: [HeldKeys] = []
    private var milestones = Lane()
    private var alerts = Lane()
    /// What the announcements that wait, and the names of those that were missed, take in memory.
    private var tellingByteCount = 0

    private static let liveMarker: Int32 = -1
    /// About what one key takes in memory: in the order, and in the table.
    private static let keyByteCount = 64
    /// More keys than this are found quicker in a table.
    private static let freshLimit = 16

    public init() {}

    /// Nothing could be sent now.
    public var isEmpty: Bool { fresh.isEmpty && order.isEmpty && firstReleased == nil }
    /// Keys that wait, held back ones included.
    public var count: Int { fresh.count + entries.count }
    /// About what all of it takes in memory.
    public var byteCount: Int {
        Self.keyByteCount * count + tellingByteCount + (held.isEmpty ? 0 : held[0].byteCount)
    }

    /// When the next key that `rate=` holds back may leave, in milliseconds of the monotonic clock.
    public var nextRelease: Int64? { held.isEmpty ? nil : held[0].nextRelease }

    public func contains(_ entity: EntityIndex) -> Bool {
        entries[entity.rawValue] != nil || fresh.contains { $0.entity == entity }
    }

    /// The oldest commit that the subscriber lacks, or `nil` when it lacks none: a cursor must stay below it.
    ///
    /// - Complexity: O(1), whatever is held back: it is asked for every row.
    public var oldestMissingCommit: Int64? {
        if let first = fresh.first { return first.commit }
        // The order is that of first commits, so the first key stands for all; held back ones have left the order.
        let waiting = order.first { $0 != Self.liveMarker }.flatMap { entries[$0]?.firstCommit }
        guard !held.isEmpty, let oldest = held[0].oldestCommit else { return waiting }
        return min(waiting ?? oldest, oldest)
    }

    /// A commit changed `entity`.
    ///
    /// - Returns: Whether it was not waiting yet.
    @discardableResult
    public mutating func mark(_ entity: EntityIndex, commit: Int64) -> Bool {
        if order.isEmpty, entries.isEmpty, fresh.count < Self.freshLimit,
            !fresh.contains(where: { $0.entity == entity })
        {
            fresh.append(FreshKey(entity: entity, commit: commit))
            return true
        }
        tabulate()
        if entries[entity.rawValue] != nil {
            entries[entity.rawValue]?.fold()
            return false
        }
        entries[entity.rawValue] = Entry(firstCommit: commit)
        order.append(entity.rawValue)
        return true
    }

    /// Lets a key that does not wait, wait with what `entry` says of it.
    public mutating func insert(_ entity: EntityIndex, _ entry: Entry) {
        tabulate()
        entries[entity.rawValue] = entry
        order.append(entity.rawValue)
    }

    /// What surrounds `entity` changed what is shown of it; no commit of its own is missing.
    ///
    /// - Parameter firstCommit: The commit of what surrounds it, or the next one where there is none.
    @discardableResult
    public mutating func markChangedSurroundings(_ entity: EntityIndex, firstCommit: Int64) -> Bool {
        tabulate()
        guard entries[entity.rawValue] == nil else { return false }
        entries[entity.rawValue] = Entry(firstCommit: firstCommit, hasOwnCommit: false)
        order.append(entity.rawValue)
        return true
    }

    /// `entity` belongs to the snapshot.
    @discardableResult
    public mutating func markSnapshot(_ entity: EntityIndex, firstCommit: Int64) -> Bool {
        tabulate()
        guard entries[entity.rawValue] == nil else { return false }
        entries[entity.rawValue] = Entry(firstCommit: firstCommit, isSnapshot: true)
        order.append(entity.rawValue)
        return true
    }

    /// `entity` may have changed since the cursor of a resume.
    @discardableResult
    public mutating func markResume(_ entity: EntityIndex, firstCommit: Int64) -> Bool {
        tabulate()
        guard entries[entity.rawValue] == nil else { return false }
        entries[entity.rawValue] = Entry(firstCommit: firstCommit, cause: .resume, tellsDeletion: true)
        order.append(entity.rawValue)
        return true
    }

    /// All that has been marked so far is the snapshot or the resume; ``Item/live`` comes after it.
    public mutating func markLive() {
        tabulate()
        order.append(Self.liveMarker)
    }

    /// Lets `announcement` go out before the row of `entity`, which is waiting.
    ///
    /// When 64 of its sort wait, the oldest makes room: a milestone is named in its row's `missed`, where the newest 64
    /// names stand.
    public mutating func announce(_ announcement: Announcement, before entity: EntityIndex) {
        tabulate()
        guard entries[entity.rawValue] != nil else { return }
        entries[entity.rawValue]?.announcements.append(announcement)
        count([announcement], of: entity.rawValue)
        if milestones.count > Self.announcementLimit, let (raw, rev) = milestones.oldest {
            drop(rev: rev, of: raw, isMilestone: true)
        }
        if alerts.count > Self.announcementLimit, let (raw, rev) = alerts.oldest {
            drop(rev: rev, of: raw, isMilestone: false)
        }
    }

    /// Removes what should be sent next.
    public mutating func popFirst() -> Item? {
        if !fresh.isEmpty {
            let first = fresh.removeFirst()
            return .row(first.entity, Entry(firstCommit: first.commit))
        }
        while let raw = popFirstKey() {
            if raw == Self.liveMarker { return .live }
            guard let entry = entries.removeValue(forKey: raw) else { continue }
            forget(entry.announcements, of: raw)
            for state in entry.missed { tellingByteCount -= state.byteCount }
            return .row(EntityIndex(raw), entry)
        }
        return nil
    }

    private var firstReleased: HeldKeys.Place? { held.isEmpty ? nil : held[0].firstReleased }

    /// Removes what stands first in the order, or what was held back and has been missing for as long: that was dirty
    /// before.
    private mutating func popFirstKey() -> Int32? {
        guard let released = firstReleased else { return order.popFirst() }
        if let raw = order.first, let commit = entries[raw]?.firstCommit, commit < released.commit {
            return order.popFirst()
        }
        held[0].removeFirstReleased()
        return released.raw
    }

    /// Removes ``fresh``: it has been sent as a whole.
    public mutating func removeFresh() {
        fresh.removeAll(keepingCapacity: true)
    }

    /// Puts back what ``popFirst()`` gave, until the monotonic clock shows `time`: its key's rate is used up.
    public mutating func delay(_ entity: EntityIndex, _ entry: Entry, until time: Int64) {
        tabulate()
        var entry = entry
        entry.cause = entry.cause ?? .rate
        count(entry.announcements, of: entity.rawValue)
        for state in entry.missed { tellingByteCount += state.byteCount }
        entries[entity.rawValue] = entry
        if held.isEmpty { held.append(HeldKeys()) }
        held[0].insert(HeldKeys.Place(commit: entry.firstCommit, raw: entity.rawValue), until: time)
    }

    /// Lets leave what was held back until `time` or before, in the order in which it became dirty.
    public mutating func release(at time: Int64) {
        if !held.isEmpty { held[0].release(at: time) }
    }

    /// Gives back the memory of what waited, where nothing does.
    public mutating func trim() {
        if fresh.isEmpty { fresh = [] }
        if order.isEmpty { order = [] }
        if entries.isEmpty { entries = [:] }
        if !held.isEmpty, held[0].isEmpty { held = [] }
        milestones.trim()
        alerts.trim()
    }

    /// Every key that waits, in no particular order.
    public var waiting: some Sequence<EntityIndex> { fresh.map(\.entity) + entries.keys.map { EntityIndex($0) } }

    /// Goes over to the table, which can say anything of a key.
    private mutating func tabulate() {
        for key in fresh {
            entries[key.entity.rawValue] = Entry(firstCommit: key.commit)
            order.append(key.entity.rawValue)
        }
        fresh = []
    }

    private mutating func drop(rev: Int64, of raw: Int32, isMilestone: Bool) {
        let position = entries[raw]?.announcements.firstIndex { $0.rev == rev && $0.isMilestone == isMilestone }
        guard let position, let dropped = entries[raw]?.announcements.remove(at: position) else { return }
        forget([dropped], of: raw)
        guard case .milestone(_, let state, _) = dropped else { return }
        // A reader that takes nothing would be owed a line of megabytes; that it lacks many, `skip` says.
        if entries[raw]?.missed.count == Self.announcementLimit, let oldest = entries[raw]?.missed.removeFirst() {
            tellingByteCount -= oldest.byteCount
        }
        entries[raw]?.missed.append(state)
        tellingByteCount += state.byteCount
    }

    private mutating func count(_ announcements: [Announcement], of raw: Int32) {
        for announcement in announcements {
            tellingByteCount += announcement.byteCount
            if announcement.isMilestone {
                milestones.insert(raw, rev: announcement.rev)
            } else {
                alerts.insert(raw, rev: announcement.rev)
            }
        }
    }

    private mutating func forget(_ announcements: [Announcement], of raw: Int32) {
        for announcement in announcements {
            tellingByteCount -= announcement.byteCount
            if announcement.isMilestone {
                milestones.remove(raw, rev: announcement.rev)
            } else {
                alerts.remove(raw, rev: announcement.rev)
            }
        }
    }

    /// Announcements of one sort that wait, oldest first. At most ``announcementLimit`` and one: a scan is short.
    private struct Lane: Sendable {
        private var waiting: [(raw: Int32, rev: Int64)] = []

        var count: Int { waiting.count }
        var oldest: (raw: Int32, rev: Int64)? { waiting.first }

        mutating func insert(_ raw: Int32, rev: Int64) {
            // Nearly always the newest; but what is held back comes again, behind newer ones of other keys.
            let place = waiting.lastIndex { $0.rev <= rev }.map { $0 + 1 } ?? 0
            waiting.insert((raw, rev), at: place)
        }

        mutating func trim() { if waiting.isEmpty { waiting = [] } }

        mutating func remove(_ raw: Int32, rev: Int64) {
            guard let position = waiting.firstIndex(where: { $0.raw == raw && $0.rev == rev }) else { return }
            waiting.remove(at: position)
        }
    }
}

extension String {
    /// About what it takes in memory where it is held.
    fileprivate var byteCount: Int { MemoryLayout<String>.stride + utf8.count }
}

extension Announcement {
    /// The same of an announcement.
    fileprivate var byteCount: Int {
        switch self {
        case .milestone(_, let state, _): MemoryLayout<Self>.stride + state.utf8.count
        case .alert(_, let json): MemoryLayout<Self>.stride + json.count
        }
    }
}

extension DirtyQueue.Entry {
    /// Commits of the key itself, and nothing beside its row.
    public init(commit: Int64, foldedCount: Int64) {
        self.init(firstCommit: commit, foldedCount: foldedCount, cause: foldedCount > 0 ? .slow : nil)
    }

    fileprivate mutating func fold() {
        // A row of a snapshot stands for a state, not for a commit.
        guard !isSnapshot else { return }
        // One that came for its surroundings stands for no commit yet: this is its first.
        guard hasOwnCommit else {
            hasOwnCommit = true
            return
        }
        foldedCount += 1
        cause = cause ?? .slow
    }
}
