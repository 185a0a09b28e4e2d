import TelltaleWire

/// The connection of a simulated client: its link while there is one, and the lines that arrive on it.
struct ClientConnection {
    private(set) var link: Link?
    private var lines = ClientLines()

    /// Goes on with a new link. An unfinished line of the one before is dropped.
    ///
    /// - Returns: `link`.
    mutating func open(_ link: Link) -> Link {
        lines.begin()
        self.link = link
        return link
    }

    mutating func close() { link = nil }

    /// Reads what arrived on `link`; `nil` for a link that the client has left.
    ///
    /// The tails of the lines are parsed. ``readHeads(_:on:)`` keeps them as bytes.
    mutating func read(_ bytes: [UInt8], on link: Link) -> (lines: [ServerLine], fault: String?)? {
        link === self.link ? lines.read(bytes) : nil
    }

    mutating func readHeads(_ bytes: [UInt8], on link: Link) -> (lines: [ClientLine], fault: String?)? {
        link === self.link ? lines.readHeads(bytes) : nil
    }
}

/// A simulated client with one connection: how it opens, breaks and comes back is the same for every kind of client.
protocol ConnectedClient: SimulatedClient {
    var world: any Environment { get }
    var connection: ClientConnection { get set }
    /// Opens a connection with ``ClientConnection/open(_:)`` and sends the lines that a new connection begins with.
    func connect()
    /// The connection has ended; `wasLost` is false when the client itself reset it. Called once for each connection.
    func ended(_ link: Link, wasLost: Bool)
}

extension ConnectedClient {
    var link: Link? { connection.link }

    func ended(_ link: Link, wasLost: Bool) {}

    /// Resets the connection without a word. The client comes back at its next move.
    func vanish() {
        guard let link else { return }
        world.reset(link)
        connection.close()
        ended(link, wasLost: false)
    }

    func lost(_ link: Link) {
        guard link === self.link else { return }
        connection.close()
        ended(link, wasLost: true)
        if world.isCalm { connect() }
    }

    func calmDown() { if link == nil { connect() } }

    func doLater(_ what: Int) {}
}
