internal import TelltaleModel
internal import TelltaleWire

/// A request on its way to its reply.
struct PendingRequest {
    enum Kind: Hashable {
        /// The client's own, which its owner does not hear about.
        case hello, ownTraits, ownPing
        case ownService(String)
        case subscribe(SubscriptionID, resumes: Bool)
        case unsubscribe
        /// The owner's, safe to send again when the connection goes before the reply.
        case repeatable
        /// The owner's, safe, and to be said on every later connection.
        case service(String)
        case situation([Attribute])
        /// The owner's, and not safe.
        case once
        /// `BYE`: the answer is the close.
        case farewell
    }

    let number: Int64
    let kind: Kind
    /// The whole line, `id=` included.
    let line: [UInt8]
    /// Its answer is told in lines that mean nothing elsewhere.
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

/// What a client follows, and what it knows of it.
struct Subscription {
    var command: SubscribeCommand
    var isWanted = true
    /// On this connection; `nil` until `SUB` was answered.
    var number: Int64?
    /// The last one, byte for byte as the server gave it.
    var cursor: String?
    var rows: [Key: KnownRow] = [:]
    /// While a whole picture is on its way: which keys were in it so far.
    var pictured: Set<Key>?

    struct KnownRow {
        var row: Row
        /// `rev`s of different epochs have nothing to do with each other.
        var epoch: String
        /// It was told on a connection that is gone.
        var isOfOldConnection = false
    }

    mutating func connectionWasLost() {
        number = nil
        // Half a picture is none, and has no cursor: the next SUB asks for a whole one.
        if pictured != nil { cursor = nil }
        pictured = nil
        for key in rows.keys { rows[key]?.isOfOldConnection = true }
    }
}
