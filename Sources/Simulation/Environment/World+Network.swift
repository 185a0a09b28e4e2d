import Hub
import TelltaleModel

// A network with sockets of limited size, wires with delays, and bytes that arrive in pieces.
extension World {
    /// A client connects.
    func connect(_ client: any SimulatedClient) -> Link {
        let link = Link(
            client: client.index, capacity: [2_000, 16_000, 200_000][random.below(3)],
            generation: daemon.generation)
        // It takes a moment until the daemon hears of it; nothing is lost by accepting at once.
        daemon.accept(link)
        daemon.turn()
        return link
    }

    /// A client sends.
    func send(_ text: String, on link: Link) {
        guard link.isOpenAtClient else { return }
        let text = introducing(text, on: link)
        trace?(now, link.client, "> " + text)
        inPieces(Array(text.utf8)) { piece in
            link.lastArrivalAtServer = max(link.lastArrivalAtServer, now + wireDelay())
            queue.schedule(.toServer(link, piece), at: link.lastArrivalAtServer)
        }
    }

    /// With the token of the client, where the daemon wants one.
    private func introducing(_ text: String, on link: Link) -> String {
        guard let principals, text.hasPrefix("HELLO"), !(clients[link.client] is GuestClient),
            let end = text.firstIndex(of: "\n")
        else { return text }
        return (principals.introducing([String(text[..<end])]).lines.first ?? "") + text[end...]
    }

    /// Cuts what is sent, as a network does.
    private func inPieces(_ bytes: [UInt8], _ body: ([UInt8]) -> Void) {
        var start = 0
        while start < bytes.count {
            let isSliced = !isCalm && wires.chance(climate.slices)
            let count = isSliced ? 1 + wires.below(bytes.count - start) : bytes.count - start
            body(count == bytes.count ? bytes : Array(bytes[start..<start + count]))
            start += count
        }
    }

    func halfClose(_ link: Link) {
        link.lastArrivalAtServer = max(link.lastArrivalAtServer, now + wireDelay())
        queue.schedule(.halfClosed(link), at: link.lastArrivalAtServer)
    }

    /// A client goes without a word.
    func reset(_ link: Link) {
        link.isOpenAtClient = false
        link.lastArrivalAtServer = max(link.lastArrivalAtServer, now + wireDelay())
        queue.schedule(.lostAtServer(link), at: link.lastArrivalAtServer)
    }

    /// The daemon sends.
    ///
    /// - Returns: Whether the socket took all of it.
    func send(_ bytes: [UInt8], to link: Link) -> Bool {
        var bytes = bytes
        tampering?.change(&bytes, toPerson: (clients[link.client] as? Screen)?.account != nil, client: link.client)
        EmissionCheck.check(bytes, limit: daemon.configuration.limits.bytesPerFlush + (1 << 16), world: self)
        (clients[link.client] as? GuestClient)?.emitted(bytes, on: link)
        (clients[link.client] as? WidgetScreen)?.emitted(bytes, on: link)
        if !daemon.isInDoubt {
            (clients[link.client] as? BoardScreen)?.emitted(bytes, on: link)
            (clients[link.client] as? VisitScreen)?.emitted(bytes, on: link)
        }
        link.unsent.append(bytes)
        push(link)
        return link.unsent.isEmpty
    }

    /// Nothing more comes from the daemon.
    func finish(_ link: Link) {
        link.isFinishing = true
        if link.unsent.isEmpty { hangUp(link) }
    }

    private func hangUp(_ link: Link) {
        link.lastArrivalAtClient = max(link.lastArrivalAtClient, now + wireDelay())
        queue.schedule(.lostAtClient(link), at: link.lastArrivalAtClient)
        queue.schedule(.lostAtServer(link), at: link.lastArrivalAtClient)
    }

    /// The bytes that the socket takes go on their way.
    private func push(_ link: Link) {
        let count = min(link.capacity - link.buffered, link.unsent.count)
        guard count > 0 else { return }
        let bytes = link.unsent.take(count)
        link.buffered += count
        link.lastProgress = now
        inPieces(bytes) { piece in
            link.lastArrivalAtClient = max(link.lastArrivalAtClient, now + wireDelay())
            queue.schedule(.toClient(link, piece), at: link.lastArrivalAtClient)
        }
    }

    func arrived(_ bytes: [UInt8], at link: Link) {
        guard link.isOpenAtClient else { return }
        link.received.append(bytes)
        read(link)
    }

    func read(_ link: Link) {
        guard link.isOpenAtClient, !link.received.isEmpty, !link.isReadScheduled else { return }
        let count = min(link.readingLimit ?? .max, link.received.count)
        let bytes = link.received.take(count)
        link.buffered -= count
        ledger.heard(bytes, client: link.client, at: now)
        trace?(now, link.client, "< " + String(decoding: bytes, as: UTF8.self))
        clients[link.client].received(bytes, on: link)
        let wasBlocked = !link.unsent.isEmpty
        push(link)
        if wasBlocked, link.unsent.isEmpty {
            if link.isFinishing { hangUp(link) } else { daemon.becameWritable(link) }
        }
        if link.readingLimit != nil, !link.received.isEmpty {
            link.isReadScheduled = true
            schedule(.read(link), after: link.pause)
        }
    }

    func wasHungUp(_ link: Link) -> Bool {
        daemon.isUp && link.session == nil && !link.isFinishing && link.wasAcceptedIn == daemon.generation
            && !link.wasCut
    }

    func lostAtClient(_ link: Link) {
        guard link.isOpenAtClient else { return }
        // Bytes that came before the end are read before it.
        if !link.received.isEmpty {
            link.readingLimit = nil
            link.isReadScheduled = false
            read(link)
        }
        link.isOpenAtClient = false
        clients[link.client].lost(link)
    }

    func tampered(_ bytes: [UInt8]) -> [UInt8] {
        tampering?.changeRequests(bytes, durable: daemon.disk.durableSequence) ?? bytes
    }
}
