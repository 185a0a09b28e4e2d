public import TelltaleModel
public import TelltaleWire

/// A request of this client, for as long as the client lives.
public struct RequestID: Hashable, Comparable, Sendable {
    let number: Int64

    public static func < (left: RequestID, right: RequestID) -> Bool { left.number < right.number }
}

/// A subscription of this client, through all reconnects.
public struct SubscriptionID: Hashable, Sendable {
    let index: Int
}

/// What a client has to tell its owner.
public enum ClientEvent: Sendable {
    /// `HELLO` was answered, and the subscriptions are on their way. Comes again after each reconnect.
    case ready(ServerGreeting, ServerLine)
    /// The server will not have this client as it is: wrong version, `HELLO` refused. Nothing is tried again.
    case refused(String, ServerLine?)
    /// The connection is gone, or could not be made.
    ///
    /// - `retryAfter`: `nil` when nothing is tried again.
    case disconnected(reason: String, retryAfter: Milliseconds?)

    /// One line of an answer that has several: of `LIST`, `KINDS`, `HISTORY`, `HELP`.
    case item(RequestID, ServerLine)
    /// The one reply of a request.
    case reply(RequestID, Reply)
    /// The connection went in the midst of the answer, which begins anew: forget its items.
    case restarted(RequestID)
    /// The connection went before the reply, and the request is not one to repeat. It may have taken effect or not.
    case lost(RequestID)

    case subscription(SubscriptionID, SubscriptionEvent)
    /// The situation of this device, told again with a connection, was not taken: the server shows what fits one of which
    /// it knows nothing.
    case traitsRefused(ServerLine)
    /// After a reconnect the server does not let this client serve a kind any more.
    case serviceRefused(kind: String, ServerLine)
    /// The provider of a served kind is asked to act.
    case action(ProviderAction)
    /// The server broke a promise of its own.
    case violation(String)
    /// An error of the connection rather than of a request, or a `BYE`: the server closes.
    case farewell(ServerLine)
}

/// What became of one subscription.
public enum SubscriptionEvent: Sendable {
    /// A row of the first, or a new, whole picture.
    case snapshot(Row)
    case update(Row)
    case deletion(Key, rev: Int64, why: String)
    case milestone(Key, rev: Int64, state: String, at: Timestamp)
    case alert(Key, rev: Int64, JSONObject)
    /// The picture is whole and current. What the server no longer knew was told as deletions before, `why` `reset`.
    case live
    /// The server could not resume: a new whole picture follows.
    case reset(why: String)
    /// The server refused the subscription, which is over.
    case refused(ServerLine)
}

/// The newest known state of one key, as a subscription shows it.
public struct Row: Hashable, Sendable {
    public var key: Key
    public var rev: Int64
    public var body: JSONObject
    /// Commits that were folded into this one: 0 when none was missed.
    public var skip = 0
    /// Why they were folded: `slow`, `rate`, `resume`.
    public var why: String?

    public init(key: Key, rev: Int64, body: JSONObject) {
        self.key = key
        self.rev = rev
        self.body = body
    }
}

/// The server's one answer to a request: `OK`, `ERR` or `PONG`.
public struct Reply: Hashable, Sendable {
    public var line: ServerLine

    public init(_ line: ServerLine) {
        self.line = line
    }

    public var isOK: Bool { line.verb != "ERR" }
    public var verdict: Verdict? { line["verdict"].flatMap { Verdict(rawValue: $0) } }
    public var rev: Int64? { line.integer("rev") }
}

/// `DO`: something that only this provider can do.
public struct ProviderAction: Hashable, Sendable {
    public var operation: String
    public var key: Key
    public var isPress: Bool
    /// What a toggle is to become; `nil` for a press.
    public var value: Bool?
    /// When the server gives up waiting, on the server's clock.
    public var deadline: Timestamp

    init?(_ line: ServerLine) {
        guard let operation = line["op"], let key = line["key"].flatMap({ Key($0) }) else { return nil }
        self.operation = operation
        self.key = key
        isPress = line["action"] == "press"
        value = line["value"].map { $0 == "on" }
        deadline = line.integer("deadline").map(Timestamp.init(milliseconds:)) ?? .distantFuture
    }
}

/// What a server says first.
public struct ServerGreeting: Hashable, Sendable {
    public var version: String
    /// The lineage of its history.
    public var epoch: String
    /// The server's clock when it greeted.
    public var now: Timestamp?
    /// How many times as fast as real time that clock runs.
    public var speed: Double
    /// Milliseconds of silence after which it says `MARK`.
    public var heartbeat: Int64
    /// The longest line that it takes, in bytes without its ending.
    public var lineLength: Int
    public var authentication: String
    public var server: String

    init?(_ line: ServerLine) {
        guard line.verb == "TELLTALE", let version = line.words.first, let epoch = line["epoch"] else { return nil }
        self.version = version
        self.epoch = epoch
        now = line.integer("now").map(Timestamp.init(milliseconds:))
        let speed = line["speed"].flatMap { Double($0) } ?? 1
        self.speed = speed.isFinite && speed > 0 ? speed : 1
        heartbeat = line.integer("hb") ?? 20_000
        lineLength = line.integer("max_line").flatMap { Int(exactly: $0) } ?? WireLimits.lineLength
        authentication = line["auth"] ?? "none"
        server = line["server"] ?? "-"
    }
}
