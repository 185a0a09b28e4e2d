public import TelltaleModel

/// One request line, understood.
public struct Request: Sendable {
    /// What the client wants echoed on the reply.
    public var id: String?
    public var command: Command
    /// Attributes that this verb does not know, in the order in which they stood.
    public var ignored: [String]

    public init(id: String? = nil, command: Command, ignored: [String] = []) {
        self.id = id
        self.command = command
        self.ignored = ignored
    }
}

/// What a client can ask for: one case a verb of line-protocol.md §12.
public enum Command: Sendable {
    case hello(Hello)
    case ping
    case bye
    case help(verb: String?)
    case event(EventCommand)
    case subscribe(SubscribeCommand)
    case unsubscribe(number: Int)
    case get(Key, view: ViewName?)
    case list(Pattern, view: ViewName?)
    case kinds
    case history(Key)
    case stats
    /// `TRAIT name=value …`, names and values as they stood.
    case traits([Attribute])
    case dismiss(Key)
    case seen(Key, rev: Int64)
    case open(Key)
    case set(SetCommand)
    case press(Key, eid: String?)
    case serve(kind: String)
    case done(op: String, value: Bool?)
    case fail(op: String, code: String?, message: String?)
    case report(Key, value: Bool?, at: Timestamp?)
    /// The line was a request, and a faulty one: the reply is this error, in its turn.
    case refused(WireError)
}

public struct Attribute: Hashable, Sendable {
    public var name: String
    public var value: String

    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}

public struct Hello: Hashable, Sendable {
    public var client: String?
    public var surface: Surface?
    public var account: String?
    public var device: String?
    public var capabilities: [String] = []
    /// Milliseconds of silence after which this client wants a `MARK`, and twice of which end it.
    public var heartbeat: Int?

    public init() {}
}

/// `EVT key type=…` with its tail.
public struct EventCommand: Hashable, Sendable {
    public var key: Key
    public var type: String
    public var source: String?
    public var eid: String?
    public var happenedAt: Timestamp?
    public var version: Int64?
    /// The accounts of `for=`; empty = everybody.
    public var accounts: [String]
    /// The whole tail, an object, as it was sent; empty where there was none.
    public var tail: JSONObject
    private let addressOnly = AddressOnly()

    public init(
        key: Key, type: String, source: String? = nil, eid: String? = nil, happenedAt: Timestamp? = nil,
        version: Int64? = nil, accounts: [String] = [], tail: JSONObject = JSONObject()
    ) {
        self.key = key
        self.type = type
        self.source = source
        self.eid = eid
        self.happenedAt = happenedAt
        self.version = version
        self.accounts = accounts
        self.tail = tail
    }
}

public struct SubscribeCommand: Hashable, Sendable {
    public var pattern: Pattern
    public var view: ViewName?
    public var account: String?
    /// The cursor as it stood; ``Cursor/init(_:)`` has taken it.
    public var from: Cursor?
    /// At most so many lines a second for each key.
    public var rate: Int?
    public var placement: String?

    public init(pattern: Pattern) {
        self.pattern = pattern
    }
}

public struct SetCommand: Hashable, Sendable {
    public var key: Key
    public var value: Bool
    /// `if=`: the rev of the row that the person saw.
    public var seenRev: Int64?
    public var eid: String?

    public init(key: Key, value: Bool) {
        self.key = key
        self.value = value
    }
}

/// Where a subscription may resume: `EPOCH:SEQ:SELECTION`.
public struct Cursor: Hashable, Sendable {
    /// The lineage of the history, 16 hex digits on the wire.
    public var epoch: UInt64
    public var sequence: Int64
    /// What was selected, hashed: pattern, view, account, placement.
    public var selection: UInt16

    public init(epoch: UInt64, sequence: Int64, selection: UInt16) {
        self.epoch = epoch
        self.sequence = sequence
        self.selection = selection
    }
}
