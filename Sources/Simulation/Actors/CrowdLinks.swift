extension Crowd {
    /// A command for the owner of the sockets. It names the connection by a number.
    public enum ConnectionCommand: Sendable {
        case connect(Int)
        case write(Int, [UInt8])
        case shutWrite(Int)
        case close(Int)
        case pauseReading(Int)
        case resumeReading(Int)
    }
}

/// The open connections of a crowd, and the commands that their sockets have to carry out.
struct CrowdLinks {
    private var commands: [Crowd.ConnectionCommand] = []
    private var links: [Int: SimulatedLink] = [:]
    private var count = 0

    /// The link of this number, while it is open.
    subscript(number: Int) -> SimulatedLink? { links[number].flatMap { $0.isOpenAtClient ? $0 : nil } }

    mutating func takeCommands() -> [Crowd.ConnectionCommand] {
        defer { commands = [] }
        return commands
    }

    /// - Parameter client: The index of the client, negative for an ``Asker``.
    mutating func open(for client: Int) -> SimulatedLink {
        count += 1
        let link = SimulatedLink(client: client, capacity: 0, generation: 0)
        link.number = count
        links[count] = link
        commands.append(.connect(count))
        return link
    }

    mutating func write(_ bytes: [UInt8], on link: SimulatedLink) {
        if link.isOpenAtClient { commands.append(.write(link.number, bytes)) }
    }

    mutating func shutWrite(_ link: SimulatedLink) {
        if link.isOpenAtClient { commands.append(.shutWrite(link.number)) }
    }
    mutating func pauseReading(_ link: SimulatedLink) { commands.append(.pauseReading(link.number)) }
    mutating func resumeReading(_ link: SimulatedLink) { commands.append(.resumeReading(link.number)) }

    mutating func close(_ link: SimulatedLink) {
        guard link.isOpenAtClient else { return }
        link.isOpenAtClient = false
        links[link.number] = nil
        commands.append(.close(link.number))
    }

    /// The socket has ended by itself.
    ///
    /// - Returns: The link, if it was open until now.
    mutating func forget(_ number: Int) -> SimulatedLink? {
        defer { links[number] = nil }
        return self[number]
    }
}
