public import TelltaleEventLoop
public import TelltaleModel
public import TelltaleWire

/// A client of a telltale daemon, on a loop: ``ClientProtocol`` and the socket it speaks through.
///
/// Everything happens on the loop's thread. Requests of one turn leave together at its end. Dropping the last reference
/// closes the connection, and nothing is told any more.
public final class Client {
    public typealias OnEvent = (Client, ClientEvent) -> Void

    public let endpoint: Endpoint
    public let loop: EventLoop
    private var core: ClientProtocol
    private var random: any RandomNumberGenerator
    private let onEvent: OnEvent

    private var attempt: ConnectAttempt?
    private var connection: Connection?
    private var timer: TimerHandle?
    private var turnEnd: PrepareHandle?
    private var isPumping = false

    /// At most so many bytes are made ready ahead of the socket.
    private static let outputByteCount = 262_144

    /// - Parameters:
    ///   - random: Where the chance of ``Backoff`` comes from.
    ///   - onEvent: Is given the client, so that it need not capture it. May ask for more, close, or stop the loop.
    public init(
        to endpoint: Endpoint, configuration: ClientConfiguration, on loop: EventLoop,
        random: any RandomNumberGenerator = SystemRandomNumberGenerator(), onEvent: @escaping OnEvent
    ) throws(UVError) {
        self.endpoint = endpoint
        self.loop = loop
        core = ClientProtocol(configuration)
        self.random = random
        self.onEvent = onEvent
        timer = try TimerHandle(on: loop) { [weak self] _ in
            guard let self else { return }
            core.deadlineReached(at: now)
            pump()
        }
        turnEnd = try PrepareHandle(on: loop) { [weak self] in self?.pump() }
    }

    deinit {
        connection?.close()
    }

    /// Connects, and from then on whenever the connection is lost.
    public func start() {
        core.start()
        pump()
    }

    /// Ends: what has no reply is told as lost. For a polite end that waits for the replies, request `BYE` instead.
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

    /// Requests that have no reply yet. Whoever makes many looks here, and makes more when there are few.
    public var pendingRequestCount: Int { core.pendingRequestCount }

    public var isReady: Bool { core.isReady }

    /// Whether nothing will ever happen again.
    public var isOver: Bool { core.isOver }

    public var greeting: ServerGreeting? { core.greeting }

    // MARK: Inner workings

    private var now: Timestamp { Timestamp(milliseconds: loop.monotonicMilliseconds) }

    /// Does what there is to be done, until there is nothing.
    private func pump() {
        // An event's owner may close or start, which come back here.
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
        do throws(UVError) {
            attempt = try ConnectAttempt(to: endpoint, on: loop) { [weak self] result in
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
