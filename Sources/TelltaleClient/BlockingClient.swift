public import TelltaleEventLoop
public import TelltaleModel
public import TelltaleWire

/// The reason why a request got no answer.
public enum ClientFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// No server answers at the address, or it is not a Telltale daemon.
    case unreachable(String)
    /// The daemon refused this client.
    case refused(String)
    /// The connection was lost before the reply.
    case lost(String)
    case timedOut

    public var description: String {
        switch self {
        case .unreachable(let reason): reason
        case .refused(let reason): "refused: \(reason)"
        case .lost(let reason): "the connection was lost before the answer: \(reason)"
        case .timedOut: "the daemon did not answer in time"
        }
    }
}

/// A client for programs that send requests, wait and end. It runs its own loop on the calling thread.
///
/// It blocks, so it must not be used on a thread of the cooperative pool. It does not reconnect.
public final class BlockingClient {
    private let loop: EventLoop
    private let client: Client
    private let inbox: Inbox
    private let watchdog: TimerHandle
    private let timeout: Milliseconds

    /// It makes one attempt at each server, so nothing else is random.
    private struct FirstServer: RandomNumberGenerator {
        func next() -> UInt64 { 0 }
    }

    private final class Inbox {
        var events: [ClientEvent] = []
        var hasTimedOut = false
    }

    /// Connects and returns after `HELLO` is answered.
    ///
    /// - Parameters:
    ///   - endpoints: Tried in order until one serves. The first one serves each program of a script, so that one reads what
    ///     another wrote.
    ///   - timeout: The limit for this and for each request.
    public init(
        to endpoints: EndpointList, configuration: ClientConfiguration, timeout: Milliseconds = .seconds(30)
    ) throws(ClientFailure) {
        var configuration = configuration
        configuration.reconnects = false
        let inbox = Inbox()
        do throws(UVError) {
            loop = try EventLoop()
            client = try Client(to: endpoints, configuration: configuration, on: loop, random: FirstServer()) {
                inbox.events.append($1)
            }
            watchdog = try TimerHandle(on: loop) { _ in inbox.hasTimedOut = true }
        } catch {
            throw .unreachable(error.description)
        }
        self.inbox = inbox
        self.timeout = timeout
        client.start()
        var reasons: [String] = []
        var farewell: String?
        try wait { event throws(ClientFailure) -> Bool in
            switch event {
            case .ready: return true
            case .refused(let reason, _): throw .refused(reason)
            case .disconnected(let reason, let retry):
                if !reasons.contains(reason) { reasons.append(reason) }
                guard retry == nil else { return false }
                if let farewell, reasons.count == 1 { throw .refused(farewell) }
                throw .unreachable(reasons.joined(separator: "; "))
            case .farewell(let line) where line.verb == "ERR":
                farewell = line.message ?? "sent away"
                return false
            case .item, .reply, .restarted, .lost, .subscription, .traitsRefused, .serviceRefused, .action, .violation,
                .farewell:
                return false
            }
        }
    }

    /// The same for one server.
    public convenience init(
        to endpoint: Endpoint, configuration: ClientConfiguration, timeout: Milliseconds = .seconds(30)
    ) throws(ClientFailure) {
        try self.init(to: EndpointList(endpoint), configuration: configuration, timeout: timeout)
    }

    deinit {
        client.close()
        loop.shutDown()
    }

    /// The server that serves.
    public var endpoint: Endpoint { client.endpoint }

    public var greeting: ServerGreeting? { client.greeting }

    /// Sends a request and waits for the reply.
    ///
    /// - Parameter onItem: Called with each line of an answer that has several.
    public func request(_ command: Command, onItem: (ServerLine) -> Void = { _ in }) throws(ClientFailure) -> Reply {
        let wanted = client.request(command)
        var reply: Reply?
        var reason = "the daemon closed the connection"
        var farewell: ServerLine?
        try wait { event throws(ClientFailure) -> Bool in
            switch event {
            case .item(wanted, let line): onItem(line)
            case .reply(wanted, let answer): reply = answer
            case .lost(wanted):
                if let farewell, farewell.verb == "ERR" { throw .refused(reason) }
                throw .lost(reason)
            // A farewell before the close is a better reason than the close.
            case .disconnected(let why, _): if farewell == nil { reason = why }
            case .farewell(let line):
                farewell = line
                reason = line.message ?? line["code"] ?? reason
            case .violation(let text): reason = text
            case .ready, .refused, .item, .reply, .restarted, .lost, .subscription, .traitsRefused, .serviceRefused,
                .action:
                break
            }
            return reply != nil
        }
        guard let reply else { throw .lost(reason) }
        return reply
    }

    /// Sends many requests at once, and waits for all replies.
    ///
    /// - Parameter onReply: Called with each reply and the index of its command, in the order of arrival.
    /// - Throws: As ``request(_:onItem:)``; earlier replies were given to `onReply`.
    public func request(
        all commands: [Command], onReply: (Int, Reply) -> Void
    ) throws(ClientFailure) {
        guard !commands.isEmpty else { return }
        var places: [RequestID: Int] = [:]
        for (place, command) in commands.enumerated() { places[client.request(command)] = place }
        var reason = "the daemon closed the connection"
        try wait { event throws(ClientFailure) -> Bool in
            switch event {
            case .reply(let id, let answer): if let place = places.removeValue(forKey: id) { onReply(place, answer) }
            case .lost(let id) where places[id] != nil: throw .lost(reason)
            case .disconnected(let why, _): reason = why
            case .farewell(let line): reason = line.message ?? line["code"] ?? reason
            case .violation(let text): reason = text
            case .ready, .refused, .item, .restarted, .lost, .subscription, .traitsRefused, .serviceRefused, .action:
                break
            }
            return places.isEmpty
        }
    }

    private func wait(until isDone: (ClientEvent) throws(ClientFailure) -> Bool) throws(ClientFailure) {
        inbox.hasTimedOut = false
        watchdog.schedule(afterMilliseconds: timeout.count)
        defer { watchdog.cancel() }
        while true {
            if !inbox.events.isEmpty {
                while !inbox.events.isEmpty {
                    if try isDone(inbox.events.removeFirst()) { return }
                }
                // The server is answering, and the caller may have taken time over the items.
                watchdog.schedule(afterMilliseconds: timeout.count)
                inbox.hasTimedOut = false
            }
            if inbox.hasTimedOut { throw .timedOut }
            if client.isOver { throw .lost("the daemon closed the connection") }
            loop.run(.once)
        }
    }
}
