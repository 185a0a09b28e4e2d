internal import TelltaleModel
internal import TelltaleWire

// `DRAIN`, and what follows from it.
extension Hub {
    /// Whether an operator has taken this node out of service.
    public var isDraining: Bool { drainSchedule.isOn }

    /// The connections of clients. Those of other nodes do not count.
    public var clientCount: Int { sessions.openCount - guests.links.count }

    /// Clients of before the drain that are still connected; `nil` = this node does not drain.
    var leavingCount: Int? { drainSchedule.isOn ? drainSchedule.leavingCount : nil }

    mutating func drain(
        _ command: DrainCommand, _ request: Request, from session: Session, at now: HubTime, to writer: inout LineWriter
    ) {
        guard let status else {
            return writer.error(
                WireError(.unknownVerb, "DRAIN: this server is by itself; it is for a node of a cluster"),
                id: request.id)
        }
        var count = 0
        switch command {
        case .stop: drainSchedule.stop()
        case .start(let span):
            guard hasOtherServer else {
                return writer.error(
                    WireError(.unavailable, "no other node serves the clients of \(status.node); see STATS"),
                    id: request.id)
            }
            let clients = departures(keeping: session)
            drainSchedule.start(clients, over: span, at: now.monotonic)
            count = clients.count
        }
        writer.beginOK(id: request.id)
        writer.attribute("connections", count)
        writer.ignored(request.ignored)
        writer.end()
    }

    /// Those that only read leave first, then those that write, then those that serve a kind. Links of other nodes stay.
    private func departures(keeping asker: Session) -> [SessionID] {
        var (readers, writers, providers): ([SessionID], [SessionID], [SessionID]) = ([], [], [])
        sessions.forEach { session in
            guard session !== asker, !session.isClosing, !guests.isLink(session.id), guests.link(of: session.id) == nil
            else { return }
            if !session.served.isEmpty || link.isServing(session.id) {
                providers.append(session.id)
            } else if session.hasWritten {
                writers.append(session.id)
            } else {
                readers.append(session.id)
            }
        }
        return readers + writers + providers
    }

    /// Continues the drain of the server before, which an operator began. This server has no clients yet.
    public mutating func resumeDraining(at now: HubTime) { drainSchedule.start([], over: .zero, at: now.monotonic) }

    // MARK: Where clients go

    private var hasOtherServer: Bool { status?.peers.contains { $0.takesClients } == true }

    /// The node to which the next client is sent; `nil` = no other one serves.
    mutating func nextServer() -> String? { drainSchedule.balance.next(among: status?.peers ?? []) }

    /// The server to which this node sends a client while it lags: the leader, unless the leader drains.
    mutating func serverForClientsOfLaggard() -> String? {
        guard let leader = status?.leader else { return nil }
        let isDraining = status?.peers.contains { $0.node == leader.node && $0.isDraining } == true
        return isDraining ? nextServer() : leader.address
    }

    // MARK: Departures

    /// A client connects to a node that drains.
    ///
    /// - Returns: The address at which it should be instead.
    mutating func receiveNewcomer(_ session: Session, at now: HubTime) -> String? {
        guard drainSchedule.isOn else { return nil }
        guard let address = nextServer() else {
            drainSchedule.opened(session.id)
            return nil
        }
        drainSchedule.opened(session.id, sentTo: address, at: now.monotonic)
        return address
    }

    /// When ``goOnDraining(at:)`` has work. While no other node serves, and while a batch is committing, it waits.
    var nextDeparture: MonotonicTime? {
        drainSchedule.isOn && commit.isIdle && hasOtherServer ? drainSchedule.nextMoment : nil
    }

    /// Sends those away whose moment has come.
    mutating func goOnDraining(at now: HubTime) {
        guard drainSchedule.isOn, commit.isIdle, hasOtherServer else { return }
        while let id = drainSchedule.dueSession(at: now.monotonic) {
            guard let session = sessions[id], !session.isClosing, !session.hasSaidBye else {
                drainSchedule.skip()
                continue
            }
            guard let address = nextServer() else { return }
            drainSchedule.departed(at: now.monotonic)
            sessions.append(.farewell(Self.farewell(to: address)), of: session)
        }
        while let (id, newcomer) = drainSchedule.takeSilent(at: now.monotonic) {
            guard let session = sessions[id], !session.isClosing, !session.hasSaidBye else { continue }
            sessions.append(.farewell(Self.farewell(to: newcomer.address)), of: session)
        }
    }

    /// Ends a session once everything before is answered.
    mutating func end(_ session: Session, with farewell: [UInt8]) {
        session.hasSaidBye = true
        session.ending = .sentAway
        stage(for: session) { $0.append(farewell) }
    }

    /// Decides on the request of a client that came while this node drains.
    ///
    /// - Returns: Whether the client is sent away instead of being answered.
    mutating func isSentAway(_ request: WaitingRequest, from session: Session) -> Bool {
        guard let newcomer = drainSchedule.newcomer(session.id) else { return false }
        if case .other(let request) = request {
            switch request.command {
            case .hello, .ping, .help, .bye, .refused: return false
            case .stats, .node, .handover, .drain:
                drainSchedule.isOperator(session.id)
                return false
            case _: break
            }
        }
        end(session, with: Self.farewell(to: newcomer.address))
        return true
    }

    private static func farewell(to address: String) -> [UInt8] {
        var writer = LineWriter()
        writer.bye(.drain, wait: 0...0, next: address)
        return writer.bytes
    }
}
