public import TelltaleModel

/// The kinds' clock of a daemon with `--clock-speed`: it runs that many times as fast as real time, from its start on.
///
/// A change of the machine's date is nothing to it: a correction by seconds would be one by hours, as many
/// times as long as the clock is fast, and timers that fire are not taken back.
public struct ScaledClock: Sendable {
    public let speed: Double
    private let start: Timestamp
    /// When that was, by the monotonic clock.
    private let monotonic: Timestamp

    /// - Parameters:
    ///   - start: Now, or the time of the newest record where that is later.
    ///   - monotonic: Milliseconds on a clock that never jumps, and goes on while the machine sleeps.
    public init(_ start: Timestamp, monotonic: Int64, speed: Double) {
        self.speed = speed
        self.start = start
        self.monotonic = Timestamp(milliseconds: monotonic)
    }

    public func reading(monotonic: Int64) -> Timestamp {
        let span = max(.zero, Timestamp(milliseconds: monotonic) - self.monotonic)
        return start + Milliseconds(Int64(exactly: (Double(span.count) * speed).rounded()) ?? .max)
    }
}
