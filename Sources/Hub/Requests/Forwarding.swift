internal import DequeModule
internal import Machines
internal import Surfaces
internal import TelltaleModel
internal import TelltaleWire

// What the clients of a following node write goes to the leader, on the node's link there.
extension Hub {
    /// A connection to the leader is there. ``takeLinkOutput()`` begins to use it.
    public mutating func linkConnected(at now: HubTime) {
        guard commit.isFollowing, let status, let key = status.leaderKey else { return }
        link.connected(as: status.node, process: sessions.process, key: key, at: now.monotonic)
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
        link.forward(forwarded, of: session.id, identity(of: session), at: now.monotonic)
    }

    /// What the leader has to know of a client.
    func identity(of session: Session) -> GuestIdentity {
        GuestIdentity(
            client: session.client, account: session.account, isLocked: session.traits.isLocked,
            principal: access.principal(of: session.id))
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
}
