import Cluster
import Hub
import Journal
import Replication
import Server

// The turn of a leader, and its connections.
extension ClusterNode {
    /// The look at the lease comes first: a leader in limbo neither decides nor writes.
    func turn() {
        guard isUp, !isPaused, !isStopped, server != nil else { return }
        if !isLeading { tampering.standbyTurn(of: self) }
        guard mayServe(), !links.isEmpty || isLeading, member?.mayDecide == true else { return }
        server?.turn(at: hubTime)
        performServer()
        takeActions()
    }

    private func mayServe() -> Bool {
        // As the edge of `telltaled`: a node that does not lead serves its lobby, and its member is not asked.
        guard member?.isLeading == true else { return isUp && !isStopped }
        let isAllowed = member?.mayServe(at: hubTime) == true
        takeActions()
        let isLeadingStill = isAllowed && member?.isLeading == true
        return isUp && !isStopped && (isLeadingStill || tampering.showsAnyway(isLeading: isLeading))
    }

    /// Performs what the server wants, where this node may write.
    func performWhereServing() {
        guard isUp, !isStopped, server != nil, mayServe() else { return }
        performServer()
    }

    /// The server may be another one behind each action: what is left of the one before is nobody's.
    private func performServer() {
        let number = serverNumber
        while isUp, !isPaused, !isStopped, number == serverNumber, let action = server?.nextAction(at: hubTime) {
            perform(action)
        }
    }

    private func perform(_ action: Action) {
        switch action {
        case .append(let part, let isLast):
            if !isLeading { cluster.violated("P3", "\(name) decides, and does not lead") }
            batch += part
            if isLast { tampering.decided(batch, by: self) }
            if !tampering.appendBatch(batch, isLast: isLast, of: self) {
                member?.append(part, isLast: isLast, at: hubTime)
            }
            // A batch that comes too late is settled by what deposed its leader.
            takeActions()
        case .flush: flush()
        case .resumeReading(let id): if let link = links[id] { resume(link) }
        case .pauseReading, .stopListening, .report: break
        case .close(let id): if let link = links[id] { close(link) }
        case .closeConnections: closeAll(telling: [])
        case .readHistory(let request):
            let journal = InMemoryJournal(copy.contents)
            server?.historyRead(
                Result { () throws(JournalError) in
                    try journal.readChain(endingAt: request.lastSequence, limit: request.limit)
                }, for: request)
        case .writeSnapshot(let pruning):
            guard let snapshot = server?.snapshot() else { break }
            writeSnapshot(tampering.taken(snapshot, isLeader: true, by: self), pruning, for: .server(serverNumber))
        case .closeJournal: server?.journalClosed(isInOrder: true)
        case .checkTokens(let checks): for check in checks { server?.tokenChecked(check.verdict()) }
        case .wake(let wake): schedule(wake, at: hubTime)
        case .handOver(let handover): member?.handOver(to: handover.successor, at: hubTime)
        case .exit(let status): cluster.violated("turn", "\(name) exits with \(status)")
        }
    }

    private func flush() {
        while let id = server?.nextReady(at: hubTime) {
            guard let link = links[id] else { continue }
            var bytes: [UInt8] = []
            guard let output = server?.output(for: id, at: hubTime, to: &bytes) else { continue }
            if !output.sharedRange.isEmpty { bytes += (server?.sharedRows ?? [])[output.sharedRange] }
            bytes = tampering.written(bytes, to: id, of: self)
            if !isLeading {
                cluster.greeted(bytes, by: self)
            } else if !bytes.isEmpty {
                cluster.send(bytes, to: link, by: self)
            }
            if output.disposition == .finish { close(link) }
        }
        server?.flushed(at: hubTime)
    }

    // MARK: Connections

    /// - Returns: `false` where the node does not lead, and says so, or does not listen at all.
    func accept(_ link: Link) -> Bool {
        guard isUp, !isPaused, !isStopped else { return false }
        // The greeting says so. A daemon tells its server each second.
        if !isLeading, var standing = member?.standing(at: monotonic) {
            if cluster.bug == .silentLeaderNamed {
                standing.leader = member?.leader.map { ($0.node, $0.address) } ?? nil
            }
            server?.stands(standing)
        }
        guard let id = server?.connected(at: hubTime) else { return false }
        link.session = id
        links[id] = link
        turn()
        guard !isLeading else { return true }
        // The lobby's greeting sends the client on.
        if link.session != nil { server?.disconnected(id) }
        link.session = nil
        links[id] = nil
        return false
    }

    func received(_ bytes: [UInt8], on link: Link) {
        guard link.session != nil else { return }
        link.arrived.append(bytes)
        readArrived(on: link)
        perform()
    }

    private func readArrived(on link: Link) {
        guard let id = link.session, !link.isPaused, !link.arrived.isEmpty else { return }
        let bytes = link.arrived.take(link.arrived.count)
        if server?.received(bytes.span, from: id, at: hubTime) == false { link.isPaused = true }
    }

    private func resume(_ link: Link) {
        link.isPaused = false
        readArrived(on: link)
        if link.arrived.isEmpty, link.hasEndArrived, let id = link.session {
            link.hasEndArrived = false
            server?.inputEnded(id)
        }
    }

    func inputEnded(_ link: Link) {
        guard let id = link.session else { return }
        if link.arrived.isEmpty { server?.inputEnded(id) } else { link.hasEndArrived = true }
        perform()
    }

    func lost(_ link: Link) {
        guard let id = link.session else { return }
        link.session = nil
        links[id] = nil
        server?.disconnected(id)
        perform()
    }

    private func close(_ link: Link) {
        if let id = link.session {
            links[id] = nil
            server?.disconnected(id)
        }
        link.session = nil
        cluster.ended(link)
    }

    /// - Parameter farewell: The last line to each.
    func closeAll(telling farewell: [UInt8]) {
        // A client may have left one link and opened another: the order must not hang on that of a dictionary.
        for link in links.sorted(by: { ($0.value.client, $0.key.number) < ($1.value.client, $1.key.number) }).map(
            \.value)
        {
            if !farewell.isEmpty, isUp { cluster.send(farewell, to: link, by: self) }
            link.session = nil
            cluster.ended(link)
        }
        links = [:]
        tampering.connectionsEnded()
    }
}
