internal import Logging
public import NIOCore
public import TelltaleClient
public import TelltaleModel
public import TelltaleWire

/// A client of a telltale daemon on SwiftNIO: ``TelltaleClient/ClientProtocol`` and the channel that it speaks through.
///
/// A lost connection is made again. Requests that may be repeated are, with one `eid` all the time, so that each acts once;
/// subscriptions resume from their cursors. All methods may be called from any task or thread.
///
///     let client = AsyncClient(to: connector, configuration: .init(name: "kiosk/1.0", eventIDPrefix: prefix), on: loop)
///     client.start()
///     for try await followed in client.follow(SubscribeCommand(pattern: .kind("coffee-order"))) { … }
///     let reply = try await client.post(EventCommand(key: key, type: "ready"))
///
/// One connection carries all of its requests and subscriptions. Where one consumer of ``follow(_:from:)`` falls behind,
/// reading of the connection stops, replies included; a consumer that may be slow gets a client of its own.
public final class AsyncClient: Sendable {
    private let core: AsyncClientCore

    /// - Parameters:
    ///   - failsFast: Whether requests fail as soon as an attempt at each address does while no connection ever served;
    ///     `false` = they wait for one.
    ///   - eventLoop: Where everything of this client happens.
    ///   - onGreeting: Is told the greeting of each connection and the answer to its `HELLO`, `nil` where that was refused;
    ///     runs on `eventLoop`.
    public init(
        to connector: DaemonConnector, configuration: ClientConfiguration, failsFast: Bool = false,
        on eventLoop: any EventLoop,
        onGreeting: @escaping @Sendable (ServerGreeting, ServerLine?) -> Void = { _, _ in }
    ) {
        var configuration = configuration
        configuration.servers = connector.addresses.map(\.description)
        core = AsyncClientCore(connector, ClientProtocol(configuration), failsFast: failsFast, eventLoop, onGreeting)
    }

    public var eventLoop: any EventLoop { core.eventLoop }

    /// Connects, and from then on whenever the connection is lost.
    public func start() {
        core.eventLoop.execute { [core] in core.start() }
    }

    /// Closes the connection for good. What has no reply fails with ``RequestFailure/closed``.
    public func close() {
        core.eventLoop.execute { [core] in core.close() }
    }

    /// The daemon's greeting on this connection, or the last one; `nil` before.
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

    /// Asks, and waits for the whole answer.
    ///
    /// - Parameter timeout: After it the request is given up; `nil` = it waits through all reconnects.
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

    /// Asks several things, which leave together and in this order, and waits for all of the answers.
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

    /// Posts an event. Where it has no `eid`, it is given one, so that it takes effect once.
    public func post(_ event: EventCommand, timeout: TimeAmount? = nil) async throws(RequestFailure) -> Reply {
        try await request(.event(event), timeout: timeout).reply
    }

    /// Sets a toggle. The reply comes when the operation is on disk, not when it is done.
    public func set(_ command: SetCommand, timeout: TimeAmount? = nil) async throws(RequestFailure) -> Reply {
        try await request(.set(command), timeout: timeout).reply
    }

    /// Presses a button. The reply comes when the operation is on disk, not when it is done.
    public func press(_ key: Key, eid: String? = nil, timeout: TimeAmount? = nil) async throws(RequestFailure) -> Reply
    {
        try await request(.press(key, eid: eid), timeout: timeout).reply
    }

    /// Follows a pattern, through all reconnects.
    ///
    /// - Parameter cursor: Where to resume: a ``Followed/cursor`` of an earlier subscription of the same selection.
    public func follow(_ command: SubscribeCommand, from cursor: Cursor? = nil) -> FollowedSequence {
        var command = command
        if let cursor { command.from = cursor }
        return core.follow(command)
    }
}

/// All that the daemon said to one request.
public struct Answer: Sendable {
    /// The lines before the reply: of `LIST`, `KINDS`, `GALLERY`, `HISTORY`, `HELP`.
    public var items: [ServerLine]
    public var reply: Reply

    /// The refusal, where the reply is an `ERR`.
    public var refusal: ServerLine? { reply.isOK ? nil : reply.line }
}

/// Why there is no answer.
public enum RequestFailure: Error, Sendable, CustomStringConvertible {
    /// The request was never sent.
    case unreachable(String)
    /// It was sent, and the answer did not come in time: it may have taken effect, or still take it. `eid` says under which
    /// id, where the request has one.
    case outcomeUnknown(eid: String?)
    /// The daemon does not take this client: `HELLO` was refused, or it speaks another version.
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
