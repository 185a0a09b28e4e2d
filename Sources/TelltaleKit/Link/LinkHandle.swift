internal import Synchronization
internal import TelltaleClientProtocol
internal import TelltaleModel

/// Owns the task of a ``Link``, which ends with the last reference.
final class LinkHandle: Sendable {
    let link: Link
    private let task: Task<Void, Never>

    init(_ link: Link) {
        self.link = link
        task = Task { await link.run() }
    }

    deinit {
        task.cancel()
    }

    /// Ends the link without waiting.
    func cancel() { task.cancel() }

    /// Ends the link, and returns when its tasks have ended.
    func close() async {
        task.cancel()
        await task.value
    }
}

/// The transport to an address; `nil` for a client that knows one server and no address.
typealias TransportSource = @Sendable (_ address: String?) -> any Transport

/// The parts that all links of a client share.
final class LinkSession: Sendable {
    let configuration: ClientConfiguration
    let timeout: Duration?
    private let token: TokenSource?
    /// Makes the transport to an address. A follower's has a small receive buffer.
    private let transport: @Sendable (_ isFollower: Bool, _ address: String?) -> any Transport
    private let lastEvent = Atomic(0)

    init(
        _ configuration: ClientConfiguration, token: TokenSource?, timeout: Duration?,
        transport: @escaping @Sendable (_ isFollower: Bool, _ address: String?) -> any Transport
    ) {
        self.configuration = configuration
        self.token = token
        self.timeout = timeout
        self.transport = transport
    }

    func open(isFollower: Bool = false) -> LinkHandle {
        let transport = transport
        return LinkHandle(Link(configuration, transport: { transport(isFollower, $0) }, token: token))
    }

    /// An event id that no other event of this run has.
    func makeEventID() -> String { "\(configuration.eventIDPrefix)-\(lastEvent.add(1, ordering: .relaxed).newValue)" }
}

/// The transport for a leader that a server named by something other than an address.
struct NoTransport: Transport {
    func connect() async throws -> any TransportConnection {
        throw TransportError.failed("a server named a leader whose address is none")
    }
}

/// Where the token of each connection comes from.
struct TokenSource: Sendable {
    let provide: @Sendable () async throws -> String

    /// - Throws: ``TelltaleError/invalidRequest(_:)`` for a token that cannot be sent.
    func read() async throws -> String {
        let token: String
        do {
            token = try await provide()
        } catch {
            // The text is the app's and may contain a secret.
            throw TransportError.failed("the token could not be read (\(type(of: error)))")
        }
        return try Words.token(token)
    }
}

extension Duration {
    /// Whole milliseconds, rounded down; saturates.
    var milliseconds: Milliseconds {
        let (seconds, attoseconds) = components
        return .seconds(seconds) + Milliseconds(attoseconds / 1_000_000_000_000_000)
    }
}

extension PendingChange {
    /// `nil` for what ends the subscription.
    init?(_ event: SubscriptionEvent) {
        switch event {
        case .snapshot(let row): self = .update(row, isSnapshot: true)
        case .update(let row): self = .update(row, isSnapshot: false)
        case .deletion(let key, let rev, let why): self = .removal(RowRemoval(key: key, rev: rev, why: why, skipped: 0))
        case .milestone(let key, let rev, let state, let at):
            self = .milestone(RowMilestone(key: key, rev: rev, state: state, at: at))
        case .alert(let key, let rev, let body): self = .alert(RowAlert(key: key, rev: rev, body: body))
        case .changed(let rev, let count): self = .changed(rev: rev, count: count)
        case .live: self = .live
        case .reset(let why): self = .reset(why: why)
        case .refused: return nil
        }
    }
}
