public import NIOCore
public import TelltaleClient
public import TelltaleWire

/// A client of a telltale daemon on SwiftNIO: ``TelltaleClient/ClientProtocol`` and the channel that it speaks through.
///
/// It reconnects after a lost connection. Requests that may be repeated are repeated with the same `eid`, so that each
/// acts once; subscriptions resume from their cursors. All methods may be called from any task or thread.
///
///     let client = AsyncClient(to: connector, configuration: .init(name: "kiosk/1.0", eventIDPrefix: prefix), on: loop)
///     client.start()
///     for try await followed in client.follow(SubscribeCommand(pattern: .kind("coffee-order"))) { … }
///     let reply = try await client.post(EventCommand(key: key, type: "ready"))
///
/// One connection carries all of its requests and subscriptions. If one consumer of ``follow(_:from:)`` is slow,
/// reading from the connection stops, replies included. Give a consumer that may be slow its own client.
public final class AsyncClient: Sendable {
    private let core: AsyncClientCore

    /// - Parameters:
    ///   - failsFast: Whether requests fail once an attempt at each address has failed and no connection was ever
    ///     served; `false` = they wait.
    ///   - eventLoop: The loop on which this client runs.
    ///   - onGreeting: Called on `eventLoop` with the greeting of each connection and the answer to its `HELLO`, `nil`
    ///     if that was refused.
    public init(
        to connector: DaemonConnector, configuration: ClientConfiguration, failsFast: Bool = false,
        on eventLoop: any EventLoop,
        onGreeting: @escaping @Sendable (ServerGreeting, ServerLine?) -> Void = { _, _ in }
    ) {
        var configuration = configuration
        configuration.servers = connector.addresses.map(\.description)
        core = AsyncClientCore(connector, ClientProtocol(configuration), failsFast: failsFast, eventLoop, onGreeting)
    }

    /// Connects, and reconnects whenever the connection is lost.
    public func start() {
        core.eventLoop.execute { [core] in core.start() }
    }

    /// Closes the connection for good. Unanswered requests fail with ``RequestFailure/closed``.
    public func close() {
        core.eventLoop.execute { [core] in core.close() }
    }

    /// The daemon's latest greeting; `nil` before the first.
    public func greeting() async -> ServerGreeting? {
        let core = core
        return try? await core.eventLoop.submit { core.proto.greeting }.get()
    }

    /// Waits for the daemon's answer to `HELLO`.
    ///
    /// - Throws: ``RequestFailure``, as for a request.
    public func ready(timeout: TimeAmount? = nil) async throws(RequestFailure) -> ServerGreeting {
        _ = try await request(.ping, timeout: timeout)
        guard let greeting = await greeting() else { throw .closed }
        return greeting
    }

    /// Sends a request, and waits for the whole answer.
    ///
    /// - Parameter timeout: The time limit; `nil` = wait through all reconnects.
    /// - Throws: ``RequestFailure``.
    public func request(_ command: Command, timeout: TimeAmount? = nil) async throws(RequestFailure) -> Answer {
        let core = core
        let result: Result<Answer, RequestFailure> = await withCheckedContinuation { continuation in
            core.eventLoop.execute {
                core.ask(command, timeout: timeout) { continuation.resume(returning: $0) }
            }
        }
        return try result.get()
    }

    /// Sends several requests together and in this order, and waits for all answers.
    public func request(
        all commands: [Command], timeout: TimeAmount? = nil
    ) async -> [Result<Answer, RequestFailure>] {
        guard !commands.isEmpty else { return [] }
        let core = core
        return await withCheckedContinuation { continuation in
            core.eventLoop.execute {
                var results: [Result<Answer, RequestFailure>?] = Array(repeating: nil, count: commands.count)
                var missing = commands.count
                for (index, command) in commands.enumerated() {
                    core.ask(command, timeout: timeout) { result in
                        results[index] = result
                        missing -= 1
                        if missing == 0 { continuation.resume(returning: results.compactMap { $0 }) }
                    }
                }
            }
        }
    }

    /// Posts an event. An event without an `eid` gets one, so that it takes effect once.
    public func post(_ event: EventCommand, timeout: TimeAmount? = nil) async throws(RequestFailure) -> Reply {
        try await request(.event(event), timeout: timeout).reply
    }

    /// Sets a toggle or presses a button. The reply comes when the operation is on disk, not when it is done.
    public func tap(_ command: TapCommand, timeout: TimeAmount? = nil) async throws(RequestFailure) -> Reply {
        try await request(.tap(command), timeout: timeout).reply
    }

    /// Follows a pattern across all reconnects.
    ///
    /// - Parameter cursor: The cursor to resume from: a ``Followed/cursor`` of an earlier subscription with the same
    ///   selection.
    public func follow(_ command: SubscribeCommand, from cursor: Cursor? = nil) -> FollowedSequence {
        var command = command
        if let cursor { command.from = cursor }
        return core.follow(command)
    }
}

/// The daemon's whole answer to one request.
public struct Answer: Sendable {
    /// The lines before the reply: of `LIST`, `KINDS`, `GALLERY`, `HISTORY`, `HELP`.
    public var items: [ServerLine]
    public var reply: Reply

    /// The refusal, if the reply is an `ERR`.
    public var refusal: ServerLine? { reply.isOK ? nil : reply.line }
}

/// Why there is no answer.
public enum RequestFailure: Error, Sendable, CustomStringConvertible {
    /// The request was never sent.
    case unreachable(String)
    /// It was sent, but not answered in time: it may have taken effect, or may still do so. `eid` is the request's
    /// event id, if it has one.
    case outcomeUnknown(eid: String?)
    /// The daemon refuses this client: `HELLO` failed, or the protocol's version differs.
    case refused(String, ServerLine?)
    /// This client was closed.
    case closed

    public var description: String {
        switch self {
        case .unreachable(let reason): "the daemon cannot be reached: \(reason)"
        case .outcomeUnknown: "the daemon did not answer in time; the request may have taken effect"
        case .refused(let reason, _): "the daemon refuses this client: \(reason)"
        case .closed: "the client is closed"
        }
    }
}
