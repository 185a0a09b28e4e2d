internal import DequeModule
internal import FanOut
internal import HeapModule
internal import SimdJSON
internal import TelltaleModel
internal import TelltaleWire

/// Every open connection: the requests that wait for a decision, the sessions with output, and the moments at which a session
/// must be examined.
///
/// Invariants:
/// - ``popArrival()`` returns a session once for each waiting request, except parked ones.
/// - A session is in the ready queue at most once.
/// - A session with more requests than its limit is not read from (``wantsInput(_:)``).
/// - A turn reads a limited number of bytes of long lines, over all sessions; senders of short lines are not delayed.
/// - A slot has one session at a time, and a ``SessionID`` of an earlier session finds none.
struct SessionTable: ~Copyable {
    private let addressOnly = AddressOnly()
    private let limits: Limits
    private var sessions: [Session?] = []
    private var freeSlots: [Int32] = []
    private(set) var openCount = 0
    /// The part of connection numbers that is this server's own in its cluster; 0 = it is in none.
    private(set) var process: UInt32 = 0
    /// Whether requests for the leader are kept as they came.
    private var keepsLines = false
    private(set) var acceptedCount: Int64 = 0
    private(set) var refusedCount = 0
    private(set) var requestCount = 0
    private(set) var stuckReaderCount = 0
    /// Senders of waiting requests: one entry per request, in the order of arrival.
    private var arrivals: Deque<SessionID> = []
    /// Sessions whose reads exceed this turn's share and wait for the next turn.
    private var postponed: [SessionID] = []
    /// The bytes of long lines that may still be read in this turn, and the sessions that wait for the next.
    private var longLineShare = Self.longLineBytesPerTurn
    private var awaitingShare: Deque<SessionID> = []
    private var areAwaitingShare: Set<SessionID> = []
    /// By slot: whether the session's newest line was long. If so, the next one counts against the share.
    private var sendsLongLines: [Bool] = []
    /// Sessions whose next request waits for something external.
    private var parked = ParkedSessions()
    /// How many more keys may be examined in this turn.
    private var readingShare = 0
    /// The newest record when this process began. It distinguishes its connections from those of earlier processes.
    private var firstSequence: Int64 = 0
    private var ready = ReadyQueue()
    /// Sessions that the hub decided to end; the performer closes their connections.
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

    /// The number of slots, free ones included.
    var slotCount: Int { sessions.count }

    func forEach(_ body: (Session) -> Void) {
        for case let session? in sessions { body(session) }
    }

    /// On a node that follows, requests for the leader are kept as they came.
    mutating func keepLines(_ keepsLines: Bool) { self.keepsLines = keepsLines }

    // MARK: Connections

    /// Numbers the connections from now on as those of a process.
    mutating func number(asOf process: UInt32) { self.process = process }

    /// Accepts a connection.
    mutating func opened(at now: MonotonicTime) -> Session {
        acceptedCount += 1
        openCount += 1
        let id = SessionID(slot: nextSlot, process: process, counter: acceptedCount)
        return opened(Session(id: id, limits: limits, now: now), at: now)
    }

    /// Opens a session for a client of another node, with the number of its connection there. No performer knows it.
    mutating func opened(guest number: Int64, at now: MonotonicTime) -> Session {
        opened(Session(id: SessionID(slot: nextSlot, number: number), limits: limits, now: now), at: now)
    }

    private var nextSlot: Int32 { freeSlots.last ?? Int32(sessions.count) }

    private mutating func opened(_ session: Session, at now: MonotonicTime) -> Session {
        let slot = session.id.slot
        _ = freeSlots.popLast()
        if Int(slot) == sessions.count {
            sessions.append(session)
            sendsLongLines.append(false)
        } else {
            sessions[Int(slot)] = session
            sendsLongLines[Int(slot)] = false
        }
        ready.open(slot: slot)
        makeReady(session)
        watch(session, at: now + limits.heartbeat)
        return session
    }

    /// Counts a connection that was refused for lack of room.
    mutating func countRefused() { refusedCount += 1 }

    /// Removes a connection that is gone, for whatever reason.
    mutating func closed(_ session: Session, isGuest: Bool = false) {
        sessions[Int(session.id.slot)] = nil
        parked.closed(session.id)
        ready.remove(slot: session.id.slot)
        freeSlots.append(session.id.slot)
        if !isGuest { openCount -= 1 }
    }

    /// Parses received lines, as many as may wait for replies; the remaining bytes are kept unparsed.
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
                if keepsLines { session.keepLine(line) }
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

    /// Queues what the hub itself decides about a session, after its requests.
    mutating func append(_ request: WaitingRequest, of session: Session) {
        session.append(request)
        arrivals.append(session.id)
    }

    /// Parsing a long line may take milliseconds, and a session may have a mebibyte of them in flight.
    private static let longLineBytesPerTurn = 262_144
    /// Shorter lines are limited by their number. Nearly all requests are shorter.
    private static let shortLineLength = 256

    private func mayReadLine(of session: Session) -> Bool {
        longLineShare > 0 || !sendsLongLines[Int(session.id.slot)]
    }

    private mutating func noteLine(_ byteCount: Int, of session: Session) {
        let (slot, isLong) = (Int(session.id.slot), byteCount > Self.shortLineLength)
        // Rarely: a write costs more than a comparison.
        if sendsLongLines[slot] != isLong { sendsLongLines[slot] = isLong }
        if isLong { longLineShare -= byteCount }
    }

    /// Keeps bytes unparsed, until replies have been sent or for the next turn.
    private mutating func keep(_ bytes: Span<UInt8>, of session: Session) {
        session.unread.append(copying: bytes)
        if !mayReadLine(of: session), areAwaitingShare.insert(session.id).inserted { awaitingShare.append(session.id) }
    }

    /// Begins a turn: sessions continue that waited for its share of long lines.
    ///
    /// - Returns: Whether there was one; it may be possible to read from it again.
    mutating func beginTurn() -> Bool {
        longLineShare = Self.longLineBytesPerTurn
        // Those that are not reached keep their places.
        var left = awaitingShare.count
        let hadOne = left > 0
        while left > 0, longLineShare > 0, let id = awaitingShare.popFirst() {
            left -= 1
            areAwaitingShare.remove(id)
            if let session = self[id] { readOn(session) }
        }
        return hadOne
    }

    /// Continues with unparsed bytes after some replies have been sent.
    mutating func readOn(_ session: Session) {
        guard !session.unread.isEmpty, !session.isClosing, !session.hasSaidBye, hasRoom(session) else { return }
        var bytes: [UInt8] = []
        swap(&bytes, &session.unread)
        read(bytes.span, of: session)
    }

    /// Waiting requests of a connection without a credential, so that their memory stays small.
    private static let restrictedRequestLimit = 4

    private func requestLimit(of session: Session) -> Int {
        session.isRestricted ? min(Self.restrictedRequestLimit, limits.requestsInFlight) : limits.requestsInFlight
    }

    /// Whether the performer should read more from this connection: `false` while too many requests wait for replies.
    func wantsInput(_ id: SessionID) -> Bool {
        guard let session = self[id] else { return false }
        return session.unread.isEmpty && hasRoom(session)
    }

    /// Whether another request of a session may wait, besides those waiting and their replies.
    private func hasRoom(_ session: Session) -> Bool {
        session.inFlightCount < requestLimit(of: session)
            && session.waitingByteCount + session.outboxByteCount < limits.requestBytesInFlight
    }

    /// The socket accepted nothing: nothing is rendered for it until it is writable.
    mutating func becameBlocked(_ session: Session, at now: MonotonicTime) {
        guard session.blockedSince == nil else { return }
        session.blockedSince = now
        watch(session, at: now + limits.stuckReader)
    }

    /// Records that this process began after the record `sequence`.
    mutating func began(after sequence: Int64) { firstSequence = sequence }

    /// The scope in which an `eid` of a tap is unique. For a connection it includes the process, because connection numbers are
    /// reused after a restart.
    func tapSender(_ session: Session, of principal: String? = nil) -> String {
        if let account = session.account { return "account:\(account)" }
        if let principal { return "principal:\(principal)" }
        if let client = session.client { return "client:\(client)" }
        return "connection:\(firstSequence).\(session.id.number)"
    }

    // MARK: Requests

    /// How many requests wait to be decided.
    var waitingCount: Int { arrivals.count }

    /// The sender of the next request to be decided; it may be gone.
    @inline(__always)
    mutating func popArrival() -> SessionID? { arrivals.popFirst() }

    /// Returns the senders of requests that a batch held to the front.
    mutating func putBack(_ held: [SessionID]) { arrivals.prepend(contentsOf: held) }

    /// Parks a request that waits for something external, together with the later requests of its session.
    mutating func park(_ session: Session) { parked.park(session.id) }

    /// Resumes a session: what it waited for has arrived.
    mutating func unpark(_ session: Session) {
        for _ in 0..<parked.unpark(session.id) { arrivals.append(session.id) }
    }

    private mutating func unpark(_ ids: [SessionID]) {
        for id in ids { if let session = self[id] { unpark(session) } }
    }

    /// Parks a session until this node has read the commit `sequence`, see ``resumeAwaiting(through:)``.
    ///
    /// - Parameter patience: The longest wait, from the first parked request on. After it ``takeTooFarAhead()`` returns the session.
    mutating func park(_ session: Session, until sequence: Int64, at now: MonotonicTime, patience: Milliseconds) {
        watch(session, at: parked.park(session.id, until: sequence, or: now + patience))
    }

    /// Resumes the sessions that waited for a commit up to `sequence`.
    mutating func resumeAwaiting(through sequence: Int64) { unpark(parked.reached(sequence)) }

    /// Parks a session until there is a link to the leader with room for its request, or until `end`.
    mutating func parkForLeader(_ session: Session, until end: MonotonicTime) {
        parked.park(session.id, untilLeaderOr: end)
        watch(session, at: end)
    }

    /// Resumes the sessions that waited for the link to the leader.
    mutating func resumeAwaitingLeader() { unpark(parked.leaderReached()) }

    mutating func takeTooFarAhead() -> [SessionID] { parked.takeTooFarAhead() }

    var hasWork: Bool { !arrivals.isEmpty || !postponed.isEmpty || !awaitingShare.isEmpty }

    /// Keys that may be examined in one turn, so that repeated full scans do not delay others.
    private static let keysPerTurn = 16_384
    /// A request that examines no more keys than this is answered even if the turn's share is used up.
    private static let fewKeys = 16

    mutating func beginReading() { readingShare = Self.keysPerTurn }

    /// Takes the keys that a request examines from the turn's share.
    ///
    /// - Returns: `false` if the share is used up: the request waits for the next turn.
    mutating func takeShare(of keyCount: Int) -> Bool {
        guard readingShare > 0 || keyCount <= Self.fewKeys else { return false }
        readingShare -= keyCount
        return true
    }

    /// Postpones a session's remaining reads to the next turn.
    mutating func postpone(_ session: Session) {
        session.isPostponed = true
        postponed.append(session.id)
    }

    /// Takes the sessions postponed to this turn.
    mutating func takePostponed() -> [SessionID] {
        guard !postponed.isEmpty else { return [] }
        var taken: [SessionID] = []
        swap(&taken, &postponed)
        for id in taken { self[id]?.isPostponed = false }
        return taken
    }

    /// The first session that was postponed again has used its share, so it is last the next time.
    mutating func rotatePostponed() {
        if let first = postponed.first, postponed.count > 1 { postponed = postponed.dropFirst() + [first] }
    }

    /// Requests a piece of a history from the performer.
    mutating func request(_ history: HistoryRequest) { historyRequests.append(history) }

    mutating func takeHistoryRequests() -> [HistoryRequest] {
        defer { historyRequests = [] }
        return historyRequests
    }

    // MARK: Ready to send

    /// Queues a session with output. Rendered replies are sent before rows, so that no request waits for ten thousand screens.
    mutating func makeReady(_ session: Session) {
        ready.append(slot: session.id.slot, to: session.hasAnswerPending ? .answers : .rows)
    }

    /// Queues a session with rows, or the rest of a long reply; others come first.
    ///
    /// - Parameter slot: Its slot in the table; `nil` = none.
    @inline(__always)
    mutating func makeReady(slot: Int32?) {
        guard let slot else { return }
        ready.append(slot: slot, to: .rows)
    }

    var hasReady: Bool { !ready.isEmpty }
    /// Whether a ready session has a pending reply.
    var hasReadyAnswers: Bool { ready.hasAnswers }
    /// An upper bound; some may be blocked.
    var readyCount: Int { ready.count }

    /// Removes and returns the next writable session.
    mutating func popReady() -> SessionID? {
        while let slot = ready.popFirst() {
            if let session = sessions[Int(slot)], session.blockedSince == nil { return session.id }
        }
        return nil
    }

    // MARK: Deadlines

    /// When ``expire(at:_:)`` has work.
    var nextDeadline: MonotonicTime? { deadlines.min?.time }
    /// The number of entries, replaced ones included.
    var deadlineEntryCount: Int { deadlines.count }

    /// Schedules a session to be examined, at `time` or earlier.
    mutating func watch(_ session: Session, at time: MonotonicTime) {
        guard time < session.inspectionTime else { return }
        session.inspectionTime = time
        deadlines.insert(SessionDeadline(time: time, session: session.id))
        dropReplacedDeadlines()
    }

    /// Drops replaced entries when they outnumber the sessions.
    ///
    /// Each would stay until its time, up to an hour, and a rate may add one for every row.
    private mutating func dropReplacedDeadlines() {
        guard deadlines.count > 2 * sessions.count + 64 else { return }
        deadlines = Heap(
            sessions.compactMap { session in
                guard let session, session.inspectionTime < .distantFuture else { return nil }
                return SessionDeadline(time: session.inspectionTime, session: session.id)
            })
    }

    /// Handles every session with a due deadline: a `MARK` is due, the reader is cut off, or its rate allows a row.
    mutating func expire(at now: MonotonicTime, _ subscriptions: inout SubscriptionRegistry) {
        while let next = deadlines.min, next.time <= now {
            _ = deadlines.popMin()
            // The entry was replaced by an earlier one.
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
        if session.hasLifePending, now >= session.lastReceived + session.heartbeat + session.heartbeat {
            return dismiss(session, at: now)
        }
        if parked.expire(session.id, at: now) { unpark(session) }
        // Now, and not when it is written, so that the rows still held back are those to watch.
        if subscriptions.release(session.subscriptions, at: now) { makeReady(session) }
        if now >= session.trimmed + session.heartbeat {
            session.trim(at: now)
            subscriptions.trim(session.subscriptions, at: now)
        }
        if session.blockedSince == nil, now >= session.lastSent + session.heartbeat, !session.isClosing {
            session.hasMarkPending = true
            makeReady(session)
        }
        // If a rate holds back several keys, they are released one at a time: the next one is scheduled here.
        let release = subscriptions.nextRelease(of: session.subscriptions)
        watch(
            session,
            at: min(nextInspection(of: session, now: now), max(release ?? .distantFuture, now + Milliseconds(1))))
    }

    private func nextInspection(of session: Session, now: MonotonicTime) -> MonotonicTime {
        var next = max(session.lastSent, now) + session.heartbeat
        if session.lastSent + session.heartbeat > now { next = session.lastSent + session.heartbeat }
        if session.hasLifePending { next = min(next, session.lastReceived + session.heartbeat + session.heartbeat) }
        if let blockedSince = session.blockedSince { next = min(next, blockedSince + limits.stuckReader) }
        if let end = parked.deadline(of: session.id) { next = min(next, end) }
        return max(next, now + Milliseconds(1))
    }

    /// Ends a session that has sent no sign of life. If its socket accepts bytes, it is sent the reason.
    private mutating func dismiss(_ session: Session, at now: MonotonicTime) {
        guard session.blockedSince == nil, !session.isClosing else { return cut(session) }
        var writer = LineWriter()
        writer.bye(.silent)
        session.send(writer.bytes)
        session.isClosing = true
        makeReady(session)
        // It is cut off if the line cannot be sent.
        watch(session, at: now + session.heartbeat)
    }

    /// Ends a session at once and without a reason: its peer accepts no bytes, or sends no sign of life.
    mutating func cut(_ session: Session) { ended.append(session.id) }

    /// Returns the sessions that were cut off. The performer closes their connections.
    mutating func takeEnded() -> [SessionID] {
        defer { ended = [] }
        return ended
    }
}
