internal import FanOut
internal import Machines
internal import Surfaces
internal import TelltaleModel
internal import TelltaleWire

/// Every subscription, the index of each key's followers, and what is pending for each subscription.
///
/// Invariants:
/// - A subscription is in the index of its selector, or among the competitors, exactly as long as it is in the table.
/// - A key that is pending for a subscription to many keys is retained in the store until its row is sent; a subscription to one
///   key retains that key while it exists.
/// - If a row is pending for a subscription, its session is in the ready queue or blocked, or the row is held back by a rate.
struct SubscriptionRegistry: ~Copyable {
    private let addressOnly = AddressOnly()
    private var table = SubscriptionTable()
    /// Subscriptions that are not among ``competitors``.
    private var patterns = PatternIndex()
    private var competitors = Competitors()
    /// Subscriptions whose resume is a scan that may be in progress.
    private var resuming: Set<SubscriptionIndex> = []
    /// The terms of the newest subscription, because the next ones are usually equal.
    private var lastTerms: SubscriptionTerms?
    /// Reused for every iteration over a key's followers.
    private var followerBuffer: [SubscriptionIndex] = []
    /// When entries of widgets that were sent are used up.
    private var timelines = TimelineWatch()
    /// The tiles that nobody placed, on the boards that are followed.
    private(set) var presence = BoardPresence()
    /// The number of subscriptions to single keys of each board.
    private(set) var tileFollowers: [Int32: Int] = [:]
    /// Backlogs of closed subscriptions, released little by little.
    private var retired: [Backlog] = []
    let limits: Limits

    /// Keys released in one batch.
    private static let keysFreedAtOnce = 2_048

    init(limits: Limits = Limits()) { self.limits = limits }

    var count: Int { table.count }
    func forEach(_ body: (Subscription) -> Void) { table.forEach(body) }

    /// `nil` if there is none (any more).
    subscript(index: SubscriptionIndex) -> Subscription? { table[index] }

    /// Changes the one at `index`, if there is one.
    @discardableResult
    mutating func change<Result>(_ index: SubscriptionIndex, _ body: (inout Subscription) -> Result) -> Result? {
        table.change(index, body)
    }

    /// The next moment, on the kinds' clock, at which a subscriber may have used up the entries of a widget.
    var nextUsedUp: Timestamp? { timelines.next }
    mutating func changeTimelines<Result>(_ body: (inout TimelineWatch) -> Result) -> Result { body(&timelines) }

    // MARK: Scans of resumes

    /// Records that the scan of a resume has begun.
    mutating func noteResume(_ index: SubscriptionIndex) { resuming.insert(index) }

    /// Retains forgotten keys for the scans of resumes that have not reached them. Their deletion is sent then, although the keys
    /// no longer exist.
    mutating func hold(_ forgotten: [EntityIndex], _ store: borrowing EntityStore) {
        guard !forgotten.isEmpty, !resuming.isEmpty else { return }
        for index in resuming {
            guard let subscription = table[index], let backlog = subscription.backlog,
                case .resume(let sequence)? = backlog.scan?.purpose
            else {
                resuming.remove(index)
                continue
            }
            for entity in forgotten
            where store[entity].rev > sequence && backlog.scan?.covers(entity) == true
                && store.follows(subscription.selector, entity)
            {
                let isNew = backlog.scan?.ahead.markResume(entity, firstCommit: sequence + 1)
                if isNew == true { store.retain(entity) }
            }
        }
    }

    // MARK: Coming and going

    /// The terms of a `SUB`. Equal consecutive terms share one object.
    mutating func terms(
        view: ViewName, account: String?, placement: String?, rateInterval: Milliseconds?,
        widgets: WidgetTerms = WidgetTerms(), isNotice: Bool = false
    ) -> SubscriptionTerms {
        let terms = SubscriptionTerms(
            view: view, account: account, accountDigest: account.map { Activity.digest(of: $0) }, placement: placement,
            rateInterval: rateInterval, widgets: widgets, isNotice: isNotice)
        if let last = lastTerms, last.isAlike(terms) { return last }
        lastTerms = terms
        return terms
    }

    mutating func insert(_ subscription: Subscription, _ store: borrowing EntityStore) -> SubscriptionIndex {
        let index = table.insert(subscription)
        if case .key(let entity) = subscription.selector {
            store.retain(entity)
            countTileFollower(of: entity, by: 1, store)
        }
        if let account = subscription.competingAccount {
            competitors.insert(index, subscription.selector, account: account)
        } else {
            patterns.insert(index, subscription.selector)
        }
        return index
    }

    /// - Returns: The number of the kind that it followed, to be released.
    mutating func remove(_ index: SubscriptionIndex, _ store: borrowing EntityStore) -> Int32? {
        guard let subscription = table.remove(index) else { return nil }
        if let account = subscription.competingAccount {
            competitors.remove(index, subscription.selector, account: account)
        } else {
            patterns.remove(index, subscription.selector)
        }
        if let entity = subscription.key {
            countTileFollower(of: entity, by: -1, store)
            store.release(entity)
        }
        for entity in subscription.backlog?.notice?.removeAll() ?? [] { store.release(entity) }
        guard subscription.holdsWhatWaits, let backlog = subscription.backlog else { return subscription.kind }
        // The first part at once: most backlogs have no more.
        if backlog.releaseWaiting(limit: Self.keysFreedAtOnce / 32, store) == Self.keysFreedAtOnce / 32 {
            retired.append(backlog)
        }
        return subscription.kind
    }

    private mutating func countTileFollower(of entity: EntityIndex, by difference: Int, _ store: borrowing EntityStore)
    {
        let number = store[entity].kindName
        guard store.isBoard(number) else { return }
        let count = (tileFollowers[number] ?? 0) + difference
        tileFollowers[number] = count > 0 ? count : nil
    }

    @discardableResult
    mutating func changePresence<Result>(_ body: (inout BoardPresence) -> Result) -> Result { body(&presence) }

    var hasRetired: Bool { !retired.isEmpty }

    /// Releases a part of what was pending for closed subscriptions.
    mutating func freeRetired(_ store: borrowing EntityStore) {
        var left = Self.keysFreedAtOnce
        while left > 0, let backlog = retired.last {
            let count = backlog.releaseWaiting(limit: left, store)
            if count < left { retired.removeLast() }
            left -= max(1, count)
        }
    }

    /// Whether any subscription follows a widget, or a tile, of `kind`.
    func hasFollowers(ofWidget entity: EntityIndex, _ kind: Int32) -> Bool {
        patterns.hasFollowers(ofWidget: entity, kind) || competitors.hasFollowers(ofWidget: entity, kind)
    }

    /// Whether any subscription follows all of a board, whose name has this number.
    func hasFollowers(ofBoard number: Int32) -> Bool {
        patterns.hasFollowers(ofBoard: number) || competitors.hasFollowers(ofBoard: number)
    }

    /// If it differs, other changes than before may concern an account's view.
    var competitorRevision: Int { competitors.revision }

    /// Sets how many of a kind's first activities determine what a subscription shows.
    mutating func setDepth(_ depth: Int, of index: SubscriptionIndex) {
        guard let subscription = table[index] else { return }
        competitors.setDepth(depth, limit: limits.activitiesPerView, of: index, subscription.selector)
    }

    /// Whether at least two subscriptions get the same rows. Those with competing activities do not.
    func hasSeveralFollowers(of entity: EntityIndex, kind: Int32) -> Bool {
        patterns.hasSeveralFollowers(of: entity, kind)
    }

    // MARK: Pending rows

    /// Lets `body` change the queue of a subscription. If it returns true, `entity` was newly added and is retained.
    mutating func enqueue(
        _ entity: EntityIndex, in index: SubscriptionIndex, _ store: borrowing EntityStore,
        _ body: (inout DirtyQueue) -> Bool
    ) {
        let holds = table.change(index) { body(&$0.needBacklog().queue) && $0.holdsWhatWaits }
        if holds == true { store.retain(entity) }
    }

    /// Marks the row dirty because something embedded in it changed.
    ///
    /// - Parameter commit: The commit that caused it, or the next one if no resume could miss the change.
    mutating func markSurroundings(
        of entity: EntityIndex, to index: SubscriptionIndex, since commit: Int64, _ store: borrowing EntityStore
    ) {
        switch table[index]?.backlog?.markSurroundingsAhead(entity, commit: commit) {
        case nil: enqueue(entity, in: index, store) { $0.markChangedSurroundings(entity, firstCommit: commit) }
        case let holds?: if holds { store.retain(entity) }
        }
    }

    /// The pending change of the subscription at `index`, if that is all and it may be sent at once.
    @inline(__always)
    func pendingUpdate(of index: SubscriptionIndex) -> PendingUpdate? { table.change(pendingFor: index) }

    /// Whether an iteration over a session's subscriptions may skip it.
    @inline(__always)
    func hasNothingPending(_ index: SubscriptionIndex) -> Bool { table.hasNothingPending(index) }

    /// Its ``pendingUpdate(of:)`` was sent with the cursor of `commit`.
    @inline(__always)
    mutating func markSent(_ index: SubscriptionIndex, showing placement: Placement?, at commit: Int64) {
        table.markSent(index, showing: placement, at: commit)
    }

    // MARK: Rates

    /// Releases the rows that a rate held back until `now`.
    ///
    /// - Returns: Whether there were any.
    mutating func release(_ indices: [SubscriptionIndex], at now: MonotonicTime) -> Bool {
        var isAny = false
        for index in indices {
            guard let backlog = table[index]?.backlog, let release = backlog.nextRelease, release <= now else {
                continue
            }
            backlog.queue.release(at: now)
            backlog.notice?.heldUntil = nil
            isAny = true
        }
        return isAny
    }

    /// When the next row that a rate holds back may be sent.
    func nextRelease(of indices: [SubscriptionIndex]) -> MonotonicTime? {
        indices.compactMap { table[$0]?.backlog?.nextRelease }.min()
    }

    mutating func trim(_ indices: [SubscriptionIndex], at now: MonotonicTime) {
        for index in indices { table.change(index) { $0.trim(at: now) } }
    }

    // MARK: Changes

    /// Marks the row of a changed key as pending for every follower.
    mutating func publish(
        _ changes: [Change], _ store: inout EntityStore, _ renderer: inout RowRenderer,
        to sessions: inout SessionTable
    ) {
        publishPresenceOfNewKinds(commit: store.sequence, &store, &renderer, to: &sessions)
        let changes = changes.span
        var surrounded: Set<EntityIndex> = []
        for position in changes.indices {
            let (entity, commit) = (changes[position].entity, changes[position].commit)
            renderer.invalidate(entity)
            let reach = store.touch(
                entity, isReordered: changes[position].isReordered,
                within: competitors.depth(limit: limits.activitiesPerView))
            var followers = takeFollowers(
                of: entity, kind: store[entity].kindName, isWidget: changes[position].isWidget, reach)
            // Without followers, the change is not read at all: it references an activity, which is probably out of the cache.
            if !followers.isEmpty {
                var change = changes[position]
                change.isReordered = reach?.isReordered != false
                for index in followers { mark(change, to: index, store, renderer, &sessions) }
            }
            giveBack(&followers)
            if store.hidesControls(entity) {
                publishOffers(of: entity, commit: commit, store, &renderer, to: &sessions)
            }
            let isOnBoards = changes[position].isWidget && (store.hasBoards || !presence.isEmpty)
            guard isOnBoards || renderer.hasControlReferences else { continue }
            // Rows around a key are marked once per batch: there may be many.
            let isFirst = changes.count == 1 || surrounded.insert(entity).inserted
            if isOnBoards {
                publishToBoards(of: entity, commit: commit, isFirst: isFirst, &store, &renderer, to: &sessions)
            }
            if isFirst, renderer.hasControlReferences {
                publishToEmbedders(of: entity, commit: commit, store, &renderer, to: &sessions)
            }
        }
        if presence.scan.isUnderWay { goOnLookingAtBoards(&store, &renderer, to: &sessions) }
    }

    /// - Parameter reach: For a change of an activity: subscriptions outside it are left out.
    mutating func takeFollowers(
        of entity: EntityIndex, kind: Int32, isWidget: Bool, _ reach: Competition.Reach? = nil
    ) -> [SubscriptionIndex] {
        var followers: [SubscriptionIndex] = []
        swap(&followers, &followerBuffer)
        patterns.appendFollowers(of: entity, kind, isWidget: isWidget, to: &followers)
        if let reach {
            competitors.appendFollowers(
                of: entity, kind, within: reach, limit: limits.activitiesPerView, to: &followers)
        } else {
            competitors.appendFollowers(of: entity, kind, isWidget: isWidget, to: &followers)
        }
        return followers
    }

    mutating func giveBack(_ followers: inout [SubscriptionIndex]) {
        followers.removeAll(keepingCapacity: true)
        swap(&followers, &followerBuffer)
    }

    @inline(__always)
    private mutating func mark(
        _ change: Change, to index: SubscriptionIndex, _ store: borrowing EntityStore,
        _ renderer: borrowing RowRenderer,
        _ sessions: inout SessionTable
    ) {
        if !change.isAnnounced {
            switch table.mark(change.commit, to: index) {
            case .begun: return sessions.makeReady(slot: table.session(of: index))
            // Its session has been ready since the first pending commit.
            case .folded: return
            case .refused: break
            }
        }
        markWithBacklog(change, to: index, store, renderer, &sessions)
    }

    private mutating func markWithBacklog(
        _ change: Change, to index: SubscriptionIndex, _ store: borrowing EntityStore,
        _ renderer: borrowing RowRenderer,
        _ sessions: inout SessionTable
    ) {
        guard let terms = table.terms(of: index) else { return }
        let entity = change.entity
        if terms.isNotice { return markNotice(of: entity, commit: change.commit, to: index, store, &sessions) }
        // Judged by what this change did, and not the whole batch.
        let sees = change.isAnnounced ? change.reaches(to: terms) : change.isVisible(to: terms)
        let (isPending, holds) =
            table.change(index) { subscription -> (Bool, Bool) in
                if let holds = subscription.backlog?.markAhead(change, isSeen: sees) { return (true, holds) }
                guard sees || subscription.knows(entity) else { return (false, false) }
                let isNew = subscription.needBacklog().queue.mark(entity, commit: change.commit)
                return (true, isNew && subscription.holdsWhatWaits)
            } ?? (false, false)
        if holds { store.retain(entity) }
        if terms.competes, !change.isWidget, sees || change.isAddressed(to: terms.account) {
            // Even an activity that was not shown may have displaced others, and leave now. A shown one that stays in place
            // changes only its own row.
            if change.isReordered || !sees || table[index]?.shown(entity) == nil {
                table.change(index) { $0.needsProjection = true }
            }
        } else if !isPending {
            return
        }
        if change.isWidget, !sees || !store.isListed(entity) { table[index]?.backlog?.reconsidersHeld = true }
        if sees, change.isAnnounced { announce(change, to: index, store, renderer, sessions) }
        sessions.makeReady(slot: table.session(of: index))
    }

    /// Queues the announcements of a commit before its row.
    private mutating func announce(
        _ change: Change, to index: SubscriptionIndex, _ store: borrowing EntityStore,
        _ renderer: borrowing RowRenderer, _ sessions: borrowing SessionTable
    ) {
        guard let subscription = table[index], let backlog = subscription.backlog,
            let session = sessions[slot: subscription.session]
        else { return }
        let byteCount = backlog.announcementByteCount
        for milestone in change.milestones { backlog.announce(milestone, before: change.entity) }
        if let alert = change.alert, case .surface = subscription.terms.view {
            let announcement = renderer.announcement(
                alert, rev: change.commit, of: change.entity, for: subscription, of: session, store)
            backlog.announce(announcement, before: change.entity)
        }
        let others = session.announcementByteCount - byteCount
        while others + backlog.announcementByteCount > limits.announcementBytes, backlog.foldOldestAnnouncement() {}
        session.announcementByteCount = others + backlog.announcementByteCount
    }

    /// The cursor from which a subscription may resume. It also stays below the changes of boards that have yet to be examined.
    func cursor(of subscription: Subscription, epoch: UInt64, durable: Int64) -> Cursor {
        guard let since = presence.scan.since, subscription.terms.view == .surface(.watch),
            !subscription.followsEverything
        else { return subscription.cursor(epoch: epoch, durable: durable) }
        return subscription.cursor(epoch: epoch, durable: min(durable, since - 1))
    }

    /// The cursor, if it has advanced since it was last sent; it then counts as sent.
    mutating func advanceCursor(of index: SubscriptionIndex, epoch: UInt64, durable: Int64) -> Cursor? {
        guard let subscription = self[index], subscription.isLive else { return nil }
        let cursor = cursor(of: subscription, epoch: epoch, durable: durable)
        guard cursor.sequence > subscription.sentCursor else { return nil }
        change(index) { $0.sentCursor = cursor.sequence }
        return cursor
    }
}

// Where subscriptions may resume.
extension Subscription {
    /// Where it may resume, when `durable` is the newest commit.
    func cursor(epoch: UInt64, durable: Int64) -> Cursor {
        Cursor(epoch: epoch, sequence: cursorSequence(durable: durable), selection: selection)
    }
}
