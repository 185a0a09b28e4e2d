internal import DequeModule
internal import Machines
internal import Surfaces
internal import TelltaleModel
internal import TelltaleWire

// What the clients of a following node write is decided by the leader: by the node's link there, and at the leader for its guests.
extension Hub {
    // MARK: A node that follows

    /// A connection to the leader is there. ``takeLinkOutput()`` begins to use it.
    public mutating func linkConnected(at now: HubTime) {
        guard commit.isFollowing, let status, let key = status.leaderKey else { return }
        link.connected(as: status.node, key: key, at: now.monotonic)
    }

    /// Bytes of the leader. They take effect with the next turn.
    public mutating func linkReceived(_ bytes: Span<UInt8>, at now: HubTime) {
        link.received(bytes, at: now.monotonic)
        noteForwarding(at: now)
    }

    /// The connection to the leader is gone.
    public mutating func linkLost(at now: HubTime) {
        link.lost(at: now.monotonic)
        noteForwarding(at: now)
        // Those that waited for room wait for the next link.
        sessions.resumeAwaitingLeader()
    }

    /// What the leader is to be sent.
    public mutating func takeLinkOutput() -> [UInt8] { link.takeOutput() }

    /// Whether the connection to the leader is of no use, and another one should be tried.
    public mutating func takeLinkRefusal() -> Bool { link.takeRefusal() }

    /// Whether the reply to a forwarded request has yet to leave.
    public var awaitsLeader: Bool { commit.isFollowing && link.hasUnanswered }

    /// Notes whether this node forwards, and resumes the sessions that waited for the link.
    mutating func noteForwarding(at now: HubTime) {
        guard commit.isFollowing, let patience = status?.patience else { return }
        access.status?.forwards = link.isExpected(at: now.monotonic, patience: patience)
        if link.hasRoom { sessions.resumeAwaitingLeader() }
        if status?.forwards == false, let error = status?.notLeader { link.refuseUnsent(error) }
    }

    /// Parks a session whose next request has to wait for the link, or would change who the client is while its earlier requests
    /// are on their way.
    mutating func parksForLeader(_ session: Session, at now: HubTime) -> Bool {
        if session.changesIdentityNext, session.staged.hasAwaited {
            sessions.park(session)
            return true
        }
        guard session.nextIsForwarded, let status, status.forwards, !link.hasRoom else { return false }
        let end = link.isUp ? .distantFuture : link.deadline(after: status.patience)
        guard now.monotonic < end else {
            // It is refused.
            noteForwarding(at: now)
            return false
        }
        sessions.parkForLeader(session, until: end)
        return true
    }

    /// Sends a request to the leader. Its reply takes the place of the staged one: ``releaseReplies(at:)``.
    mutating func forward(_ forwarded: ForwardedRequest, from session: Session, at now: HubTime) {
        if case .other(let request) = forwarded.request, case .tap(let tap) = request.command {
            // Before the row that shows the tap: this screen alone is shown what it asked for.
            session.hasTapped = true
            if let unit = session.unit { budgets.noteTap(of: tap.key, by: unit, in: commit.durableSequence + 1) }
        }
        stage(for: session) { $0.appendAwaited() }
        let identity = GuestIdentity(
            client: session.client, account: session.account, isLocked: session.traits.isLocked,
            principal: access.principal(of: session.id))
        link.forward(forwarded, of: session.id, identity, at: now.monotonic)
    }

    /// Lets the leader's replies leave whose commits this node has applied. A client whose request has an unknown fate is cut off.
    mutating func releaseReplies(at now: HubTime) {
        guard commit.isIdle else { return }
        while let reply = link.takeReply(through: commit.isFollowing ? commit.durableSequence : .max) {
            renderer.setTime(max(store.time, now.time))
            guard let session = sessions[reply.session], !session.isClosing else { continue }
            guard let line = reply.line else {
                cutUnanswered(session)
                continue
            }
            session.staged.settle(line)
            answer(session, at: now)
            if !session.staged.isNextAwaited { sessions.unpark(session) }
        }
    }

    /// Ends a session without a reply: its request may take effect or not, so nothing is said of it.
    mutating func cutUnanswered(_ session: Session) {
        session.staged = StagedReplies()
        session.isClosing = true
        sessions.cut(session)
    }

    // MARK: The leader

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
    mutating func endGuests(of link: SessionID) { for guest in guests.closed(link: link) { disconnected(guest) } }
}
