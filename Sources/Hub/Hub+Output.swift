internal import DequeModule
internal import FanOut
internal import Machines
internal import Model
internal import Surfaces
internal import Wire

/// What the shell does with a session after it has taken its bytes.
public enum Disposition: Hashable, Sendable {
    /// Goes on.
    case keep
    /// Nothing more will come: shut the write side once the bytes have left, read on briefly, then close.
    case finish
}

extension Hub {
    /// The next session that has something to send. Ask again until `nil`; ask nothing while a batch is being committed.
    public mutating func nextReady() -> SessionID? {
        guard batch == nil else { return nil }
        while let id = ready.popLast() {
            guard isOpen(id) else { continue }
            self[id]?.isReady = false
            if self[id]?.blockedSince == nil { return id }
        }
        return nil
    }

    public var hasReadySessions: Bool { batch == nil && !ready.isEmpty }

    /// Appends what a writable session is due: replies first, then rows, rendered now, from current state.
    ///
    /// At most about ``Limits/bytesPerFlush``; when more is due, the session is ready again at once.
    public mutating func appendOutput(for id: SessionID, at now: HubTime, to bytes: inout [UInt8]) -> Disposition {
        guard batch == nil, isOpen(id) else { return .keep }
        var writer = LineWriter(bytes)
        bytes = []
        let start = writer.bytes.count
        let limit = start + configuration.limits.bytesPerFlush
        let isDone =
            writeReplies(of: id, limit: limit, to: &writer) && writeRows(of: id, limit: limit, at: now, to: &writer)
        if writer.bytes.count > start { self[id]?.lastSent = now.monotonic }
        bytes = writer.bytes
        guard let session = self[id] else { return .keep }
        if !isDone {
            makeReady(id)
            return .keep
        }
        if session.isClosing { return session.outbox.isEmpty ? .finish : .keep }
        // After a half-close nothing can come any more but rows.
        if session.inputEnded, session.subscriptions.isEmpty, session.inFlightCount == 0 { return .finish }
        return .keep
    }

    // MARK: Replies

    /// Whether all replies that are ready have left.
    private mutating func writeReplies(of id: SessionID, limit: Int, to writer: inout LineWriter) -> Bool {
        while let item = self[id]?.outbox.first {
            guard writer.bytes.count < limit else { return false }
            switch item {
            case .awaitingHistory: return true
            case .bytes(let bytes):
                writer.bytes.append(contentsOf: bytes)
                _ = self[id]?.outbox.popFirst()
            case .list(let request, let pattern, let view, let next, let count):
                _ = self[id]?.outbox.popFirst()
                let rest = writeList(
                    of: id, pattern: pattern, view: view, next: next, count: count, limit: limit, to: &writer)
                if let rest {
                    self[id]?.outbox.prepend(
                        .list(request, pattern, view, next: rest.next, count: rest.count))
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
        while Int(position) < entities.states.count {
            guard writer.bytes.count < limit else { return (position, count) }
            let entity = EntityIndex(position)
            position += 1
            guard isListed(entity), let key = entities.key(at: entity), pattern.matches(key),
                isVisible(entity, to: account), let body = loneBody(of: entity, view: view, session: id)
            else { continue }
            writer.snapshot(RowHead(subscription: 0, key: key, rev: entities.revs[entity]), body: body)
            count += 1
        }
        listCount = count
        return nil
    }

    // MARK: Rows

    /// Whether everything due has been written.
    private mutating func writeRows(
        of id: SessionID, limit: Int, at now: HubTime, to writer: inout LineWriter
    ) -> Bool {
        guard let count = self[id]?.subscriptions.count, count > 0, self[id]?.isClosing == false else { return true }
        for position in 0..<count {
            guard let index = self[id]?.subscriptions[position].index else { continue }
            guard writeRows(of: index, limit: limit, at: now, to: &writer) else { return false }
        }
        return true
    }

    private mutating func writeRows(
        of index: SubscriptionIndex, limit: Int, at now: HubTime, to writer: inout LineWriter
    ) -> Bool {
        guard subscriptions[index] != nil else { return true }
        subscriptions[index]?.queue.release(at: now.monotonic)
        if subscriptions[index]?.needsProjection == true { project(index) }
        while subscriptions[index]?.queue.isEmpty == false {
            guard writer.bytes.count < limit else { return false }
            switch subscriptions[index]?.queue.popFirst() {
            case .live: writeLive(index, to: &writer)
            case .row(let entity, let entry):
                if !hold(entity, entry, in: index, at: now) {
                    write(entity, entry, in: index, to: &writer)
                    entities.release(entity)
                }
            case nil: break
            }
        }
        return true
    }

    private mutating func writeLive(_ index: SubscriptionIndex, to writer: inout LineWriter) {
        guard let terms = subscriptions[index]?.terms else { return }
        let cursor = cursor(of: index, terms)
        subscriptions[index]?.isLive = true
        subscriptions[index]?.toldCursor = cursor.sequence
        writer.live(subscription: terms.number, cursor: cursor)
    }

    /// Holds a row back whose key has used up its rate.
    private mutating func hold(
        _ entity: EntityIndex, _ entry: DirtyQueue.Entry, in index: SubscriptionIndex, at now: HubTime
    ) -> Bool {
        guard let interval = subscriptions[index]?.terms.rateInterval, subscriptions[index]?.isLive == true else {
            return false
        }
        if let last = subscriptions[index]?.lastSent[entity.rawValue], now.monotonic - last < interval {
            subscriptions[index]?.queue.delay(entity, entry, until: last + interval)
            if let session = subscriptions[index]?.terms.session { watch(session, at: last + interval) }
            return true
        }
        subscriptions[index]?.lastSent[entity.rawValue] = now.monotonic
        return false
    }

    /// Writes one key's announcements and its row, deletion, or nothing where the subscriber never had it.
    private mutating func write(
        _ entity: EntityIndex, _ entry: DirtyQueue.Entry, in index: SubscriptionIndex, to writer: inout LineWriter
    ) {
        guard let terms = subscriptions[index]?.terms, let key = entities.key(at: entity) else { return }
        statistics.rows += 1
        statistics.count(entry.cause)
        var head = RowHead(subscription: terms.number, key: key, rev: entities.revs[entity])
        head.skip = Int(clamping: entry.foldedCount)
        head.why = entry.cause.map { RowHead.Fold($0) }
        head.missed = entry.missed

        // Before a deletion too, or where there is no row at all: a milestone is told to each subscription, and on CarPlay
        // an alert is a notification exactly when the dashboard, and so the row, is hidden.
        let isAlerted = announce(entry, of: entity, key: key, terms, to: &writer)
        guard let form = form(of: entity, for: terms, index),
            let body = body(of: entity, isAlerted ? form : form.withoutAlert)
        else {
            let wasShown = subscriptions[index]?.shown.removeValue(forKey: entity.rawValue) != nil
            let knowsByItself = !terms.tracksRows
            guard wasShown || entry.tellsDeletion || knowsByItself, !entry.isSnapshot else { return }
            head.cursor = advancedCursor(index)
            return writer.deletion(head, why: deletionReason(of: entity, for: terms))
        }
        if terms.tracksRows { subscriptions[index]?.shown[entity.rawValue] = form.placement }
        if entry.isSnapshot, subscriptions[index]?.isLive == false {
            writer.snapshot(head, body: body)
        } else {
            head.cursor = advancedCursor(index)
            writer.update(head, body: body)
        }
    }

    /// Writes what goes before a row.
    ///
    /// - Returns: Whether the row comes with an alert. It is the only one that does: a row that comes again, to a device
    ///   that has reconnected or whose situation changed, must not alert again.
    private func announce(
        _ entry: DirtyQueue.Entry, of entity: EntityIndex, key: Key, _ terms: SubscriptionTerms,
        to writer: inout LineWriter
    ) -> Bool {
        var isAlerted = false
        for announcement in entry.announcements {
            switch announcement {
            case .milestone(let rev, let state, let time):
                writer.milestone(subscription: terms.number, key: key, rev: rev, state: state, at: time)
            case .alert(let rev, let json):
                // Seen on another device of this person meanwhile: it need not alert here.
                if let account = terms.account, let activity = activity(at: entity),
                    activity.isAlertSpent(rev: rev, for: account)
                {
                    continue
                }
                isAlerted = true
                if !json.isEmpty { writer.alert(subscription: terms.number, key: key, rev: rev, body: json) }
            }
        }
        return isAlerted
    }

    private func deletionReason(of entity: EntityIndex, for terms: SubscriptionTerms) -> DeletionReason {
        switch entities.states[entity] {
        case .none: .removed
        case .activity(let activity):
            activity.lifecycle == .dismissed
                || terms.account.map { activity.isDismissed(by: $0) } ?? false
                ? .dismissed : .hidden
        case .toggle, .button: .hidden
        }
    }

    // MARK: Cursors

    /// Where a subscription may resume: below the oldest commit that it still lacks.
    private func cursor(of index: SubscriptionIndex, _ terms: SubscriptionTerms) -> Cursor {
        let oldest = subscriptions[index]?.queue.oldestMissingCommit ?? .max
        let told = subscriptions[index]?.toldCursor ?? 0
        return Cursor(
            epoch: epoch, sequence: max(min(durableSequence, oldest - 1), told),
            selection: terms.selection(isSituated: subscriptions[index]?.isSituated == true))
    }

    /// The cursor, if it has advanced since it was told; it counts as told then.
    private mutating func advancedCursor(_ index: SubscriptionIndex) -> Cursor? {
        guard let terms = subscriptions[index]?.terms, subscriptions[index]?.isLive == true else { return nil }
        let cursor = cursor(of: index, terms)
        guard cursor.sequence > subscriptions[index]?.toldCursor ?? .max else { return nil }
        subscriptions[index]?.toldCursor = cursor.sequence
        return cursor
    }

    /// A sign of life, with every cursor that advanced.
    mutating func appendMark(to id: SessionID, at now: HubTime) {
        guard let session = self[id] else { return }
        var writer = LineWriter()
        for (number, index) in session.subscriptions {
            guard let cursor = advancedCursor(index) else { continue }
            writer.mark(now: max(time, now.time), subscription: number, cursor: cursor)
        }
        if writer.bytes.isEmpty { writer.mark(now: max(time, now.time)) }
        append(writer.bytes, to: id)
        makeReady(id)
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
