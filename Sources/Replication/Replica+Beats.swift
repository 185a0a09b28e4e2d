public import TelltaleModel

// Beats, and other hints about which node lives.
extension Replica {
    /// An own beat is acknowledged.
    public mutating func beatAcknowledged(number: Int64, at now: MonotonicTime) {
        guard role != .stopped, number > acknowledgedBeat, let sent = beatsSent[number] else { return }
        acknowledgedBeat = number
        lastAnswer = now
        if role == .leading, mayShow(at: now) { lastProof = max(lastProof, sent) }
    }

    /// Every beat of another node that was stored before this own one has been delivered.
    public mutating func beatsShown(through number: Int64, at now: MonotonicTime) {
        guard role != .stopped, number > shownBeat, let sent = beatsSent[number] else { return }
        shownBeat = number
        election.viewed(sentAt: sent, at: now)
        volunteer(at: now)
    }

    /// The newest beat of another node.
    public mutating func heard(_ beat: Beat, at now: MonotonicTime) {
        guard beat.node == node else { return election.heard(beat, isOfLeader: isOfLeader(beat), at: now) }
        guard role != .stopped, beat.instance != instance, beat.instance != 0 else { return }
        let span = Milliseconds(settings.beat.count / 2)
        switch namesake.heard(beat, beatCount: beatCount, instance: instance, apart: span, at: now) {
        case .none: break
        case .runs:
            if beat.role == .leading, beat.instance == reader.leader?.instance { election.leaderLives(at: now) }
        case .isEarlier: refuse(beat.address)
        }
    }

    /// An older release sends no instance, and is identified by its node.
    private func isOfLeader(_ beat: Beat) -> Bool {
        guard let leader = reader.leader, leader.node == beat.node else { return false }
        return beat.instance == leader.instance || beat.instance == 0 || leader.instance == 0
    }

    /// A beat of another node arrived that is not stored yet, and may never be.
    ///
    /// It does not count as a sign of life of a leader. But a process that replaced the leader's shows by it that the
    /// leader is gone.
    public mutating func overheard(_ beat: Beat, at now: MonotonicTime) {
        guard role != .stopped, beat.node != node else { return }
        let span = settings.beat + Milliseconds(settings.beat.count / 2)
        switch restart.overheard(beat, leader: reader.leader, term: term, apart: span, at: now) {
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
