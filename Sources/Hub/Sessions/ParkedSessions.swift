internal import TelltaleModel

/// The sessions whose next request waits for something external: for a commit of another node of the cluster, for the link to the
/// leader, or for the performer. Their requests have left the queue; otherwise the loop would visit them again and again.
struct ParkedSessions {
    /// How many requests of each session have left the queue.
    private var counts: [SessionID: Int] = [:]
    /// The commit that a session waits for, and when it has waited too long.
    private var commits: [SessionID: (sequence: Int64, end: MonotonicTime)] = [:]
    /// The least of those commits, or one before it: no batch looks at sessions that wait for later ones.
    private var nextCommit = Int64.max
    /// When a session has waited too long for the link to the leader, and the order in which they began to wait.
    private var linkDeadlines: [SessionID: MonotonicTime] = [:]
    private var linkOrder: [SessionID] = []
    /// Sessions that have waited too long for a commit.
    private var tooFarAhead: [SessionID] = []

    mutating func park(_ session: SessionID) { counts[session, default: 0] += 1 }

    /// - Returns: How many requests of the session return to the queue.
    mutating func unpark(_ session: SessionID) -> Int { counts.removeValue(forKey: session) ?? 0 }

    /// Parks a session until this node has read a commit, see ``reached(_:)``.
    ///
    /// - Parameter end: It has waited too long then, if it was not parked before.
    /// - Returns: When it has waited too long.
    mutating func park(_ session: SessionID, until sequence: Int64, or end: MonotonicTime) -> MonotonicTime {
        park(session)
        let end = commits[session]?.end ?? end
        commits[session] = (sequence, end)
        nextCommit = min(nextCommit, sequence)
        return end
    }

    /// Parks a session until there is a link to the leader with room for its request, see ``leaderReached()``.
    mutating func park(_ session: SessionID, untilLeaderOr end: MonotonicTime) {
        park(session)
        if linkDeadlines.updateValue(end, forKey: session) == nil { linkOrder.append(session) }
    }

    /// - Returns: The sessions that waited for a commit up to `sequence`, in the order of their numbers.
    mutating func reached(_ sequence: Int64) -> [SessionID] {
        guard nextCommit <= sequence else { return [] }
        let reached = commits.filter { $0.value.sequence <= sequence }.keys
        for session in reached { commits[session] = nil }
        nextCommit = commits.values.map(\.sequence).min() ?? .max
        return reached.sorted { $0.number < $1.number }
    }

    /// - Returns: The sessions that waited for the link, those first that have waited longest.
    mutating func leaderReached() -> [SessionID] {
        guard !linkOrder.isEmpty else { return [] }
        defer { (linkDeadlines, linkOrder) = ([:], []) }
        return linkOrder.filter { linkDeadlines[$0] != nil }
    }

    /// When a session has waited too long.
    func deadline(of session: SessionID) -> MonotonicTime? {
        guard let end = commits[session]?.end else { return linkDeadlines[session] }
        return min(end, linkDeadlines[session] ?? end)
    }

    /// Notes a session that has waited too long for a commit: ``takeTooFarAhead()``.
    ///
    /// - Returns: Whether it has waited too long for the link: unpark it, and its request is refused.
    mutating func expire(_ session: SessionID, at now: MonotonicTime) -> Bool {
        if let end = commits[session]?.end, now >= end {
            commits[session] = nil
            tooFarAhead.append(session)
        }
        guard let end = linkDeadlines[session], now >= end else { return false }
        linkDeadlines[session] = nil
        return true
    }

    mutating func takeTooFarAhead() -> [SessionID] {
        defer { tooFarAhead = [] }
        return tooFarAhead
    }

    mutating func closed(_ session: SessionID) {
        (counts[session], commits[session], linkDeadlines[session]) = (nil, nil, nil)
    }
}
