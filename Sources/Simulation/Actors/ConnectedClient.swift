import TelltaleWire

/// The connection of a simulated client: its link while there is one, and the lines that arrive on it.
struct ClientConnection {
    private(set) var link: SimulatedLink?
    private var lines = ClientLines()

    /// Goes on with a new link. An unfinished line of the one before is dropped.
    ///
    /// - Returns: `link`.
    mutating func open(_ link: SimulatedLink) -> SimulatedLink {
        lines.begin()
        self.link = link
        return link
    }

    mutating func close() { link = nil }

    /// Reads what arrived on `link`; `nil` for a link that the client has left.
    ///
    /// The tails of the lines are parsed. ``readHeads(_:on:)`` keeps them as bytes.
    mutating func read(_ bytes: [UInt8], on link: SimulatedLink) -> (lines: [ServerLine], fault: String?)? {
        link === self.link ? lines.read(bytes) : nil
    }

    mutating func readHeads(_ bytes: [UInt8], on link: SimulatedLink) -> (lines: [ClientLine], fault: String?)? {
        link === self.link ? lines.readHeads(bytes) : nil
    }
}

/// What every client with one connection has: its place in the world, its random numbers and its connection.
struct Seat {
    unowned let world: any Environment
    let index: Int
    /// Among the clients of its type.
    let number: Int
    var random: SimulationRandom
    var connection = ClientConnection()
}

/// A simulated client with one connection: how it opens, breaks and comes back is the same for every kind of client.
protocol ConnectedClient: SimulatedClient {
    var seat: Seat { get set }
    /// How many moves of a thousand break the connection, beside those of the climate.
    var restlessness: Int { get }
    /// Opens a connection with ``open()`` and sends the lines that a new connection begins with.
    func connect()
    /// Does something, while there is a connection and no calm.
    func act(on link: SimulatedLink)
    /// The connection has ended; `wasLost` is false when the client itself reset it. Called once for each connection.
    func ended(_ link: SimulatedLink, wasLost: Bool)
}

extension ConnectedClient {
    var world: any Environment { seat.world }
    var index: Int { seat.index }
    var link: SimulatedLink? { seat.connection.link }
    var random: SimulationRandom {
        get { seat.random }
        set { seat.random = newValue }
    }
    var restlessness: Int { 0 }

    func act(on link: SimulatedLink) {}

    func ended(_ link: SimulatedLink, wasLost: Bool) {}

    func move() {
        guard let link else { return connect() }
        if world.isCalm { return }
        if random.chance(world.climate.resets + restlessness) { return vanish() }
        act(on: link)
    }

    func open() -> SimulatedLink {
        let link = world.connect(self)
        return seat.connection.open(link)
    }

    /// Opens a connection, and sends these lines on it.
    func open(with lines: [String]) {
        let link = open()
        world.send(lines.map { $0 + "\n" }.joined(), on: link)
    }

    /// Resets the connection without a word. The client comes back at its next move.
    func vanish() {
        guard let link else { return }
        world.reset(link)
        seat.connection.close()
        ended(link, wasLost: false)
    }

    func lost(_ link: SimulatedLink) {
        guard link === self.link else { return }
        seat.connection.close()
        ended(link, wasLost: true)
        if world.isCalm { connect() }
    }

    func calmDown() { if link == nil { connect() } }

    func doLater(_ what: Int) {}
}
