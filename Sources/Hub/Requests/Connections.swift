public import TelltaleModel
internal import TelltaleWire

/// The performer's next step with a session after taking its bytes.
public enum Disposition: Hashable, Sendable {
    /// Stays open.
    case keep
    /// Stays open and has more to send: it is ready again.
    case hasMore
    /// Nothing more will follow: shut the write side once the bytes are sent, read on briefly, then close.
    case finish
}

/// The result of ``Hub/output(for:at:to:)``.
public struct SessionOutput: Sendable {
    public let disposition: Disposition
    /// The position of the session's bytes in ``Hub/sharedRows``, if nothing was appended; empty if the bytes were appended or
    /// there are none.
    public let sharedRange: Range<Int>
}

// The performer's inputs about connections, and its queries.
extension Hub {
    /// Gives the connections from now on numbers that no other server of the cluster gives. Records contain them, and every node
    /// replays the records.
    ///
    /// - Parameter process: At most 31 bits, and not 0, which is the part of a server without a cluster.
    public mutating func numberConnections(asOf process: UInt32) { sessions.number(asOf: process) }

    /// Accepts a connection; its greeting is ready to be sent.
    public mutating func connected(at now: HubTime) -> SessionID {
        let session = sessions.opened(at: now.monotonic)
        if access.isEnforced {
            access.opened(session.id, at: now.monotonic)
            session.isRestricted = true
            session.decoder.lineLengthLimit = min(WireLimits.lineLengthBeforeHello, configuration.limits.lineLength)
        }
        session.send(greeting(at: now, next: receiveNewcomer(session, at: now)))
        if status?.staleSince != nil { session.hasMarkPending = true }
        sessions.makeReady(session)
        return session.id
    }

    /// Accepts bytes. Their lines are parsed now, and decided in ``decide(at:limit:batchLimit:)``.
    public mutating func received(_ bytes: Span<UInt8>, from id: SessionID, at now: HubTime) {
        guard let session = sessions[id] else { return }
        if !guests.isEmpty, guests.isLink(id) { return receivedOnLink(bytes, from: session, at: now) }
        sessions.received(bytes, from: session, at: now.monotonic)
    }

    /// The heartbeat interval for a client that has shut its side.
    private static let halfClosedHeartbeat = Milliseconds.seconds(5)

    /// Begins a turn: connections continue whose long lines had no room in the previous one.
    ///
    /// - Returns: Whether there was one; it may be possible to read from some again.
    public mutating func beginTurn() -> Bool { sessions.beginTurn() }

    /// The client has shut its side. The connection stays: pending output is still sent.
    public mutating func inputEnded(_ id: SessionID) {
        guard let session = sessions[id] else { return }
        session.inputEnded = true
        // The client cannot send any more, so only a failed write shows that it is gone.
        session.heartbeat = min(session.heartbeat, Self.halfClosedHeartbeat)
        session.hasLifePending = false
        session.hasMarkPending = true
        sessions.watch(session, at: session.lastSent + session.heartbeat)
        retireProvider(session)
        sessions.makeReady(session)
    }

    /// The connection is gone, for whatever reason.
    public mutating func disconnected(_ id: SessionID) {
        guard let session = sessions[id] else { return }
        detach(session)
        // The exact time is not reported; it was there when it last read or wrote.
        if let unit = session.unit { budgets.leave(unit, session.id, at: max(session.lastSent, session.lastReceived)) }
        session.unit = nil
        let isGuest = guests.link(of: id) != nil
        sessions.closed(session, isGuest: isGuest)
        access.closed(id)
        link.closed(id)
        drainSchedule.closed(id)
        if isGuest { guests.closed(guest: id) } else { endGuests(of: id) }
    }

    /// Ends all subscriptions of a session, and its service for kinds.
    mutating func detach(_ session: Session) {
        for index in session.subscriptions { remove(index) }
        session.subscriptions = []
        leaveKinds(session)
    }

    /// Ends a session's service for kinds; the next in line takes over.
    mutating func leaveKinds(_ session: Session) {
        for kind in session.served { providers.leave(kind, session.id) }
        session.served = []
    }

    /// The socket accepted nothing: nothing is rendered for it until ``becameWritable(_:)``.
    public mutating func becameBlocked(_ id: SessionID, at now: HubTime) {
        if let session = sessions[id] { sessions.becameBlocked(session, at: now.monotonic) }
    }

    /// A blocked socket accepted some bytes: it is slow, not stuck.
    public mutating func progressed(_ id: SessionID, at now: HubTime) {
        if let session = sessions[id], session.blockedSince != nil { session.blockedSince = now.monotonic }
    }

    public mutating func becameWritable(_ id: SessionID) {
        guard let session = sessions[id] else { return }
        session.blockedSince = nil
        sessions.makeReady(session)
    }

    /// Whether the performer should read more from this connection.
    ///
    /// `false` while too many requests wait for replies: the server simply stops reading.
    public func wantsInput(_ id: SessionID) -> Bool { sessions.wantsInput(id) }

    /// Refuses a connection for lack of room.
    ///
    /// - Returns: What to send before closing it.
    public mutating func refusedConnection() -> [UInt8] {
        sessions.countRefused()
        var writer = LineWriter()
        writer.error(
            WireError(.limitConnections, "the server has no room for another connection; try again later"))
        return writer.bytes
    }

    /// Ends every session in order: pending replies and rows first, then `BYE`.
    ///
    /// - Parameter wait: The range in milliseconds from which clients pick a random delay before they reconnect.
    public mutating func drain(wait: ClosedRange<Int>) {
        let pause = status == nil ? wait : Self.nextLeaderWait
        for slot in 0..<sessions.slotCount {
            guard let session = sessions[slot: Int32(slot)], !session.isClosing else { continue }
            var writer = LineWriter()
            let address = nextServer()
            writer.bye(.drain, wait: address == nil ? pause : 0...0, next: address)
            session.send(writer.bytes)
            session.isClosing = true
            sessions.makeReady(session)
        }
    }

    /// Refuses waiting changes, because nothing is decided any more; their senders would otherwise get no answer. A waiting read
    /// ends with the connection, and its client asks the next server.
    public mutating func refuseUndecided() {
        // Rights are checked when a request is decided, and an earlier answer would reveal them.
        guard !access.isEnforced else { return }
        for slot in 0..<sessions.slotCount {
            // A reply must not overtake those that are due before it.
            guard let session = sessions[slot: Int32(slot)], !session.isClosing, session.staged.isEmpty,
                let request = session.inbox.first, request.key != nil
            else { continue }
            var writer = LineWriter()
            writer.error(.journalFailed, id: request.id)
            session.send(writer.bytes)
            session.isClosing = true
            sessions.makeReady(session)
        }
    }

    /// Handles every session with a due deadline: a `MARK` is due, the reader is cut off, or its rate allows a row.
    public mutating func sessionDeadlineReached(at now: HubTime) {
        renderer.refresh(after: configuration.limits.heartbeat, at: now.monotonic)
        sessions.expire(at: now.monotonic, &subscriptions)
        endTooFarAhead()
        releaseReplies(at: now)
        subscriptions.markUsedUp(at: max(store.time, now.time), store, to: &sessions)
        endForbiddenSessions(at: now)
        goOnDraining(at: now)
    }

    /// Connections to close at once. The performer closes them and calls ``disconnected(_:)``.
    public mutating func takeEndedSessions() -> [SessionID] { sessions.takeEnded() }

    // MARK: Pending work

    /// Whether ``decide(at:limit:batchLimit:)`` has work.
    public func hasWork(at now: HubTime) -> Bool {
        if sessions.hasWork { return true }
        if commit.isFollowing { return subscriptions.hasRetired || subscriptions.presence.scan.isUnderWay }
        // A batch that could not be written is not retried at once.
        guard now.monotonic >= commit.retryTime else { return false }
        return commit.hasOwnWork || providers.hasUnaligned || subscriptions.hasRetired
            || subscriptions.presence.scan.isUnderWay || store.isDeadlineDue(at: now)
    }

    /// After a full disk: until this moment of the monotonic clock, only a request makes the hub retry. Otherwise it would spin.
    public var decisionsPausedUntil: MonotonicTime { commit.retryTime }

    /// Whether a batch is waiting for the journal. Nothing is decided and nothing is rendered until it is settled.
    public var isCommitting: Bool { !commit.isIdle }

    /// Whether the current batch has more parts to decide with ``decide(at:limit:batchLimit:)``.
    public var isDeciding: Bool { commit.isDeciding }

    /// The newest record that is durable.
    public var durableSequence: Int64 { commit.durableSequence }

    /// The number of requests that wait to be decided.
    public var waitingCount: Int { sessions.waitingCount }

    /// The number of requests decided for the unsettled batch.
    public var batchRequestCount: Int { commit.requestCount }

    /// How many more requests may be decided for the batch; `nil` = there is no batch.
    public var batchRoom: Int? { commit.room }

    /// Frees the previous batch. Call it while the journal writes the next one, when nothing else waits for the hub.
    public mutating func freeSettledBatch() { commit.freeSettled() }

    /// The next moment on the kinds' clock at which ``decide(at:limit:batchLimit:)`` has work without input, or at which a
    /// subscriber has used up the entries of a widget.
    public var nextDeadline: Timestamp? {
        let decision = commit.isFollowing ? nil : store.nextDeadline
        guard let row = subscriptions.nextUsedUp else { return decision }
        return decision.map { min($0, row) } ?? row
    }
    /// The next such moment on the real clock.
    public var nextWallDeadline: Timestamp? { commit.isFollowing ? nil : store.nextWallDeadline }
    /// When ``sessionDeadlineReached(at:)`` has work, by the monotonic clock.
    public var nextSessionDeadline: MonotonicTime? {
        var next = sessions.nextDeadline
        // No session ends before the current batch is settled.
        if commit.isIdle, let ending = access.nextDeadline { next = min(next ?? .distantFuture, ending) }
        if let departure = nextDeparture { next = min(next ?? .distantFuture, departure) }
        return next
    }

    /// The number of activities and controls, including dismissed ones that can still be requested.
    public var entityCount: Int { store.keyCount }
    public var kindCount: Int { store.kindCount }
    public var openSessionCount: Int { sessions.openCount }
    /// How many times as fast as real time the kinds' clock runs.
    public var clockSpeed: Double { store.settings.clockSpeed }

    /// Returns the machine faults since the last call, for people: refused steps (`machine_error`), and guards that could not be
    /// evaluated.
    public mutating func takeMachineFaults() -> [String] { store.takeFaultTexts() }

    /// The newest record older than the retention: what a snapshot contains may be pruned up to it.
    public mutating func takePrunableSequence() -> Int64 { store.takePrunableSequence() }
    /// Returns the chains of keys forgotten since the last call.
    public mutating func takePrunedChains() -> [Int64] { store.takePrunedChains() }

    // MARK: Ready to send

    /// The next session with output: of those with a pending reply the one that has waited longest, else of those with pending
    /// rows. Do not call it while a batch is being committed.
    ///
    /// A session with more output than one write takes is queued again after all others: call this ``readySessionCount`` times
    /// per turn, and none is starved.
    public mutating func nextReady() -> SessionID? {
        while commit.isIdle, let id = sessions.popReady() {
            guard !guests.isEmpty, guests.link(of: id) != nil, let guest = sessions[id] else { return id }
            relay(guest)
        }
        return nil
    }

    public var hasReadySessions: Bool { commit.isIdle && sessions.hasReady }
    /// Whether a ready session has a pending reply.
    public var hasReadyAnswers: Bool { commit.isIdle && sessions.hasReadyAnswers }

    /// The most sessions that are ready; some may be blocked by now.
    public var readySessionCount: Int { commit.isIdle ? sessions.readyCount : 0 }

    /// Rows for several sessions: the bytes of every ``SessionOutput/sharedRange`` of this turn. Release it before the hub renders
    /// again, or the hub must copy it.
    public var sharedRows: [UInt8] { renderer.sharedRows }

    /// Appends what ``output(for:at:to:)`` renders, shared or not.
    public mutating func appendOutput(for id: SessionID, at now: HubTime, to bytes: inout [UInt8]) -> Disposition {
        let output = output(for: id, at: now, to: &bytes)
        bytes += sharedRows[output.sharedRange]
        return output.disposition
    }
}
