public import TelltaleModel
public import TelltaleWire

/// Who a client is, and how it behaves towards its server.
public struct ClientConfiguration: Sendable {
    /// `HELLO client=`: the program and its version, as `head-unit/2.1`.
    public var name: String
    /// Whose rules of projection the rows follow by default; `nil` for the whole state.
    public var surface: Surface?
    public var account: String?
    public var device: String?
    public var capabilities: [String] = []
    /// The situation of this device, told again after each reconnect.
    public var traits: [Attribute] = []
    /// Milliseconds of silence after which the server may take this client for dead (twice that). `nil`: never.
    public var heartbeat: Int?
    /// In front of the event ids that this client makes: unique to this run of the program, so that no other run's
    /// events are taken for these.
    public var eventIDPrefix: String
    /// Requests that may be unanswered at a time. A server stops reading beyond 1,024.
    public var windowCount = 1024
    /// Whether a lost connection is made again, and everything that may be repeated is.
    public var reconnects = true
    /// Begins anew after a connection that has served for a second.
    public var backoff = Backoff()
    /// For each step of the way in: to the connection, from there to the server's greeting, and from `HELLO` to its answer.
    public var greetingTimeout = Milliseconds.seconds(10)
    /// Whether ``ClientProtocol/rows(of:)`` is kept. A replayer or a logger needs none.
    public var keepsRows = true

    public init(name: String, eventIDPrefix: String) {
        self.name = name
        self.eventIDPrefix = eventIDPrefix
    }
}

/// How long to wait before the next attempt to connect: longer each time, and by chance, so that ten thousand clients
/// do not come back in the same instant.
public struct Backoff: Hashable, Sendable {
    public var shortest = Milliseconds(100)
    public var longest = Milliseconds.seconds(10)

    public init() {}

    /// Between the half and the whole of `shortest` × 2^`failures`, at most `longest`.
    public func wait(afterFailures failures: Int, random: UInt64) -> Milliseconds {
        var whole = shortest
        for _ in 0..<min(max(0, failures), 63) where whole < longest { whole = whole.multiplied(by: 2) }
        whole = min(whole, longest)
        return Self.pick(from: Milliseconds(whole.count / 2), to: whole, random: random)
    }

    /// A point of the closed range, by chance.
    static func pick(from lowest: Milliseconds, to highest: Milliseconds, random: UInt64) -> Milliseconds {
        guard lowest < highest else { return lowest }
        let width = UInt64(highest.count - lowest.count) + 1
        return Milliseconds(lowest.count + Int64(random % width))
    }
}
