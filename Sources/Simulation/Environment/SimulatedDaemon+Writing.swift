import Hub
import Server
import TelltaleModel

// Output: rendered for several sessions before any of them is written to, as the daemon does.
extension SimulatedDaemon {
    func flush() {
        while let id = server?.nextReady(at: now) {
            guard let link = links[id] else { continue }
            guard link.unsent.isEmpty else {
                block(link, id)
                continue
            }
            var bytes: [UInt8] = []
            guard let output = server?.output(for: id, at: now, to: &bytes) else { continue }
            outgoing.append(Rendered(session: id, bytes: bytes, output: output))
            // One that is ready again must not be rendered a second time before its first write.
            if outgoing.count >= Self.renderedAtOnce || output.disposition == .hasMore { deliverOutgoing() }
        }
        deliverOutgoing()
        if world.bug == .restOfFlushDropped, server?.hasCutFlush == true { while server?.hub.nextReady() != nil {} }
        server?.flushed(at: now)
        rules.flushed(at: now.monotonic)
    }

    private func deliverOutgoing() {
        let shared = server?.sharedRows ?? []
        let rendered = outgoing
        outgoing = []
        clock.tick(at: world.hubTime)
        for (place, item) in rendered.enumerated() {
            var bytes = item.bytes
            if !item.output.sharedRange.isEmpty {
                bytes = Array(shared[item.output.sharedRange])
            } else if world.bug == .neighbourWritten, place > 0, bytes.isEmpty == false {
                bytes = rendered[place - 1].bytes
            }
            deliver(bytes, item.output.disposition, to: item.session)
        }
    }

    /// Gives a session what it is due; what its socket does not take waits.
    func deliver(_ bytes: [UInt8], _ disposition: Disposition, to id: SessionID) {
        guard let link = links[id] else { return }
        if !bytes.isEmpty, !world.send(bytes, to: link) { block(link, id) }
        if disposition == .finish { world.finish(link) }
    }

    func block(_ link: Link, _ id: SessionID) {
        if link.blockedSince == nil {
            link.wasBlocked = true
            link.blockedSince = world.now
            link.lastProgress = world.now
            blocked.append(link)
        }
        server?.becameBlocked(id, at: now)
    }
}
