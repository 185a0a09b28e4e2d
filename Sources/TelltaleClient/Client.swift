@_exported public import TelltaleClientProtocol
public import TelltaleEventLoop
public import TelltaleModel
public import TelltaleWire

/// A client of a telltale daemon on an event loop: a ``ClientProtocol`` and its socket.
///
/// Every call and callback is on the loop's thread. The requests of one turn are sent together at its end. Releasing
/// the last reference closes the connection without further events.
public final class Client {
    public typealias OnEvent = (Client, ClientEvent) -> Void

    public let loop: EventLoop
    private var core: ClientProtocol
    private var random: any RandomNumberGenerator
    private let onEvent: OnEvent

    /// By their text, by which the protocol chooses among them.
    private let endpoints: [String: Endpoint]
    private let firstEndpoint: Endpoint
    private let tls: ClientTLS?
    private var tlsContext: TLSContext?
    private var attempt: ConnectAttempt?
    private var connection: Connection?
    private var timer: TimerHandle?
    private var turnEnd: PrepareHandle?
    private var isPumping = false

    /// The most bytes that are buffered before the socket takes them.
    private static let outputByteCount = 262_144

    /// - Parameters:
    ///   - endpoints: The servers. The client begins at a random one, and ``ServerList`` finds one that serves.
    ///   - random: The source of random numbers for the first server and for ``Backoff``.
    ///   - onEvent: Called with the client, so that it need not capture it. It may send requests, close, or stop the
    ///     loop.
    public init(
        to endpoints: EndpointList, configuration: ClientConfiguration, on loop: EventLoop,
        random: any RandomNumberGenerator = SystemRandomNumberGenerator(), onEvent: @escaping OnEvent
    ) throws(UVError) {
        firstEndpoint = endpoints.first
        self.endpoints = Dictionary(endpoints.endpoints.map { ($0.description, $0) }) { first, _ in first }
        var (configuration, random) = (configuration, random)
        configuration.servers = ServerList.beginning(
            with: endpoints.endpoints.map(\.description), random: random.next())
        self.loop = loop
        core = ClientProtocol(configuration)
        tls = configuration.tls
        self.random = random
        self.onEvent = onEvent
        timer = try TimerHandle(on: loop) { [weak self] _ in
            guard let self else { return }
            core.deadlineReached(at: now)
            pump()
        }
        turnEnd = try PrepareHandle(on: loop) { [weak self] in self?.pump() }
    }

    /// The same for one server.
    public convenience init(
        to endpoint: Endpoint, configuration: ClientConfiguration, on loop: EventLoop,
        random: any RandomNumberGenerator = SystemRandomNumberGenerator(), onEvent: @escaping OnEvent
    ) throws(UVError) {
        try self.init(
            to: EndpointList(endpoint), configuration: configuration, on: loop, random: random, onEvent: onEvent)
    }

    deinit {
        connection?.close()
    }

    /// Connects, and reconnects whenever the connection is lost.
    public func start() {
        core.start()
        pump()
    }

    /// Closes the connection and reports unanswered requests as lost. To wait for the replies, request `BYE` instead.
    public func close() {
        core.leave()
        attempt?.cancel()
        if let connection {
            connection.close()
        } else {
            lost("closed")
        }
    }

    // MARK: Asking

    /// The server of this connection, or the next one to connect to; the first one of the list if a server named a
    /// leader by something other than an address.
    public var endpoint: Endpoint { currentEndpoint ?? firstEndpoint }

    private var currentEndpoint: Endpoint? { core.address.flatMap { endpoints[$0] ?? Endpoint($0) } }

    /// See ``ClientProtocol/request(_:)``.
    @discardableResult
    public func request(_ command: Command) -> RequestID { core.request(command) }

    /// See ``ClientProtocol/post(_:)``.
    @discardableResult
    public func post(_ event: EventCommand) -> RequestID { core.post(event) }

    public func subscribe(_ command: SubscribeCommand) -> SubscriptionID { core.subscribe(command) }

    public func unsubscribe(_ id: SubscriptionID) { core.unsubscribe(id) }

    public func rows(of id: SubscriptionID) -> [Row] { core.rows(of: id) }

    public func row(of key: Key, in id: SubscriptionID) -> Row? { core.row(of: key, in: id) }

    public func cursor(of id: SubscriptionID) -> String? { core.cursor(of: id) }

    /// The number of requests without a reply. A caller with many requests sends more when this is low.
    public var pendingRequestCount: Int { core.pendingRequestCount }

    public var isReady: Bool { core.isReady }

    /// Whether each server was tried in vain since one last served. Until then a lost connection is no reason to give
    /// up.
    public var hasAskedAll: Bool { core.hasAskedAll }

    /// Whether the client has ended, so that no event follows.
    public var isOver: Bool { core.isOver }

    public var greeting: ServerGreeting? { core.greeting }

    // MARK: Internals

    private var now: Timestamp { Timestamp(milliseconds: loop.monotonicMilliseconds) }

    /// Performs the outputs of the protocol until there are none.
    private func pump() {
        // The owner's callback may call `close` or `start`, which call this again.
        guard !isPumping else { return }
        isPumping = true
        defer { isPumping = false }
        repeat {
            for event in core.takeEvents() { onEvent(self, event) }
            if core.wantsConnection, attempt == nil, connection == nil { connect() }
            flush()
            if core.wantsClose { hangUp() }
        } while core.hasEvents
        if let deadline = core.deadline {
            timer?.schedule(atMonotonicMilliseconds: deadline.milliseconds)
        } else {
            timer?.cancel()
        }
    }

    private func flush() {
        guard let connection else { return }
        while connection.isWritable, !core.wantsClose {
            let bytes = core.takeOutput(limit: Self.outputByteCount, at: now)
            guard !bytes.isEmpty else { return }
            _ = connection.write(bytes)
        }
    }

    private func hangUp() {
        if let connection { return connection.close() }
        guard let attempt else { return }
        attempt.cancel()
        self.attempt = nil
        lost(core.closeReason ?? "given up")
    }

    private func connect() {
        core.connecting(at: now)
        guard let endpoint = currentEndpoint else {
            // This leader was named by a server.
            return lost("\(core.address ?? "") is no address of a server")
        }
        do throws(TLSContext.Failure) {
            // Made once, so that a reconnect does not read the authorities again.
            if let tls, tlsContext == nil { tlsContext = try TLSContext(authorities: tls.authorities) }
        } catch {
            return lost("cannot connect to \(endpoint) with TLS: \(error)")
        }
        do throws(UVError) {
            attempt = try ConnectAttempt(to: endpoint, on: loop, tls: tlsContext) { [weak self] result in
                guard let self else { return }
                attempt = nil
                switch result {
                case .success(let connection):
                    self.connection = connection
                    core.connected(at: now)
                    connection.start(handlers)
                case .failure(let error): lost(error.description)
                }
                pump()
            }
        } catch {
            lost(error.description)
        }
    }

    private var handlers: ConnectionHandlers {
        ConnectionHandlers(
            onData: { [weak self] _, bytes in
                guard let self else { return }
                core.received(bytes, at: now)
                pump()
            },
            onEnd: { connection in connection.close() },
            onWritable: { [weak self] _ in self?.pump() },
            onClosed: { [weak self] connection, reason in
                guard let self, self.connection === connection else { return }
                self.connection = nil
                switch reason {
                case .closed: lost(core.closeReason ?? "the daemon closed the connection")
                case .failed(let error): lost(error.description)
                }
                pump()
            })
    }

    private func lost(_ reason: String) {
        core.disconnected(reason: reason, at: now, random: random.next())
        pump()
    }
}
