internal import DequeModule
internal import Surfaces
internal import TelltaleModel
internal import TelltaleWire

// The clients of other nodes, at the leader: they arrive by the links of their nodes.
extension Hub {
    /// Accepts a connection as the link of another node.
    mutating func decideNode(_ node: String, token: String, _ request: Request, from session: Session) {
        var writer = LineWriter()
        defer { stage(for: session) { $0.append(writer.bytes) } }
        guard let status, let key = status.leaderKey else {
            return writer.error(
                WireError(.unknownVerb, "NODE: this server is by itself; it is for the nodes of a cluster"),
                id: request.id)
        }
        guard status.role == .leader else { return writer.error(status.notLeader, id: request.id) }
        guard token == String(key, radix: 16) else {
            return writer.error(
                WireError(.forbidden, "\(node) does not say what a node of this cluster knows of its leader"),
                id: request.id)
        }
        access.closed(session.id)
        session.isRestricted = false
        session.decoder.lineLengthLimit = LinkLine.lengthLimit
        guests.opened(link: session.id)
        writer.beginOK(id: request.id)
        writer.attribute("term", status.term)
        writer.end()
    }

    /// Bytes of another node, on its link.
    mutating func receivedOnLink(_ bytes: Span<UInt8>, from link: Session, at now: HubTime) {
        link.lastReceived = now.monotonic
        var lines: [(LinkLine, [UInt8])] = []
        do throws(WireError) {
            try link.decoder.decode(bytes) { line in
                if let read = LinkLine(line) { lines.append((read, line.bytes(read.rest))) }
            }
        } catch {
            sessions.cut(link)
        }
        for (line, rest) in lines { handle(line, rest, of: link, at: now) }
    }

    private mutating func handle(_ line: LinkLine, _ rest: [UInt8], of link: Session, at now: HubTime) {
        let guest = guests.guest(line.number, of: link.id).flatMap { sessions[$0] }
        switch line.verb {
        case .guest: introduce(guest, number: line.number, rest, of: link, at: now)
        case .forward:
            guard let guest else { return sendOnLink(link) { LinkLine.write(.gone, line.number, to: &$0) } }
            sessions.received((rest + [UInt8(ascii: "\n")]).span, from: guest, at: now.monotonic)
        case .gone: if let guest { disconnected(guest.id) }
        case .all: providers.named(allOf: UInt32(truncatingIfNeeded: line.number))
        case .reply, .again: break
        }
    }

    private mutating func introduce(
        _ known: Session?, number: Int64, _ json: [UInt8], of link: Session, at now: HubTime
    ) {
        guard let json = try? JSONParser().parse(json.span), let identity = json.object.flatMap({ GuestIdentity($0) })
        else { return sessions.cut(link) }
        let guest = known ?? sessions.opened(guest: number, at: now.monotonic)
        if known == nil {
            guests.opened(guest.id, of: link.id)
            guest.decoder.lineLengthLimit = LinkLine.lengthLimit
        }
        (guest.client, guest.account) = (identity.client, identity.account)
        guest.traits.isLocked = identity.isLocked
        access.introduce(guest.id, as: identity.principal)
        for kind in identity.served where !guest.served.contains(kind) {
            guard store.kind(named: kind)?.isServed == true, identity.principal?.has(.serve(kind)) != false else {
                continue
            }
            guest.served.append(kind)
            _ = providers.serve(kind, guest.id)
        }
    }

    private mutating func sendOnLink(_ link: Session, _ write: (inout [UInt8]) -> Void) {
        var bytes: [UInt8] = []
        write(&bytes)
        link.send(bytes)
        sessions.makeReady(link)
    }

    /// Moves what a guest is to be sent to its link. Of all that a session is sent, only replies are for the node.
    mutating func relay(_ guest: Session) {
        guard let link = guests.link(of: guest.id).flatMap({ sessions[$0] }) else { return }
        var bytes: [UInt8] = []
        for case .bytes(let lines, _) in guest.outbox {
            for line in lines.split(separator: UInt8(ascii: "\n")) where !line.starts(with: "BYE ".utf8) {
                LinkLine.write(
                    .reply, guest.id.number, commit.durableSequence, rest: Array(line).span, to: &bytes)
            }
        }
        guest.outbox = []
        guest.hasMarkPending = false
        if !bytes.isEmpty {
            link.send(bytes)
            sessions.makeReady(link)
        }
        guard guest.isClosing else { return sessions.readOn(guest) }
        sendOnLink(link) { LinkLine.write(.gone, guest.id.number, to: &$0) }
        disconnected(guest.id)
    }

    /// This node leads no more: ends every link. Its node sends again what was not decided.
    mutating func endLinks() {
        for id in guests.links {
            guard let link = sessions[id] else { continue }
            for id in guests.guests(of: id) {
                guard let guest = sessions[id], !guest.isClosing else { continue }
                relay(guest)
                if guest.inFlightCount > 0 || !guest.unread.isEmpty {
                    sendOnLink(link) { LinkLine.write(.again, guest.id.number, to: &$0) }
                }
            }
            endGuests(of: id)
            link.isClosing = true
            sessions.makeReady(link)
        }
    }

    /// A link is gone, and its guests with it.
    mutating func endGuests(of link: SessionID) {
        for guest in guests.closed(link: link) {
            if let session = sessions[guest], !session.served.isEmpty {
                // Its connection may be there; only its node has ended the link.
                session.served = []
                providers.lost(guest)
            }
            disconnected(guest)
        }
    }
}
