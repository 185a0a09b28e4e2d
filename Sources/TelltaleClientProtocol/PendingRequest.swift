internal import TelltaleModel
internal import TelltaleWire

/// A request without a reply.
struct PendingRequest {
    enum Kind: Hashable {
        /// The client's own request, which is not reported to its owner.
        case hello, ownTraits, ownPing
        case ownService(String)
        case subscribe(SubscriptionID, resumes: Bool)
        case unsubscribe
        /// The owner's request, which may be repeated if the connection is lost before the reply.
        case repeatable
        /// The owner's `SERVE` of a kind, which is repeated on every later connection.
        case service(String)
        case situation([Attribute])
        /// The owner's request, which must not be repeated.
        case once
        /// `BYE`: the answer is the close of the connection.
        case farewell
        /// A request that its owner withdrew. Its reply is still due, and is dropped.
        case withdrawn
    }

    let number: Int64
    var kind: Kind
    /// Whether the line was sent on any connection, so that the request may have taken effect.
    var wasSent = false
    /// The whole line, with `id=`.
    let line: [UInt8]
    /// Whether the answer consists of comment lines, which have no meaning elsewhere.
    let isHelp: Bool

    init(number: Int64, kind: Kind, _ command: Command, resumingFrom cursor: String? = nil) {
        self.number = number
        self.kind = kind
        isHelp = if case .help = command { true } else { false }
        var writer = LineWriter()
        writer.request(command, id: String(number), resumingFrom: cursor)
        line = writer.bytes
    }
}

/// A subscription and its known state.
struct ClientSubscription {
    var command: SubscribeCommand
    var isWanted = true
    /// The server's number on this connection; `nil` until `SUB` is answered.
    var number: Int64?
    /// The newest cursor, byte for byte as the server sent it.
    var cursor: String?
    var rows: [Key: KnownRow] = [:]
    /// During a snapshot: the keys received so far.
    var snapshotKeys: Set<Key>?

    struct KnownRow {
        var row: Row
        /// The epoch of `rev`. Numbers of different epochs are not comparable.
        var epoch: String
        /// Whether the row was received on an earlier connection.
        var isFromEarlierConnection = false
    }

    mutating func connectionWasLost() {
        number = nil
        // An incomplete snapshot has no cursor, so the next `SUB` requests a new one.
        if snapshotKeys != nil { cursor = nil }
        snapshotKeys = nil
        for key in rows.keys { rows[key]?.isFromEarlierConnection = true }
    }
}
