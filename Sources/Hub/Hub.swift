internal import FanOut
public import Journal
internal import Kinds
internal import Machines
internal import Surfaces
internal import TelltaleModel
internal import TelltaleWire

/// Telltale as one value: the state of every activity and control, the subscriptions, and what is pending for each.
///
/// A performer reports what happened (``connected(at:)``, ``received(_:from:at:)``, ``disconnected(_:)``), then runs a turn.
/// ``decide(at:limit:batchLimit:)`` returns the records to make durable. ``committed(at:)`` or ``refused(at:)`` reports the
/// result. ``output(for:at:to:)`` renders what is pending for a writable session. Nothing is rendered between a decision and its
/// commit, so no client sees what is not durable (ARCHITECTURE.md, *A turn*).
/// It reads no clock and does no IO: the same calls give the same bytes. It cannot be copied: a copy would share its sessions,
/// and an accidental copy of the rest would be costly.
public struct Hub: ~Copyable {
    let configuration: HubConfiguration
    var store: EntityStore
    var commit = GroupCommit()
    var sessions: SessionTable
    var subscriptions: SubscriptionRegistry
    var renderer: RowRenderer
    var providers = ProviderRegistry()
    var access = AccessPolicy()
    /// Of a node that follows.
    var link = LeaderLink()
    /// The clients of other nodes, while this one leads.
    var guests = GuestTable()
    var drainSchedule = DrainSchedule()
    var budgets: UnitBudgets
    public var statistics = Statistics()

    /// Creates a hub without history.
    ///
    /// - Parameter epoch: A number that no other history has, from a random source.
    public init(configuration: HubConfiguration, epoch: UInt64) {
        self.configuration = configuration
        store = EntityStore(
            epoch: epoch, activitiesPerView: configuration.limits.activitiesPerView,
            hidesStaleFromStart: configuration.surfaces.hidesStaleFromStart)
        sessions = SessionTable(limits: configuration.limits)
        subscriptions = SubscriptionRegistry(limits: configuration.limits)
        renderer = RowRenderer(settings: configuration.surfaces)
        budgets = UnitBudgets(configuration.widgetBudget)
    }

    // MARK: A turn

    /// Decides what is waiting, in the order of arrival, after the deadlines that are due.
    ///
    /// A long batch is decided in parts, so that the journal can write one part while the next is decided. While ``isDeciding``,
    /// call this again at the same moment with nothing in between.
    ///
    /// - Parameters:
    ///   - limit: The part ends with the entry that makes this many records.
    ///  - batchLimit: The most requests in the batch, all parts together. The first part sets it; other requests wait.
    /// - Returns: The records to make durable. After the last part call ``committed(at:)``, at once if there were none, or
    ///   ``refused(at:)``.
    public mutating func decide(at now: HubTime, limit: Int = .max, batchLimit: Int = .max) -> [JournalRecord] {
        if commit.isIdle { beginBatch(limit: limit, batchLimit: batchLimit, at: now) }
        precondition(isDeciding, "the journal still has the last batch")
        while commit.takesRequest(limit: limit), let id = sessions.popArrival() {
            guard let session = sessions[id] else { continue }
            let isOver = session.isClosing || session.hasSaidBye
            if !isOver, commit.isFollowing, parksForLeader(session, at: now) { continue }
            if session.holdsBack || !commit.mayReloadMore && session.reloadsNext, !isOver {
                commit.hold(id)
                continue
            }
            if !isOver, awaitsCheck(session, at: now) {
                sessions.park(session)
                continue
            }
            if !isOver, commit.isFollowing, parksAhead(session, at: now) { continue }
            store.prefetch(for: session)
            guard let request = session.popRequest(), !isOver else { continue }
            commit.countRequest()
            decide(request, from: session, at: now)
        }
        let isLast = sessions.waitingCount == 0 || commit.isFull
        return commit.endPart(isLast: isLast, late: isLast ? store.settledChanges() : [])
    }

    private mutating func beginBatch(limit: Int, batchLimit: Int, at now: HubTime) {
        renderer.setTime(max(store.time, now.time))
        answerPostponed(at: now)
        subscriptions.freeRetired(store)
        commit.begin(
            limit: limit, requestLimit: batchLimit, byteLimit: configuration.limits.batchBytes,
            scanShare: configuration.limits.keysPerScan)
        guard !commit.isFollowing else { return }
        store.beginBatch(expecting: commit.lastRecordCount, at: now)
        originate(at: now)
        commit.noteOwnRecords()
        fireDeadlines()
    }

    private mutating func decide(_ request: WaitingRequest, from session: Session, at now: HubTime) {
        if case .farewell(let line) = request { return end(session, with: line) }
        if drainSchedule.hasNewcomers, isSentAway(request, from: session) { return }
        // A timer that is due now precedes an event of now.
        if !commit.isFollowing {
            fireDeadlines()
            if !commit.hasRoomForDeadlines, let key = request.key { fireDeadlines(of: key) }
        }
        guard !access.mayRefuse || isAllowed(request, from: session, at: now) else { return }
        if access.isEnforced { commit.setAuthor(access.principal(of: session.id)?.name) }
        switch request {
        case .event(let event): decideEvent(event, from: session, at: now)
        case .other(let request): decide(request, from: session, at: now)
        case .reload(let scan): goOn(scan, from: session)
        case .forwarded(let forwarded) where commit.isFollowing: forward(forwarded, from: session, at: now)
        case .forwarded(let forwarded): decide(forwarded.request, from: session, at: now)
        case .farewell: break
        }
        if access.isEnforced { commit.setAuthor(nil) }
    }

    private mutating func decide(_ request: Request, from session: Session, at now: HubTime) {
        switch request.command {
        case .hello(let hello): decideHello(hello, request, from: session, at: now)
        case .traits(let attributes): decideTraits(attributes, request, of: session)
        case .dismiss(let key): decideDismissal(of: key, request, from: session)
        case .seen(let key, let rev): decideSeen(key, rev: rev, request, from: session)
        case .tile(let command): decideTile(command, request, from: session)
        case .reload(let pattern): decideReload(of: pattern, request, from: session)
        case .tap, .serve, .done, .supply, .fail, .report: decideControl(request, from: session)
        case .node(let name, let token): decideNode(name, token: token, request, from: session)
        case .ping, .bye, .help, .subscribe, .unsubscribe, .get, .list, .kinds, .kind, .gallery, .history, .stats,
            .open, .handover, .drain, .refused:
            if case .bye = request.command { session.hasSaidBye = true }
            stage(for: session) { $0.append(read: request) }
        case .event: break  // Waits in a separate form.
        }
    }

    /// The batch is durable: sends its replies, and marks its rows dirty for the followers.
    public mutating func committed(at now: HubTime) {
        guard !commit.isIdle else { return }
        precondition(!isDeciding, "the end of the batch is not decided yet")
        renderer.setTime(max(store.time, now.time))
        let batch = commit.committed(through: store.sequence)
        sessions.putBack(batch.held)
        if batch.recordCount > 0 { statistics.commits += 1 }
        let undo = store.commitBatch(hasRecords: batch.recordCount > 0)
        reprojectSessions(of: batch)
        sessions.beginReading()
        subscriptions.publish(batch.changes, &store, &renderer, to: &sessions)
        if budgets.hasTaps || !batch.taps.isEmpty { noteTaps(batch.taps, changes: batch.changes) }
        subscriptions.hold(store.forgotten, store)
        store.releaseForgotten()
        for id in batch.sessions { if let session = sessions[id] { answer(session, at: now) } }
        // After the reply that caused it: a provider that has just connected gets its reply first.
        for call in batch.calls where provider(call.1.provider) != nil { providers.append(call) }
        callProviders()
        commit.keep(consume batch, undo: undo)
        releaseReplies(at: now)
    }

    /// The disk has no room for the batch, and nothing of it was written. Undoes the batch and refuses its requests.
    ///
    /// Readers and fan-out continue. The next batch is attempted normally, so writing recovers without intervention.
    public mutating func refused(at now: HubTime) {
        statistics.storageFullBatches += 1
        takeBatchBack(
            WireError(.storageFull, "the disk is full; free some space, and send it again later"), at: now)
    }

    /// The disk failed, and it is unknown whether it has the batch. Nothing of it is shown; its senders are notified and closed.
    ///
    /// Decide nothing after this. The next process starts with what is on disk.
    public mutating func failed(at now: HubTime) {
        takeBatchBack(.journalFailed, at: now)
        refuseUndecided()
    }

    private mutating func takeBatchBack(_ error: WireError, at now: HubTime) {
        guard !commit.isIdle else { return }
        precondition(!isDeciding, "the end of the batch is not decided yet")
        for id in rollBack(error, at: now.monotonic) {
            guard let session = sessions[id] else { continue }
            session.staged.refuseCommitted(error)
            answer(session, at: now)
            if error.isFatal { session.isClosing = true }
        }
    }

    /// Undoes the batch in progress.
    ///
    /// - Parameter error: The answer to a `RELOAD` that was to continue with the next batch.
    /// - Returns: The sessions whose replies were in it.
    mutating func rollBack(_ error: WireError, at now: MonotonicTime) -> [SessionID] {
        let batch = commit.refused(at: now)
        sessions.putBack(batch.held)
        for step in batch.sessionUndo.reversed() { takeBack(step, error) }
        reprojectSessions(of: batch)
        store.rollBack(to: commit.durableSequence)
        providers.unalignAll()
        // Durable changes are published, however long the disk is full.
        subscriptions.goOnLookingAtBoards(&store, &renderer, to: &sessions)
        return batch.sessions
    }

    private mutating func takeBack(_ step: SessionUndo, _ error: WireError) {
        switch step {
        case .tapped(let id): sessions[id]?.hasTapped = false
        case .served(let kind, let id):
            let session = sessions[id]
            session?.served.removeAll { $0 == kind }
            providers.takeBack(kind, id, servesOthers: session?.served.isEmpty == false)
        case .reloads(let id): sessions[id]?.refuseReload(error)
        }
    }

    // MARK: What the hub originates

    /// Settings, kinds, restarts and provider changes come first in a batch.
    private mutating func originate(at now: HubTime) {
        if let settings = commit.takeSettings() { _ = try? record(.settings(settings.json)) }
        let kinds = commit.takeKinds()
        if let kinds {
            _ = try? record(.kinds(kinds.map(\.source)))
            providers.unalignAll()
        }
        for entry in commit.takeEntries() { _ = try? record(entry) }
        // They follow from the kinds and are not retried: they would pile up with batches that are undone.
        if kinds != nil { for entry in ControlDecisions.consequencesOfKinds(store) { _ = try? record(entry) } }
        // After a full disk this is not retried with every request. A request that needs it aligns its own key.
        if now.monotonic >= commit.retryTime { goOnAligning() }
    }

    /// Fires what is due by the hub's clocks, in the order of its dates. Also after a full disk: a retried event must not
    /// overtake a timer that was due before it.
    private mutating func fireDeadlines() {
        while commit.hasRoomForDeadlines, let entity = store.popDue() { fire(entity) }
        while commit.hasRoomForDeadlines, let entity = store.popDueOnWallClock() { fire(entity) }
    }

    /// As many timers as a machine can have, plus as many as their steps may arm. A kind whose timers form a cycle is cut off
    /// here.
    private static let deadlinesOfOneKey = 128

    /// Fires what is due for one key when the batch has no room for all deadlines: a key's timer precedes its event.
    mutating func fireDeadlines(of key: Key) {
        guard let entity = store.index(of: key) else { return }
        for _ in 0..<Self.deadlinesOfOneKey {
            guard store.due(of: entity) != nil else { return }
            fire(entity)
        }
    }

    private mutating func fire(_ entity: EntityIndex) {
        guard let key = store[entity].key else { return }
        // The end of an operation may send the next request to the provider, which may have changed.
        if providers.hasUnaligned { align(key) }
        guard let due = store.due(of: entity) else { return }
        statistics.deadlinesFired += 1
        // A refused deadline is not armed again until something changes; otherwise it would be due forever.
        _ = try? record(store.entry(ofDeadline: due, at: entity, key))
    }

    // MARK: Rendering

    /// Renders what is pending for a writable session: replies first, then rows from the current state.
    ///
    /// The output is appended to `bytes`. If it is only rows that others receive too, it is looked up instead: a broadcast is in
    /// memory once for all sessions, and only the system copies it.
    ///
    /// It renders about ``Limits/bytesPerFlush`` at most. If more is pending, the session is ready again at once.
    public mutating func output(for id: SessionID, at now: HubTime, to bytes: inout [UInt8]) -> SessionOutput {
        guard commit.isIdle, let session = sessions[id] else {
            return SessionOutput(disposition: .keep, sharedRange: 0..<0)
        }
        renderer.setTime(max(store.time, now.time))
        var writer = renderer.takeWriter()
        var writing = RowWriting(
            now: now.monotonic, commit: commit.durableSequence, limits: configuration.limits)
        var isDone = writeReplies(of: session, limit: writing.limit, to: &writer)
        // A reply that waits for a history shows an older state of a key, so no newer row may precede it.
        if isDone, session.outbox.count <= 1 {
            writeMark(to: session, at: now, to: &writer)
            // The leader's reply to a write comes before the row that shows its commit.
            if !(link.isUp && session.staged.isNextAwaited) {
                isDone = renderer.writeRows(of: session, &writing, &subscriptions, store, to: &writer)
            }
            if let release = writing.nextRelease { sessions.watch(session, at: release) }
        }
        if !writer.isEmpty {
            // One write takes its bytes from one place.
            renderer.write(writing.run, to: &writer)
            writing.run = RowCache.Run()
        }
        if !writer.isEmpty || writing.run.count > 0 { session.lastSent = now.monotonic }
        writer.move(to: &bytes)
        renderer.giveBack(writer)
        statistics.count(writing)
        return SessionOutput(disposition: disposition(of: session, isDone: isDone), sharedRange: writing.run.range)
    }

    /// Writes a `MARK` that is due for a session, with every cursor that advanced.
    private mutating func writeMark(to session: Session, at now: HubTime, to writer: inout LineWriter) {
        guard session.hasMarkPending, !session.isClosing else { return }
        if session.inputEnded {
            // After the replies that are due; without a subscription they are the last output.
            guard session.inFlightCount == 0, !session.subscriptions.isEmpty else { return }
        }
        session.hasMarkPending = false
        let staleness = status?.staleSince.map { now.monotonic.milliseconds(since: $0) }
        let (now, start) = (max(store.time, now.time), writer.count)
        for index in session.subscriptions {
            guard
                let cursor = subscriptions.advanceCursor(
                    of: index, epoch: store.epoch, durable: commit.durableSequence),
                let subscription = subscriptions[index]
            else { continue }
            writer.mark(now: now, subscription: Int(subscription.number), cursor: cursor, staleness: staleness)
        }
        if writer.count == start { writer.mark(now: now, staleness: staleness) }
    }

    private mutating func disposition(of session: Session, isDone: Bool) -> Disposition {
        sessions.readOn(session)
        if !isDone {
            sessions.makeReady(slot: session.id.slot)
            return .hasMore
        }
        if session.ending == .leaving, !isBeginning(session) { session.isClosing = true }
        if session.isClosing { return session.outbox.isEmpty ? .finish : .keep }
        // After a half-close only rows can follow, once all that was sent is answered.
        if session.inputEnded, session.unread.isEmpty, session.subscriptions.isEmpty, session.inFlightCount == 0 {
            return .finish
        }
        return .keep
    }
}
