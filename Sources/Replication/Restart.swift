import TelltaleModel

/// Whether the process that led is gone: another one of its node runs, and it says nothing itself.
///
/// Behind the end of all processes a node would else wait for a lease that no process holds. It is a hint, as each beat is: the log
/// says which node leads. Two processes of one name are a mistake, and the leader is not deposed for it where it lives: its own word
/// comes within the span. What is kept of a life before is no word.
struct Restart: Hashable, Sendable {
    /// A word of a node, to one that follows the leader.
    enum Meaning: Hashable, Sendable {
        case none
        /// The process that leads says it.
        case leaderLives
        /// Another process of its node says it, and has said another one a span ago.
        case leaderGone
    }

    /// The other process, since a word of the leader.
    private var process = RunningProcess()

    /// A node says this now.
    ///
    /// - Parameters:
    ///   - term: The newest one that was read.
    ///   - span: Words of a process that runs are never so far apart.
    mutating func overheard(
        _ beat: Beat, leader: LogReader.Leader?, term: Int64, apart span: Milliseconds, at now: MonotonicTime
    ) -> Meaning {
        guard let leader, beat.node == leader.node, beat.instance != 0, leader.instance != 0 else { return .none }
        guard beat.instance != leader.instance else {
            self = Restart()
            return .leaderLives
        }
        // One that leads, or knows more, has led in a term that was not read yet.
        guard beat.role != .leading, beat.term <= term else { return .none }
        return process.isProven(by: beat, apart: span, at: now) ? .leaderGone : .none
    }
}
