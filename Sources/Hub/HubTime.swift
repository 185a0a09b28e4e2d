public import TelltaleModel

/// The clock readings when something reached the hub. The hub itself reads no clock.
public struct HubTime: Hashable, Sendable {
    /// The clock of the kinds: wall time, or N times as fast with `--clock-speed N`.
    public var time: Timestamp
    /// Real wall time: retention and the forgetting of event ids run on it.
    public var wall: Timestamp
    /// Heartbeats, time-outs of connections and rates run on it.
    public var monotonic: MonotonicTime

    /// How far ``wall`` has leapt ahead of a clock that never jumps. Time-outs of operations do not count it.
    public var leap: Milliseconds

    public init(time: Timestamp, wall: Timestamp, monotonic: MonotonicTime, leap: Milliseconds = .zero) {
        self.time = time
        self.wall = wall
        self.monotonic = monotonic
        self.leap = leap
    }
}
