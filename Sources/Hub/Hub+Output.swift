internal import DequeModule
internal import FanOut
internal import Machines
internal import Surfaces
internal import TelltaleModel
internal import TelltaleWire

/// What the shell does with a session after it has taken its bytes.
public enum Disposition: Hashable, Sendable {
    /// Stays open.
    case keep
    /// Stays open, and is due more: it is ready again.
    case hasMore
    /// Nothing more will come: shut the write side once the bytes have left, read on briefly, then close.
    case finish
}

/// What ``Hub/output(for:at:to:)`` has rendered.
public struct Output: Sendable {
    public let disposition: Disposition
    /// Where in ``Hub/sharedRows`` the session's bytes are, and then nothing was appended; empty when they were, or when
    /// there are none.
    public let sharedRange: Range<Int>
}

extension Hub {
    /// The next session that has something to send, the one that has waited longest. Ask nothing while a batch is being
    /// committed.
    ///
    /// One that has more to say than one write takes comes again behind all others: ask ``readySessionCount`` times in a
    /// turn, and nobody is starved.
    public mutating func nextReady() -> SessionID? {
        guard batch == nil else { return nil }
        while let id = ready.popFirst() {
            guard let session = self[id] else { continue }
            ready.left(slot: id.slot)
            if session.blockedSince == nil { return id }
        }
        return nil
    }

    public var hasReadySessions: Bool { batch == nil && !ready.isEmpty }

    /// How many there are at most; some may be gone or blocked by now.
    public var readySessionCount: Int { batch == nil ? ready.count : 0 }

    /// Renders what a writable session is due: replies first, then rows, rendered now, from current state.
    ///
    /// It is appended to `bytes`. Where it is nothing but rows that others are sent as well, it is only looked up: a
    /// broadcast is in memory once, however many it goes to, and nobody but the system copies it.
    ///
    /// At most about ``Limits/bytesPerFlush``; when more is due, the session is ready again at once.
    public mutating func output(for id: SessionID, at now: HubTime, to bytes: inout [UInt8]) -> Output {
        guard batch == nil, let session = self[id] else { return Output(disposition: .keep, sharedRange: 0..<0) }
        var writer = spare.lines.take() ?? LineWriter()
        var run = RowCache.Run()
        let limit = configuration.limits.bytesPerFlush
        var isDone = writeReplies(of: session, limit: limit, to: &writer)
        // A reply that waits behind a history tells a key as it was: no newer row may come before it.
        if isDone, session.outbox.count <= 1 {
            writeMark(to: session, at: now, to: &writer)
            isDone = writeRows(of: session, limit: limit, at: now, behind: &run, to: &writer)
        }
        if !writer.isEmpty {
            // One write takes bytes from one place.
            rows.write(run, to: &writer)
            run = RowCache.Run()
        }
        if !writer.isEmpty || run.count > 0 { session.lastSent = now.monotonic }
        writer.move(to: &bytes)
        spare.lines = consume writer
        return Output(disposition: disposition(of: session, isDone: isDone), sharedRange: run.range)
    }

    /// What several sessions are sent: bytes of every ``Output/sharedRange`` of the same turn. Let go of it before the
    /// hub renders again, or the hub has to copy it.
    public var sharedRows: [UInt8] { rows.shared }

    /// Appends what ``output(for:at:to:)`` renders, wherever it is.
    public mutating func appendOutput(for id: SessionID, at now: HubTime, to bytes: inout [UInt8]) -> Disposition {
        let output = output(for: id, at: now, to: &bytes)
        bytes += sharedRows[output.sharedRange]
        return output.disposition
    }

    private mutating func disposition(of session: Session, isDone: Bool) -> Disposition {
        readOn(session)
        if !isDone {
            makeReady(session.id)
            return .hasMore
        }
        if session.isClosing { return session.outbox.isEmpty ? .finish : .keep }
        // After a half-close nothing can come any more but rows.
        if session.inputEnded, session.subscriptions.isEmpty, session.inFlightCount == 0 { return .finish }
        return .keep
    }

    // MARK: Replies

    /// Whether all replies that are ready have left.
    private mutating func writeReplies(of session: Session, limit: Int, to writer: inout LineWriter) -> Bool {
        while let item = session.outbox.first {
            guard writer.count < limit else { return false }
            switch item {
            case .history(let telling):
                guard !telling.isAwaited else { return true }
                session.outbox[0] = askForHistory(telling, for: session)
            case .bytes(let bytes, _):
                writer.append(lines: bytes.span)
                session.outbox.removeFirst()
            case .read(let request):
                session.outbox.removeFirst()
                look(request, from: session.id, &writer)
            case .list(let request, let pattern, let view, let next, let count):
                session.outbox.removeFirst()
                let rest = writeList(
                    of: session.id, pattern: pattern, view: view, next: next, count: count, limit: limit, to: &writer)
                if let rest {
                    session.outbox.prepend(.list(request, pattern, view, next: rest.next, count: rest.count))
                    return false
                }
                writer.beginOK(id: request.id)
                writer.attribute("count", listCount)
                writer.ignored(request.ignored)
                writer.end()
            }
        }
        return true
    }

    /// Writes rows of a `LIST` from the position `next` on.
    ///
    /// - Returns: Where to go on, or `nil` when the list is complete; ``listCount`` holds its length then.
    private mutating func writeList(
        of id: SessionID, pattern: Pattern, view: ViewName, next: Int32, count: Int, limit: Int,
        to writer: inout LineWriter
    ) -> (next: Int32, count: Int)? {
        let account = self[id]?.account
        var count = count
        var position = next
        let end = Int(next) + Self.keysPerLook
        while Int(position) < entities.indexCount {
            guard writer.count < limit, position < end else { return (position, count) }
            let entity = EntityIndex(position)
            position += 1
            guard isListed(entity), let key = entities[entity].key, pattern.matches(key),
                isVisible(entity, to: account), let body = loneBody(of: entity, view: view, session: id)
            else { continue }
            writer.snapshot(RowHead(subscription: 0, key: key, rev: entities[entity].rev), body: body)
            count += 1
        }
        listCount = count
        return nil
    }

    /// Keys that a list looks at before others have their turn.
    private static let keysPerLook = 4_096

    // MARK: Rows

    /// - Parameter run: What is to be written before anything else is.
    /// - Returns: Whether everything due has been written, but for `run`.
    private mutating func writeRows(
        of session: Session, limit: Int, at now: HubTime, behind run: inout RowCache.Run, to writer: inout LineWriter
    ) -> Bool {
        guard !session.isClosing else { return true }
        for index in session.subscriptions {
            if let change = subscriptions.change(owedTo: index) {
                guard writer.count + run.count < limit else { return false }
                // What a person has tapped shows there alone.
                let isShared = change.isUsual && !session.hasTapped
                if isShared, let row = rows.row(of: change, at: durableSequence) {
                    if !run.append(row) {
                        rows.write(run, to: &writer)
                        run = RowCache.Run(row)
                    }
                    settle(change, to: index, by: row)
                } else {
                    rows.write(run, to: &writer)
                    run = RowCache.Run()
                    write(change, to: index, isShared: isShared, &writer)
                }
                continue
            }
            guard !subscriptions.isOwedNothing(index), let subscription = subscriptions[index] else { continue }
            rows.write(run, to: &writer)
            run = RowCache.Run()
            guard !session.hasTapped, subscription.sharesWrites(at: durableSequence) else {
                guard writeRows(of: index, limit: limit, at: now, to: &writer) else { return false }
                continue
            }
            guard writer.count < limit else { return false }
            if let write = rows.write(for: subscription, at: durableSequence) {
                copy(write, to: index, &writer)
                continue
            }
            let start = writer.count
            // Held on to only where somebody else may want the same: the queue would have to copy what it takes from.
            let keys = subscription.fresh.first.map { hasSeveralFollowers($0.entity) } == true ? subscription.fresh : []
            guard writeRows(of: index, limit: limit, at: now, to: &writer) else { return false }
            guard !keys.isEmpty, let told = subscriptions[index] else { continue }
            let bytes = writer.bytes(from: start)
            if let write = SharedWrite(bytes, for: keys, to: told, at: durableSequence) { rows.keep(write) }
        }
        return true
    }

    /// Notes that a subscription is sent what others in the same state were sent for the one change that it is owed.
    private mutating func settle(_ change: PendingUpdate, to index: SubscriptionIndex, by row: RowCache.ChangeRow) {
        subscriptions.settleChange(of: index, showing: row.placement, at: durableSequence)
        statistics.rows += 1
        if change.commits.foldedCount > 0 { statistics.count(.slow) }
    }

    /// Writes the row of the one change that a subscription is owed, and keeps it for others in the same state.
    private mutating func write(
        _ change: PendingUpdate, to index: SubscriptionIndex, isShared: Bool, _ writer: inout LineWriter
    ) {
        let start = writer.count
        subscriptions.change(index) { $0.markSent() }
        write(change.entity, DirtyQueue.Entry(change.commits), of: index, to: &writer)
        if isShared, hasSeveralFollowers(change.entity), let told = subscriptions[index] {
            // Where a row goes, it depends on who had it.
            let placement = told.shown(change.entity)
            if placement != nil || !told.terms.tracksRows {
                rows.keep(writer.bytes(from: start), placement, for: change, at: durableSequence)
            }
        }
    }

    private func hasSeveralFollowers(_ entity: EntityIndex) -> Bool {
        patterns.hasSeveralFollowers(of: entity, entities[entity].kindName)
    }

    /// Sends a subscription what another one in the same state was sent.
    private mutating func copy(_ write: SharedWrite, to index: SubscriptionIndex, _ writer: inout LineWriter) {
        let bytes = write.bytes
        writer.append(lines: bytes.span)
        let holds = subscriptions.change(index) { subscription in
            for (key, placement) in zip(write.keys, write.placements) { subscription.show(key.entity, placement) }
            subscription.backlog?.queue.removeFresh()
            subscription.settle()
            subscription.toldCursor = write.commit
            return subscription.holdsWhatWaits
        }
        statistics.rows += write.keys.count
        if holds == true { for key in write.keys { entities.release(key.entity) } }
    }

    private mutating func writeRows(
        of index: SubscriptionIndex, limit: Int, at now: HubTime, to writer: inout LineWriter
    ) -> Bool {
        let wasLive = subscriptions[index]?.isLive == true
        subscriptions[index]?.backlog?.queue.release(at: now.monotonic)
        if subscriptions[index]?.needsProjection == true { project(index) }
        // Writing takes from it and never replaces it.
        guard let backlog = subscriptions.change(index, { $0.openBacklog() }) ?? nil else { return true }
        let holds = subscriptions[index]?.holdsWhatWaits == true
        while !backlog.queue.isEmpty {
            guard writer.count < limit else { return false }
            switch backlog.queue.popFirst() {
            case .live: writeLive(index, to: &writer)
            case .row(let entity, let entry):
                if !hold(entity, entry, of: index, in: backlog, at: now) {
                    write(entity, entry, of: index, to: &writer)
                    if holds { entities.release(entity) }
                }
            case nil: break
            }
        }
        // A snapshot needs more than what may never come after it.
        subscriptions.change(index) { subscription in
            if !wasLive { subscription.trim(at: now.monotonic) }
            subscription.settle()
        }
        return true
    }

    private mutating func writeLive(_ index: SubscriptionIndex, to writer: inout LineWriter) {
        guard let subscription = subscriptions[index] else { return }
        let cursor = cursor(of: subscription)
        subscriptions.change(index) { subscription in
            subscription.isLive = true
            subscription.toldCursor = cursor.sequence
        }
        writer.live(subscription: Int(subscription.number), cursor: cursor)
    }

    /// Holds a row back whose key has used up its rate.
    private mutating func hold(
        _ entity: EntityIndex, _ entry: DirtyQueue.Entry, of index: SubscriptionIndex, in backlog: Backlog,
        at now: HubTime
    ) -> Bool {
        guard let subscription = subscriptions[index], let interval = subscription.terms.rateInterval else {
            return false
        }
        // The rows of a snapshot or a resume all leave at once, because each is its key's first; and they count.
        if let last = backlog.lastSent[entity.rawValue], now.monotonic - last < interval {
            backlog.queue.delay(entity, entry, until: last + interval)
            if let session = session(of: subscription) { watch(session.id, at: last + interval) }
            return true
        }
        backlog.lastSent[entity.rawValue] = now.monotonic
        return false
    }

    /// Writes one key's announcements and its row, deletion, or nothing where the subscriber never had it.
    private mutating func write(
        _ entity: EntityIndex, _ entry: DirtyQueue.Entry, of index: SubscriptionIndex, to writer: inout LineWriter
    ) {
        guard let subscription = subscriptions[index], let key = entities[entity].key else { return }
        statistics.rows += 1
        statistics.count(entry.cause)

        // Before a deletion too, or where there is no row at all: a milestone is told to each subscription, and on CarPlay
        // an alert is a notification exactly when the dashboard, and so the row, is hidden.
        let isAlerted = announce(entry, of: entity, key: key, subscription, to: &writer)
        var head = RowHead(subscription: Int(subscription.number), key: key, rev: entities[entity].rev)
        head.skip = Int(clamping: entry.foldedCount)
        head.why = entry.cause.map { RowHead.Fold($0) }
        head.missed = entry.missed
        let placed = form(of: entity, for: subscription)
        let form = isAlerted ? placed : placed?.withoutAlert
        let tracksRows = subscription.terms.tracksRows
        guard let form, let body = body(of: entity, form) else {
            let wasShown = subscription.shown(entity) != nil
            if wasShown { subscriptions.change(index) { $0.show(entity, nil) } }
            guard wasShown || entry.tellsDeletion || !tracksRows, !entry.isSnapshot else { return }
            head.cursor = advancedCursor(of: index)
            return writer.deletion(head, why: deletionReason(of: entity, for: subscription.terms))
        }
        if tracksRows { subscriptions.change(index) { $0.show(entity, form.placement) } }
        if entry.isSnapshot { return writer.snapshot(head, body: body) }
        head.cursor = advancedCursor(of: index)
        writer.update(head, body: body)
    }

    /// Writes what goes before a row.
    ///
    /// - Returns: Whether the row comes with an alert. It is the only one that does: a row that comes again, to a device
    ///   that has reconnected or whose situation changed, must not alert again.
    private func announce(
        _ entry: DirtyQueue.Entry, of entity: EntityIndex, key: Key, _ subscription: Subscription,
        to writer: inout LineWriter
    ) -> Bool {
        var isAlerted = false
        let number = Int(subscription.number)
        for announcement in entry.announcements {
            switch announcement {
            case .milestone(let rev, let state, let time):
                writer.milestone(subscription: number, key: key, rev: rev, state: state, at: time)
            case .alert(let rev, let json):
                // Seen on another device of this person meanwhile: it need not alert here.
                if let account = subscription.terms.account, let activity = activity(at: entity),
                    activity.value.isAlertSpent(rev: rev, for: account)
                {
                    continue
                }
                isAlerted = true
                if !json.isEmpty { writer.alert(subscription: number, key: key, rev: rev, body: json) }
            }
        }
        return isAlerted
    }

    private func deletionReason(of entity: EntityIndex, for terms: SubscriptionTerms) -> DeletionReason {
        switch entities[entity].state {
        case .none: .removed
        case .activity(let activity):
            activity.value.lifecycle == .dismissed
                || terms.account.map { activity.value.isDismissed(by: $0) } ?? false
                ? .dismissed : .hidden
        case .toggle, .button: .hidden
        }
    }

    // MARK: Cursors

    private func cursor(of subscription: Subscription) -> Cursor {
        Cursor(
            epoch: epoch, sequence: subscription.cursorSequence(durable: durableSequence),
            selection: subscription.selection)
    }

    /// The cursor, if it has advanced since it was told; it counts as told then.
    private mutating func advancedCursor(of index: SubscriptionIndex) -> Cursor? {
        guard let subscription = subscriptions[index], subscription.isLive else { return nil }
        let cursor = cursor(of: subscription)
        guard cursor.sequence > subscription.toldCursor else { return nil }
        subscriptions.change(index) { $0.toldCursor = cursor.sequence }
        return cursor
    }

    /// Writes the sign of life that a session is owed, with every cursor that advanced.
    private mutating func writeMark(to session: Session, at now: HubTime, to writer: inout LineWriter) {
        guard session.owesMark, !session.isClosing else { return }
        session.owesMark = false
        let (now, start) = (max(time, now.time), writer.count)
        for index in session.subscriptions {
            guard let cursor = advancedCursor(of: index), let subscription = subscriptions[index] else { continue }
            writer.mark(now: now, subscription: Int(subscription.number), cursor: cursor)
        }
        if writer.count == start { writer.mark(now: now) }
    }
}

extension RowHead.Fold {
    fileprivate init(_ cause: DirtyQueue.Cause) {
        switch cause {
        case .slow: self = .slow
        case .rate: self = .rate
        case .resume: self = .resume
        }
    }
}
