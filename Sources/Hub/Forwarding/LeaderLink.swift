internal import DequeModule
internal import TelltaleModel
internal import TelltaleWire

/// A following node's link to the leader of its cluster: it carries what the node's clients write, and their replies.
///
/// Invariants:
/// - The requests of a connection are sent in their order, and their replies come in that order.
/// - A request whose reply has not come when the link ends has an unknown fate, unless the leader said that it had not decided it.
///   That one is sent again on the next link, or refused where none comes; where this node leads next it ends unanswered.
/// - A reply leaves once this node has applied the commit that the leader names with it.
/// - A new link names the clients that serve kinds before anything else.
struct LeaderLink: ~Copyable {
    private enum Phase {
        case down
        /// `NODE` was sent.
        case asking
        case up
        /// The connection is of no use; another one should be tried.
        case refused
        /// The connection is there and unused, because the leader has refused many.
        case resting
    }

    /// A connection of this node whose client has written something.
    private final class Guest {
        let session: SessionID
        var identity: GuestIdentity
        /// Whether the leader knows it by that identity, on this link.
        var isIntroduced = false
        var requests: Deque<Request> = []
        var lastUse: MonotonicTime

        init(_ session: SessionID, _ identity: GuestIdentity, at now: MonotonicTime) {
            (self.session, self.identity, lastUse) = (session, identity, now)
        }
    }

    private struct Request {
        let id: String?
        let line: [UInt8]
        /// The kind that the connection would serve.
        let servedKind: String?
        var isSent = false
    }

    /// The fate of a request.
    struct Reply {
        let session: SessionID
        /// The commit that this node has to apply first.
        let sequence: Int64
        /// Without a line ending; `nil` = not known.
        let line: [UInt8]?
    }

    private var phase = Phase.down
    private var decoder = LineDecoder(lineLengthLimit: LinkLine.lengthLimit)
    private var guests: [Int64: Guest] = [:]
    private var replies: Deque<Reply> = []
    private var output: [UInt8] = []
    /// What is sent and not answered.
    private var requestCount = 0
    private var byteCount = 0
    /// What the leader was asked with, how often since a link was up, and when last.
    private var key: UInt64 = 0
    private var process: UInt32 = 0
    private var attempts = 0
    private var askedAt = MonotonicTime.distantPast
    private var heardAt = MonotonicTime.distantPast
    /// This process has led. Its clients' writes wait for the link even before the first one.
    private var hasLed = false
    /// When the last link ended, or this node stood down; `distantPast` = there was none.
    private var downSince = MonotonicTime.distantPast

    /// What may be unanswered at a time.
    private static let (requestLimit, byteLimit) = (8_192, 32 << 20)
    /// A leader that takes no link, such as one of an earlier release or one that is reached by TLS alone, is asked this often at
    /// once, and then after pauses.
    private static let (attemptLimit, attemptPause) = (20, Milliseconds.seconds(5))
    /// The leader forgets a client that has written nothing for so long.
    private static let memory = Milliseconds.minutes(1)

    var isUp: Bool { phase == .up }
    /// Whether another request may be sent.
    var hasRoom: Bool { isUp && requestCount < Self.requestLimit && byteCount < Self.byteLimit }
    /// Whether a client of this node may be asked to act.
    var hasClients: Bool { !guests.isEmpty }
    /// The client of this node that has written something on the connection with this number.
    func session(numbered number: Int64) -> SessionID? { guests[number]?.session }
    /// Whether a client of this node serves a kind.
    func isServing(_ session: SessionID) -> Bool { guests[session.number]?.identity.served.isEmpty == false }
    /// Whether some request has no reply yet that has left.
    var hasUnanswered: Bool { requestCount > 0 || !replies.isEmpty }
    /// Whether a link is there, or was within the last `patience`: the next one is awaited.
    func isExpected(at now: MonotonicTime, patience: Milliseconds) -> Bool { isUp || now < deadline(after: patience) }
    /// When a write has waited long enough for a link.
    func deadline(after patience: Milliseconds) -> MonotonicTime {
        downSince == .distantPast ? downSince : downSince + patience
    }

    // MARK: The link

    /// A connection to the leader is there.
    ///
    /// - Parameters:
    ///   - process: The part of connection numbers that is this node's own.
    ///   - key: The instance of the leader's process, which the nodes read in the log.
    mutating func connected(as node: String, process: UInt32, key: UInt64, at now: MonotonicTime) {
        self.process = process
        attempts = key == self.key ? attempts + 1 : 1
        self.key = key
        guard attempts <= Self.attemptLimit || now >= askedAt + Self.attemptPause else {
            phase = .resting
            return
        }
        (phase, askedAt, heardAt) = (.asking, now, now)
        decoder = LineDecoder(lineLengthLimit: LinkLine.lengthLimit)
        var writer = LineWriter()
        writer.request(.node(name: node, token: String(key, radix: 16)), id: nil)
        output = writer.bytes
    }

    /// The connection is gone, or the leader is another one.
    mutating func lost(at now: MonotonicTime) {
        leaveUp(at: now)
        (phase, output) = (.down, [])
        for number in guests.keys.sorted() {
            guests[number]?.isIntroduced = false
            giveUp(number)
        }
    }

    private mutating func leaveUp(at now: MonotonicTime) { if isUp { (downSince, attempts) = (now, 0) } }

    private mutating func refuse(at now: MonotonicTime) {
        leaveUp(at: now)
        phase = .refused
    }

    /// Bytes of the leader.
    mutating func received(_ bytes: Span<UInt8>, at now: MonotonicTime) {
        heardAt = now
        do throws(WireError) {
            var lines = decoder
            try lines.decode(bytes) { handle($0) }
            decoder = lines
        } catch {
            refuse(at: now)
        }
    }

    /// Called each second. Drops a link on which a request is unanswered and nothing has come for `patience`, and tries a leader
    /// again that has refused many links.
    mutating func tick(at now: MonotonicTime, patience: Milliseconds) {
        if isUp, requestCount > 0, now >= heardAt + patience { refuse(at: now) }
        if phase == .resting, now >= askedAt + Self.attemptPause { phase = .refused }
        forgetIdle(at: now)
    }

    private mutating func handle(_ line: Span<UInt8>) {
        guard isUp else {
            guard phase == .asking else { return }
            let text = String(decoding: line.bytes(0..<min(4, line.count)), as: UTF8.self)
            if text.hasPrefix("OK") { begin() }
            if text == "ERR " { phase = .refused }
            return
        }
        guard let answer = LinkLine(line), let guest = guests[answer.number] else { return }
        switch answer.verb {
        case .reply:
            guard let request = guest.requests.popFirst() else { return }
            uncount(request)
            let reply = line.bytes(answer.rest)
            if let kind = request.servedKind, reply.starts(with: "OK".utf8), !guest.identity.served.contains(kind) {
                guest.identity.served.append(kind)
            }
            replies.append(Reply(session: guest.session, sequence: answer.sequence, line: reply))
        case .again:
            for place in guest.requests.indices {
                uncount(guest.requests[place])
                guest.requests[place].isSent = false
            }
        case .gone:
            guest.isIntroduced = false
            giveUp(answer.number)
        case .guest, .all, .forward: break
        }
    }

    private mutating func begin() {
        phase = .up
        let numbers = guests.keys.sorted()
        for number in numbers { if let guest = guests[number], !guest.identity.served.isEmpty { introduce(guest) } }
        LinkLine.write(.all, Int64(process), to: &output)
        for number in numbers { sendAll(of: number) }
    }

    /// This node is to lead: no link follows on which a request could be sent again.
    ///
    /// - Returns: The clients that serve kinds, and these, in the order of their numbers.
    mutating func becameLeader() -> [(session: SessionID, kinds: [String])] {
        let providers = guests.keys.sorted().compactMap { guests[$0] }.filter { !$0.identity.served.isEmpty }
            .map { ($0.session, $0.identity.served) }
        for guest in guests.values { for place in guest.requests.indices { markSent(place, of: guest) } }
        lost(at: .distantPast)
        (guests, hasLed) = ([:], true)
        return providers
    }

    /// Another node is to lead. One that has led awaits the link to it as if one had been there.
    mutating func follow(at now: MonotonicTime) { downSince = hasLed ? now : .distantPast }

    /// Takes over a client that served kinds while this node led. It keeps serving them under the next leader.
    mutating func adopt(_ session: SessionID, _ identity: GuestIdentity, at now: MonotonicTime) {
        guests[session.number] = Guest(session, identity, at: now)
    }

    /// The requests of a connection that were sent have an unknown fate.
    private mutating func giveUp(_ number: Int64) {
        guard let guest = guests[number] else { return }
        for request in guest.requests where request.isSent {
            uncount(request)
            replies.append(Reply(session: guest.session, sequence: 0, line: nil))
        }
        guest.requests.removeAll { $0.isSent }
    }

    private mutating func uncount(_ request: Request) {
        guard request.isSent else { return }
        requestCount -= 1
        byteCount -= request.line.count
    }

    // MARK: Requests

    /// Sends a request of a connection.
    mutating func forward(
        _ request: ForwardedRequest, of session: SessionID, _ identity: GuestIdentity, at now: MonotonicTime
    ) {
        let guest = guests[session.number] ?? Guest(session, identity, at: now)
        guests[session.number] = guest
        var identity = identity
        identity.served = guest.identity.served
        if guest.identity != identity { (guest.identity, guest.isIntroduced) = (identity, false) }
        guest.lastUse = now
        guest.requests.append(
            Request(id: request.request.id, line: request.line, servedKind: request.servedKind))
        sendAll(of: session.number)
    }

    private mutating func sendAll(of number: Int64) {
        guard isUp, let guest = guests[number], let first = guest.requests.firstIndex(where: { !$0.isSent }) else {
            return
        }
        if !guest.isIntroduced { introduce(guest) }
        for place in first..<guest.requests.count {
            markSent(place, of: guest)
            let line = guest.requests[place].line
            LinkLine.write(.forward, number, rest: line.span, to: &output)
        }
    }

    private mutating func introduce(_ guest: Guest) {
        guest.isIntroduced = true
        var writer = JSONWriter()
        writer.value(.object(guest.identity.json))
        let json = writer.take()
        LinkLine.write(.guest, guest.session.number, rest: json.span, to: &output)
    }

    private mutating func markSent(_ place: Int, of guest: Guest) {
        guard !guest.requests[place].isSent else { return }
        guest.requests[place].isSent = true
        requestCount += 1
        byteCount += guest.requests[place].line.count
    }

    /// Refuses the requests that the leader had not decided, because no link has come on which they could be sent again.
    mutating func refuseUnsent(_ error: WireError) {
        for number in guests.keys.sorted() {
            guard let guest = guests[number], guest.requests.contains(where: { !$0.isSent }) else { continue }
            for request in guest.requests where !request.isSent {
                var writer = LineWriter()
                writer.error(error, id: request.id)
                replies.append(Reply(session: guest.session, sequence: 0, line: Array(writer.bytes.dropLast())))
            }
            guest.requests.removeAll { !$0.isSent }
        }
    }

    /// A connection of this node has ended.
    mutating func closed(_ session: SessionID) {
        guard let guest = guests.removeValue(forKey: session.number) else { return }
        for request in guest.requests { uncount(request) }
        if isUp, guest.isIntroduced { LinkLine.write(.gone, session.number, to: &output) }
    }

    /// Lets the leader forget connections that have written nothing for a while, and serve nothing.
    private mutating func forgetIdle(at now: MonotonicTime) {
        let idle = guests.filter {
            $0.value.requests.isEmpty && $0.value.identity.served.isEmpty
                && now.milliseconds(since: $0.value.lastUse) > Self.memory
        }
        for number in idle.keys.sorted() { if let guest = idle[number] { closed(guest.session) } }
    }

    // MARK: Outputs

    /// Whether the leader has refused the link since the last call.
    mutating func takeRefusal() -> Bool {
        guard phase == .refused else { return false }
        phase = .down
        return true
    }

    mutating func takeOutput() -> [UInt8] {
        var taken: [UInt8] = []
        swap(&taken, &output)
        return taken
    }

    /// Takes the next reply that may leave when this node has applied the commit `sequence`.
    mutating func takeReply(through sequence: Int64) -> Reply? {
        guard let first = replies.first, first.sequence <= sequence else { return nil }
        return replies.removeFirst()
    }
}
