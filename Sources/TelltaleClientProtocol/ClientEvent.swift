public import TelltaleModel
public import TelltaleWire

/// A request of this client, unique within the client's lifetime.
public struct RequestID: Hashable, Comparable, Sendable {
    let number: Int64

    public static func < (left: RequestID, right: RequestID) -> Bool { left.number < right.number }
}

/// A subscription of this client, which lasts across reconnects.
public struct SubscriptionID: Hashable, Sendable {
    let index: Int
}

/// An event that a client reports to its owner.
public enum ClientEvent: Sendable {
    /// The server answered `HELLO`, and the subscriptions are being sent. Reported again after each reconnect.
    case ready(ServerGreeting, ServerLine)
    /// The server refused this client: the version differs, or `HELLO` failed. The client does not reconnect.
    case refused(String, ServerLine?)
    /// The connection was lost or could not be made.
    ///
    /// - `retryAfter`: The time until the next attempt; `nil` if there is none.
    case disconnected(reason: String, retryAfter: Milliseconds?)

    /// One line of an answer with several lines: `LIST`, `KINDS`, `GALLERY`, `HISTORY`, `HELP`.
    case item(RequestID, ServerLine)
    /// The final reply to a request.
    case reply(RequestID, Reply)
    /// The connection was lost within an answer, which starts again. The owner discards the items received so far.
    case restarted(RequestID)
    /// The connection was lost before the reply, and the request must not be repeated. It may have taken effect.
    case lost(RequestID)

    case subscription(SubscriptionID, SubscriptionEvent)
    /// The server refused the traits of this device after a reconnect. It projects for a device in the default
    /// situation.
    case traitsRefused(ServerLine)
    /// After a reconnect the server no longer lets this client serve a kind.
    case serviceRefused(kind: String, ServerLine)
    /// The provider of a served kind must act.
    case action(ProviderAction)
    /// The server violated the protocol.
    case violation(String)
    /// An error of the connection instead of a request, or a `BYE`. The server closes the connection.
    case farewell(ServerLine)
}

/// An event of one subscription.
public enum SubscriptionEvent: Sendable {
    /// A row of the first or of a new snapshot.
    case snapshot(Row)
    case update(Row)
    case deletion(Key, rev: Int64, why: String)
    case milestone(Key, rev: Int64, state: String, at: Timestamp)
    case alert(Key, rev: Int64, JSONObject)
    /// With `deliver=notice`: something changed. Reported again only after this client has read with `LIST` or `GET`.
    /// `count` is the number of changed keys; `nil` = more than the server counts.
    case changed(rev: Int64, count: Int?)
    /// The snapshot is complete and current. Keys that the server no longer has were reported as deletions with `why`
    /// `reset`.
    case live
    /// The server could not resume: a new snapshot follows.
    case reset(why: String)
    /// The server refused the subscription, which has ended.
    case refused(ServerLine)
}

/// The newest known state of one key in the subscription's view.
public struct Row: Hashable, Sendable {
    public var key: Key
    public var rev: Int64
    public var body: JSONObject
    /// The number of commits that were folded into this one; 0 if none was missed.
    public var skip = 0
    /// The reason for the folding: `slow`, `rate`, `resume`.
    public var why: String?

    public init(key: Key, rev: Int64, body: JSONObject) {
        self.key = key
        self.rev = rev
        self.body = body
    }
}

/// The server's final answer to a request: `OK`, `ERR` or `PONG`.
public struct Reply: Hashable, Sendable {
    public var line: ServerLine
    /// Whether the server sent it. The client itself refuses a request that exceeds the server's length limit.
    public internal(set) var isFromServer = true

    public init(_ line: ServerLine) {
        self.line = line
    }

    public var isOK: Bool { line.verb != "ERR" }
    public var verdict: Verdict? { line["verdict"].flatMap { Verdict(rawValue: $0) } }
    public var rev: Int64? { line.integer("rev") }
}

/// `DO`: an action that only this provider can perform.
public struct ProviderAction: Hashable, Sendable {
    public var operation: String
    public var key: Key
    public var isPress: Bool
    /// The value to set on a toggle; `nil` for a press.
    public var value: Bool?
    /// Why a widget needs a timeline: `first`, `atEnd`, `after`, `asked`, `configured` or `tapped`; `nil` for a
    /// control. Answer with ``TelltaleWire/Command/supply(op:timeline:)``.
    public var timelineReason: String?
    /// The time at which the server stops waiting, on the server's clock.
    public var deadline: Timestamp
    /// The term of the cluster's leader; `nil` for a single server. Ignore an action whose term is lower than one seen
    /// before, on whatever connection: its leader was deposed.
    public var term: Int64?

    init?(_ line: ServerLine) {
        guard let operation = line["op"], let key = line["key"].flatMap({ Key($0) }) else { return nil }
        self.operation = operation
        self.key = key
        isPress = line["action"] == "press"
        value = line["value"].map { $0 == "on" }
        timelineReason = line["action"] == "timeline" ? line["reason"] ?? "" : nil
        deadline = line.integer("deadline").map(Timestamp.init(milliseconds:)) ?? .distantFuture
        term = line.integer("term")
    }
}

/// The first line of a server.
public struct ServerGreeting: Hashable, Sendable {
    public var version: String
    /// The identity of the server's history.
    public var epoch: String
    /// The server's clock at the greeting.
    public var now: Timestamp?
    /// The speed of that clock relative to real time.
    public var speed: Double
    /// The silence after which the server sends a `MARK`.
    public var heartbeat: Milliseconds
    /// The longest line that the server accepts, in bytes, without its ending.
    public var lineLength: Int
    public var authentication: String
    public var server: String
    /// The name of this server within its cluster; `nil` without one, as are the next three.
    public var node: String?
    /// `leader`, `standby`, or another role. See ``serves`` for a role other than `leader`.
    public var role: String?
    /// For a leader: its term, which increases with each new leader.
    public var term: Int64?
    /// For another role: the address of the leader, if known.
    public var leader: String?

    /// For another role: whether this server answers reads and forwards writes, so that a client can stay.
    public var serves: Bool
    /// The address of the server to which this one sends new clients; `nil` = a client may stay.
    public var next: String?

    /// Whether this server decides, so that it answers all requests.
    public var isLeading: Bool { role == nil || role == "leader" }

    /// The heartbeat of a server that does not name its own.
    static let usualHeartbeat = Milliseconds.seconds(20)

    init?(_ line: ServerLine) {
        guard line.verb == "TELLTALE", let version = line.words.first, let epoch = line["epoch"] else { return nil }
        self.version = version
        self.epoch = epoch
        now = line.integer("now").map(Timestamp.init(milliseconds:))
        let speed = line["speed"].flatMap { Double($0) } ?? 1
        self.speed = speed.isFinite && speed > 0 ? speed : 1
        heartbeat = line.integer("hb").map { Milliseconds($0) } ?? Self.usualHeartbeat
        lineLength = line.integer("max_line").flatMap { Int(exactly: $0) } ?? WireLimits.lineLength
        authentication = line["auth"] ?? "none"
        server = line["server"] ?? "-"
        node = line["node"]
        role = line["role"]
        term = line.integer("term")
        leader = line["leader"]
        serves = line["serves"] == "1"
        next = line["to"]
    }
}
