internal import DequeModule
public import TelltaleModel
internal import TelltaleWire

/// A client of the line protocol, without a socket and without a clock: bytes and the time in, bytes and events out.
///
/// Whoever owns the socket tells ``connecting(at:)``, ``connected(at:)``, ``received(_:at:)``,
/// ``disconnected(reason:at:random:)`` and ``deadlineReached(at:)``, and after each of them, and after each request, looks
/// at what there is to do: ``wantsConnection``, ``takeOutput(limit:at:)``, ``wantsClose``, ``takeEvents()`` and
/// ``deadline``.
///
/// Times are points on one clock that never jumps. What is asked for before there is a connection waits for it. Events
/// (`EVT`) carry an id of their own and are sent again after each reconnect until they are answered; so is everything
/// else that may be repeated without harm.
public struct ClientProtocol {
    enum Phase: Hashable {
        case idle
        /// Nothing to do until then.
        case waiting(until: Timestamp)
        /// The owner is to connect.
        case connecting
        /// The owner does.
        case dialing(deadline: Timestamp)
        case greeting(deadline: Timestamp)
        case introducing(deadline: Timestamp)
        case ready
        /// For good.
        case over
    }

    public let configuration: ClientConfiguration
    var phase = Phase.idle
    /// Whether the owner is to close the connection now, and then tell ``disconnected(reason:at:random:)``.
    public internal(set) var wantsClose = false
    /// What the server said first on this connection, or on the last one.
    public internal(set) var greeting: ServerGreeting?

    var subscriptions: [Subscription] = []
    /// The server's numbers of them, on this connection.
    var subscriptionNumbers: [Int64: SubscriptionID] = [:]
    var servedKinds: [String] = []
    var traits: [Attribute]

    /// Asked for, and not sent on this connection.
    var unsent = Deque<PendingRequest>()
    /// Sent, in the order in which the replies come.
    var unanswered = Deque<PendingRequest>()
    /// Refused because the server goes down: for the next connection.
    var postponed: [PendingRequest] = []
    var lastNumber: Int64 = 0
    var lastEventNumber: Int64 = 0
    /// Lines of the connection itself, ahead of all requests.
    var output: [UInt8] = []
    var events: [ClientEvent] = []

    private var decoder = ClientProtocol.freshDecoder
    private let parser = JSONParser()
    private var failures = 0
    /// From the server's `BYE`: when it wants this client back.
    var reconnectWait: ClosedRange<Milliseconds>?
    private var lastReceived = Timestamp.distantPast
    var lastSent = Timestamp.distantPast
    /// Since when this connection has served; `nil` before `HELLO` is answered.
    private var readySince: Timestamp?
    var leaves = false

    public init(_ configuration: ClientConfiguration) {
        self.configuration = configuration
        traits = configuration.traits
    }

    /// A connection that served for so long was a good one.
    private static let steadySpan = Milliseconds.seconds(1)

    /// A server's lines may be longer than a client's: a kind's whole definition is one.
    private static var freshDecoder: LineDecoder { LineDecoder(lineLengthLimit: 1 << 20, deliversComments: true) }

    // MARK: What happens

    /// Begins: from now on a connection is wanted.
    public mutating func start() {
        if phase == .idle { phase = .connecting }
    }

    /// From now on a lost connection stays lost.
    public mutating func leave() {
        leaves = true
    }

    /// The owner has begun to connect. Where that takes longer than ``ClientConfiguration/greetingTimeout``,
    /// ``wantsClose`` says so: it is to give up what it has begun, and to tell ``disconnected(reason:at:random:)``.
    ///
    /// Harmless where no connection is wanted. Who does not tell has no limit.
    public mutating func connecting(at now: Timestamp) {
        guard phase == .connecting else { return }
        closeReason = nil
        phase = .dialing(deadline: now + configuration.greetingTimeout)
    }

    public mutating func connected(at now: Timestamp) {
        switch phase {
        case .connecting, .dialing: break
        case .idle, .waiting, .greeting, .introducing, .ready, .over: return
        }
        decoder = Self.freshDecoder
        output = []
        wantsClose = false
        closeReason = nil
        reconnectWait = nil
        lastReceived = now
        lastSent = now
        phase = .greeting(deadline: now + configuration.greetingTimeout)
    }

    /// The connection could not be made, or is gone.
    ///
    /// - Parameter random: Any number, by chance: it spreads the returns of many clients.
    public mutating func disconnected(reason: String, at now: Timestamp, random: UInt64) {
        guard phase != .over, phase != .idle else { return }
        wantsClose = false
        output = []
        settleUnanswered()
        for index in subscriptions.indices { subscriptions[index].connectionWasLost() }
        subscriptionNumbers = [:]
        guard configuration.reconnects, !leaves else {
            phase = .over
            events.append(.disconnected(reason: reason, retryAfter: nil))
            for request in unsent { lose(request) }
            unsent = []
            return
        }
        // One that is cut as soon as it serves is a failure too.
        if let readySince, now - readySince >= Self.steadySpan { failures = 0 }
        let wait =
            if let range = reconnectWait {
                Backoff.pick(from: range.lowerBound, to: range.upperBound, random: random)
            } else {
                configuration.backoff.wait(afterFailures: failures, random: random)
            }
        reconnectWait = nil
        failures += 1
        readySince = nil
        phase = .waiting(until: now + wait)
        events.append(.disconnected(reason: reason, retryAfter: wait))
    }

    /// Takes what the server sent, in pieces of any size.
    public mutating func received(_ bytes: Span<UInt8>, at now: Timestamp) {
        lastReceived = now
        // Moved out, so that the closure may change the rest of this value.
        var decoder = Self.freshDecoder
        swap(&decoder, &self.decoder)
        do throws(WireError) {
            try decoder.decode(bytes) { line in received(line: line, at: now) }
        } catch {
            violate("the server's bytes are no lines of the protocol: \(error.message)")
        }
        self.decoder = decoder
    }

    /// To be told at, or some time after, ``deadline``.
    public mutating func deadlineReached(at now: Timestamp) {
        guard let deadline, deadline <= now else { return }
        switch phase {
        case .idle, .connecting, .over: break
        case .waiting: phase = .connecting
        case .dialing: giveUp("nobody took the connection within \(configuration.greetingTimeout.count) ms")
        case .greeting: giveUp("no greeting came: is this a telltale daemon?")
        case .introducing: giveUp("HELLO was not answered")
        case .ready:
            if now >= silenceDeadline {
                giveUp("the server fell silent")
            } else {
                ping(at: now)
            }
        }
    }

    /// The next moment at which ``deadlineReached(at:)`` is to be told.
    public var deadline: Timestamp? {
        // Given up already: what is left to happen is the close.
        if wantsClose { return nil }
        switch phase {
        case .idle, .connecting, .over: return nil
        case .waiting(let until): return until
        case .dialing(let deadline), .greeting(let deadline), .introducing(let deadline): return deadline
        case .ready:
            guard let heartbeat = configuration.heartbeat else { return silenceDeadline }
            return min(silenceDeadline, lastSent + Milliseconds(Int64(heartbeat)))
        }
    }

    // MARK: What is to be done

    /// Whether the owner is to connect now.
    public var wantsConnection: Bool { phase == .connecting }

    /// Whether requests go out at once.
    public var isReady: Bool { phase == .ready }

    /// Whether nothing will ever happen again.
    public var isOver: Bool { phase == .over }

    /// Requests that have no reply yet.
    public var pendingRequestCount: Int { unsent.count + unanswered.count + postponed.count }

    public var hasEvents: Bool { !events.isEmpty }

    public mutating func takeEvents() -> [ClientEvent] {
        let events = events
        self.events = []
        return events
    }

    /// Bytes to send now: about `limit`, more by one line at most. Empty when there is nothing, or the window is full.
    public mutating func takeOutput(limit: Int, at now: Timestamp) -> [UInt8] {
        var bytes = output
        output = []
        if phase == .ready {
            while bytes.count < limit, unanswered.count < configuration.windowCount,
                let request = unsent.popFirst()
            {
                guard !isTooLong(request) else { continue }
                bytes += request.line
                if request.kind != .farewell { unanswered.append(request) }
            }
        }
        if !bytes.isEmpty { lastSent = now }
        return bytes
    }

    /// Answers a request itself that the server would not take, and close for: sent again with the next connection, it
    /// would be closed for again, for ever.
    private mutating func isTooLong(_ request: PendingRequest) -> Bool {
        guard let limit = greeting?.lineLength, request.line.count - 1 > limit else { return false }
        var writer = LineWriter()
        writer.error(
            WireError(
                .tooLarge, "the request is a line of \(request.line.count - 1) bytes, \(limit) is the limit; say less"),
            id: String(request.number))
        let text = Array(writer.bytes.dropLast())
        if let line = try? ServerLine(text.span, parser: JSONParser()) {
            events.append(.reply(RequestID(number: request.number), Reply(line)))
        }
        return true
    }

    // MARK: Inner workings

    /// A server says at least `MARK` every `hb` ms: three times that without a byte, and it is gone.
    private var silenceDeadline: Timestamp {
        lastReceived + Milliseconds(greeting?.heartbeat ?? 20_000).multiplied(by: 3)
    }

    private mutating func received(line: Span<UInt8>, at now: Timestamp) {
        guard phase != .over, !wantsClose else { return }
        do throws(WireError) {
            let line = try ServerLine(line, parser: parser)
            switch phase {
            case .greeting: greeted(line, at: now)
            case .introducing, .ready: handle(line, at: now)
            case .idle, .waiting, .connecting, .dialing, .over: break
            }
        } catch {
            violate("a line of the server could not be read: \(error.message)")
        }
    }

    private mutating func greeted(_ line: ServerLine, at now: Timestamp) {
        if line.verb == "#" { return }
        guard let greeting = ServerGreeting(line) else {
            // Sent away before the greeting: no room.
            if line.verb == "ERR" {
                events.append(.farewell(line))
                return giveUp(line.message ?? "sent away")
            }
            return violate("it does not greet")
        }
        guard greeting.version == String(LineWriter.protocolVersion) else {
            return refuse(
                "the daemon speaks version \(greeting.version) of the protocol, this client \(LineWriter.protocolVersion)",
                line)
        }
        self.greeting = greeting
        var hello = Hello()
        hello.client = configuration.name
        hello.surface = configuration.surface
        hello.account = configuration.account
        hello.device = configuration.device
        hello.capabilities = configuration.capabilities
        hello.heartbeat = configuration.heartbeat
        sendNow(.hello(hello), .hello)
        phase = .introducing(deadline: now + configuration.greetingTimeout)
    }

    /// `HELLO` was answered: now the situation, the subscriptions and the served kinds, and then what waits.
    mutating func introduced(_ line: ServerLine, at now: Timestamp) {
        guard line.verb == "OK", let greeting else {
            let reason = line.message ?? "the daemon refused HELLO"
            return comesBack(after: line) ? giveUp(reason) : refuse(reason, line)
        }
        readySince = now
        phase = .ready
        events.append(.ready(greeting, line))
        if !traits.isEmpty { sendNow(.traits(traits), .ownTraits) }
        for kind in servedKinds { sendNow(.serve(kind: kind), .ownService(kind)) }
        for index in subscriptions.indices where subscriptions[index].isWanted {
            subscribeNow(SubscriptionID(index: index))
        }
    }

    private mutating func refuse(_ reason: String, _ line: ServerLine?) {
        events.append(.refused(reason, line))
        leaves = true
        giveUp(reason)
    }

    mutating func violate(_ text: String) {
        if case .greeting = phase { return refuse("this is no telltale daemon: \(text)", nil) }
        events.append(.violation(text))
        giveUp(text)
    }

    /// Why the connection is to be closed, for whoever does.
    public internal(set) var closeReason: String?

    /// Whether what was refused is to be asked for again, with another connection.
    func comesBack(after refusal: ServerLine) -> Bool {
        configuration.reconnects && !leaves && refusal["retry"] == "later"
    }

    mutating func giveUp(_ reason: String) {
        closeReason = reason
        wantsClose = true
    }
}
