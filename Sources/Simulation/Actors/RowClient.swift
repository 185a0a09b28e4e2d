/// A client that takes what it is sent line by line, with tails as they came. It may read slowly.
protocol RowClient: ConnectedClient {
    func receive(_ line: ClientLine)
    /// A promise to it is broken.
    func broken(_ what: String)
}

extension RowClient {
    func received(_ bytes: [UInt8], on link: SimulatedLink) {
        guard let (lines, fault) = seat.connection.readHeads(bytes, on: link) else { return }
        if let fault { broken("is sent what is no line: \(fault)") }
        for line in lines { receive(line) }
    }

    /// Begins to read slowly, or leaves that off.
    func changeReading(of link: SimulatedLink, _ random: inout SimulationRandom) {
        let isSlow = link.readingLimit == nil
        link.readingLimit = isSlow ? 200 + random.below(2_000) : nil
        link.pause = random.pick(50...2_000)
        if !isSlow { wake(link) }
    }

    /// Reads at full speed.
    func wake(_ link: SimulatedLink) {
        link.readingLimit = nil
        link.isReadScheduled = false
        world.read(link)
    }
}
