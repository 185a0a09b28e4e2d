internal import DequeModule
public import TelltaleModel

/// The keys that one subscription has yet to be sent. It holds no rendered messages.
///
/// Keys are sent in the order in which they became dirty, so a key that changes all the time cannot starve the others.
/// A key that changes again while it waits keeps its place, and the change is folded into its row.
public struct DirtyQueue: Sendable {
    /// The reason why a row stands for more than one commit, or is sent without a commit
    /// (Protocols/Line/line-protocol.md §5).
    public enum Cause: String, Sendable {
        case slow, rate, resume, budget
    }

    /// The pending row of one key.
    public struct Entry: Sendable {
        /// The oldest commit of this key that the subscriber lacks.
        public var firstCommit: Int64
        /// The commits of the key itself that the row stands for, beyond the first.
        public var foldedCount: Int64 = 0
        public var cause: Cause?
        /// Whether a commit changed the key itself. If not, a change of its surroundings changed how it is drawn.
        public var hasOwnCommit = true
        /// Whether the row belongs to the snapshot and is sent as a `SNAP`.
        public var isSnapshot = false
        /// Whether a deletion is sent even if this subscription never showed the key.
        public var reportsDeletion = false
        /// The lines that are sent before the row, in order.
        public var announcements: [Announcement] = []
        /// The states of milestones that were dropped for lack of room: the newest ``DirtyQueue/announcementLimit``.
        public var missed: [String] = []
    }

    /// A waiting key with one commit and no other detail, which is the usual case.
    public struct FreshKey: Hashable, Sendable {
        public let entity: EntityIndex
        public let commit: Int64
    }

    public enum Item: Sendable {
        case row(EntityIndex, Entry)
        /// The end of the snapshot or of the resume.
        case live
    }

    /// The largest number of milestones, and of alerts, that wait in one subscription. Also the largest number of
    /// missed milestones that one row names (Protocols/Line/line-protocol.md §5).
    public static let announcementLimit = 64

    /// The waiting keys, in order, while they are few and fresh. This form needs no table, and two of them can be compared
    /// directly. While it is not empty, all other storage is empty.
    public private(set) var fresh: [FreshKey] = []
    private var order: Deque<Int32> = []
    private var entries: [Int32: Entry] = [:]
    /// The keys that `rate=` delays or has released, in an array of at most one element. Hardly any subscription has
    /// one, and an empty array takes one word where an optional would take the size of the value.
    private var held: [HeldKeys] = []
    private var milestones = AnnouncementLane()
    private var alerts = AnnouncementLane()
    /// The memory of the waiting announcements and of the names of missed ones, in bytes.
    private var reportingByteCount = 0
    /// The memory of the waiting announcements, in bytes.
    public private(set) var announcementByteCount = 0

    private static let liveMarker: Int32 = -1
    /// The approximate memory of one key in the order and in the table, in bytes.
    private static let keyByteCount = 64
    /// The number of keys from which a lookup in the table is faster than a scan.
    private static let freshLimit = 16

    public init() {}

    /// Whether no item can be sent now. Delayed keys may still wait.
    public var isEmpty: Bool { fresh.isEmpty && order.isEmpty && firstReleased == nil }
    /// The number of waiting keys, delayed ones included.
    public var count: Int { fresh.count + entries.count }
    /// The approximate memory of the queue, in bytes.
    public var byteCount: Int {
        Self.keyByteCount * count + reportingByteCount + (held.isEmpty ? 0 : held[0].byteCount)
    }

    /// The time at which `rate=` releases the next key.
    public var nextRelease: MonotonicTime? { held.isEmpty ? nil : held[0].nextRelease }

    public func contains(_ entity: EntityIndex) -> Bool {
        entries[entity.rawValue] != nil || fresh.contains { $0.entity == entity }
    }

    /// The oldest commit that the subscriber lacks, or `nil` if it lacks none. The subscription's cursor must stay
    /// below it.
    ///
    /// - Complexity: O(1), however many keys are delayed, because it is read for every row.
    public var oldestMissingCommit: Int64? {
        if let first = fresh.first { return first.commit }
        // The order follows first commits, so its first key has the oldest one. Delayed keys are not in the order.
        let waiting = order.first { $0 != Self.liveMarker }.flatMap { entries[$0]?.firstCommit }
        guard !held.isEmpty, let oldest = held[0].oldestCommit else { return waiting }
        return min(waiting ?? oldest, oldest)
    }

    /// Records that a commit changed `entity`.
    ///
    /// - Returns: `true` if the key was not waiting yet.
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

    /// Adds a key that is not waiting, with the given entry.
    public mutating func insert(_ entity: EntityIndex, _ entry: Entry) {
        tabulate()
        entries[entity.rawValue] = entry
        order.append(entity.rawValue)
    }

    /// Records that a change of its surroundings changed how `entity` is drawn. The key itself has no new commit.
    ///
    /// - Parameter firstCommit: The commit that changed the surroundings, or the next commit if none did.
    /// - Returns: `true` if the key was not waiting yet.
    @discardableResult
    public mutating func markChangedSurroundings(_ entity: EntityIndex, firstCommit: Int64) -> Bool {
        tabulate()
        guard entries[entity.rawValue] == nil else { return false }
        entries[entity.rawValue] = Entry(firstCommit: firstCommit, hasOwnCommit: false)
        order.append(entity.rawValue)
        return true
    }

    /// Adds `entity` as part of the snapshot. Returns `true` if it was not waiting yet.
    @discardableResult
    public mutating func markSnapshot(_ entity: EntityIndex, firstCommit: Int64) -> Bool {
        tabulate()
        guard entries[entity.rawValue] == nil else { return false }
        entries[entity.rawValue] = Entry(firstCommit: firstCommit, isSnapshot: true)
        order.append(entity.rawValue)
        return true
    }

    /// Adds `entity` because it may have changed since the cursor of a resume. Returns `true` if it was not waiting
    /// yet.
    @discardableResult
    public mutating func markResume(_ entity: EntityIndex, firstCommit: Int64) -> Bool {
        tabulate()
        guard entries[entity.rawValue] == nil else { return false }
        entries[entity.rawValue] = Entry(firstCommit: firstCommit, cause: .resume, reportsDeletion: true)
        order.append(entity.rawValue)
        return true
    }

    /// Ends the snapshot or the resume: ``Item/live`` follows all keys that were marked so far.
    public mutating func markLive() {
        tabulate()
        order.append(Self.liveMarker)
    }

    /// Adds an announcement that is sent before the row of `entity`, which must be waiting.
    ///
    /// If ``announcementLimit`` of its sort already wait, the oldest is dropped. A dropped milestone is named in the
    /// `missed` list of its row.
    public mutating func announce(_ announcement: Announcement, before entity: EntityIndex) {
        tabulate()
        guard entries[entity.rawValue] != nil else { return }
        entries[entity.rawValue]?.announcements.append(announcement)
        count([announcement], of: entity.rawValue)
        if lane(isMilestone: announcement.isMilestone).count > Self.announcementLimit {
            dropOldestAnnouncement(isMilestone: announcement.isMilestone)
        }
    }

    /// The number of announcements of one sort that wait, and the commit of the oldest one.
    public func waitingAnnouncements(isMilestone: Bool) -> (count: Int, oldestCommit: Int64?) {
        let lane = lane(isMilestone: isMilestone)
        return (lane.count, lane.oldest?.rev)
    }

    /// Drops the oldest announcement of one sort, as ``announce(_:before:)`` does at the limit.
    public mutating func dropOldestAnnouncement(isMilestone: Bool) {
        guard let (raw, rev) = lane(isMilestone: isMilestone).oldest else { return }
        drop(rev: rev, of: raw, isMilestone: isMilestone)
    }

    private func lane(isMilestone: Bool) -> AnnouncementLane { isMilestone ? milestones : alerts }

    /// Drops the oldest announcement that waits; its row names it in its `missed` list, an alert as `ALERT rev=N`.
    ///
    /// - Returns: `false` if none waits.
    public mutating func foldOldestAnnouncement() -> Bool {
        let (milestone, alert) = (milestones.oldest, alerts.oldest)
        guard let oldest = milestone.map({ $0.rev <= (alert?.rev ?? .max) ? $0 : alert ?? $0 }) ?? alert else {
            return false
        }
        drop(rev: oldest.rev, of: oldest.raw, isMilestone: milestone.map { $0 == oldest } ?? false, namesAlert: true)
        return true
    }

    /// Removes and returns the item that is sent next.
    public mutating func popFirst() -> Item? {
        if !fresh.isEmpty {
            let first = fresh.removeFirst()
            return .row(first.entity, Entry(firstCommit: first.commit))
        }
        while let raw = popFirstKey() {
            if raw == Self.liveMarker { return .live }
            guard let entry = entries.removeValue(forKey: raw) else { continue }
            forget(entry.announcements, of: raw)
            for state in entry.missed { reportingByteCount -= state.byteCount }
            return .row(EntityIndex(raw), entry)
        }
        return nil
    }

    /// Takes the row of `entity` out of its turn; `nil` if it does not wait.
    ///
    /// Its place in the order stays, and ``popFirst()`` skips it: a key that is added again takes the earlier place.
    public mutating func remove(_ entity: EntityIndex) -> Entry? {
        guard count > 0 else { return nil }
        tabulate()
        guard let entry = entries.removeValue(forKey: entity.rawValue) else { return nil }
        forget(entry.announcements, of: entity.rawValue)
        for state in entry.missed { reportingByteCount -= state.byteCount }
        return entry
    }

    private var firstReleased: HeldKeys.Place? { held.isEmpty ? nil : held[0].firstReleased }

    /// Removes the first key of the order, or the first released key if its first commit is as old or older: it became
    /// dirty earlier.
    private mutating func popFirstKey() -> Int32? {
        guard let released = firstReleased else { return order.popFirst() }
        if let raw = order.first, let commit = entries[raw]?.firstCommit, commit < released.commit {
            return order.popFirst()
        }
        held[0].removeFirstReleased()
        return released.raw
    }

    /// Empties ``fresh`` after the caller has sent all of it.
    public mutating func removeFresh() {
        fresh.removeAll(keepingCapacity: true)
    }

    /// Puts back an item of ``popFirst()`` because its key has used up its rate.
    ///
    /// - Parameter time: The end of the delay.
    public mutating func delay(_ entity: EntityIndex, _ entry: Entry, until time: MonotonicTime) {
        tabulate()
        var entry = entry
        entry.cause = entry.cause ?? .rate
        count(entry.announcements, of: entity.rawValue)
        for state in entry.missed { reportingByteCount += state.byteCount }
        entries[entity.rawValue] = entry
        if held.isEmpty { held.append(HeldKeys()) }
        held[0].insert(HeldKeys.Place(commit: entry.firstCommit, raw: entity.rawValue), until: time)
    }

    /// Releases every key whose delay ends at `time` or earlier, in the order in which the keys became dirty.
    public mutating func release(at time: MonotonicTime) {
        if !held.isEmpty { held[0].release(at: time) }
    }

    /// Frees the memory of every part that is empty.
    public mutating func trim() {
        if fresh.isEmpty { fresh = [] }
        if order.isEmpty { order = [] }
        if entries.isEmpty { entries = [:] }
        if !held.isEmpty, held[0].isEmpty { held = [] }
        milestones.trim()
        alerts.trim()
    }

    /// Moves the fresh keys to the table, which can hold an entry with more detail.
    private mutating func tabulate() {
        for key in fresh {
            entries[key.entity.rawValue] = Entry(firstCommit: key.commit)
            order.append(key.entity.rawValue)
        }
        fresh = []
    }

    private mutating func drop(rev: Int64, of raw: Int32, isMilestone: Bool, namesAlert: Bool = false) {
        let position = entries[raw]?.announcements.firstIndex { $0.rev == rev && $0.isMilestone == isMilestone }
        guard let position, let dropped = entries[raw]?.announcements.remove(at: position) else { return }
        forget([dropped], of: raw)
        let name: String
        switch dropped {
        case .milestone(_, let state, _): name = state
        // No state has a blank in its name.
        case .alert(let rev, _, _) where namesAlert: name = "ALERT rev=\(rev)"
        case .alert: return
        }
        // The list is bounded, so that a stalled reader does not accumulate a line of megabytes. `skip` counts everything it
        // missed.
        if entries[raw]?.missed.count == Self.announcementLimit, let oldest = entries[raw]?.missed.removeFirst() {
            reportingByteCount -= oldest.byteCount
        }
        entries[raw]?.missed.append(name)
        reportingByteCount += name.byteCount
    }

    private mutating func count(_ announcements: [Announcement], of raw: Int32) {
        for announcement in announcements {
            reportingByteCount += announcement.byteCount
            announcementByteCount += announcement.byteCount
            if announcement.isMilestone {
                milestones.insert(raw, rev: announcement.rev)
            } else {
                alerts.insert(raw, rev: announcement.rev)
            }
        }
    }

    private mutating func forget(_ announcements: [Announcement], of raw: Int32) {
        for announcement in announcements {
            reportingByteCount -= announcement.byteCount
            announcementByteCount -= announcement.byteCount
            if announcement.isMilestone {
                milestones.remove(raw, rev: announcement.rev)
            } else {
                alerts.remove(raw, rev: announcement.rev)
            }
        }
    }
}

extension String {
    /// The approximate memory of a stored text, in bytes.
    fileprivate var byteCount: Int { MemoryLayout<String>.stride + utf8.count }
}

extension DirtyQueue.Entry {
    /// Makes an entry for commits of the key itself, without announcements.
    public init(commit: Int64, foldedCount: Int64) {
        self.init(firstCommit: commit, foldedCount: foldedCount, cause: foldedCount > 0 ? .slow : nil)
    }

    /// Makes the row of a snapshot.
    ///
    /// - Parameter firstCommit: The commit after the newest.
    public init(snapshotSince firstCommit: Int64) { self.init(firstCommit: firstCommit, isSnapshot: true) }

    /// Makes the row of a key that may have changed since the cursor of a resume.
    public init(resumeSince firstCommit: Int64) {
        self.init(firstCommit: firstCommit, cause: .resume, reportsDeletion: true)
    }

    /// Makes the row of a key that is drawn differently, although no commit changed the key itself.
    public init(surroundingsSince firstCommit: Int64) { self.init(firstCommit: firstCommit, hasOwnCommit: false) }

    /// The same row as part of a resume.
    public var resuming: Self {
        var entry = self
        entry.cause = .resume
        entry.reportsDeletion = true
        return entry
    }

    mutating func fold() {
        // A row of a snapshot shows a state, and belongs to no commit.
        guard !isSnapshot else { return }
        // The entry was made because the client's circumstances changed. This is its first commit.
        guard hasOwnCommit else {
            hasOwnCommit = true
            return
        }
        foldedCount += 1
        cause = cause ?? .slow
    }
}
