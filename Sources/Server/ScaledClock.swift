public import TelltaleModel

/// The kinds' clock of a daemon with `--clock-speed`: it runs that many times as fast as real time, from its start on.
///
/// Changes of the machine's date do not affect it: a correction by seconds would be multiplied into hours, and timers
/// that have fired cannot be undone.
public struct ScaledClock: Sendable {
    public let speed: Double
    private let start: Timestamp
    /// The moment of the start, by the monotonic clock.
    private let monotonic: MonotonicTime

    /// - Parameters:
    ///   - start: Now, or the time of the newest record where that is later.
    ///   - monotonic: A clock that never jumps, and that advances while the machine sleeps.
    public init(_ start: Timestamp, monotonic: MonotonicTime, speed: Double) {
        self.speed = speed
        self.start = start
        self.monotonic = monotonic
    }

    public func reading(monotonic: MonotonicTime) -> Timestamp {
        let span = max(.zero, monotonic.milliseconds(since: self.monotonic))
        return start + Milliseconds(Int64(exactly: (Double(span.count) * speed).rounded()) ?? .max)
    }
}
