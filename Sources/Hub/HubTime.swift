public import TelltaleModel

/// The clocks when something reached the hub. The hub never asks; it is told.
public struct HubTime: Hashable, Sendable {
    /// The clock by which kinds live: wall time, or N times as fast with `--clock-speed N`.
    public var time: Timestamp
    /// Real wall time: retention and the forgetting of event ids run on it.
    public var wall: Timestamp
    /// Heartbeats, time-outs of connections and rates run on it.
    public var monotonic: MonotonicTime

    /// The time that ``wall`` has leapt ahead of a clock that never jumps. Time-outs of operations do not count it.
    public var leap: Milliseconds

    public init(time: Timestamp, wall: Timestamp, monotonic: MonotonicTime, leap: Milliseconds = .zero) {
        self.time = time
        self.wall = wall
        self.monotonic = monotonic
        self.leap = leap
    }
}
