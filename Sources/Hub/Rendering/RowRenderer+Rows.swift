internal import FanOut
internal import Machines
internal import Surfaces
internal import TelltaleModel
internal import TelltaleWire

/// The circumstances under which the rows of one session are written, and the counts of the write.
struct RowWriting: ~Copyable {
    let now: MonotonicTime
    /// The newest durable record.
    let commit: Int64
    /// The write ends at this many bytes; the rest stays pending.
    let limit: Int
    /// Cached rows to write before anything else.
    var run = RowCache.Run()
    /// When the next row that a rate holds back may be sent.
    var nextRelease: MonotonicTime?
    /// How many rows were written, and how many of them were delayed, by cause.
    var rowCount = 0
    var slowCount = 0
    var rateCount = 0
    var resumeCount = 0
    /// How many rows of widgets were charged to a budget, and how many had to wait for one.
    var paidCount = 0
    var heldCount = 0
    /// How many more keys may be examined, if nothing is written for most of them.
    private var checksLeft: Int

    init(now: MonotonicTime, commit: Int64, limits: Limits) {
        self.now = now
        self.commit = commit
        limit = limits.bytesPerFlush
        checksLeft = limits.keysPerCheck
    }

    /// Takes `count` keys from those that may still be examined; `false` if none are left.
    mutating func spendChecks(_ count: Int) -> Bool {
        guard checksLeft > 0 else { return false }
        checksLeft -= max(1, count)
        return true
    }

    fileprivate mutating func count(_ cause: DirtyQueue.Cause?) {
        rowCount += 1
        switch cause {
        case .slow: slowCount += 1
        case .rate: rateCount += 1
        case .resume: resumeCount += 1
        case .budget, nil: break
        }
    }
}

// Writes the pending rows of a session.
extension RowRenderer {
    /// Writes every pending row of a session, subscription by subscription.
    ///
    /// - Returns: Whether everything due has been written, except ``RowWriting/run``.
    mutating func writeRows(
        of session: Session, _ writing: inout RowWriting, _ subscriptions: inout SubscriptionRegistry,
        _ store: borrowing EntityStore, to writer: inout LineWriter
    ) -> Bool {
        guard !session.isClosing else { return true }
        for index in session.subscriptions {
            if let update = subscriptions.pendingUpdate(of: index) {
                guard writer.count + writing.run.count < writing.limit else { return false }
                let isShared = update.isUsual && !session.isApart
                if isShared, let row = row(of: update, at: writing.commit) {
                    if !writing.run.append(row) {
                        write(writing.run, to: &writer)
                        writing.run = RowCache.Run(row)
                    }
                    subscriptions.markSent(index, showing: row.placement, at: writing.commit)
                    writing.rowCount += 1
                    if update.commits.foldedCount > 0 { writing.slowCount += 1 }
                } else if session.isBudgeted, store.isWidget(update.entity) {
                    flushRun(&writing, to: &writer)
                    guard writeBacklog(of: index, of: session, &writing, &subscriptions, store, to: &writer) else {
                        return false
                    }
                } else {
                    flushRun(&writing, to: &writer)
                    write(update, to: index, of: session, isShared: isShared, &writing, &subscriptions, store, &writer)
                }
                continue
            }
            guard !subscriptions.hasNothingPending(index), let subscription = subscriptions[index] else { continue }
            flushRun(&writing, to: &writer)
            guard !session.isApart, subscription.sharesWrites(at: writing.commit) else {
                guard writeBacklog(of: index, of: session, &writing, &subscriptions, store, to: &writer) else {
                    return false
                }
                continue
            }
            guard writer.count < writing.limit else { return false }
            if let write = write(for: subscription, at: writing.commit) {
                copy(write, to: index, &writing, &subscriptions, store, &writer)
                continue
            }
            let start = writer.count
            // Kept only if another subscription may need the same: a second reference makes the queue copy its storage.
            let isWanted = subscription.fresh.first.map { hasSeveralFollowers($0.entity, subscriptions, store) }
            let keys = isWanted == true ? subscription.fresh : []
            guard writeBacklog(of: index, of: session, &writing, &subscriptions, store, to: &writer) else {
                return false
            }
            guard !keys.isEmpty, !keys.contains(where: { store.isWidget($0.entity) }),
                let reported = subscriptions[index]
            else { continue }
            let bytes = writer.bytes(from: start)
            if let write = SharedWrite(bytes, for: keys, to: reported, at: writing.commit) { keep(write) }
        }
        return true
    }

    private func flushRun(_ writing: inout RowWriting, to writer: inout LineWriter) {
        write(writing.run, to: &writer)
        writing.run = RowCache.Run()
    }

    /// Writes the row of a subscription's only pending change, and caches it for others in the same state.
    private mutating func write(
        _ update: PendingUpdate, to index: SubscriptionIndex, of session: Session, isShared: Bool,
        _ writing: inout RowWriting, _ subscriptions: inout SubscriptionRegistry, _ store: borrowing EntityStore,
        _ writer: inout LineWriter
    ) {
        let start = writer.count
        subscriptions.change(index) { $0.markSent() }
        write(
            update.entity, DirtyQueue.Entry(update.commits), of: index, of: session, &writing, &subscriptions, store,
            to: &writer)
        // Rows of widgets change with time and are not cached.
        if isShared, hasSeveralFollowers(update.entity, subscriptions, store), !store.isWidget(update.entity),
            let reported = subscriptions[index]
        {
            // A row with another destination depends on its former subscriber.
            let placement = reported.shown(update.entity)
            if placement != nil || !reported.terms.tracksRows {
                keep(writer.bytes(from: start), placement, for: update, at: writing.commit)
            }
        }
    }

    private func hasSeveralFollowers(
        _ entity: EntityIndex, _ subscriptions: borrowing SubscriptionRegistry, _ store: borrowing EntityStore
    ) -> Bool {
        subscriptions.hasSeveralFollowers(of: entity, kind: store[entity].kindName)
    }

    /// Sends a subscription what another one in the same state received.
    private func copy(
        _ write: SharedWrite, to index: SubscriptionIndex, _ writing: inout RowWriting,
        _ subscriptions: inout SubscriptionRegistry, _ store: borrowing EntityStore, _ writer: inout LineWriter
    ) {
        let bytes = write.bytes
        writer.append(lines: bytes.span)
        let holds = subscriptions.change(index) { subscription in
            for (key, placement) in zip(write.keys, write.placements) { subscription.show(key.entity, placement) }
            subscription.backlog?.queue.removeFresh()
            subscription.noteDrained()
            subscription.sentCursor = write.commit
            return subscription.holdsWhatWaits
        }
        writing.rowCount += write.keys.count
        if holds == true { for key in write.keys { store.release(key.entity) } }
    }

    private mutating func writeBacklog(
        of index: SubscriptionIndex, of session: Session, _ writing: inout RowWriting,
        _ subscriptions: inout SubscriptionRegistry, _ store: borrowing EntityStore, to writer: inout LineWriter
    ) -> Bool {
        let byteCount = subscriptions[index]?.backlog?.announcementByteCount ?? 0
        let isDone = writeWaiting(of: index, of: session, &writing, &subscriptions, store, to: &writer)
        let left = subscriptions[index]?.backlog?.announcementByteCount ?? 0
        if left != byteCount { session.announcementByteCount += left - byteCount }
        return isDone
    }

    private mutating func writeWaiting(
        of index: SubscriptionIndex, of session: Session, _ writing: inout RowWriting,
        _ subscriptions: inout SubscriptionRegistry, _ store: borrowing EntityStore, to writer: inout LineWriter
    ) -> Bool {
        let wasLive = subscriptions[index]?.isLive == true
        subscriptions[index]?.backlog?.queue.release(at: writing.now)
        guard releaseHeld(of: index, of: session, &writing, subscriptions) else { return false }
        if subscriptions.projectsNow(index) {
            guard writing.spendChecks(subscriptions.projectionCost(of: index, store)) else { return false }
            project(index, of: session, &subscriptions, store)
        }
        // Writing removes from the backlog and never replaces it.
        guard let backlog = subscriptions.change(index, { $0.openBacklog() }) ?? nil else { return true }
        if backlog.scan != nil {
            guard writeScan(of: index, of: session, in: backlog, &writing, &subscriptions, store, to: &writer),
                !subscriptions.projectsNow(index)
            else { return false }
        }
        writeNotice(index, of: session, in: backlog, &writing, &subscriptions, store, to: &writer)
        let holds = subscriptions[index]?.holdsWhatWaits == true
        while !backlog.queue.isEmpty {
            guard writer.count < writing.limit else { return false }
            switch backlog.queue.popFirst() {
            case .live: writeLive(index, writing.commit, &subscriptions, store, to: &writer)
            case .row(let entity, let entry):
                // Before a rate or a budget counts it.
                if repeatsRow(entity, entry, of: index, of: session, &subscriptions, store) {
                    backlog.noteSent(entity)
                } else {
                    guard !holdBack(entity, entry, of: index, in: backlog, &writing, subscriptions),
                        !holdForBudget(
                            entity, entry, of: index, of: session, in: backlog, &writing, subscriptions, store)
                    else { continue }
                    backlog.noteSent(entity)
                    noteRate(entity, of: index, in: backlog, writing, subscriptions)
                    write(entity, entry, of: index, of: session, &writing, &subscriptions, store, to: &writer)
                }
                if holds { store.release(entity) }
            case nil: break
            }
        }
        // Frees memory that only a snapshot needs.
        subscriptions.change(index) { subscription in
            if !wasLive { subscription.trim(at: writing.now) }
            subscription.noteDrained()
        }
        return true
    }

    func writeLive(
        _ index: SubscriptionIndex, _ commit: Int64, _ subscriptions: inout SubscriptionRegistry,
        _ store: borrowing EntityStore, to writer: inout LineWriter
    ) {
        guard let subscription = subscriptions[index] else { return }
        let cursor = subscriptions.cursor(of: subscription, epoch: store.epoch, durable: commit)
        subscriptions.change(index) { subscription in
            subscription.isLive = true
            subscription.sentCursor = cursor.sequence
        }
        writer.live(subscription: Int(subscription.number), cursor: cursor)
    }

    /// Holds back a row whose key has used up its rate.
    func holdBack(
        _ entity: EntityIndex, _ entry: DirtyQueue.Entry, of index: SubscriptionIndex, in backlog: Backlog,
        _ writing: inout RowWriting, _ subscriptions: borrowing SubscriptionRegistry
    ) -> Bool {
        guard let interval = subscriptions[index]?.terms.rateInterval else { return false }
        // The rows of a snapshot or a resume are sent at once, because each is the first of its key; they count towards the rate.
        if let last = backlog.lastSent[entity.rawValue], writing.now < last + interval {
            backlog.queue.delay(entity, entry, until: last + interval)
            writing.nextRelease = min(writing.nextRelease ?? .distantFuture, last + interval)
            return true
        }
        return false
    }

    /// Records that a row is sent: under a rate, the next row of its key waits.
    func noteRate(
        _ entity: EntityIndex, of index: SubscriptionIndex, in backlog: Backlog, _ writing: borrowing RowWriting,
        _ subscriptions: borrowing SubscriptionRegistry
    ) {
        guard subscriptions[index]?.terms.rateInterval != nil else { return }
        backlog.lastSent[entity.rawValue] = writing.now
    }

    /// Writes one key's announcements and its row or deletion. Nothing is written if the subscriber never had the key.
    mutating func write(
        _ entity: EntityIndex, _ entry: DirtyQueue.Entry, of index: SubscriptionIndex, of session: Session,
        _ writing: inout RowWriting, _ subscriptions: inout SubscriptionRegistry, _ store: borrowing EntityStore,
        to writer: inout LineWriter
    ) {
        guard let subscription = subscriptions[index], let key = store[entity].key else { return }
        writing.count(entry.cause)
        // Before a deletion too, or without a row: every subscription receives milestones, and on CarPlay an alert is a
        // notification exactly when the dashboard, and so the row, is hidden.
        let isAlerted = announce(entry, of: entity, key: key, subscription, session, store, to: &writer)
        var head = RowHead(
            subscription: Int(subscription.number), key: key, rev: rev(of: entity, subscription.terms.view, store))
        head.skip = Int(clamping: entry.foldedCount)
        head.why = entry.cause.map { RowHead.Fold($0) }
        head.missed = entry.missed
        let placed = form(of: entity, for: subscription, of: session, store)
        let form = isAlerted ? placed : placed?.withoutAlert
        let tracksRows = subscription.terms.tracksRows
        guard let form, let body = body(of: entity, form, store) else {
            let wasShown = subscription.shown(entity) != nil
            if wasShown { subscriptions.change(index) { $0.show(entity, nil) } }
            if store.isWidget(entity) {
                let next = nextLook(at: entity, for: subscription, of: session, store)
                subscriptions.noteHidden(entity, from: index, until: next)
                head.rev = max(head.rev, subscriptions.presence.widgetRev(of: entity, store))
            }
            guard wasShown || entry.reportsDeletion || !tracksRows, !entry.isSnapshot else { return }
            head.cursor = subscriptions.advanceCursor(of: index, epoch: store.epoch, durable: writing.commit)
            return writer.deletion(head, why: store.deletionReason(of: entity, for: subscription.terms))
        }
        if tracksRows { subscriptions.change(index) { $0.show(entity, form.placement) } }
        if case .widget(let number) = form { note(body, rev: head.rev, number, of: entity, to: index, &subscriptions) }
        if entry.isSnapshot { return writer.snapshot(head, body: body) }
        head.cursor = subscriptions.advanceCursor(of: index, epoch: store.epoch, durable: writing.commit)
        writer.update(head, body: body)
    }

    /// Whether the row of a widget that no commit made due is the one that was sent last; it is then not sent. A row also becomes due
    /// when more of the future is known, which may lie beyond the entries that the subscriber wants.
    mutating func repeatsRow(
        _ entity: EntityIndex, _ entry: DirtyQueue.Entry, of index: SubscriptionIndex, of session: Session,
        _ subscriptions: inout SubscriptionRegistry, _ store: borrowing EntityStore
    ) -> Bool {
        guard !entry.hasOwnCommit, !entry.isSnapshot, entry.announcements.isEmpty,
            let subscription = subscriptions[index],
            let former = subscription.backlog?.widgets[entity.rawValue]?.digest, former != 0,
            let form = form(of: entity, for: subscription, of: session, store), case .widget(let number) = form,
            let body = body(of: entity, form, store)
        else { return false }
        let rev = rev(of: entity, subscription.terms.view, store)
        guard due(body, rev: rev, number, of: entity).digest == former else { return false }
        if subscription.terms.tracksRows { subscriptions.change(index) { $0.show(entity, form.placement) } }
        note(body, rev: rev, number, of: entity, to: index, &subscriptions)
        return true
    }

    /// Records the widget row that a subscriber has, and when the next one is due.
    private func note(
        _ body: [UInt8], rev: Int64, _ number: Int32, of entity: EntityIndex, to index: SubscriptionIndex,
        _ subscriptions: inout SubscriptionRegistry
    ) {
        let (usedUpAt, digest) = due(body, rev: rev, number, of: entity)
        subscriptions.noteSent(widgetForms[number], of: entity, to: index, usedUpAt: usedUpAt, digest: digest)
    }

    /// When the next row is due after this one of a widget, and what says whether that is the same; 0 if none is due.
    private func due(
        _ body: [UInt8], rev: Int64, _ number: Int32, of entity: EntityIndex
    ) -> (usedUpAt: Timestamp?, digest: UInt32) {
        guard let usedUpAt = widgetForms[number].usedUp(after: sentCount(of: entity, number), at: time) else {
            return (nil, 0)
        }
        var hash = StableHash()
        hash.combine(UInt64(bitPattern: rev))
        hash.combine(body.span)
        return (usedUpAt, max(1, UInt32(truncatingIfNeeded: hash.finalize())))
    }

    /// Writes the announcements before a row.
    ///
    /// - Returns: Whether the row carries an alert. Only this row does: a row that is sent again after a reconnect or a change of
    ///   situation must not alert again.
    private func announce(
        _ entry: DirtyQueue.Entry, of entity: EntityIndex, key: Key, _ subscription: Subscription, _ session: Session,
        _ store: borrowing EntityStore, to writer: inout LineWriter
    ) -> Bool {
        if entry.announcements.isEmpty { return false }
        // E11, by the situation in which it is sent.
        var isRedacted = false
        if case .surface(let surface) = subscription.terms.view {
            isRedacted = session.traits.isRedacted(on: surface, settings)
        }
        var isAlerted = false
        let number = Int(subscription.number)
        for announcement in entry.announcements {
            switch announcement {
            case .milestone(let rev, let state, let time):
                writer.milestone(subscription: number, key: key, rev: rev, state: state, at: time)
            case .alert(let rev, let json, let redacted):
                // If this person has seen it on another device meanwhile, it need not alert here.
                if let account = subscription.terms.account, let activity = store.activity(at: entity),
                    activity.value.isAlertSpent(
                        rev: rev, for: account, digest: subscription.terms.accountDigest)
                {
                    continue
                }
                isAlerted = true
                let body = isRedacted ? redacted ?? json : json
                if !body.isEmpty { writer.alert(subscription: number, key: key, rev: rev, body: body) }
            }
        }
        return isAlerted
    }
}

extension RowHead.Fold {
    fileprivate init(_ cause: DirtyQueue.Cause) {
        switch cause {
        case .slow: self = .slow
        case .rate: self = .rate
        case .resume: self = .resume
        case .budget: self = .budget
        }
    }
}
