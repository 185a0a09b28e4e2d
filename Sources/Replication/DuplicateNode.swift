import TelltaleModel

/// Detects another process with the name of this node, by its heartbeats.
struct DuplicateNode: Hashable, Sendable {
    /// What a heartbeat with this name says about the other process.
    enum Word: Hashable, Sendable {
        /// It does not prove that the other process runs.
        case none
        case runs
        /// It runs, and has sent more heartbeats: this process is the later one. With equal counts, the higher instance
        /// counts as the later.
        case isEarlier
    }

    private var process = RunningProcess()

    /// A heartbeat with this node's name arrived from another process.
    ///
    /// - Parameters:
    ///   - heartbeatCount: Of this process.
    ///   - instance: Of this process.
    ///   - span: The least time between two heartbeats of a running process.
    mutating func heard(
        _ heartbeat: Heartbeat, heartbeatCount: Int64, instance: UInt64, apart span: Milliseconds, at now: MonotonicTime
    ) -> Word {
        guard process.isProven(by: heartbeat, apart: span, at: now) else { return .none }
        return (heartbeat.number, instance) > (heartbeatCount, heartbeat.instance) ? .isEarlier : .runs
    }
}
