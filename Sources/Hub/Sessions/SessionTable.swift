internal import DequeModule
internal import FanOut
internal import HeapModule
internal import SimdJSON
internal import TelltaleModel
internal import TelltaleWire

/// Every open connection: the requests that wait for a decision, the sessions that have something to send, and the moments
/// at which a session must be looked at.
///
/// Invariants:
/// - A session stands in ``popArrival()`` once for each request that waits, but for those that are parked.
/// - A session stands in the ready queue at most once.
/// - A session with more requests than its limit is not read from (``wantsInput(_:)``).
/// - A turn reads so many bytes of long lines, over all sessions; whoever sends short ones waits for none of them.
/// - A slot has one session at a time, and a ``SessionID`` of an earlier one finds none.
struct SessionTable: ~Copyable {
    private let addressOnly = AddressOnly()
    private let limits: Limits
    private var sessions: [Session?] = []
    private var freeSlots: [Int32] = []
    private(set) var openCount = 0
    private(set) var acceptedCount: Int64 = 0
    private(set) var refusedCount = 0
    private(set) var requestCount = 0
    private(set) var stuckReaderCount = 0
    /// Sessions with requests that wait to be decided: one entry a request, in the order of their arrival.
    private var arrivals: Deque<SessionID> = []
    /// Sessions that asked more than a turn takes, and wait for the next.
    private var postponed: [SessionID] = []
    /// Bytes of long lines that may still be read in this turn, and the sessions that wait for the next.
    private var longLineShare = Self.longLineBytesPerTurn
    private var awaitingShare: Deque<SessionID> = []
    private var areAwaitingShare: Set<SessionID> = []
    /// Sessions whose newest line was a long one: their next one needs some of the share.
    private var longLineSenders: Set<SessionID> = []
    /// Of sessions whose next request waits for something outside: how many of their requests have left ``arrivals``.
    private var parkedCounts: [SessionID: Int] = [:]
    /// How many keys may still be looked at in this turn.
    private var readingShare = 0
    /// The newest record when this process began: it tells its connections from those of earlier ones.
    private var firstSequence: Int64 = 0
    private var ready = ReadyQueue()
    /// Sessions that ended by a decision of the hub; the performer closes their connections.
    private var ended: [SessionID] = []
    private var deadlines = Heap<SessionDeadline<MonotonicTime>>()
    private var historyRequests: [HistoryRequest] = []
    private var parser = RequestParser(json: .withSimdJSON())

    init(limits: Limits) {
        self.limits = limits
    }

    subscript(id: SessionID) -> Session? {
        let slot = Int(id.slot)
        guard slot < sessions.count, let session = sessions[slot], session.id == id else { return nil }
        return session
    }

    /// The session in a slot.
    subscript(slot slot: Int32) -> Session? { sessions[Int(slot)] }

    /// How many slots there are, free ones included.
    var slotCount: Int { sessions.count }

    func forEach(_ body: (Session) -> Void) {
        for case let session? in sessions { body(session) }
    }

    // MARK: Connections

    /// A connection was accepted.
    mutating func opened(at now: MonotonicTime) -> Session {
        acceptedCount += 1
        openCount += 1
        let slot = freeSlots.popLast() ?? Int32(sessions.count)
        let session = Session(id: SessionID(slot: slot, number: acceptedCount), limits: limits, now: now)
        if Int(slot) == sessions.count { sessions.append(session) } else { sessions[Int(slot)] = session }
        ready.open(slot: slot)
        makeReady(session)
        watch(session, at: now + limits.heartbeat)
        return session
    }

    /// There was no room for a connection.
    mutating func countRefused() { refusedCount += 1 }

    /// The connection is gone, for whatever reason.
    mutating func closed(_ session: Session) {
        sessions[Int(session.id.slot)] = nil
        parkedCounts[session.id] = nil
        longLineSenders.remove(session.id)
        ready.remove(slot: session.id.slot)
        freeSlots.append(session.id.slot)
        openCount -= 1
    }

    /// Bytes arrived. Their lines are parsed now, as many as may wait for their replies; the bytes behind them wait as
    /// they came.
    mutating func received(_ bytes: Span<UInt8>, from session: Session, at now: MonotonicTime) {
        session.lastReceived = now
        guard !session.isClosing else { return }
        guard session.unread.isEmpty else { return session.unread.append(copying: bytes) }
        read(bytes, of: session)
    }

    private mutating func read(_ bytes: Span<UInt8>, of session: Session) {
        let count = session.inbox.count
        let limit = requestLimit(of: session) - session.inFlightCount + count
        let byteLimit = limits.requestBytesInFlight
        guard count < limit, session.waitingByteCount < byteLimit, mayReadLine(of: session) else {
            return keep(bytes, of: session)
        }
        do throws(WireError) {
            let taken = try session.decoder.decodeSome(bytes) { line in
                let (id, command, ignored) = parser.parts(of: line)
                session.append(consume command, id: id, ignored: ignored)
                session.countLine(line.count)
                noteLine(line.count, of: session)
                return session.inbox.count < limit && session.waitingByteCount < byteLimit && mayReadLine(of: session)
            }
            if taken < bytes.count { keep(bytes.extracting(taken..<bytes.count), of: session) }
        } catch {
            session.append(Request(command: .refused(error)))
        }
        for _ in count..<session.inbox.count { arrivals.append(session.id) }
        requestCount += session.inbox.count - count
    }

    /// What a long line holds may take milliseconds to read, and a session may have a mebibyte of them on their way.
    private static let longLineBytesPerTurn = 262_144
    /// Shorter lines are bounded by their number. Nearly all requests are.
    private static let shortLineLength = 256

    private func mayReadLine(of session: Session) -> Bool {
        longLineShare > 0 || !longLineSenders.contains(session.id)
    }

    private mutating func noteLine(_ byteCount: Int, of session: Session) {
        if byteCount > Self.shortLineLength {
            longLineShare -= byteCount
            longLineSenders.insert(session.id)
        } else if !longLineSenders.isEmpty {
            longLineSenders.remove(session.id)
        }
    }

    /// Lets bytes wait as they came: for replies that leave, or for the next turn.
    private mutating func keep(_ bytes: Span<UInt8>, of session: Session) {
        session.unread.append(copying: bytes)
        if !mayReadLine(of: session), areAwaitingShare.insert(session.id).inserted { awaitingShare.append(session.id) }
    }

    /// A turn begins: sessions go on that waited for its share of long lines.
    ///
    /// - Returns: Whether there was one, which may be read from again.
    mutating func beginTurn() -> Bool {
        longLineShare = Self.longLineBytesPerTurn
        // Those that do not come to their turn keep their places.
        var left = awaitingShare.count
        let hadOne = left > 0
        while left > 0, longLineShare > 0, let id = awaitingShare.popFirst() {
            left -= 1
            areAwaitingShare.remove(id)
            if let session = self[id] { readOn(session) }
        }
        return hadOne
    }

    /// Goes on with what waits as it came, now that some replies have left.
    mutating func readOn(_ session: Session) {
        guard !session.unread.isEmpty, !session.isClosing, !session.hasSaidBye, hasRoom(session) else { return }
        var bytes: [UInt8] = []
        swap(&bytes, &session.unread)
        read(bytes.span, of: session)
    }

    /// Requests of a connection without a credential that may wait: what they hold must not add up to much.
    private static let restrictedRequestLimit = 4

    private func requestLimit(of session: Session) -> Int {
        session.isRestricted ? min(Self.restrictedRequestLimit, limits.requestsInFlight) : limits.requestsInFlight
    }

    /// Whether the performer should read more from this connection: `false` while too many requests wait for their
    /// replies.
    func wantsInput(_ id: SessionID) -> Bool {
        guard let session = self[id] else { return false }
        return session.unread.isEmpty && hasRoom(session)
    }

    /// Whether another request of a session may wait beside those that do, and beside their replies.
    private func hasRoom(_ session: Session) -> Bool {
        session.inFlightCount < requestLimit(of: session)
            && session.waitingByteCount + session.outboxByteCount < limits.requestBytesInFlight
    }

    /// The socket took nothing of what it was given: nothing is rendered for it until it is writable.
    mutating func becameBlocked(_ session: Session, at now: MonotonicTime) {
        guard session.blockedSince == nil else { return }
        session.blockedSince = now
        watch(session, at: now + limits.stuckReader)
    }

    /// This process began behind the record `sequence`.
    mutating func began(after sequence: Int64) { firstSequence = sequence }

    /// Among whose taps an eid counts. Numbers of connections are used again after a restart, and ids of taps are not.
    func tapSender(_ session: Session, of principal: String? = nil) -> String {
        if let account = session.account { return "account:\(account)" }
        if let principal { return "principal:\(principal)" }
        if let client = session.client { return "client:\(client)" }
        return "connection:\(firstSequence).\(session.id.number)"
    }

    // MARK: Requests

    /// How many requests wait to be decided.
    var waitingCount: Int { arrivals.count }

    /// The sender of the request that is decided next; it may be gone.
    @inline(__always)
    mutating func popArrival() -> SessionID? { arrivals.popFirst() }

    /// Puts back the senders of requests that a batch held, before all others.
    mutating func putBack(_ held: [SessionID]) { arrivals.prepend(contentsOf: held) }

    /// A request whose turn has come waits for something outside, and so does all that its session asks behind it: they
    /// leave the queue, or the loop would go through them again and again.
    mutating func park(_ session: Session) { parkedCounts[session.id, default: 0] += 1 }

    /// What a session waited for is there.
    mutating func unpark(_ session: Session) {
        for _ in 0..<(parkedCounts.removeValue(forKey: session.id) ?? 0) { arrivals.append(session.id) }
    }

    var hasWork: Bool { !arrivals.isEmpty || !postponed.isEmpty || !awaitingShare.isEmpty }

    /// Keys that may be looked at in one turn: what goes through all of them again and again must not hold up others.
    private static let keysPerTurn = 16_384
    /// A request that looks at no more keys is answered although the turn's share is used up.
    private static let fewKeys = 16

    mutating func beginReading() { readingShare = Self.keysPerTurn }

    /// Takes the keys that a request looks at from the turn's share.
    ///
    /// - Returns: `false` where the share is used up: the request waits for the next turn.
    mutating func takeShare(of keyCount: Int) -> Bool {
        guard readingShare > 0 || keyCount <= Self.fewKeys else { return false }
        readingShare -= keyCount
        return true
    }

    /// The rest of what a session asked waits for the next turn.
    mutating func postpone(_ session: Session) {
        session.isPostponed = true
        postponed.append(session.id)
    }

    /// Takes the sessions that wait for this turn.
    mutating func takePostponed() -> [SessionID] {
        guard !postponed.isEmpty else { return [] }
        var taken: [SessionID] = []
        swap(&taken, &postponed)
        for id in taken { self[id]?.isPostponed = false }
        return taken
    }

    /// The first session that was postponed again had its share this time: it comes last the next time.
    mutating func rotatePostponed() {
        if let first = postponed.first, postponed.count > 1 { postponed = postponed.dropFirst() + [first] }
    }

    /// The performer is to read a piece of a history.
    mutating func request(_ history: HistoryRequest) { historyRequests.append(history) }

    mutating func takeHistoryRequests() -> [HistoryRequest] {
        defer { historyRequests = [] }
        return historyRequests
    }

    // MARK: Ready to send

    /// A session is owed something. Answers that are rendered leave before rows: no request waits until ten thousand screens have
    /// theirs.
    mutating func makeReady(_ session: Session) {
        ready.append(slot: session.id.slot, to: session.owesAnswer ? .answers : .rows)
    }

    /// A session is owed rows, or the rest of a long answer: others come first.
    ///
    /// - Parameter slot: Where it stands in the table; `nil` = nowhere.
    @inline(__always)
    mutating func makeReady(slot: Int32?) {
        guard let slot else { return }
        ready.append(slot: slot, to: .rows)
    }

    var hasReady: Bool { !ready.isEmpty }
    /// Whether a session is ready that is owed an answer.
    var hasReadyAnswers: Bool { ready.hasAnswers }
    /// At most; some may be blocked.
    var readyCount: Int { ready.count }

    /// Takes the writable session whose turn it is.
    mutating func popReady() -> SessionID? {
        while let slot = ready.popFirst() {
            if let session = sessions[Int(slot)], session.blockedSince == nil { return session.id }
        }
        return nil
    }

    // MARK: Deadlines

    /// When ``expire(at:_:)`` has something to do.
    var nextDeadline: MonotonicTime? { deadlines.min?.time }
    /// How many entries there are, replaced ones included.
    var deadlineEntryCount: Int { deadlines.count }

    /// Has a session looked at, at `time` or before.
    mutating func watch(_ session: Session, at time: MonotonicTime) {
        guard time < session.inspectionTime else { return }
        session.inspectionTime = time
        deadlines.insert(SessionDeadline(time: time, session: session.id))
        dropReplacedDeadlines()
    }

    /// Drops the entries whose place an earlier one took, when they are more than the sessions.
    ///
    /// Each would stay until it comes, up to an hour, and a rate lets there be one for every row.
    private mutating func dropReplacedDeadlines() {
        guard deadlines.count > 2 * sessions.count + 64 else { return }
        deadlines = Heap(
            sessions.compactMap { session in
                guard let session, session.inspectionTime < .distantFuture else { return nil }
                return SessionDeadline(time: session.inspectionTime, session: session.id)
            })
    }

    /// Looks at every session whose moment has come: it must be told that the server lives, or is cut, or its rate allows
    /// a row.
    mutating func expire(at now: MonotonicTime, _ subscriptions: inout SubscriptionRegistry) {
        while let next = deadlines.min, next.time <= now {
            _ = deadlines.popMin()
            // An earlier look took this one's place.
            guard let session = self[next.session], session.inspectionTime == next.time else { continue }
            session.inspectionTime = .distantFuture
            inspect(session, at: now, &subscriptions)
        }
    }

    private mutating func inspect(
        _ session: Session, at now: MonotonicTime, _ subscriptions: inout SubscriptionRegistry
    ) {
        if let blockedSince = session.blockedSince, now >= blockedSince + limits.stuckReader {
            stuckReaderCount += 1
            return cut(session)
        }
        if session.owesLife, now >= session.lastReceived + session.heartbeat + session.heartbeat {
            return dismiss(session, at: now)
        }
        // Now, and not when it is written: what is still held back is then what is yet to be watched.
        if subscriptions.release(session.subscriptions, at: now) { makeReady(session) }
        if now >= session.trimmed + session.heartbeat {
            session.trim(at: now)
            subscriptions.trim(session.subscriptions, at: now)
        }
        if session.blockedSince == nil, now >= session.lastSent + session.heartbeat, !session.isClosing {
            session.owesMark = true
            makeReady(session)
        }
        // Of several keys that a rate holds back, one is let go at a time: the next one is watched from here.
        let release = subscriptions.nextRelease(of: session.subscriptions)
        watch(
            session,
            at: min(nextInspection(of: session, now: now), max(release ?? .distantFuture, now + Milliseconds(1))))
    }

    private func nextInspection(of session: Session, now: MonotonicTime) -> MonotonicTime {
        var next = max(session.lastSent, now) + session.heartbeat
        if session.lastSent + session.heartbeat > now { next = session.lastSent + session.heartbeat }
        if session.owesLife { next = min(next, session.lastReceived + session.heartbeat + session.heartbeat) }
        if let blockedSince = session.blockedSince { next = min(next, blockedSince + limits.stuckReader) }
        return max(next, now + Milliseconds(1))
    }

    /// Ends a session that has given no sign of life. One that takes bytes is told why.
    private mutating func dismiss(_ session: Session, at now: MonotonicTime) {
        guard session.blockedSince == nil, !session.isClosing else { return cut(session) }
        var writer = LineWriter()
        writer.bye(.silent)
        session.send(writer.bytes)
        session.isClosing = true
        makeReady(session)
        // It is cut where the line does not leave.
        watch(session, at: now + session.heartbeat)
    }

    /// Ends a session at once, without a word: its peer takes none, or gives no sign of life.
    mutating func cut(_ session: Session) { ended.append(session.id) }

    /// Sessions that were cut. The performer closes their connections.
    mutating func takeEnded() -> [SessionID] {
        defer { ended = [] }
        return ended
    }
}
