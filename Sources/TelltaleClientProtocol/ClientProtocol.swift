internal import DequeModule
public import TelltaleModel
public import TelltaleWire

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
    private var phase = Phase.idle
    /// Whether the owner must close the connection and then call ``disconnected(reason:at:random:)``.
    public private(set) var wantsClose = false
    /// The greeting of this connection, or of the last one.
    public private(set) var greeting: ServerGreeting?
    /// The interval of this connection's heartbeats, from the answer to `HELLO`.
    private var grantedHeartbeat: Milliseconds?

    private var subscriptions: [ClientSubscription] = []
    /// Subscriptions by the server's number on this connection.
    private var subscriptionNumbers: [Int64: SubscriptionID] = [:]
    private var servedKinds: [String] = []
    private var traits: [Attribute]

    /// Requests that were not sent on this connection.
    private var unsent = Deque<PendingRequest>()
    /// Requests that were sent, in the order of their replies.
    private var unanswered = Deque<PendingRequest>()
    /// Requests that were refused because the server is shutting down; they wait for the next connection.
    private var postponed: [PendingRequest] = []
    private var lastNumber: Int64 = 0
    private var lastEventNumber: Int64 = 0
    /// Lines of the connection itself, which precede all requests.
    private var output: [UInt8] = []
    private var events: [ClientEvent] = []

    private var decoder = ClientProtocol.freshDecoder
    private let parser = JSONParser()
    private var failures = 0
    /// The random wait before a reconnect that the server's `BYE` requested.
    private var reconnectWait: ClosedRange<Milliseconds>?
    private var servers: ServerList
    /// Set if the server of this connection sends the client elsewhere.
    private var redirection: Redirection?
    /// The newest commit of this history that a server has shown to this client; sequence 0 = none yet.
    private var newestCommit: HistoryPosition?
    /// The newest term seen, with its history.
    private var newestTerm: (epoch: String, term: Int64)?
    private var lowerTermSince: Timestamp?  // Since when only leaders of lower terms were met.
    private var lastReceived = Timestamp.distantPast
    private var lastSent = Timestamp.distantPast
    /// The time at which `HELLO` was answered; `nil` before.
    private var readySince: Timestamp?
    private var leaves = false

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
    public private(set) var closeReason: String?

    /// Whether a refused request is repeated on another connection.
    func comesBack(after refusal: ServerLine) -> Bool {
        configuration.reconnects && !leaves && refusal["retry"] == "later"
    }

    mutating func giveUp(_ reason: String) {
        closeReason = reason
        wantsClose = true
    }

    /// Sends a request. Its answer is reported as ``ClientEvent/reply(_:_:)`` with the returned id.
    ///
    /// An event, a `SET` and a `PRESS` without an `eid` are given one, so that they can be repeated safely. `SERVE` and
    /// `TRAIT` are repeated after each reconnect once they were answered with `OK`.
    ///
    /// - Precondition: Not `HELLO`, `SUB` or `UNSUB`: see ``ClientConfiguration``, ``subscribe(_:)`` and
    ///   ``unsubscribe(_:)``.
    @discardableResult
    public mutating func request(_ command: Command) -> RequestID {
        var command = command
        let kind: PendingRequest.Kind
        switch command {
        case .event(var event):
            if event.eid == nil { event.eid = makeEventID() }
            command = .event(event)
            kind = .repeatable
        case .tap(var tap):
            if tap.eid == nil { tap.eid = makeEventID() }
            command = .tap(tap)
            kind = .repeatable
        case .tile(var tile):
            if tile.eid == nil { tile.eid = makeEventID() }
            command = .tile(tile)
            kind = .repeatable
        case .serve(let served): kind = .service(served)
        case .traits(let changed): kind = .situation(changed)
        // Repeating a handover would apply it to the next leader, and a drain to another node.
        case .done, .supply, .fail, .report, .handover, .drain, .node: kind = .once
        case .ping, .help, .get, .list, .kinds, .kind, .gallery, .history, .stats, .dismiss, .seen, .open, .reload:
            kind = .repeatable
        case .bye:
            leaves = true
            kind = .farewell
        case .hello, .subscribe, .unsubscribe, .refused:
            preconditionFailure("HELLO, SUB and UNSUB are the client's own")
        }
        lastNumber += 1
        let id = RequestID(number: lastNumber)
        guard phase != .over else {
            events.append(.lost(id))
            return id
        }
        unsent.append(PendingRequest(number: lastNumber, kind: kind, command))
        return id
    }

    /// Sends an event, and repeats it with the same id after each reconnect until it is answered.
    @discardableResult
    public mutating func post(_ event: EventCommand) -> RequestID {
        request(.event(event))
    }

    /// Withdraws a request without a reply: it is not sent again, and no event about it follows.
    ///
    /// - Returns: Whether the request was sent on any connection, so that it may have taken effect.
    @discardableResult
    public mutating func withdraw(_ id: RequestID) -> Bool {
        if let index = unsent.firstIndex(where: { $0.number == id.number }) { return unsent.remove(at: index).wasSent }
        if let index = postponed.firstIndex(where: { $0.number == id.number }) {
            return postponed.remove(at: index).wasSent
        }
        if let index = unanswered.firstIndex(where: { $0.number == id.number }) { unanswered[index].kind = .withdrawn }
        return true
    }

    /// Subscribes to a pattern across all reconnects.
    public mutating func subscribe(_ command: SubscribeCommand) -> SubscriptionID {
        let id = SubscriptionID(index: subscriptions.count)
        var subscription = ClientSubscription(command: command)
        subscription.cursor = command.from?.description
        subscriptions.append(subscription)
        if phase == .ready { subscribeNow(id) }
        return id
    }

    public mutating func unsubscribe(_ id: SubscriptionID) {
        guard subscriptions[id.index].isWanted else { return }
        subscriptions[id.index].isWanted = false
        subscriptions[id.index].rows = [:]
        // Without a number, `SUB` is not answered yet; `UNSUB` follows its answer.
        if let number = subscriptions[id.index].number { unsubscribeNow(number) }
    }

    /// The newest known row of each key, sorted by key.
    public func rows(of id: SubscriptionID) -> [Row] {
        subscriptions[id.index].rows.values.map(\.row).sorted { $0.key < $1.key }
    }

    public func row(of key: Key, in id: SubscriptionID) -> Row? { subscriptions[id.index].rows[key]?.row }

    /// The cursor to resume from, for a client that stores it across its own restarts.
    public func cursor(of id: SubscriptionID) -> String? { subscriptions[id.index].cursor }

    /// The server's number of a subscription on this connection; `nil` until `SUB` is answered.
    public func serverNumber(of id: SubscriptionID) -> Int64? { subscriptions[id.index].number }

    private mutating func makeEventID() -> String {
        lastEventNumber += 1
        return "\(configuration.eventIDPrefix)-\(lastEventNumber)"
    }

    /// Sends a request ahead of the waiting ones, even if the window is full.
    mutating func sendNow(_ command: Command, _ kind: PendingRequest.Kind, resumingFrom cursor: String? = nil) {
        lastNumber += 1
        let request = PendingRequest(number: lastNumber, kind: kind, command, resumingFrom: cursor)
        output += request.line
        unanswered.append(request)
    }

    mutating func subscribeNow(_ id: SubscriptionID) {
        var command = subscriptions[id.index].command
        command.from = nil
        let cursor = subscriptions[id.index].cursor
        sendNow(.subscribe(command), .subscribe(id, resumes: cursor != nil), resumingFrom: cursor)
    }

    mutating func unsubscribeNow(_ number: Int64) {
        subscriptionNumbers[number] = nil
        sendNow(.unsubscribe(number: Int(number)), .unsubscribe)
    }

    mutating func ping(at now: Timestamp) {
        // Recorded now, although the socket may not have accepted the line: a second ping would only queue after it.
        lastSent = now
        if output.isEmpty { sendNow(.ping, .ownPing) }
    }

    /// After the connection is lost: repeats the unanswered requests, or reports them as lost.
    mutating func settleUnanswered() {
        var again = postponed
        postponed = []
        for request in unanswered {
            switch request.kind {
            case .hello, .ownTraits, .ownService, .ownPing, .subscribe, .unsubscribe, .farewell, .withdrawn: break
            case .repeatable, .service, .situation:
                again.append(request)
                events.append(.restarted(RequestID(number: request.number)))
            case .once: lose(request)
            }
        }
        unanswered = []
        unsent.prepend(contentsOf: again)
    }

    mutating func lose(_ request: PendingRequest) {
        switch request.kind {
        case .repeatable, .once, .service, .situation: events.append(.lost(RequestID(number: request.number)))
        case .hello, .ownTraits, .ownService, .ownPing, .subscribe, .unsubscribe, .farewell, .withdrawn: break
        }
    }

    /// Answers a request that is longer than the server's limit. The server would close the connection for it, and
    /// again after every reconnect.
    mutating func isTooLong(_ request: PendingRequest) -> Bool {
        guard let limit = greeting?.lineLength, request.line.count - 1 > limit else { return false }
        var writer = LineWriter()
        writer.error(
            WireError(
                .tooLarge, "the request is a line of \(request.line.count - 1) bytes, \(limit) is the limit; say less"),
            id: String(request.number))
        let text = Array(writer.bytes.dropLast())
        if let line = try? ServerLine(text.span, parser: JSONParser()) {
            var reply = Reply(line)
            reply.isFromServer = false
            events.append(.reply(RequestID(number: request.number), reply))
        }
        return true
    }

    /// Processes one line after the greeting. Unknown verbs are ignored (Protocols/Line/line-protocol.md §3).
    mutating func handle(_ line: ServerLine, at now: Timestamp) {
        noteCommits(of: line)
        switch line.verb {
        case "OK", "ERR", "PONG": reply(line, at: now)
        // Comments are the answer to a `HELP` and have no meaning elsewhere (Protocols/Line/line-protocol.md §3).
        case "#": if unanswered.first?.isHelp == true { item(line) }
        case "KIND", "WIDGET", "HIST": item(line)
        case "SNAP" where line.integer("sub") == 0: item(line)
        case "SNAP", "UPD", "DEL", "MILE", "ALERT", "LIVE", "RESET", "CHANGED": push(line)
        case "MARK": advance(line)
        case "DO":
            guard let action = ProviderAction(line) else { return violate("a DO without op= or key=") }
            events.append(.action(action))
        case "BYE":
            events.append(.farewell(line))
            reconnectWait = line["wait"].flatMap(Self.wait)
            redirection = line.redirection
        case _: break
        }
    }

    // MARK: Replies

    private mutating func reply(_ line: ServerLine, at now: Timestamp) {
        if line.verb == "ERR", line["id"] == nil, line["fatal"] == "1" {
            // An error of the connection: every request of this client has an id, and this reply has none.
            events.append(.farewell(line))
            return
        }
        guard let request = unanswered.popFirst() else { return violate("a reply to nothing: \(line.verb)") }
        guard line["id"] == String(request.number) else {
            unanswered.prepend(request)
            return violate("a reply out of order: id=\(line["id"] ?? "") where id=\(request.number) was due")
        }
        if line.verb == "ERR", configuration.reconnects, configuration.nodes != .any,
            let redirection = line.redirection
        {
            // Requests that may be repeated go to another server.
            if request.kind == .once {
                events.append(.reply(RequestID(number: request.number), Reply(line)))
            } else {
                unanswered.prepend(request)
            }
            return leave(for: redirection, line.message ?? "the server does not lead")
        }
        switch request.kind {
        case .hello: helloAnswered(line, at: now)
        case .subscribe(let id, let resumes): subscribed(id, resumes, line)
        case .repeatable where line.verb == "ERR" && line.errorCode == .shuttingDown && configuration.reconnects:
            postponed.append(request)
        case .repeatable, .once, .service, .situation:
            if line.verb == "OK" { remember(request.kind) }
            events.append(.reply(RequestID(number: request.number), Reply(line)))
        case .ownService(let kind) where line.verb == "ERR":
            if comesBack(after: line) { return giveUp(line.message ?? "SERVE was refused") }
            servedKinds.removeAll { $0 == kind }
            events.append(.serviceRefused(kind: kind, line))
        case .ownTraits where line.verb == "ERR": events.append(.traitsRefused(line))
        case .ownTraits, .ownService, .ownPing, .unsubscribe, .farewell, .withdrawn: break
        }
    }

    private mutating func remember(_ kind: PendingRequest.Kind) {
        switch kind {
        case .service(let kind):
            if !servedKinds.contains(kind) { servedKinds.append(kind) }
        case .situation(let changed):
            for trait in changed {
                traits.removeAll { $0.name == trait.name }
                traits.append(trait)
            }
        case .hello, .ownTraits, .ownService, .ownPing, .subscribe, .unsubscribe, .repeatable, .once, .farewell,
            .withdrawn:
            break
        }
    }

    private mutating func item(_ line: ServerLine) {
        guard let request = unanswered.first else { return violate("a \(line.verb) that nobody asked for") }
        switch request.kind {
        case .repeatable, .once, .service, .situation: events.append(.item(RequestID(number: request.number), line))
        case .hello, .ownTraits, .ownService, .ownPing, .subscribe, .unsubscribe, .farewell, .withdrawn: break
        }
    }

    private mutating func subscribed(_ id: SubscriptionID, _ resumes: Bool, _ line: ServerLine) {
        guard line.verb == "OK", let number = line.integer("sub") else {
            if resumes, line.errorCode == .badCursor {
                // The cursor may be of an incompatible server, so a new snapshot is requested.
                subscriptions[id.index].cursor = nil
                return subscribeNow(id)
            }
            if comesBack(after: line) { return giveUp(line.message ?? "SUB was refused") }
            subscriptions[id.index].isWanted = false
            events.append(.subscription(id, .refused(line)))
            return
        }
        guard subscriptions[id.index].isWanted else { return unsubscribeNow(number) }
        subscriptionNumbers[number] = id
        subscriptions[id.index].number = number
        subscriptions[id.index].snapshotKeys = resumes ? nil : []
    }

    // MARK: Pushes

    private mutating func push(_ line: ServerLine) {
        // Rows of an ended subscription may still arrive.
        guard let number = line.integer("sub"), let id = subscriptionNumbers[number],
            subscriptions[id.index].isWanted
        else { return }
        switch line.verb {
        case "LIVE": live(id, line)
        case "RESET":
            subscriptions[id.index].snapshotKeys = []
            subscriptions[id.index].cursor = nil
            events.append(.subscription(id, .reset(why: line["why"] ?? "")))
        case "CHANGED":
            guard let rev = line.integer("rev") else { return violate("a CHANGED without rev=") }
            let count = line.integer("count").map { Int(clamping: $0) }
            events.append(.subscription(id, .changed(rev: rev, count: count)))
        case _:
            guard let key = line["key"].flatMap({ Key($0) }), let rev = line.integer("rev") else {
                return violate("a \(line.verb) without key= or rev=")
            }
            push(id, key, rev, line)
        }
        // Does not resume after a line that ends the connection.
        if !wantsClose { advance(line) }
    }

    private mutating func push(_ id: SubscriptionID, _ key: Key, _ rev: Int64, _ line: ServerLine) {
        switch line.verb {
        case "MILE":
            let time = Timestamp(milliseconds: line.integer("at") ?? 0)
            events.append(.subscription(id, .milestone(key, rev: rev, state: line["state"] ?? "", at: time)))
        case "ALERT": events.append(.subscription(id, .alert(key, rev: rev, line.tail ?? JSONObject())))
        case "DEL":
            guard isInOrder(id, key, rev, nil) else { return }
            subscriptions[id.index].rows[key] = nil
            subscriptions[id.index].snapshotKeys?.remove(key)
            events.append(.subscription(id, .deletion(key, rev: rev, why: line["why"] ?? "")))
        case _:
            var row = Row(key: key, rev: rev, body: line.tail ?? JSONObject())
            row.skip = line.integer("skip").map { Int(clamping: $0) } ?? 0
            row.why = line["why"]
            guard isInOrder(id, key, rev, row.body) else { return }
            if configuration.keepsRows {
                subscriptions[id.index].rows[key] = .init(row: row, epoch: greeting?.epoch ?? "")
                subscriptions[id.index].snapshotKeys?.insert(key)
            }
            events.append(.subscription(id, line.verb == "SNAP" ? .snapshot(row) : .update(row)))
        }
    }

    /// Checks that within an epoch a key's `rev` never decreases, which ends the connection, and that the full view has one
    /// body for each `rev`.
    private mutating func isInOrder(_ id: SubscriptionID, _ key: Key, _ rev: Int64, _ body: JSONObject?) -> Bool {
        guard let known = subscriptions[id.index].rows[key], known.epoch == greeting?.epoch else { return true }
        guard rev >= known.row.rev else {
            violate("\(key) went back from rev \(known.row.rev) to \(rev)")
            return false
        }
        // A control's row shows the requested value on the connection that tapped, and this is another connection.
        let isOtherViewer = known.isFromEarlierConnection && body?["control"] != nil
        // Whether it is offered follows from its activity, which has a rev of its own.
        func own(_ body: JSONObject?) -> JSONObject? {
            var body = body
            body?["offered"] = nil
            return body
        }
        if rev == known.row.rev, let body, isFull(id), own(body) != own(known.row.body), !isOtherViewer {
            events.append(.violation("\(key) has two bodies for rev \(rev)"))
        }
        return true
    }

    private func isFull(_ id: SubscriptionID) -> Bool {
        switch subscriptions[id.index].command.view {
        case .full: true
        case .surface: false
        case nil: configuration.surface == nil
        }
    }

    private mutating func live(_ id: SubscriptionID, _ line: ServerLine) {
        if let snapshotKeys = subscriptions[id.index].snapshotKeys, configuration.keepsRows {
            let gone = subscriptions[id.index].rows.keys.filter { !snapshotKeys.contains($0) }.sorted()
            for key in gone {
                guard let known = subscriptions[id.index].rows.removeValue(forKey: key) else { continue }
                events.append(.subscription(id, .deletion(key, rev: known.row.rev, why: "reset")))
            }
        }
        subscriptions[id.index].snapshotKeys = nil
        events.append(.subscription(id, .live))
    }

    /// Notes the newest commit that a line names, for `HELLO after=` of later connections. A cursor alone would not do: it
    /// may be older than the rows before it.
    private mutating func noteCommits(of line: ServerLine) {
        let sequence = max(line.integer("rev") ?? 0, line.cursor?.sequence ?? 0)
        if let newest = newestCommit?.sequence, newest < sequence { newestCommit?.sequence = sequence }
    }

    /// Stores the cursor of a line, unless the snapshot is incomplete.
    private mutating func advance(_ line: ServerLine) {
        guard let cursor = line["cur"], let number = line.integer("sub"), let id = subscriptionNumbers[number],
            subscriptions[id.index].snapshotKeys == nil
        else { return }
        subscriptions[id.index].cursor = cursor
    }

    /// `LOW-HIGH`, in milliseconds, at most an hour.
    private static func wait(_ text: String) -> ClosedRange<Milliseconds>? {
        let bounds = text.split(separator: "-", omittingEmptySubsequences: false).map { Int64($0) }
        guard bounds.count == 2, let low = bounds[0], let high = bounds[1], low >= 0, low <= high else { return nil }
        let limit: Int64 = 3_600_000
        return Milliseconds(min(low, limit))...Milliseconds(min(high, limit))
    }

    // MARK: The next server

    /// How long an attempt to connect may take.
    var dialSpan: Milliseconds { servers.dialSpan(limit: configuration.greetingTimeout) }

    /// Leaves a server that does not serve this client.
    ///
    /// - Returns: Whether to stay.
    mutating func isServed(by greeting: ServerGreeting, at now: Timestamp) -> Bool {
        let name = greeting.node ?? "this server"
        guard configuration.nodes != .any else { return true }
        if let next = greeting.next, configuration.nodes == .serving {
            leave(for: Redirection(address: next), "\(name) sends its clients to other nodes, and names \(next)")
            return false
        }
        guard greeting.isLeading else {
            if greeting.serves, configuration.nodes == .serving { return true }
            let leader = greeting.leader.map { ", and names \($0)" } ?? ", and names no leader"
            leave(for: Redirection(address: greeting.leader), "\(name) does not lead\(leader)")
            return false
        }
        guard let term = greeting.term else {
            (newestTerm, lowerTermSince) = (nil, nil)
            return true
        }
        if let newest = newestTerm, newest.epoch == greeting.epoch, term < newest.term,
            !isTermStill(lowerSince: now)
        {
            // The server was cut off, and has not noticed yet that another one leads.
            leave(
                for: Redirection(address: nil),
                "\(name) leads no more: it has term \(term), and there is a leader of term \(newest.term)")
            return false
        }
        (newestTerm, lowerTermSince) = ((greeting.epoch, term), nil)
        return true
    }

    /// A deposed leader is gone long before this time. If the answer is still a lower term then, the log was reset.
    private static let lowerTermPatience = Milliseconds.seconds(60)

    /// Handles a leader with a lower term.
    ///
    /// - Returns: Whether only lower terms were seen for so long that this one is accepted.
    private mutating func isTermStill(lowerSince now: Timestamp) -> Bool {
        guard let since = lowerTermSince, since <= now else {
            lowerTermSince = now
            return false
        }
        return now - since >= Self.lowerTermPatience
    }

    mutating func leave(for redirection: Redirection, _ reason: String) {
        self.redirection = redirection
        giveUp(reason)
    }

    /// Chooses the next server.
    ///
    /// - Returns: The delay before the attempt; `nil` if there is none.
    mutating func nextWait(random: UInt64) -> Milliseconds? {
        let wasServed = readySince != nil
        let range = reconnectWait.take()
        let step =
            if let redirection = redirection.take() {
                servers.redirected(to: redirection.address, isDelayed: range != nil)
            } else {
                servers.failed()
            }
        guard configuration.reconnects else {
            // Without reconnects it tries each server once, and stays with the one that has served.
            return wasServed || (step != .atOnce && servers.isExhausted) ? nil : .zero
        }
        defer { failures += step == .atOnce ? 0 : 1 }
        if let range { return Backoff.pick(from: range.lowerBound, to: range.upperBound, random: random) }
        switch step {
        case .atOnce: return .zero
        case .behindPause:
            let longest = configuration.backoff.longest
            return Backoff.pick(
                from: min(ServerList.pause.lowerBound, longest), to: min(ServerList.pause.upperBound, longest),
                random: random)
        case .behindBackoff: return configuration.backoff.wait(afterFailures: failures, random: random)
        }
    }
}
