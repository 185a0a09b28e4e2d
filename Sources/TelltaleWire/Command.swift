public import TelltaleModel

/// One parsed request line.
public struct Request: Sendable {
    /// The text that the reply returns.
    public var id: String?
    public var command: Command
    /// Attributes that this verb does not know, in their order.
    public var ignored: [String]

    public init(id: String? = nil, command: Command, ignored: [String] = []) {
        self.id = id
        self.command = command
        self.ignored = ignored
    }
}

/// The request of a client: one case for each verb of Protocols/Line/line-protocol.md §12.
public enum Command: Sendable {
    case hello(Hello)
    case ping
    case bye
    case help(verb: String?)
    case event(EventCommand)
    case subscribe(SubscribeCommand)
    case unsubscribe(number: Int)
    case get(Key, view: ViewName?, widgets: WidgetStyle = WidgetStyle())
    case list(Pattern, view: ViewName?, widgets: WidgetStyle = WidgetStyle())
    case kinds
    case kind(String)
    /// The widgets that can be placed; their placement is as written.
    case gallery(view: ViewName?, placement: String?)
    case history(Key)
    case stats
    /// `TRAIT name=value …`, names and values as written.
    case traits([Attribute])
    case dismiss(Key)
    case seen(Key, rev: Int64)
    /// `part` is the part of a widget that was tapped.
    case open(Key, part: String? = nil)
    case tap(TapCommand)
    /// A person arranges what a device shows.
    case tile(TileCommand)
    case serve(kind: String)
    case done(op: String, value: Bool?)
    case fail(op: String, code: String?, message: String?)
    case report(Key, value: Bool?, at: Timestamp?)
    /// `DONE` with the timeline that a provider was asked for.
    case supply(op: String, timeline: JSONObject)
    /// Refreshes a widget, or all widgets of a pattern, from their provider.
    case reload(Pattern)
    /// Hands leadership of the cluster over to the node of this name, or to any other.
    case handover(node: String?)
    /// Sends the clients of this node to the other nodes of the cluster, or takes clients again.
    case drain(DrainCommand)
    /// Another node of the cluster links to its leader. The token is what only the nodes know.
    case node(name: String, token: String)
    /// An invalid request. The reply is this error, in the order of requests.
    case refused(WireError)
}

/// `DRAIN` in the words of the request.
public enum DrainCommand: Hashable, Sendable {
    /// Each connection is sent away at its own moment within this span, at most ``longestSpan``.
    case start(over: Milliseconds)
    /// New clients are taken again, and no more are sent away.
    case stop

    public static let usualSpan = Milliseconds.seconds(20)
    public static let longestSpan = Milliseconds.minutes(60)
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
    /// The secret for a server with authentication. A client writes it into the tail if it is longer than a value.
    public var token: String?
    public var capabilities: [String] = []
    /// The silence after which this client expects a `MARK`, in milliseconds. After twice that time the server closes
    /// the connection.
    public var heartbeat: Int?
    /// The device of this connection. Its widget rows are counted against a budget while its screen is off.
    public var unit: String?
    /// The newest commit that this client has seen, on any connection. A node of a cluster that has yet to read it answers when it
    /// has.
    public var after: HistoryPosition?

    public init() {}
}

/// `EVT key type=…` with its tail.
public struct EventCommand: Hashable, Sendable {
    /// The source of the events that buttons raise. A client's `src=` cannot contain a blank, so that their event ids
    /// never collide. Journals of earlier releases have `telltaled` here.
    public static let buttonSource = "a button"

    public var key: Key
    public var type: String
    public var source: String?
    public var eid: String?
    public var happenedAt: Timestamp?
    public var version: Int64?
    /// The accounts of `for=`; empty for all accounts.
    public var accounts: [String]
    /// The whole tail, an object, as it was sent; empty if there was none.
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
    /// The lines that a subscriber is sent.
    public enum Delivery: String, CaseIterable, Hashable, Sendable {
        /// The row of each change.
        case rows
        /// `CHANGED`, once for everything that changed since the connection has read.
        case notice
    }

    public var pattern: Pattern
    public var view: ViewName?
    public var account: String?
    /// A syntactically valid cursor (``Cursor/init(_:)``).
    public var from: Cursor?
    /// The largest number of lines a second for each key.
    public var rate: Int?
    public var placement: String?
    /// How widgets are shown; its placement is that of the command.
    public var widgets = WidgetStyle()
    public var delivery = Delivery.rows

    public init(pattern: Pattern) {
        self.pattern = pattern
    }
}

/// How widgets are shown, in the words of the request.
public struct WidgetStyle: Hashable, Sendable {
    /// For `GET` and `LIST`.
    public var placement: String?
    public var family: String?
    public var mode: String?
    /// How many later entries a row has, 0 to 64.
    public var ahead: Int?

    /// The largest number of later entries.
    public static let aheadLimit: Int64 = 64

    public init() {}
}

/// `SET` or `PRESS`.
public struct TapCommand: Hashable, Sendable {
    public var key: Key
    public var tap: Tap
    /// `if=` of a `SET`: the `rev` of the row that the person saw.
    public var seenRev: Int64?
    public var eid: String?

    public init(_ key: Key, _ tap: Tap, seenRev: Int64? = nil, eid: String? = nil) {
        self.key = key
        self.tap = tap
        self.seenRev = seenRev
        self.eid = eid
    }
}

/// `TILE @BOARD/ID do=…` in the words of the request.
public struct TileCommand: Hashable, Sendable {
    public enum Action: String, CaseIterable, Hashable, Sendable {
        case add, configure, stack, move, pin, unpin, show, keep, remove
    }

    public var key: Key
    public var action: Action
    /// A kind of widgets, or the key of one.
    public var widget: String?
    public var family: String?
    /// The id of a stack, or `none`.
    public var stack: String?
    public var placement: String?
    public var mounting: String?
    /// In percent.
    public var scale: Int?
    /// A colour, or `none`.
    public var theme: String?
    /// From 1.
    public var position: Int?
    public var isSmart: Bool?
    public var suggests: Bool?
    /// `if=`: the `rev` of the row that the person saw.
    public var seenRev: Int64?
    public var eid: String?
    /// The values of the kind's parameters.
    public var configuration: JSONObject?

    /// The largest position.
    public static let positionLimit: Int64 = 64
    /// How large a tile of visionOS may be drawn, in percent.
    public static let scales: ClosedRange<Int64> = 75...125

    public init(key: Key, action: Action) {
        (self.key, self.action) = (key, action)
    }
}

/// A commit of a history: `EPOCH:SEQ`.
public struct HistoryPosition: Hashable, Sendable {
    /// The identity of the history, 16 hexadecimal digits on the wire.
    public var epoch: UInt64
    public var sequence: Int64

    public init(epoch: UInt64, sequence: Int64) {
        self.epoch = epoch
        self.sequence = sequence
    }
}

/// The position from which a subscription may resume: `EPOCH:SEQ:SELECTION`.
public struct Cursor: Hashable, Sendable {
    /// The identity of the history, 16 hexadecimal digits on the wire.
    public var epoch: UInt64
    public var sequence: Int64
    /// A hash of the selection: pattern, view, account, placement, and how widgets are shown.
    public var selection: UInt16

    public init(epoch: UInt64, sequence: Int64, selection: UInt16) {
        self.epoch = epoch
        self.sequence = sequence
        self.selection = selection
    }

    public var position: HistoryPosition { HistoryPosition(epoch: epoch, sequence: sequence) }
}
