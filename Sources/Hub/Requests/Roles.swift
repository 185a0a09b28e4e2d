public import Kinds
package import Machines
package import TelltaleModel
internal import TelltaleWire

// The two modes of a node of a cluster: it decides, or it follows what another node decides.
extension Hub {
    /// Whether another node decides: records come by ``replay(_:at:)``, and requests that need no record are answered.
    public var isFollowing: Bool { commit.isFollowing }

    /// Another node decides from now on. Sessions and subscriptions stay.
    ///
    /// A batch in progress is undone, and its changes may yet come from the log, so nothing is said of them: the connections that
    /// wait for an answer to one end. So do the links of other nodes. What the hub was to originate is dropped. Connections that
    /// serve kinds are named to the next leader, and go on to do so.
    public mutating func follow(at now: HubTime) {
        if commit.isDeciding { _ = commit.endPart(isLast: true) }
        if commit.isIdle {
            // Batches of reads have raised the clocks beyond the newest record.
            store.rollBack(to: commit.durableSequence)
        } else {
            abandonBatch(at: now)
        }
        endLinks()
        commit.follow()
        sessions.keepLines(true)
        link.follow(at: now.monotonic)
        for slot in 0..<sessions.slotCount {
            guard let session = sessions[slot: Int32(slot)] else { continue }
            if case .reload? = session.inbox.first { session.refuseReload(status?.notLeader ?? .journalFailed) }
            guard !session.served.isEmpty else { continue }
            var identity = identity(of: session)
            identity.served = session.served
            session.served = []
            link.adopt(session.id, identity, at: now.monotonic)
        }
        providers = ProviderRegistry()
        access.handover = nil
        noteForwarding(at: now)
    }

    /// Each control and widget that a connection acts for, for the simulator.
    package var assignments: [(key: Key, provider: ConnectionNumber?, operation: OperationID?)] {
        store.controlsWithProvider.map { ($0, store.provider(of: $0), store.operation(of: $0)) }
    }

    /// Leaves the clocks ahead of the newest record, for the simulator, which plants this mistake.
    package mutating func raiseClocks(to now: HubTime) { store.raiseClocks(to: now) }

    private mutating func abandonBatch(at now: HubTime) {
        for id in rollBack(status?.notLeader ?? .journalFailed, at: now.monotonic) {
            guard let session = sessions[id] else { continue }
            guard session.staged.hasCommitted else {
                answer(session, at: now)
                continue
            }
            cutUnanswered(session)
        }
    }

    /// This node decides from now on, after the newest record: the replay has ended.
    ///
    /// Kinds and settings in force stay those of the history. In a cluster operations go on, and providers keep their places until
    /// their nodes have named them: ``ProviderRegistry``. A server by itself takes all earlier connections for gone.
    ///
    /// - Parameter kinds: The kinds, like `settings`, of a history that has no record yet.
    /// - Throws: ``KindRefusal`` or ``SettingsRefusal``; it follows then.
    public mutating func lead(beginningWith kinds: [Kind], _ settings: DecisionSettings) throws {
        precondition(commit.isIdle, "a batch is in progress")
        if store.sequence == 0 { try adopt(kinds, settings) }
        commit.lead()
        let own = link.becameLeader()
        sessions.keepLines(false)
        sessions.resumeAwaitingLeader()
        sessions.resumeAwaiting(through: .max)
        // A deadline that this node had fired, and whose record was refused, is armed nowhere else.
        store.armAll()
        inheritProviders(own)
    }

    /// - Parameter own: The clients of this node that serve kinds.
    private mutating func inheritProviders(_ own: [(session: SessionID, kinds: [String])]) {
        let keys = store.controlsWithProvider
        guard status != nil else { return keys.forEach { commit.propose(.restarted($0)) } }
        for key in keys { if let provider = store.provider(of: key) { providers.keep(String(key.kind), provider) } }
        for (id, kinds) in own {
            guard let session = sessions[id], !session.isClosing else { continue }
            session.served = kinds
            for kind in kinds { _ = providers.serve(kind, id) }
        }
        providers.unalignAll()
    }

    // MARK: A node that lags

    /// The pause, in milliseconds, after which a client looks for the next leader.
    static let nextLeaderWait = 0...500
    /// How long a client may wait that has seen more than this node.
    private static let aheadPatience = Milliseconds.seconds(5)
    /// How long rows may be old before a node that knows a current one sends its clients there, and the time over which it does.
    private static let (stalePatience, staleSpread) = (Milliseconds.seconds(30), Milliseconds.seconds(10))

    /// The performer reports this server's role and its view of the cluster, at every change and each second.
    ///
    /// Every connection is sent a `MARK` where rows become old or current. After half a minute of old rows the connections are sent
    /// to the leader, a tenth of them each second; while none is heard they stay.
    public mutating func stands(_ status: ClusterStatus, at now: HubTime) {
        let isChanged = (access.status?.staleSince == nil) != (status.staleSince == nil)
        access.status = status
        drainSchedule.balance.reported(at: now.monotonic)
        noteForwarding(at: now)
        if commit.isFollowing {
            link.tick(at: now.monotonic, patience: status.patience + status.patience)
            if commit.isIdle { callProviders() }
        } else {
            // For one lease a leader before may still speak, and for one a node acts on what it has heard.
            providers.expire(at: now.monotonic, after: status.lease + status.lease)
        }
        let age =
            status.staleSince.map { now.monotonic.milliseconds(since: $0) - Self.stalePatience } ?? Milliseconds(-1)
        let isLeaving = age >= .zero && status.leader != nil
        guard isChanged || isLeaving else { return }
        for slot in 0..<sessions.slotCount {
            guard let session = sessions[slot: Int32(slot)], !session.isClosing else { continue }
            let share = Milliseconds(Int64(slot) * 1_000 % Self.staleSpread.count)
            if isLeaving, share <= age { sendOn(session, because: .behind) }
            session.hasMarkPending = true
            sessions.makeReady(session)
        }
    }

    /// Parks a session whose next request has seen a commit that this node has yet to read: after a `RESET` its client would take
    /// older rows for newer ones.
    mutating func parksAhead(_ session: Session, at now: HubTime) -> Bool {
        guard let position = session.nextSeenPosition, position.epoch == store.epoch,
            position.sequence > commit.durableSequence
        else { return false }
        sessions.park(session, until: position.sequence, at: now.monotonic, patience: Self.aheadPatience)
        return true
    }

    /// Ends the sessions that have waited too long for this node to read on.
    mutating func endTooFarAhead() {
        for id in sessions.takeTooFarAhead() {
            if let session = sessions[id], !session.isClosing { sendOn(session, because: .behind) }
        }
    }

    private mutating func sendOn(_ session: Session, because code: ByeCode) {
        var writer = LineWriter()
        if code == .notLeader {
            writer.bye(code, wait: Self.nextLeaderWait, leader: status?.leader?.address)
        } else {
            writer.bye(code, next: serverForClientsOfLaggard())
        }
        session.send(writer.bytes)
        session.isClosing = true
        sessions.makeReady(session)
    }
}
