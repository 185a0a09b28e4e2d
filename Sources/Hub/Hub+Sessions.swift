internal import DequeModule
internal import FanOut
internal import HeapModule
internal import Surfaces
internal import TelltaleModel
internal import TelltaleWire

// MARK: What the shell tells of connections

extension Hub {
    /// A connection was accepted; its greeting waits to be sent.
    public mutating func connected(at now: HubTime) -> SessionID {
        connectionCount += 1
        statistics.acceptedConnections += 1
        openSessionCount += 1
        let slot = freeSessions.popLast() ?? Int32(sessions.count)
        let id = SessionID(slot: slot, number: connectionCount)
        let session = Session(id: id, limits: configuration.limits, now: now.monotonic)
        session.outbox.append(.bytes(greeting(at: now)))
        if Int(slot) == sessions.count { sessions.append(session) } else { sessions[Int(slot)] = session }
        ready.open(slot: slot)
        makeReady(id)
        watch(id, at: now.monotonic + configuration.limits.heartbeat)
        return id
    }

    /// Bytes arrived. Their lines are understood now, and decided in ``decide(at:limit:batchLimit:)``.
    public mutating func received(_ bytes: Span<UInt8>, from id: SessionID, at now: HubTime) {
        guard let session = self[id] else { return }
        session.lastReceived = now.monotonic
        guard !session.isClosing else { return }
        guard session.unread.isEmpty else { return session.unread.append(copying: bytes) }
        read(bytes, of: session)
    }

    /// Understands requests, as many as may wait for their replies; what is behind them waits as it came.
    private mutating func read(_ bytes: Span<UInt8>, of session: Session) {
        let count = session.inbox.count
        let limit = configuration.limits.requestsInFlight - session.inFlightCount + count
        guard count < limit else { return session.unread.append(copying: bytes) }
        do throws(WireError) {
            let taken = try session.decoder.decodeSome(bytes) { line in
                let (id, command, ignored) = parser.parts(of: line)
                session.append(consume command, id: id, ignored: ignored)
                return session.inbox.count < limit
            }
            if taken < bytes.count { session.unread.append(copying: bytes.extracting(taken..<bytes.count)) }
        } catch {
            session.append(Request(command: .refused(error)))
        }
        for _ in count..<session.inbox.count { arrivals.append(session.id) }
        statistics.requests += session.inbox.count - count
    }

    /// Goes on with what waits as it came, now that some replies have left.
    mutating func readOn(_ session: Session) {
        guard !session.unread.isEmpty, !session.isClosing, !session.hasSaidBye,
            session.inFlightCount < configuration.limits.requestsInFlight
        else { return }
        var bytes: [UInt8] = []
        swap(&bytes, &session.unread)
        read(bytes.span, of: session)
    }

    /// The client has shut its side. That is no disconnect: what is due is still sent (protocol.md §1).
    public mutating func inputEnded(_ id: SessionID) {
        guard isOpen(id) else { return }
        self[id]?.inputEnded = true
        retireProvider(id)
        makeReady(id)
    }

    /// A provider that has said its last word cannot tell what became of anything: somebody else is to act.
    mutating func retireProvider(_ id: SessionID) {
        guard let session = self[id], session.inputEnded, session.inbox.isEmpty, session.unread.isEmpty,
            !session.served.isEmpty
        else { return }
        for kind in session.served { stopServing(kind, session: id) }
        session.served = []
    }

    /// The connection is gone, for whatever reason.
    public mutating func disconnected(_ id: SessionID) {
        guard let session = self[id] else { return }
        for index in session.subscriptions { removeSubscription(index) }
        for kind in session.served { stopServing(kind, session: id) }
        sessions[Int(id.slot)] = nil
        freeSessions.append(id.slot)
        openSessionCount -= 1
    }

    /// The socket took nothing of what it was given: nothing is rendered for it until ``becameWritable(_:)``.
    public mutating func becameBlocked(_ id: SessionID, at now: HubTime) {
        guard isOpen(id), self[id]?.blockedSince == nil else { return }
        self[id]?.blockedSince = now.monotonic
        watch(id, at: now.monotonic + configuration.limits.stuckReader)
    }

    /// A blocked socket took some bytes: slow, not stuck.
    public mutating func progressed(_ id: SessionID, at now: HubTime) {
        guard self[id]?.blockedSince != nil else { return }
        self[id]?.blockedSince = now.monotonic
    }

    public mutating func becameWritable(_ id: SessionID) {
        guard isOpen(id) else { return }
        self[id]?.blockedSince = nil
        makeReady(id)
    }

    /// Whether the shell should read more from this connection.
    ///
    /// `false` while too many requests wait for their replies: the server simply stops reading (protocol.md §1).
    public func wantsInput(_ id: SessionID) -> Bool {
        guard let session = self[id] else { return false }
        return session.unread.isEmpty && session.inFlightCount < configuration.limits.requestsInFlight
            && session.outboxByteCount < configuration.limits.requestBytesInFlight
    }

    /// There was no room for a connection.
    ///
    /// - Returns: What it is told before it is closed.
    public mutating func refusedConnection() -> [UInt8] {
        statistics.refusedConnections += 1
        var writer = LineWriter()
        writer.error(
            WireError(.limitConnections, "the server has no room for another connection; try again later"))
        return writer.bytes
    }

    /// Ends every session in order: pending replies and rows first, then `BYE`.
    ///
    /// - Parameter wait: Milliseconds from which clients pick a random point before they reconnect.
    public mutating func drain(wait: ClosedRange<Int>) {
        for position in sessions.indices {
            guard let session = sessions[position], !session.isClosing else { continue }
            var writer = LineWriter()
            writer.bye(.drain, wait: wait)
            session.outbox.append(.bytes(writer.bytes))
            session.isClosing = true
            makeReady(session.id)
        }
    }
}

// MARK: Access

extension Hub {
    subscript(id: SessionID) -> Session? {
        guard sessions.indices.contains(Int(id.slot)), let session = sessions[Int(id.slot)], session.id == id else {
            return nil
        }
        return session
    }

    func isOpen(_ id: SessionID) -> Bool {
        self[id] != nil
    }

    /// The session that a subscription is part of.
    func session(of subscription: Subscription) -> Session? { sessions[Int(subscription.session)] }

    /// Lets ``output(for:at:to:)`` be asked for this session.
    mutating func makeReady(_ id: SessionID) {
        if isOpen(id) { makeReady(slot: id.slot) }
    }

    /// - Parameter slot: Where it stands in the table; `nil` = nowhere.
    mutating func makeReady(slot: Int32?) {
        guard let slot, !ready.contains(slot: slot), let session = sessions[Int(slot)] else { return }
        ready.append(session.id)
    }
}

extension Session {
    /// Bytes that are rendered and have not left.
    var outboxByteCount: Int {
        outbox.reduce(0) { count, item in
            if case .bytes(let bytes, _) = item { count + bytes.count } else { count }
        }
    }
}

// MARK: Heartbeats and time-outs

extension Hub {
    /// When ``sessionDeadlineReached(at:)`` has something to do, by the monotonic clock.
    public var nextSessionDeadline: Int64? { sessionDeadlines.min?.time }

    /// Has `id` looked at, at `time` or before.
    mutating func watch(_ id: SessionID, at time: Int64) {
        guard let session = self[id], time < session.inspectionTime else { return }
        session.inspectionTime = time
        sessionDeadlines.insert(SessionDeadline(time: time, session: id))
        forgetReplacedDeadlines()
    }

    /// Drops the moments whose place an earlier one took, when they are more than the sessions.
    ///
    /// Each would stay until it comes, up to an hour, and a rate lets there be one for every row.
    private mutating func forgetReplacedDeadlines() {
        guard sessionDeadlines.count > 2 * sessions.count + 64 else { return }
        sessionDeadlines = Heap(
            sessions.compactMap { session in
                guard let session, session.inspectionTime < .max else { return nil }
                return SessionDeadline(time: session.inspectionTime, session: session.id)
            })
    }

    /// Looks at every session whose moment has come: who must be told that we live, who is cut, whose rate allows a row.
    public mutating func sessionDeadlineReached(at now: HubTime) {
        rows.refresh(after: configuration.limits.heartbeat, at: now.monotonic)
        while let next = sessionDeadlines.min, next.time <= now.monotonic {
            _ = sessionDeadlines.popMin()
            // An earlier look took this one's place.
            guard self[next.session]?.inspectionTime == next.time else { continue }
            self[next.session]?.inspectionTime = .max
            inspect(next.session, at: now)
        }
    }

    private mutating func inspect(_ id: SessionID, at now: HubTime) {
        guard let session = self[id] else { return }
        let monotonic = now.monotonic
        if let blockedSince = session.blockedSince {
            guard monotonic - blockedSince < configuration.limits.stuckReader else {
                statistics.stuckReadersCut += 1
                return cut(id)
            }
        }
        if session.owesLife, monotonic - session.lastReceived >= 2 * session.heartbeat { return cut(id) }
        for index in session.subscriptions where subscriptionReleases(index, by: monotonic) {
            // Now, and not when it is written: what is still held back is then what is yet to be watched.
            subscriptions[index]?.backlog?.queue.release(at: monotonic)
            makeReady(id)
        }
        if monotonic - session.trimmed >= session.heartbeat { trim(session, at: monotonic) }
        if session.blockedSince == nil, monotonic - session.lastSent >= session.heartbeat, !session.isClosing {
            session.owesMark = true
            makeReady(id)
        }
        watch(id, at: nextInspection(of: session, now: monotonic))
    }

    /// Gives back the memory of what waited. Once a heartbeat: whoever is busy would only have to ask for it again.
    private mutating func trim(_ session: Session, at time: Int64) {
        session.trimmed = time
        session.trim()
        for index in session.subscriptions { subscriptions.change(index) { $0.trim(at: time) } }
    }

    private func nextInspection(of session: Session, now: Int64) -> Int64 {
        var next = max(session.lastSent, now) + session.heartbeat
        if session.lastSent + session.heartbeat > now { next = session.lastSent + session.heartbeat }
        if session.owesLife { next = min(next, session.lastReceived + 2 * session.heartbeat) }
        if let blockedSince = session.blockedSince {
            next = min(next, blockedSince + configuration.limits.stuckReader)
        }
        // Of several keys that a rate holds back, one is let go at a time: the next one is watched from here.
        for index in session.subscriptions {
            guard let release = subscriptions[index]?.backlog?.queue.nextRelease else { continue }
            next = min(next, release)
        }
        return max(next, now + 1)
    }

    /// Ends a session at once, without a word: its peer takes none, or gives no sign of life.
    mutating func cut(_ id: SessionID) {
        guard isOpen(id) else { return }
        ended.append(id)
    }

    /// Connections to be closed at once. The shell closes them and says ``disconnected(_:)``.
    public mutating func takeEndedSessions() -> [SessionID] {
        defer { ended = [] }
        return ended
    }
}
