public import TelltaleModel

// Heartbeats, and other hints about which node lives.
extension Replica {
    /// An own heartbeat is acknowledged.
    public mutating func heartbeatAcknowledged(number: Int64, at now: MonotonicTime) {
        guard role != .stopped, number > acknowledgedHeartbeat, let sent = heartbeatsSent[number] else { return }
        acknowledgedHeartbeat = number
        lastAnswer = now
        if role == .leading, mayShow(at: now) { lastProof = max(lastProof, sent) }
    }

    /// Every heartbeat of another node that was stored before this own one has been delivered.
    public mutating func heartbeatsShown(through number: Int64, at now: MonotonicTime) {
        guard role != .stopped, number > shownHeartbeat, let sent = heartbeatsSent[number] else { return }
        shownHeartbeat = number
        election.viewed(sentAt: sent, at: now)
        volunteer(at: now)
    }

    /// The newest heartbeat of another node.
    public mutating func heard(_ heartbeat: Heartbeat, at now: MonotonicTime) {
        guard heartbeat.node == node else {
            return election.heard(heartbeat, isOfLeader: isOfLeader(heartbeat), at: now)
        }
        guard role != .stopped, heartbeat.instance != instance, heartbeat.instance != 0 else { return }
        let span = Milliseconds(settings.heartbeat.count / 2)
        switch duplicateNode.heard(heartbeat, heartbeatCount: heartbeatCount, instance: instance, apart: span, at: now)
        {
        case .none: break
        case .runs:
            if heartbeat.role == .leading, heartbeat.instance == reader.leader?.instance {
                election.leaderLives(at: now)
            }
        case .isEarlier: refuse(heartbeat.address)
        }
    }

    /// An older release sends no instance, and is identified by its node.
    private func isOfLeader(_ heartbeat: Heartbeat) -> Bool {
        guard let leader = reader.leader, leader.node == heartbeat.node else { return false }
        return heartbeat.instance == leader.instance || heartbeat.instance == 0 || leader.instance == 0
    }

    /// A heartbeat of another node arrived that is not stored yet, and may never be.
    ///
    /// It does not count as a sign of life of a leader. But a process that replaced the leader's shows by it that the
    /// leader is gone.
    public mutating func overheard(_ heartbeat: Heartbeat, at now: MonotonicTime) {
        guard role != .stopped, heartbeat.node != node else { return }
        let span = settings.heartbeat + Milliseconds(settings.heartbeat.count / 2)
        switch restart.overheard(heartbeat, leader: reader.leader, term: term, apart: span, at: now) {
        case .none: break
        case .leaderLives: election.leaderReplaced(false, at: now)
        case .leaderGone: election.leaderReplaced(true, at: now)
        }
        volunteer(at: now)
    }

    /// The connection to the leader was reset, and another one is refused.
    public mutating func leaderRefusesConnections(at now: MonotonicTime) {
        guard role == .standby, reader.leader?.node != node else { return }
        election.leaderGone(at: now)
        volunteer(at: now)
    }
}
