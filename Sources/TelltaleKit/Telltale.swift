internal import Synchronization
internal import TelltaleClientProtocol
public import TelltaleModel
internal import TelltaleWire

/// A client of a Telltale server, or of several of which one serves.
///
///     let telltale = try Telltale("tls://telltale.example.com:7879", surface: .carplay) { try await Keychain.token() }
///     for try await change in telltale.follow("coffee-order/*", view: .carplay) { … }
///
/// It connects at the first request, and again whenever the connection is lost. Each follower has its own connection.
/// Everything may be called from any task. The connection for requests ends with the last reference, or by ``close()``.
public final class Telltale: TelltaleRequests, @unchecked Sendable {
    private let state = Mutex(State())

    private struct State {
        var handle: LinkHandle?
        var isClosed = false
    }

    /// The identity of a client, and its timeouts.
    public struct Options: Sendable {
        /// `HELLO client=`: the program and its version, as `head-unit/2.1`.
        public var client = "telltale-kit/\(Release.version)"
        public var surface: Surface?
        public var account: String?
        public var device: String?
        /// Whether to show widgets beside activities and controls to a follower of everything (`*`). A follower of
        /// their kind gets them in any case.
        public var showsWidgets = false
        /// The traits of this device, such as `["locked": "yes"]`, which are sent on each connection.
        public var traits: [String: String] = [:]
        /// The silence after which the client sends a heartbeat; after twice that time the server closes the
        /// connection. `nil` = none. 100 ms to 5 minutes.
        public var heartbeat: Duration?
        /// The time limit of a request, reconnects included; `nil` waits for ever.
        public var timeout: Duration? = .seconds(10)
        /// The shortest and the longest delay before an attempt to connect.
        public var backoff: ClosedRange<Duration> = .milliseconds(100) ... .seconds(10)
        /// Chooses the first of several servers.
        var random: @Sendable () -> UInt64 = { .random(in: .min ... .max) }

        public init() {}
    }

    /// - Parameters:
    ///   - address: `HOST:PORT`, `tls://HOST:PORT` or `unix:PATH`; or several with commas between, up to 16, of which
    ///     any may answer. The client begins at a random one. A node of a cluster that does not serve it names the
    ///     leader, and the client connects there.
    ///   - surface: What this device shows things on.
    ///   - account: Whose device it is; without it every activity is visible.
    ///   - token: Called for each connection, but sent only to a server that requires one.
    /// - Throws: ``TelltaleError/invalidRequest(_:)``.
    public convenience init(
        _ address: String, surface: Surface? = nil, account: String? = nil,
        token: (@Sendable () async throws -> String)? = nil
    ) throws(TelltaleError) {
        var options = Options()
        options.surface = surface
        options.account = account
        try self.init(address, options: options, token: token)
    }

    /// - Throws: ``TelltaleError/invalidRequest(_:)``.
    public convenience init(
        _ address: String, options: Options, token: (@Sendable () async throws -> String)? = nil
    ) throws(TelltaleError) {
        try self.init(options: options, servers: try ServerAddress.list(address), token: token) { isFollower, address in
            #if canImport(Network)
                NetworkTransport(to: address)
            #else
                // A small buffer, because the server can no longer replace the rows in it by newer ones.
                SocketTransport(to: address, receiveBuffer: isFollower ? 16_384 : nil)
            #endif
        }
    }

    /// - Parameters:
    ///   - addresses: As for ``init(_:options:token:)``.
    ///   - transport: Makes the transport to one of them, or to the leader that one of them named.
    /// - Throws: ``TelltaleError/invalidRequest(_:)``.
    public convenience init(
        _ addresses: String, options: Options = Options(), token: (@Sendable () async throws -> String)? = nil,
        over transport: @escaping @Sendable (ServerAddress) -> any Transport
    ) throws(TelltaleError) {
        try self.init(options: options, servers: try ServerAddress.list(addresses), token: token) { _, address in
            transport(address)
        }
    }

    /// - Parameter transport: Opens all connections of this client. It knows one server, so the client does not follow
    ///   a redirect to a leader.
    /// - Throws: ``TelltaleError/invalidRequest(_:)``.
    public init(
        over transport: any Transport, options: Options = Options(), token: (@Sendable () async throws -> String)? = nil
    ) throws(TelltaleError) {
        super.init(
            LinkSession(
                try options.configuration(), token: token.map(TokenSource.init), timeout: options.timeout
            ) { _, _ in transport })
    }

    private init(
        options: Options, servers: [ServerAddress], token: (@Sendable () async throws -> String)?,
        transport: @escaping @Sendable (_ isFollower: Bool, _ address: ServerAddress) -> any Transport
    ) throws(TelltaleError) {
        var configuration = try options.configuration()
        // Chosen once, so that requests and followers of one app begin at the same node.
        configuration.servers = ServerList.beginning(with: servers.map(\.description), random: options.random())
        super.init(
            LinkSession(configuration, token: token.map(TokenSource.init), timeout: options.timeout) {
                isFollower, address in
                guard let address = address.flatMap({ ServerAddress($0) }) else { return NoTransport() }
                return transport(isFollower, address)
            })
    }

    /// Follows a pattern, until its loop ends. See ``Changes``.
    ///
    /// - Parameters:
    ///   - pattern: A key, `kind/*`, or `*`.
    ///   - view: What to show, which decides the type of the rows.
    ///   - account: The account whose view is followed; `nil` = that of the client.
    ///   - placement: Where controls are drawn: `lockScreen`, `controlCenterSmall`, …
    ///   - rate: The most rows a second for each key; `nil` = no limit.
    ///   - widgets: How widgets are drawn.
    ///   - cursor: The ``Changes/cursor`` of an earlier follower, also of another process: the changes since then come.
    public func follow<Activity>(
        _ pattern: String, view: Projection<Activity>, account: String? = nil, placement: String? = nil,
        rate: Int? = nil, widgets: WidgetChoice = WidgetChoice(), cursor: String? = nil
    ) -> Changes<Activity> {
        let command: Result<SubscribeCommand, TelltaleError> = Result { () throws(TelltaleError) in
            var command = SubscribeCommand(pattern: try Words.pattern(pattern))
            command.view = view.name
            command.account = try Words.optional("the account", account)
            command.placement = try Words.optional("the placement", placement)
            if let rate { command.rate = Int(try Words.number("the rate", Int64(rate), 1...1_000_000)) }
            command.widgets = try widgets.style()
            if let cursor { command.from = try Words.cursor(cursor) }
            return command
        }
        return Changes(session, command, cursor: cursor)
    }

    /// Follows a pattern with the full state.
    public func follow(_ pattern: String = "*", cursor: String? = nil) -> Changes<FullRow> {
        follow(pattern, view: .full, cursor: cursor)
    }

    /// Follows a pattern without its rows: ``Change/changed(rev:count:)`` comes once for all changes, and again only
    /// for changes after a read by `list` or `get` of the same ``Changes``.
    ///
    /// - Parameters:
    ///   - pattern: A key, `kind/*`, or `*`.
    ///   - view: With a surface, changes of the controls in a view count too.
    ///   - cursor: As for ``follow(_:view:account:placement:rate:widgets:cursor:)``.
    public func notices<Activity>(
        of pattern: String, view: Projection<Activity>, cursor: String? = nil
    ) -> Changes<Activity> {
        let command: Result<SubscribeCommand, TelltaleError> = Result { () throws(TelltaleError) in
            var command = SubscribeCommand(pattern: try Words.pattern(pattern))
            command.view = view.name
            command.delivery = .notice
            if let cursor { command.from = try Words.cursor(cursor) }
            return command
        }
        return Changes(session, command, cursor: cursor)
    }

    /// Closes the connection for requests. Unanswered and later requests fail with ``TelltaleError/closed``. Followers
    /// end with their own loops.
    public func close() async {
        let handle = state.withLock { state in
            state.isClosed = true
            defer { state.handle = nil }
            return state.handle
        }
        await handle?.close()
    }

    override func openLink() throws(TelltaleError) -> LinkHandle {
        let handle: LinkHandle? = state.withLock { state in
            if state.isClosed { return nil }
            // After a refusal the next request connects again, because the token may have been replaced.
            if let handle = state.handle, !handle.link.hasEnded { return handle }
            let handle = session.open()
            state.handle = handle
            return handle
        }
        guard let handle else { throw .closed }
        return handle
    }
}

extension Telltale.Options {
    fileprivate func configuration() throws(TelltaleError) -> ClientConfiguration {
        // Another run of the program must not use the same event ids.
        let run = String(UInt64.random(in: .min ... .max), radix: 36)
        var configuration = ClientConfiguration(name: try Words.value("the client", client), eventIDPrefix: "k\(run)")
        configuration.surface = surface
        configuration.account = try Words.optional("the account", account)
        if showsWidgets { configuration.capabilities = ["widgets"] }
        configuration.device = try Words.optional("the device", device)
        for (name, value) in traits.sorted(by: { $0.key < $1.key }) {
            configuration.traits.append(try Words.trait(name, value))
        }
        if let heartbeat {
            configuration.heartbeat = Milliseconds(
                try Words.number("the heartbeat", heartbeat.milliseconds.count, 100...300_000))
        }
        configuration.backoff.shortest = max(Milliseconds(1), backoff.lowerBound.milliseconds)
        configuration.backoff.longest = max(configuration.backoff.shortest, backoff.upperBound.milliseconds)
        return configuration
    }
}
