public import TelltaleModel
public import TelltaleWire

/// The identity of a client and its behaviour towards its server.
public struct ClientConfiguration: Sendable {
    /// `HELLO client=`: the program and its version, as `head-unit/2.1`.
    public var name: String
    /// The addresses of the servers, any of which may answer: see ``ServerList``. Empty if the owner knows its one
    /// server and does not use ``ClientProtocol/address``.
    public var servers: [String] = []
    /// The surface for which rows are projected by default; `nil` for the whole state.
    public var surface: Surface?
    public var account: String?
    public var device: String?
    /// Proves the client's identity. Sent only to a server whose greeting requests it.
    public var token: String?
    /// Encrypts the connection, and checks the server's certificate; `nil` for a plain connection.
    public var tls: ClientTLS?
    public var capabilities: [String] = []
    /// The traits of this device, which are sent again after each reconnect.
    public var traits: [Attribute] = []
    /// The silence after which the client sends a ping; after twice that time the server closes the connection. `nil`
    /// for no limit.
    public var heartbeat: Milliseconds?
    /// The prefix of the event ids that this client makes. It must be unique to this run of the program, so that its
    /// events are not taken for those of another run.
    public var eventIDPrefix: String
    /// The largest number of unanswered requests. The server stops reading beyond 1,024.
    public var windowCount = 1024
    /// Whether the client reconnects and repeats the requests that may be repeated. Otherwise it tries each of its
    /// servers once before it gives up.
    public var reconnects = true
    /// The nodes of a cluster that this client stays at.
    public var nodes = NodeChoice.serving
    /// The delays between attempts, which restart after a connection that has served for a second.
    public var backoff = Backoff()
    /// The limit for each step: connecting, the server's greeting, and the answer to `HELLO`. With several servers,
    /// connecting to each is also limited by ``ServerList/dialSpan(limit:)``.
    public var greetingTimeout = Milliseconds.seconds(10)
    /// Whether to keep the rows for ``ClientProtocol/rows(of:)``. A client that only forwards rows does not need them.
    public var keepsRows = true

    public init(name: String, eventIDPrefix: String) {
        self.name = name
        self.eventIDPrefix = eventIDPrefix
    }
}

/// The nodes of a cluster that a client stays at. It leaves the others for the leader.
public enum NodeChoice: Hashable, Sendable {
    /// The leader, and each node that serves reads and forwards writes.
    case serving
    case leader
    /// Every node, for a tool that inspects each.
    case any
}

/// The certificate authorities that a client trusts.
public struct ClientTLS: Hashable, Sendable {
    /// The path of a PEM file of authorities; `nil` for those of the system.
    public var authorities: String?

    public init(authorities: String? = nil) {
        self.authorities = authorities
    }
}

/// The delay before the next connection attempt. It grows and is random, so that many clients do not reconnect at the
/// same instant.
public struct Backoff: Hashable, Sendable {
    public var shortest = Milliseconds(100)
    /// Also limits the pause before the next of several servers.
    public var longest = Milliseconds.seconds(10)

    public init() {}

    /// A random delay between half and all of `shortest` × 2^`failures`, at most `longest`.
    public func wait(afterFailures failures: Int, random: UInt64) -> Milliseconds {
        var whole = shortest
        for _ in 0..<min(max(0, failures), 63) where whole < longest { whole = whole.multiplied(by: 2) }
        whole = min(whole, longest)
        return Self.pick(from: Milliseconds(whole.count / 2), to: whole, random: random)
    }

    /// A random point of the closed range.
    static func pick(from lowest: Milliseconds, to highest: Milliseconds, random: UInt64) -> Milliseconds {
        guard lowest < highest else { return lowest }
        let width = UInt64(highest.count - lowest.count) + 1
        return Milliseconds(lowest.count + Int64(random % width))
    }
}
