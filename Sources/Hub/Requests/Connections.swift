public import TelltaleModel
internal import TelltaleWire

/// The performer's next step with a session whose bytes it has taken.
public enum Disposition: Hashable, Sendable {
    /// Stays open.
    case keep
    /// Stays open, and is due more: it is ready again.
    case hasMore
    /// Nothing more will come: shut the write side once the bytes have left, read on briefly, then close.
    case finish
}

/// The result of ``Hub/output(for:at:to:)``.
public struct Output: Sendable {
    public let disposition: Disposition
    /// Where in ``Hub/sharedRows`` the session's bytes are, and then nothing was appended; empty when they were, or when
    /// there are none.
    public let sharedRange: Range<Int>
}

// The performer's inputs about connections, and its questions.
extension Hub {
    /// A connection was accepted; its greeting waits to be sent.
    public mutating func connected(at now: HubTime) -> SessionID {
        let session = sessions.opened(at: now.monotonic)
        if access.isEnforced {
            access.opened(session.id, at: now.monotonic)
            session.isRestricted = true
            session.decoder.lineLengthLimit = min(WireLimits.lineLengthBeforeHello, configuration.limits.lineLength)
        }
        session.send(greeting(at: now))
        sessions.makeReady(session)
        return session.id
    }

    /// Bytes arrived. Their lines are parsed now, and decided in ``decide(at:limit:batchLimit:)``.
    public mutating func received(_ bytes: Span<UInt8>, from id: SessionID, at now: HubTime) {
        if let session = sessions[id] { sessions.received(bytes, from: session, at: now.monotonic) }
    }

    /// The pause between two signs of life to a client that has shut its side.
    private static let halfClosedHeartbeat = Milliseconds.seconds(5)

    /// A turn begins: connections go on whose long lines had no room in the one before.
    ///
    /// - Returns: Whether there was one: some may be read from again.
    public mutating func beginTurn() -> Bool { sessions.beginTurn() }

    /// The client has shut its side. That is no disconnect: what is due is still sent.
    public mutating func inputEnded(_ id: SessionID) {
        guard let session = sessions[id] else { return }
        session.inputEnded = true
        // A client that is gone is noticed by a write that fails, and by nothing else: it cannot speak any more.
        session.heartbeat = min(session.heartbeat, Self.halfClosedHeartbeat)
        session.owesLife = false
        session.owesMark = true
        sessions.watch(session, at: session.lastSent + session.heartbeat)
        retireProvider(session)
        sessions.makeReady(session)
    }

    /// The connection is gone, for whatever reason.
    public mutating func disconnected(_ id: SessionID) {
        guard let session = sessions[id] else { return }
        detach(session)
        // When it is gone is not told; it was there at its last sign of life.
        if let unit = session.unit { budgets.leave(unit, session.id, at: max(session.lastSent, session.lastReceived)) }
        session.unit = nil
        sessions.closed(session)
        access.closed(id)
    }

    /// A session follows nothing any more, and acts for no kind.
    mutating func detach(_ session: Session) {
        for index in session.subscriptions { subscriptions.remove(index, &store) }
        session.subscriptions = []
        leaveKinds(session)
    }

    /// A session acts for no kind any more: the next in line does.
    mutating func leaveKinds(_ session: Session) {
        for kind in session.served { providers.leave(kind, session.id) }
        session.served = []
    }

    /// The socket took nothing of what it was given: nothing is rendered for it until ``becameWritable(_:)``.
    public mutating func becameBlocked(_ id: SessionID, at now: HubTime) {
        if let session = sessions[id] { sessions.becameBlocked(session, at: now.monotonic) }
    }

    /// A blocked socket took some bytes: slow, not stuck.
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
    /// `false` while too many requests wait for their replies: the server simply stops reading.
    public func wantsInput(_ id: SessionID) -> Bool { sessions.wantsInput(id) }

    /// There was no room for a connection.
    ///
    /// - Returns: What it is told before it is closed.
    public mutating func refusedConnection() -> [UInt8] {
        sessions.countRefused()
        var writer = LineWriter()
        writer.error(
            WireError(.limitConnections, "the server has no room for another connection; try again later"))
        return writer.bytes
    }

    /// Ends every session in order: pending replies and rows first, then `BYE`.
    ///
    /// - Parameter wait: Milliseconds from which clients pick a random point before they reconnect.
    public mutating func drain(wait: ClosedRange<Int>) {
        for slot in 0..<sessions.slotCount {
            guard let session = sessions[slot: Int32(slot)], !session.isClosing else { continue }
            var writer = LineWriter()
            writer.bye(.drain, wait: wait)
            session.send(writer.bytes)
            session.isClosing = true
            sessions.makeReady(session)
        }
    }

    /// Nothing is decided any more: the sender of a change that waits is told so, instead of being left without an answer.
    /// A read that waits ends with the connection, and its client asks the next server.
    public mutating func refuseUndecided() {
        // Rights are looked at when a request is decided, and an answer before that would tell of them.
        guard !access.isEnforced else { return }
        for slot in 0..<sessions.slotCount {
            // An answer must not overtake those that are due before it.
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

    /// Looks at every session whose moment has come: it must be told that the server lives, or is cut, or its rate allows a
    /// row.
    public mutating func sessionDeadlineReached(at now: HubTime) {
        renderer.refresh(after: configuration.limits.heartbeat, at: now.monotonic)
        sessions.expire(at: now.monotonic, &subscriptions)
        subscriptions.oweUsedUp(at: max(store.time, now.time), &store, to: &sessions)
        endForbiddenSessions(at: now)
    }

    /// Connections to be closed at once. The performer closes them and says ``disconnected(_:)``.
    public mutating func takeEndedSessions() -> [SessionID] { sessions.takeEnded() }

    // MARK: What there is to do

    /// Whether ``decide(at:limit:batchLimit:)`` would find something to do.
    public func hasWork(at now: HubTime) -> Bool {
        if sessions.hasWork { return true }
        // A batch that could not be written is not tried again at once.
        guard now.monotonic >= commit.retryTime else { return false }
        return commit.hasOwnWork || providers.hasUnaligned || subscriptions.hasRetired
            || subscriptions.boardWalk.isUnderWay || store.isDeadlineDue(at: now)
    }

    /// After a full disk: nothing but a request makes the hub try again before this moment of the monotonic clock, lest it
    /// spin.
    public var decisionsPausedUntil: MonotonicTime { commit.retryTime }

    /// Whether a batch waits for the journal. Nothing is decided and nothing is rendered until it is settled.
    public var isCommitting: Bool { !commit.isIdle }

    /// Whether the end of the batch is yet to be decided: ``decide(at:limit:batchLimit:)`` goes on with it.
    public var isDeciding: Bool { commit.isDeciding }

    /// The newest record that is durable.
    public var durableSequence: Int64 { commit.durableSequence }

    /// How many requests wait to be decided.
    public var waitingCount: Int { sessions.waitingCount }

    /// How many were decided for the batch that is not settled.
    public var batchRequestCount: Int { commit.requestCount }

    /// How many requests may still be decided for the batch; `nil` = there is none.
    public var batchRoom: Int? { commit.room }

    /// Frees what the last batch held. Best while the journal has the next one, and every client waits.
    public mutating func freeSettledBatch() { commit.freeSettled() }

    /// The next moment on the kinds' clock at which ``decide(at:limit:batchLimit:)`` has something to do by itself, or a
    /// subscriber has used up the entries of a widget.
    public var nextDeadline: Timestamp? {
        guard let row = subscriptions.nextUsedUp else { return store.deadlines.next }
        return store.deadlines.next.map { min($0, row) } ?? row
    }
    /// The same on the real clock.
    public var nextWallDeadline: Timestamp? { store.deadlines.nextOnWallClock }
    /// When ``sessionDeadlineReached(at:)`` has something to do, by the monotonic clock.
    public var nextSessionDeadline: MonotonicTime? {
        // Nothing ends before the batch under way is settled.
        guard commit.isIdle, let ending = access.nextDeadline else { return sessions.nextDeadline }
        return sessions.nextDeadline.map { min($0, ending) } ?? ending
    }

    /// How many activities and controls there are, dismissed ones that can still be asked for included.
    public var entityCount: Int { store.entities.count }
    public var kindCount: Int { store.kinds.current.count }
    public var openSessionCount: Int { sessions.openCount }
    /// How many times as fast as real time the kinds' clock runs.
    public var clockSpeed: Double { store.settings.clockSpeed }

    /// Faults of machines since the last call, for people: steps that were refused (`machine_error`), and guards
    /// that could not be evaluated.
    public mutating func takeMachineFaults() -> [String] { store.takeFaultTexts() }

    /// The newest record that is older than the retention: what a snapshot contains may be pruned up to it.
    public mutating func takePrunableSequence() -> Int64 { store.takePrunableSequence() }
    /// The chains of keys that were forgotten since this was last asked.
    public mutating func takePrunedChains() -> [Int64] { store.takePrunedChains() }

    // MARK: Ready to send

    /// The next session that has something to send: of those that are owed an answer the one that has waited longest, else of those
    /// that are owed rows. Ask nothing while a batch is being committed.
    ///
    /// One that has more to say than one write takes comes again behind all others: ask ``readySessionCount`` times in a
    /// turn, and none is starved.
    public mutating func nextReady() -> SessionID? { commit.isIdle ? sessions.popReady() : nil }

    public var hasReadySessions: Bool { commit.isIdle && sessions.hasReady }
    /// Whether one of them is owed an answer.
    public var hasReadyAnswers: Bool { commit.isIdle && sessions.hasReadyAnswers }

    /// How many there are at most; some may be blocked by now.
    public var readySessionCount: Int { commit.isIdle ? sessions.readyCount : 0 }

    /// Rows that several sessions are sent: bytes of every ``Output/sharedRange`` of the same turn. Let go of it before the
    /// hub renders again, or the hub has to copy it.
    public var sharedRows: [UInt8] { renderer.sharedRows }

    /// Appends what ``output(for:at:to:)`` renders, wherever it is.
    public mutating func appendOutput(for id: SessionID, at now: HubTime, to bytes: inout [UInt8]) -> Disposition {
        let output = output(for: id, at: now, to: &bytes)
        bytes += sharedRows[output.sharedRange]
        return output.disposition
    }
}
