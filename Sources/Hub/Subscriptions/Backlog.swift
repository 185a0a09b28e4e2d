internal import FanOut
internal import Surfaces
internal import TelltaleModel

/// The debts of a subscription beside the mere row of one key, and the memory of the keys that it follows
/// when these are many. An object, so that looking at a part of it touches nothing else; one subscription holds it.
final class Backlog {
    /// About what one takes in memory, without what waits.
    static let byteCount = 96

    var queue = DirtyQueue()
    /// The snapshot, the resume or the projection that is under way.
    var scan: TableScan?
    /// The placement that the subscriber holds of each key; not used where it follows one.
    var shown = PlacementMap()
    /// Of a competing one: where each activity that it shows stands now.
    var placements: [Int32: Placement] = [:]
    /// Of a competing one to many keys: how many activities have their places, or were dismissed. The others are left out.
    var placedCount: Int?
    /// Of a competing one: what left the view since this commit is not known to be sent, while anything waits. Cursors stay below, so that
    /// a resume finds it.
    var floor: Int64?
    /// When the last row of a key left, for `rate=`.
    var lastSent: [Int32: MonotonicTime] = [:]
    /// The widgets that the subscriber holds rows of.
    var widgets: [Int32: WidgetSent] = [:]
    /// The payment that the last row of a widget left for, where it had a budget.
    var payments: [Int32: MonotonicTime] = [:]
    /// Of one with `deliver=notice`, which is owed no rows: what it is owed.
    var notice: NoticeDebt?
    /// Rows of widgets wait for a budget.
    var isHeldForBudget = false
    /// Some of them may leave without: it is looked at each of them again.
    var reconsidersHeld = false

    /// The oldest commit that the subscriber lacks; `nil` = none.
    var oldestMissingCommit: Int64? {
        var oldest = queue.oldestMissingCommit
        if let floor, queue.count > 0 { oldest = min(floor, oldest ?? .max) }
        guard let unread = notice?.oldest else { return oldest }
        return min(unread, oldest ?? .max)
    }

    /// When something that is held back may leave.
    var nextRelease: MonotonicTime? {
        guard let held = notice?.heldUntil else { return queue.nextRelease }
        return min(held, queue.nextRelease ?? .distantFuture)
    }

    var isEmpty: Bool {
        notice == nil && scan == nil && queue.count == 0 && queue.isEmpty && shown.isEmpty && placements.isEmpty
            && lastSent.isEmpty && placedCount == nil
            && widgets.isEmpty && payments.isEmpty
    }

    /// Keys that wait for a subscription that is gone: gives up the hold on `limit` keys.
    ///
    /// - Returns: How many were given up; fewer than `limit` when nothing is left.
    func releaseWaiting(limit: Int, _ store: inout EntityStore) -> Int {
        var count = 0
        // In the order in which they wait: an order of the process would show in the indices of new keys.
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

    /// Lets a line go out before the row of a key that waits.
    ///
    /// ``DirtyQueue/announcementLimit`` holds for the queue and the keys ahead of a walk together.
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

    /// Milestones and alerts that wait, in bytes.
    var announcementByteCount: Int { queue.announcementByteCount + (scan?.ahead.announcementByteCount ?? 0) }

    /// Folds the oldest milestone or alert that waits into the row of its key, which names it.
    ///
    /// - Returns: Whether there was one.
    func foldOldestAnnouncement() -> Bool {
        if queue.foldOldestAnnouncement() { return true }
        return scan?.ahead.foldOldestAnnouncement() ?? false
    }

    /// Notes a change of a key that the walk under way has yet to reach.
    ///
    /// - Returns: Whether the key waits from now on, and is to be held; `nil` where no walk will reach it.
    func markAhead(_ change: Change, isSeen: Bool) -> Bool? {
        guard let scan, scan.covers(change.entity) else { return nil }
        switch scan.purpose {
        case .snapshot:
            // The walk tells its state.
            guard isSeen, change.isAnnounced else { return false }
            return self.scan?.ahead.markSnapshot(change.entity, firstCommit: change.commit)
        case .resume:
            guard isSeen else { return false }
            return self.scan?.ahead.mark(change.entity, commit: change.commit)
        case .projection: return nil
        }
    }

    /// Notes that what is drawn of a key has changed which the walk under way has yet to reach: a row in the queue would tell
    /// it a second time.
    ///
    /// - Returns: Whether the key waits from now on, and is to be held; `nil` where no walk will tell it.
    func markSurroundingsAhead(_ entity: EntityIndex, commit: Int64) -> Bool? {
        guard let scan, scan.covers(entity) else { return nil }
        if case .snapshot = scan.purpose { return false }
        return self.scan?.ahead.markChangedSurroundings(entity, firstCommit: commit)
    }

    func trim(at time: MonotonicTime, rateInterval: Milliseconds?) {
        queue.trim()
        if placements.isEmpty { placements = [:] }
        if widgets.isEmpty { widgets = [:] }
        // Older ones are no payment that another row could leave for.
        if !payments.isEmpty { payments = payments.filter { time < $0.value + Milliseconds.seconds(2) } }
        if let rateInterval, !lastSent.isEmpty { lastSent = lastSent.filter { time < $0.value + rateInterval } }
    }
}
