internal import DequeModule
public import TelltaleModel
internal import TelltaleWire

/// A client of the line protocol, without a socket and without a clock: bytes and times go in, bytes and events come
/// out.
///
/// The owner of the socket calls ``connecting(at:)``, ``connected(at:)``, ``received(_:at:)``,
/// ``disconnected(reason:at:random:)`` and ``deadlineReached(at:)``. After each of them, and after each request, it
/// reads ``wantsConnection``, ``takeOutput(limit:at:)``, ``wantsClose``, ``takeEvents()`` and ``deadline``.
///
/// Times are points on one monotonic clock. Requests that are made without a connection wait for it. Events (`EVT`)
/// have an id and are repeated after each reconnect until they are answered, as is every other request that may be
/// repeated safely.
public struct ClientProtocol {
    enum Phase: Hashable {
        case idle
        /// Waits for the next attempt.
        case waiting(until: Timestamp)
        /// The owner must connect.
        case connecting
        /// The owner is connecting.
        case dialing(deadline: Timestamp)
        case greeting(deadline: Timestamp)
        case introducing(deadline: Timestamp)
        case ready
        /// The client has ended.
        case over
    }

    public private(set) var configuration: ClientConfiguration
    var phase = Phase.idle
    /// Whether the owner must close the connection and then call ``disconnected(reason:at:random:)``.
    public internal(set) var wantsClose = false
    /// The greeting of this connection, or of the last one.
    public internal(set) var greeting: ServerGreeting?
    /// The interval of this connection's heartbeats, from the answer to `HELLO`.
    private var grantedHeartbeat: Milliseconds?

    var subscriptions: [ClientSubscription] = []
    /// Subscriptions by the server's number on this connection.
    var subscriptionNumbers: [Int64: SubscriptionID] = [:]
    var servedKinds: [String] = []
    var traits: [Attribute]

    /// Requests that were not sent on this connection.
    var unsent = Deque<PendingRequest>()
    /// Requests that were sent, in the order of their replies.
    var unanswered = Deque<PendingRequest>()
    /// Requests that were refused because the server is shutting down; they wait for the next connection.
    var postponed: [PendingRequest] = []
    var lastNumber: Int64 = 0
    var lastEventNumber: Int64 = 0
    /// Lines of the connection itself, which precede all requests.
    var output: [UInt8] = []
    var events: [ClientEvent] = []

    private var decoder = ClientProtocol.freshDecoder
    private let parser = JSONParser()
    var failures = 0
    /// The random wait before a reconnect that the server's `BYE` requested.
    var reconnectWait: ClosedRange<Milliseconds>?
    var servers: ServerList
    /// Set if the server of this connection sends the client elsewhere.
    var redirection: Redirection?
    /// The newest commit of this history that a server has shown to this client; sequence 0 = none yet.
    var newestCommit: HistoryPosition?
    /// The newest term seen, with its history.
    var newestTerm: (epoch: String, term: Int64)?
    var lowerTermSince: Timestamp?  // Since when only leaders of lower terms were met.
    private var lastReceived = Timestamp.distantPast
    var lastSent = Timestamp.distantPast
    /// The time at which `HELLO` was answered; `nil` before.
    var readySince: Timestamp?
    var leaves = false

    public init(_ configuration: ClientConfiguration) {
        self.configuration = configuration
        servers = ServerList(configuration.servers)
        traits = configuration.traits
    }

    /// The time for which a connection must serve to reset the backoff.
    private static let steadySpan = Milliseconds.seconds(1)

    /// The line limit of a server's lines, which exceed a client's: the definition of a kind is one line.
    private static var freshDecoder: LineDecoder { LineDecoder(lineLengthLimit: 1 << 20, deliversComments: true) }

    // MARK: Inputs

    /// Replaces the token that the next connections prove themselves with.
    public mutating func renew(token: String?) { configuration.token = token }

    /// Reports that the owner is not reading, so that silence does not count against the server.
    public mutating func notReading(at now: Timestamp) { lastReceived = now }

    /// Starts the client: it wants a connection from now on.
    public mutating func start() {
        if phase == .idle { phase = .connecting }
    }

    /// Ends reconnecting: a lost connection is final from now on.
    public mutating func leave() {
        leaves = true
    }

    /// Reports that the owner has begun to connect. If that takes longer than ``ServerList/dialSpan(limit:)``, ``wantsClose``
    /// becomes `true`: the owner abandons the attempt and calls ``disconnected(reason:at:random:)``.
    ///
    /// Does nothing if no connection is wanted. An owner that does not call this has no time limit.
    public mutating func connecting(at now: Timestamp) {
        guard phase == .connecting else { return }
        closeReason = nil
        phase = .dialing(deadline: now + dialSpan)
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
        redirection = nil
        lastReceived = now
        lastSent = now
        phase = .greeting(deadline: now + configuration.greetingTimeout)
    }

    /// Reports that the connection could not be made, or is lost.
    ///
    /// The next attempt may be at another ``address``.
    ///
    /// - Parameter random: A random number, which spreads the reconnects of many clients.
    public mutating func disconnected(reason: String, at now: Timestamp, random: UInt64) {
        guard phase != .over, phase != .idle else { return }
        wantsClose = false
        output = []
        settleUnanswered()
        for index in subscriptions.indices { subscriptions[index].connectionWasLost() }
        subscriptionNumbers = [:]
        // A connection that is lost right after the greeting counts as a failure, too.
        if let readySince, now - readySince >= Self.steadySpan {
            failures = 0
            servers.stayed()
        }
        let wait = nextWait(random: random)
        guard let wait, !leaves else {
            phase = .over
            events.append(.disconnected(reason: reason, retryAfter: nil))
            for request in unsent { lose(request) }
            unsent = []
            return
        }
        readySince = nil
        phase = wait == .zero ? .connecting : .waiting(until: now + wait)
        events.append(.disconnected(reason: reason, retryAfter: wait))
    }

    /// Processes bytes from the server, in pieces of any size.
    public mutating func received(_ bytes: Span<UInt8>, at now: Timestamp) {
        lastReceived = now
        // Moved out, so that the closure can change the other members.
        var decoder = Self.freshDecoder
        swap(&decoder, &self.decoder)
        do throws(WireError) {
            try decoder.decode(bytes) { line in received(line: line, at: now) }
        } catch {
            violate("the server's bytes are no lines of the protocol: \(error.message)")
        }
        self.decoder = decoder
    }

    /// Called by the owner at or after ``deadline``.
    public mutating func deadlineReached(at now: Timestamp) {
        guard let deadline, deadline <= now else { return }
        switch phase {
        case .idle, .connecting, .over: break
        case .waiting: phase = .connecting
        case .dialing: giveUp("the server took no connection within \(dialSpan.count) ms")
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

    /// The time of the next call of ``deadlineReached(at:)``.
    public var deadline: Timestamp? {
        // Only the close is outstanding.
        if wantsClose { return nil }
        switch phase {
        case .idle, .connecting, .over: return nil
        case .waiting(let until): return until
        case .dialing(let deadline), .greeting(let deadline), .introducing(let deadline): return deadline
        case .ready:
            guard let heartbeat = configuration.heartbeat else { return silenceDeadline }
            return min(silenceDeadline, lastSent + heartbeat)
        }
    }

    // MARK: Outputs

    /// The address to connect to: one of ``ClientConfiguration/servers``, or the leader that one of those named; `nil`
    /// if there is none.
    public var address: String? { servers.address }

    /// Whether each server was tried in vain since one last served.
    public var hasAskedAll: Bool { servers.isExhausted }

    /// Whether the owner must connect now.
    public var wantsConnection: Bool { phase == .connecting }

    /// Whether requests are sent at once.
    public var isReady: Bool { phase == .ready }

    /// Whether the client has ended, so that no event follows.
    public var isOver: Bool { phase == .over }

    /// The number of requests without a reply.
    public var pendingRequestCount: Int { unsent.count + unanswered.count + postponed.count }

    public var hasEvents: Bool { !events.isEmpty }

    public mutating func takeEvents() -> [ClientEvent] {
        let events = events
        self.events = []
        return events
    }

    /// The bytes to send now: about `limit`, exceeded by at most one line. Empty if there are none or the window is
    /// full.
    public mutating func takeOutput(limit: Int, at now: Timestamp) -> [UInt8] {
        var bytes = output
        output = []
        if phase == .ready {
            while bytes.count < limit, unanswered.count < configuration.windowCount,
                var request = unsent.popFirst()
            {
                guard !isTooLong(request) else { continue }
                request.wasSent = true
                bytes += request.line
                if request.kind != .farewell { unanswered.append(request) }
            }
        }
        if !bytes.isEmpty { lastSent = now }
        return bytes
    }

    // MARK: Internals

    /// The deadline for the next byte: three times the interval after which the server sends a `MARK`.
    private var silenceDeadline: Timestamp {
        lastReceived + (grantedHeartbeat ?? greeting?.heartbeat ?? ServerGreeting.usualHeartbeat).multiplied(by: 3)
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
        // The server stepped down before it greeted.
        if line.verb == "BYE" { return handle(line, at: now) }
        guard let greeting = ServerGreeting(line) else {
            // An error before the greeting: the server has no room for this connection.
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
        grantedHeartbeat = nil
        if let start = HistoryPosition("\(greeting.epoch):0"), start.epoch != newestCommit?.epoch {
            newestCommit = start
        }
        guard isServed(by: greeting, at: now) else { return }
        var hello = Hello()
        hello.client = configuration.name
        hello.surface = configuration.surface
        hello.account = configuration.account
        hello.device = configuration.device
        hello.capabilities = configuration.capabilities
        hello.heartbeat = configuration.heartbeat.map { Int(clamping: $0.count) }
        // Nodes of a cluster may lag behind each other.
        if greeting.node != nil, let newestCommit, newestCommit.sequence > 0 { hello.after = newestCommit }
        // A server without authentication receives no secret.
        if greeting.authentication != "none" { hello.token = configuration.token }
        sendNow(.hello(hello), .hello)
        phase = .introducing(deadline: now + configuration.greetingTimeout)
    }

    /// After the answer to `HELLO`: sends the traits, the subscriptions and the served kinds, and then the waiting
    /// requests.
    mutating func helloAnswered(_ line: ServerLine, at now: Timestamp) {
        guard line.verb == "OK", let greeting else {
            let reason = line.message ?? "the daemon refused HELLO"
            return comesBack(after: line) ? giveUp(reason) : refuse(reason, line)
        }
        // The server may shorten the interval requested by `HELLO`.
        grantedHeartbeat = line.integer("hb").map { Milliseconds($0) }
        readySince = now
        servers.served()
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

    /// The reason to close the connection, for the owner.
    public internal(set) var closeReason: String?

    /// Whether a refused request is repeated on another connection.
    func comesBack(after refusal: ServerLine) -> Bool {
        configuration.reconnects && !leaves && refusal["retry"] == "later"
    }

    mutating func giveUp(_ reason: String) {
        closeReason = reason
        wantsClose = true
    }
}
