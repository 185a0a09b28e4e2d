internal import FanOut
internal import Surfaces
internal import TelltaleModel

/// What is pending for a subscription beyond the row of one key, and what it holds if it follows many keys. A class, so that
/// reading one property touches nothing else; one subscription owns it.
final class Backlog {
    /// The approximate memory of one backlog, without its queues.
    static let byteCount = 104

    var queue = DirtyQueue()
    /// The snapshot, resume or projection in progress.
    var scan: TableScan?
    /// The placement that the subscriber holds for each key; not used if it follows one key.
    var shown = PlacementMap()
    /// In a competing view: the current placement of each activity that it shows.
    var placements: [Int32: Placement] = [:]
    /// In a competing view of many keys: how many activities were placed or dismissed. The others are left out.
    var placedCount: Int?
    /// In a competing view: the keys that left it and whose deletions are pending, and since which commit each may have left.
    /// Cursors stay below the oldest one, so that a resume finds what left.
    private var leaving: [Int32: Int64] = [:]
    private var oldestLeaving: Int64?
    /// When the last row of each key was sent, for `rate=`.
    var lastSent: [Int32: MonotonicTime] = [:]
    /// The widgets whose rows the subscriber holds.
    var widgets: [Int32: WidgetSent] = [:]
    /// The charge for the last row of a widget, if it had a budget.
    var payments: [Int32: MonotonicTime] = [:]
    /// With `deliver=notice`: the pending notice, instead of rows.
    var notice: PendingNotice?
    /// Rows of widgets are held back by a budget.
    var isHeldForBudget = false
    /// Some of them may be free now, so they are examined again.
    var reconsidersHeld = false

    /// The oldest commit that the subscriber lacks; `nil` = none.
    var oldestMissingCommit: Int64? {
        var oldest = queue.oldestMissingCommit
        if let oldestLeaving { oldest = min(oldestLeaving, oldest ?? .max) }
        guard let unread = notice?.oldest else { return oldest }
        return min(unread, oldest ?? .max)
    }

    /// Records that a key, which is pending, left a competing view after `commit` - 1.
    func noteLeaving(_ entity: EntityIndex, since commit: Int64) {
        if leaving[entity.rawValue] == nil { leaving[entity.rawValue] = commit }
        oldestLeaving = min(oldestLeaving ?? .max, commit)
    }

    /// Records that a key is no longer pending.
    ///
    /// - Complexity: O(keys that leave), at most as many as a view shows; O(1) if none leaves.
    func noteSent(_ entity: EntityIndex) {
        guard oldestLeaving != nil, leaving.removeValue(forKey: entity.rawValue) != nil else { return }
        oldestLeaving = leaving.values.min()
    }

    /// Records that no key is pending.
    func noteAllSent() { if oldestLeaving != nil { (leaving, oldestLeaving) = ([:], nil) } }

    /// When something that is held back may be sent.
    var nextRelease: MonotonicTime? {
        guard let held = notice?.heldUntil else { return queue.nextRelease }
        return min(held, queue.nextRelease ?? .distantFuture)
    }

    var isEmpty: Bool {
        notice == nil && scan == nil && queue.count == 0 && queue.isEmpty && shown.isEmpty && placements.isEmpty
            && lastSent.isEmpty && placedCount == nil
            && widgets.isEmpty && payments.isEmpty
    }

    /// Releases up to `limit` keys that were pending for a closed subscription.
    ///
    /// - Returns: How many were released; fewer than `limit` if none are left.
    func releaseWaiting(limit: Int, _ store: borrowing EntityStore) -> Int {
        var count = 0
        // In queue order; the order of a hash table would show in the indices of new keys.
        while count < limit, let item = scan?.ahead.popFirst() {
            if case .row(let entity, _) = item { store.release(entity) }
            count += 1
        }
        while count < limit {
            if queue.isEmpty, let release = queue.nextRelease { queue.release(at: release) }
            guard let item = queue.popFirst() else { break }
            if case .row(let entity, _) = item { store.release(entity) }
            count += 1
        }
        return count
    }

    /// Queues an announcement before the row of a pending key.
    ///
    /// ``DirtyQueue/announcementLimit`` applies to the queue and the keys ahead of a scan together.
    func announce(_ announcement: Announcement, before entity: EntityIndex) {
        if scan?.covers(entity) == true {
            scan?.ahead.announce(announcement, before: entity)
        } else {
            queue.announce(announcement, before: entity)
        }
        dropAnnouncementBeyondLimit(isMilestone: announcement.isMilestone)
    }

    private func dropAnnouncementBeyondLimit(isMilestone: Bool) {
        guard let ahead = scan?.ahead.waitingAnnouncements(isMilestone: isMilestone) else { return }
        let queued = queue.waitingAnnouncements(isMilestone: isMilestone)
        guard ahead.count + queued.count > DirtyQueue.announcementLimit else { return }
        if (ahead.oldestCommit ?? .max) < (queued.oldestCommit ?? .max) {
            scan?.ahead.dropOldestAnnouncement(isMilestone: isMilestone)
        } else {
            queue.dropOldestAnnouncement(isMilestone: isMilestone)
        }
    }

    /// Pending milestones and alerts, in bytes.
    var announcementByteCount: Int { queue.announcementByteCount + (scan?.ahead.announcementByteCount ?? 0) }

    /// Folds the oldest pending milestone or alert into the row of its key, which names it.
    ///
    /// - Returns: Whether there was one.
    func foldOldestAnnouncement() -> Bool {
        if queue.foldOldestAnnouncement() { return true }
        return scan?.ahead.foldOldestAnnouncement() ?? false
    }

    /// Records a change of a key that the current scan has not reached.
    ///
    /// - Returns: Whether the key was newly added, so that the caller retains it; `nil` if no scan will reach it.
    func markAhead(_ change: Change, isSeen: Bool) -> Bool? {
        guard let scan, scan.covers(change.entity) else { return nil }
        switch scan.purpose {
        case .snapshot:
            // The scan will send its state.
            guard isSeen, change.isAnnounced else { return false }
            return self.scan?.ahead.markSnapshot(change.entity, firstCommit: change.commit)
        case .resume:
            guard isSeen else { return false }
            return self.scan?.ahead.mark(change.entity, commit: change.commit)
        case .projection: return nil
        }
    }

    /// Records that something embedded in a key changed that the current scan has not reached. A row in the queue would send it
    /// twice.
    ///
    /// - Returns: Whether the key was newly added, so that the caller retains it; `nil` if no scan will send it.
    func markSurroundingsAhead(_ entity: EntityIndex, commit: Int64) -> Bool? {
        guard let scan, scan.covers(entity) else { return nil }
        if case .snapshot = scan.purpose { return false }
        return self.scan?.ahead.markChangedSurroundings(entity, firstCommit: commit)
    }

    func trim(at time: MonotonicTime, rateInterval: Milliseconds?) {
        queue.trim()
        if placements.isEmpty { placements = [:] }
        if widgets.isEmpty { widgets = [:] }
        // Older charges cannot cover another row.
        if !payments.isEmpty { payments = payments.filter { time < $0.value + Milliseconds.seconds(2) } }
        if let rateInterval, !lastSent.isEmpty { lastSent = lastSent.filter { time < $0.value + rateInterval } }
    }
}
