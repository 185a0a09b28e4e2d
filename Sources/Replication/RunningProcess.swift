import TelltaleModel

/// A process that is known by its heartbeats alone: only a second heartbeat, a span after the first, proves that it runs.
///
/// A single heartbeat may be from an earlier process: delayed, or stored.
struct RunningProcess: Hashable, Sendable {
    private var instance: UInt64 = 0
    private var number: Int64 = 0
    /// When its first heartbeat was heard.
    private var since = MonotonicTime.distantPast

    /// - Parameter span: The least time from the first heartbeat of the process to this one.
    /// - Returns: Whether this heartbeat proves that its process runs.
    mutating func isProven(by heartbeat: Heartbeat, apart span: Milliseconds, at now: MonotonicTime) -> Bool {
        guard heartbeat.instance == instance else {
            (instance, number, since) = (heartbeat.instance, heartbeat.number, now)
            return false
        }
        guard heartbeat.number > number, now.milliseconds(since: since) >= span else { return false }
        number = heartbeat.number
        return true
    }
}
