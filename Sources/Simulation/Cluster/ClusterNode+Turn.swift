import Hub
import Journal
import Replication
import Server

// The turn of a leader, and its connections.
extension ClusterNode {
    /// The look at the lease comes first: a leader in limbo neither decides nor writes.
    func turn() {
        guard isUp, !isPaused, server != nil else { return }
        let isAllowed = replica?.mayShow(at: monotonic) ?? false
        takeActions()
        guard isAllowed || tampering.showsAnyway(isLeading: replica?.role == .leading), server != nil else { return }
        server?.turn(at: hubTime)
        while isUp, !isPaused, let action = server?.nextAction(at: hubTime) {
            perform(action)
            if server == nil { break }
        }
        takeActions()
    }

    private func perform(_ action: Action) {
        switch action {
        case .append(let part, let isLast):
            records += part
            guard isLast else { break }
            if cluster.bug == .standbyFiresTimers, replica?.role != .leading {
                // A standby that decides has no log to ask.
                records = []
                server?.synced(.durable(duration: .zero, wait: .zero), at: hubTime)
                break
            }
            if cluster.bug == .copiedBeforeStored {
                copy.append(records)
                cluster.copied(records, by: self)
            }
            if !tampering.appendBatch(records, of: self) { replica?.append(records, at: monotonic) }
            // A batch that comes too late is settled by what deposed its leader.
            takeActions()
        case .flush: flush()
        case .resumeReading(let id): if let link = links[id] { resume(link) }
        case .pauseReading, .stopListening, .report: break
        case .close(let id): if let link = links[id] { close(link) }
        case .closeConnections: closeAll()
        case .readHistory(let request):
            let journal = InMemoryJournal(copy.contents)
            server?.historyRead(
                Result { () throws(JournalError) in
                    try journal.readChain(endingAt: request.lastSequence, limit: request.limit)
                }, for: request)
        case .writeSnapshot: server?.snapshotWritten(isWritten: false)
        case .closeJournal: server?.journalClosed(isInOrder: true)
        case .wake(let wake): schedule(wake, at: hubTime)
        case .handOver(let handover): replica?.resign(to: handover.successor, at: monotonic)
        case .exit(let status): cluster.violated("turn", "\(name) exits with \(status)")
        }
    }

    private func flush() {
        while let id = server?.nextReady() {
            guard let link = links[id] else { continue }
            var bytes: [UInt8] = []
            guard let output = server?.output(for: id, at: hubTime, to: &bytes) else { continue }
            if !output.sharedRange.isEmpty { bytes += (server?.sharedRows ?? [])[output.sharedRange] }
            bytes = tampering.written(bytes, to: id, of: self)
            if !bytes.isEmpty { cluster.send(bytes, to: link, by: self) }
            if output.disposition == .finish { close(link) }
        }
        server?.flushed(at: hubTime)
    }

    // MARK: Connections

    /// - Returns: `false` where the node leads not, or listens not at all.
    func accept(_ link: Link) -> Bool {
        guard isUp, !isPaused, isLeading, let id = server?.connected(at: hubTime) else { return false }
        link.session = id
        links[id] = link
        turn()
        return true
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

    func closeAll() {
        for link in links.values.sorted(by: { $0.client < $1.client }) {
            link.session = nil
            cluster.ended(link)
        }
        links = [:]
        tampering.connectionsEnded()
    }
}
