import TelltaleModel

/// A process that is known by its beats alone: only a second beat, a span after the first, proves that it runs.
///
/// A single beat may be from an earlier process: delayed, or stored.
struct RunningProcess: Hashable, Sendable {
    private var instance: UInt64 = 0
    private var number: Int64 = 0
    /// When its first beat was heard.
    private var since = MonotonicTime.distantPast

    /// - Parameter span: The least time from the first beat of the process to this one.
    /// - Returns: Whether this beat proves that its process runs.
    mutating func isProven(by beat: Beat, apart span: Milliseconds, at now: MonotonicTime) -> Bool {
        guard beat.instance == instance else {
            (instance, number, since) = (beat.instance, beat.number, now)
            return false
        }
        guard beat.number > number, now.milliseconds(since: since) >= span else { return false }
        number = beat.number
        return true
    }
}
