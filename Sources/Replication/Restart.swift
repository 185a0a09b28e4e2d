import TelltaleModel

/// Whether the process that led is gone: another process of its node runs, and the leader is silent.
///
/// Without this, a restart of all processes would wait for a lease that nobody holds. It is a hint, as each heartbeat is:
/// the log decides which node leads. Two processes with one name are a mistake, and do not depose a leader that lives,
/// because its own heartbeat arrives within the span. A heartbeat that was stored by an earlier process does not count.
struct Restart: Hashable, Sendable {
    /// What a heartbeat means to a node that follows the leader.
    enum Meaning: Hashable, Sendable {
        case none
        /// It is from the process that leads.
        case leaderLives
        /// It is from another process of the leader's node, whose previous heartbeat is at least a span old.
        case leaderGone
    }

    /// The other process, since the leader's last heartbeat.
    private var process = RunningProcess()

    /// A heartbeat of a node arrived.
    ///
    /// - Parameters:
    ///   - term: The newest term that was read.
    ///   - span: The least time between two heartbeats of a running process.
    mutating func overheard(
        _ heartbeat: Heartbeat, leader: LogReader.Leader?, term: Int64, apart span: Milliseconds, at now: MonotonicTime
    ) -> Meaning {
        guard let leader, heartbeat.node == leader.node, heartbeat.instance != 0, leader.instance != 0 else {
            return .none
        }
        guard heartbeat.instance != leader.instance else {
            self = Restart()
            return .leaderLives
        }
        // A process that leads, or knows a newer term, has led in a term that was not read yet.
        guard heartbeat.role != .leading, heartbeat.term <= term else { return .none }
        return process.isProven(by: heartbeat, apart: span, at: now) ? .leaderGone : .none
    }
}
