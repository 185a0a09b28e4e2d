internal import Replication
internal import TelltaleModel

/// The requests to JetStream, and its answers, as a pure value: times and messages in, requests and events out.
///
/// The log is read with batched direct gets. Any replica of the stream answers them, and the log store keeps no consumer
/// that could stall or lose its place. The token in an answer's subject says which request it answers.
struct Dialogue {
    let names: Names
    let node: String
    /// The subject prefix of answers, unique to this process.
    let inbox: String
    var status = LogStoreStatus(name: "nats")
    var checkpoints: CheckpointDialogue
    var requests: [NATSRequest] = []
    var events: [LogEvent] = []
    /// `nil` if no server is asked whether it syncs.
    var watch: ProofWatch?
    var servers: [Preparation.Replica]?

    private var append: (token: Int64, sent: MonotonicTime)?
    private var reading: Reading?
    private var readCount: Int64 = 0
    /// The start of a read that was requested while another one was pending.
    private var waitingRead: Int64?
    /// Whether reads are held back.
    private var isHeld = false
    /// The newest position reported without a gap; `nil` before the first read.
    private var reportedEnd: Int64?
    /// The newest position that another node has announced.
    private var hinted: Int64 = 0
    /// When to read again for a message that another node has announced, and how often it was missing.
    private var retry: MonotonicTime?
    private var misses = 0
    private var heartbeats = HeartbeatView()
    private var denials = Denials()
    /// The id of this process in its heartbeats.
    private var instance: UInt64 = 0

    /// How long to wait for an answer. After that, whoever needs it asks again.
    static let patience = Milliseconds.seconds(1)
    static let chunkBytes = 4 << 20
    /// How often to read again for a message that the replica asked does not have yet: after 2, 4, 8 … 50 ms.
    private static let missLimit = 24

    init(names: Names, node: String, inbox: String) {
        self.names = names
        self.node = node
        self.inbox = inbox
        checkpoints = CheckpointDialogue(names: names)
    }

    mutating func takeRequests() -> [NATSRequest] {
        defer { requests = [] }
        return requests + checkpoints.takeRequests()
    }

    mutating func takeEvents() -> [LogEvent] {
        defer { events = [] }
        return events + checkpoints.takeEvents()
    }

    // MARK: Asking

    mutating func append(_ bytes: [UInt8], after position: Int64, token: Int64, at now: MonotonicTime) {
        if let open = append, open.token != token { noteDuration(now - open.sent) }
        if append?.token != token { append = (token, now) }
        requests.append(
            NATSRequest(
                lane: .append, subject: names.logSubject, answer: "a\(token)", expected: position, bytes: bytes))
    }

    mutating func read(from position: Int64, at now: MonotonicTime) {
        let position = max(0, position)
        guard reading == nil else {
            waitingRead = min(waitingRead ?? position, position)
            return
        }
        begin(from: position, isAsked: true, at: now)
    }

    mutating func hold(_ isHeld: Bool, at now: MonotonicTime) {
        self.isHeld = isHeld
        guard !isHeld, reading == nil else { return }
        let asked = waitingRead.take()
        if let position = asked ?? reportedEnd { begin(from: position, isAsked: asked != nil, at: now) }
    }

    private mutating func begin(from position: Int64, isAsked: Bool, at now: MonotonicTime) {
        retry = nil
        guard !isHeld else {
            if isAsked { waitingRead = min(waitingRead ?? position, position) }
            return
        }
        readCount += 1
        reading = Reading(number: readCount, isAsked: isAsked, from: position, deadline: now + Self.patience)
        // Includes the message before: if that is missing, the log is shorter than was assumed.
        let first = isAsked ? max(1, position) : Self.next(position)
        let text = "{\"seq\":\(first),\"batch\":1024,\"max_bytes\":\(Self.chunkBytes)}"
        requests.append(
            NATSRequest(
                lane: .read, subject: "$JS.API.DIRECT.GET.\(names.log)", answer: "r\(readCount)", expected: nil,
                bytes: Array(text.utf8)))
    }

    mutating func heartbeat(_ heartbeat: Heartbeat, at now: MonotonicTime) {
        instance = heartbeat.instance
        askForServers(heartbeat, at: now)
        probe()
        requests.append(
            NATSRequest(
                lane: .heartbeat, subject: names.heartbeatSubject(of: node), answer: "b\(heartbeat.number)",
                expected: nil,
                bytes: heartbeat.encoded()))
    }

    private mutating func askForHeartbeats(at now: MonotonicTime) {
        guard heartbeats.begin(at: now) else { return }
        requests.append(
            NATSRequest(
                lane: .heartbeats, subject: "$JS.API.DIRECT.GET.\(names.heartbeat)", answer: "m\(heartbeats.number)",
                expected: nil,
                bytes: Array("{\"multi_last\":[\"\(names.heartbeatSubjects)\"]}".utf8)))
    }

    // MARK: Time

    var deadline: MonotonicTime? {
        [reading?.deadline, retry, heartbeats.deadline(patience: Self.patience)].compactMap(\.self).min()
    }

    mutating func tick(at now: MonotonicTime) {
        if let end = heartbeats.deadline(patience: Self.patience), now >= end { heartbeats.reset() }
        if let reading, now >= reading.deadline { endOfBatch(pending: -1, isCut: true, at: now) }
        if let retry, now >= retry, reading == nil, let reportedEnd {
            begin(from: reportedEnd, isAsked: false, at: now)
        }
    }

    /// The connection was lost or made again. Pending requests will not be answered.
    mutating func changed(isUp: Bool, text: String, at now: MonotonicTime) {
        status.isConnected = isUp
        reading = nil
        waitingRead = nil
        retry = nil
        heartbeats.reset()
        if isUp { watch?.reconnected() }
        if isUp, denials.forget(except: neededSubjects) { reportDenials() }
        events.append(.connection(isUp: isUp, text: text))
        if isUp, let reportedEnd { begin(from: reportedEnd, isAsked: true, at: now) }
    }

    mutating func prepared(version: String) { status.version = version }

    // MARK: Limits and rights

    /// The longest message that the server accepts, headers included.
    mutating func limited(to count: Int) {
        events.append(.limited(byteCount: max(0, count - NATSRequest.headerByteCount)))
    }

    /// A message was longer than the limit.
    ///
    /// - Parameter answer: The token of its answer.
    mutating func tooLong(_ answer: String?) {
        switch (answer?.first, answer.flatMap { Int64($0.dropFirst()) }) {
        case ("a", let token?): events.append(.tooLong(token: token))
        case ("x", _): events.append(.declined(token: nil, reason: "it is longer than the engine takes"))
        default: break
        }
    }

    /// The subjects on which a leader must be able to publish.
    private var neededSubjects: [String] { [names.logSubject, names.heartbeatSubject(of: node)] }

    mutating func denied(_ denial: Denial) { if denials.add(denial) { reportDenials() } }

    /// The preparation has found that everything is allowed.
    mutating func allowed() { if denials.forget(except: []) { reportDenials() } }

    private mutating func reportDenials() {
        status.denials = denials.texts
        events.append(.denied(denials.texts, mayLead: !neededSubjects.contains { denials.contains(publishOn: $0) }))
    }

    private mutating func answered(on subject: String) {
        if denials.allow(publishOn: subject) { reportDenials() }
    }

    /// Tests whether this node may publish on the log again, because a node that may not appends nothing.
    private mutating func probe() {
        guard denials.contains(publishOn: names.logSubject) else { return }
        requests.append(NATSRequest(lane: .probe, subject: names.logSubject, answer: "p", expected: nil, bytes: []))
    }

    // MARK: Answers

    mutating func received(_ message: Incoming, at now: MonotonicTime) {
        if message.subject == names.hintSubject { return takeHint(message.bytes, at: now) }
        guard message.subject.hasPrefix(inbox + ".") else { return takeWord(message, at: now) }
        let token = message.subject.dropFirst(inbox.count + 1)
        let number = Int64(token.dropFirst()) ?? -1
        switch token.first {
        case "a": takeAcknowledgement(of: number, message, at: now)
        case "r" where number == reading?.number: takeRead(message, at: now)
        case "l" where number == reading?.number: takeLast(message, at: now)
        case "i" where number == reading?.number: takeInformation(message, at: now)
        case "b":
            guard message.status == 0, NATSAnswer(message.bytes)?.position(in: names.heartbeat) != nil else { break }
            answered(on: names.heartbeatSubject(of: node))
            events.append(.heartbeatStored(number: number))
            askForHeartbeats(at: now)
        case "m" where number == heartbeats.number: takeHeartbeat(message, at: now)
        case "x": checkpoints.handleMessage(message, number: number)
        case "s": takeServers(message)
        case "p": answered(on: names.logSubject)
        default: break
        }
    }

    private mutating func takeAcknowledgement(of token: Int64, _ message: Incoming, at now: MonotonicTime) {
        guard message.status == 0, let answer = NATSAnswer(message.bytes) else { return }
        answered(on: names.logSubject)
        if let position = answer.position(in: names.log) {
            events.append(.stored(token: token, position: position))
            guard append?.token == token, let sent = append?.sent else { return }
            append = nil
            noteDuration(now - sent)
            if let reportedEnd { self.reportedEnd = max(reportedEnd, position) }
            requests.append(
                NATSRequest(
                    lane: .hint, subject: names.hintSubject, answer: nil, expected: nil,
                    bytes: Array(String(position).utf8)))
        } else if answer.isConditionRefused {
            events.append(.refused(token: token))
        } else if answer.isFull {
            events.append(.full(token: token))
        } else if let reason = answer.refusal {
            events.append(.declined(token: token, reason: reason))
        }
    }

    private mutating func noteDuration(_ duration: Duration) {
        status.roundTrip = duration
        if duration > LogStoreStatus.stallLimit { status.stalls += 1 }
        status.longestStall = max(status.longestStall, duration)
    }

    /// Takes a heartbeat as it was sent. Only a stored heartbeat shows that a node is alive, so another node's heartbeat triggers a
    /// query for the stored one. A heartbeat with this node's name may come from another process, and is taken directly,
    /// because this node soon overwrites the stored one.
    private mutating func takeWord(_ message: Incoming, at now: MonotonicTime) {
        let isOwnName = message.subject == names.heartbeatSubject(of: node)
        if !isOwnName { askForHeartbeats(at: now) }
        guard message.status == 0, let heartbeat = try? Heartbeat(decoding: message.bytes),
            message.subject == names.heartbeatSubject(of: heartbeat.node), !isOwnName || heartbeat.instance != instance
        else { return }
        events.append(isOwnName ? .heard(heartbeat) : .overheard(heartbeat))
    }

    private mutating func takeHeartbeat(_ message: Incoming, at now: MonotonicTime) {
        guard message.status == 0 else {
            let (others, own, isDue) = heartbeats.ended(isWhole: message.status == 204)
            events += others.map { .heard($0) }
            if let own { events.append(.heartbeatsShown(through: own)) }
            if isDue { askForHeartbeats(at: now) }
            return
        }
        guard message.sequence > 0, let heartbeat = try? Heartbeat(decoding: message.bytes) else { return }
        guard heartbeat.node == node else { return heartbeats.has(heartbeat) }
        if heartbeat.instance == instance { heartbeats.shows(heartbeat.number) }
    }

    // MARK: Reading

    private mutating func takeHint(_ bytes: [UInt8], at now: MonotonicTime) {
        guard bytes.count <= 19, let position = Int64(String(decoding: bytes, as: UTF8.self)), position > hinted else {
            return
        }
        hinted = position
        misses = 0
        if let reportedEnd, reportedEnd < hinted, reading == nil { begin(from: reportedEnd, isAsked: false, at: now) }
    }

    private mutating func takeRead(_ message: Incoming, at now: MonotonicTime) {
        guard var open = reading else { return }
        guard message.status == 0 else {
            switch message.status {
            case 204: endOfBatch(pending: message.pending, isCut: false, at: now)
            case 404: nothingThere(open, at: now)
            case 503 where open.isAsked:
                sendQuery(.info, "$JS.API.STREAM.INFO.\(names.log)", "i\(open.number)", "")
            default: finish(at: now)
            }
            return
        }
        guard message.sequence > 0, message.pending >= 0 else { return finish(at: now) }
        open.deadline = now + Self.patience
        open.end = Self.sum(message.sequence, message.pending)
        let expected = Self.next(Self.sum(open.from, Int64(open.messages.count)))
        // The message before the first requested one.
        let isAnchor = open.isAsked && open.messages.isEmpty && message.sequence == open.from
        if !isAnchor {
            guard message.sequence == expected || (open.messages.isEmpty && message.sequence > expected) else {
                reading = open
                return endOfBatch(pending: -1, isCut: true, at: now)
            }
            // The messages before it were purged.
            if open.messages.isEmpty { open.from = message.sequence - 1 }
            open.messages.append(message.bytes)
            open.byteCount += message.bytes.count
        }
        reading = open
        if open.byteCount >= Self.chunkBytes { reportRead() }
    }

    private mutating func reportRead() {
        guard var open = reading else { return }
        events.append(.read(open.messages, from: open.from, end: open.end))
        open.from = Self.sum(open.from, Int64(open.messages.count))
        reportedEnd = open.from
        open.hasReported = open.hasReported || !open.messages.isEmpty
        (open.messages, open.byteCount, open.isAsked) = ([], 0, false)
        reading = open
    }

    /// - Parameter isCut: Whether the rest is missing. Then the messages received are reported, but no end of the log
    ///   if there were none.
    private mutating func endOfBatch(pending: Int64, isCut: Bool, at now: MonotonicTime) {
        guard let open = reading else { return }
        if !open.messages.isEmpty || (open.isAsked && !isCut) { reportRead() }
        guard pending > 0, waitingRead == nil, !isHeld, let from = reading?.from else { return finish(at: now) }
        begin(from: from, isAsked: false, at: now)
    }

    /// The replica that answered has no such message.
    private mutating func nothingThere(_ open: Reading, at now: MonotonicTime) {
        if !open.isAsked { return finish(at: now) }
        if open.from == 0 { return reportEnd(0, at: now) }
        sendQuery(
            .last, "$JS.API.DIRECT.GET.\(names.log)", "l\(open.number)",
            "{\"last_by_subj\":\"\(names.logSubject)\"}")
    }

    private mutating func takeLast(_ message: Incoming, at now: MonotonicTime) {
        switch message.status {
        case 0 where message.sequence > 0: reportEnd(message.sequence, at: now)
        case 404: reportEnd(0, at: now)
        default: finish(at: now)
        }
    }

    /// No replica answered for the stream: all of them are down, or the stream is gone.
    private mutating func takeInformation(_ message: Incoming, at now: MonotonicTime) {
        if message.status == 0, NATSAnswer(message.bytes)?.isStreamMissing == true { return reportEnd(0, at: now) }
        finish(at: now)
    }

    private mutating func reportEnd(_ end: Int64, at now: MonotonicTime) {
        guard let open = reading else { return }
        let from = min(open.from, end)
        events.append(.read([], from: from, end: end))
        reportedEnd = from
        finish(at: now)
    }

    private mutating func sendQuery(_ lane: NATSRequest.Lane, _ subject: String, _ answer: String, _ text: String) {
        requests.append(
            NATSRequest(lane: lane, subject: subject, answer: answer, expected: nil, bytes: Array(text.utf8)))
    }

    /// The read has ended. Starts the next one that is due.
    private mutating func finish(at now: MonotonicTime) {
        misses = reading?.hasReported == true ? 0 : misses + 1
        reading = nil
        if let position = waitingRead {
            waitingRead = nil
            return begin(from: position, isAsked: true, at: now)
        }
        guard let reportedEnd, hinted > reportedEnd else { return }
        if misses == 0 { return begin(from: reportedEnd, isAsked: false, at: now) }
        guard misses <= Self.missLimit else {
            // There is no such message: the hint was wrong.
            hinted = reportedEnd
            return
        }
        retry = now + Milliseconds(min(50, 1 << Int64(misses)))
    }

    private static func sum(_ left: Int64, _ right: Int64) -> Int64 {
        let (sum, overflow) = left.addingReportingOverflow(right)
        return overflow ? .max : sum
    }

    private static func next(_ position: Int64) -> Int64 { sum(position, 1) }

    /// A pending read of the log.
    struct Reading {
        /// The number of the read. Answers to earlier ones are ignored.
        var number: Int64
        /// Whether the caller requested it. Then it gets an answer even if there is nothing to read.
        var isAsked: Bool
        /// Everything up to this position was reported or not requested.
        var from: Int64
        var messages: [[UInt8]] = []
        var byteCount = 0
        var hasReported = false
        var end: Int64 = 0
        var deadline: MonotonicTime
    }
}
