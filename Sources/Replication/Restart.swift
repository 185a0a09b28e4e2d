import TelltaleModel

/// Whether the process that led is gone: another process of its node runs, and the leader is silent.
///
/// Without this, a restart of all processes would wait for a lease that nobody holds. It is a hint, as each beat is:
/// the log decides which node leads. Two processes with one name are a mistake, and do not depose a leader that lives,
/// because its own beat arrives within the span. A beat that was stored by an earlier process does not count.
struct Restart: Hashable, Sendable {
    /// What a beat means to a node that follows the leader.
    enum Meaning: Hashable, Sendable {
        case none
        /// It is from the process that leads.
        case leaderLives
        /// It is from another process of the leader's node, whose previous beat is at least a span old.
        case leaderGone
    }

    /// The other process, since the leader's last beat.
    private var process = RunningProcess()

    /// A beat of a node arrived.
    ///
    /// - Parameters:
    ///   - term: The newest term that was read.
    ///   - span: The least time between two beats of a running process.
    mutating func overheard(
        _ beat: Beat, leader: LogReader.Leader?, term: Int64, apart span: Milliseconds, at now: MonotonicTime
    ) -> Meaning {
        guard let leader, beat.node == leader.node, beat.instance != 0, leader.instance != 0 else { return .none }
        guard beat.instance != leader.instance else {
            self = Restart()
            return .leaderLives
        }
        // A process that leads, or knows a newer term, has led in a term that was not read yet.
        guard beat.role != .leading, beat.term <= term else { return .none }
        return process.isProven(by: beat, apart: span, at: now) ? .leaderGone : .none
    }
}
