public import TelltaleModel

/// What the clocks showed when something reached the hub. The hub never asks; it is told.
public struct HubTime: Hashable, Sendable {
    /// The clock by which kinds live: wall time, or N times as fast with `--clock-speed N`.
    public var time: Timestamp
    /// Real wall time: retention and the forgetting of event ids run on it.
    public var wall: Timestamp
    /// Milliseconds of a clock that never jumps: heartbeats, time-outs of connections and of rates run on it.
    public var monotonic: Int64

    public init(time: Timestamp, wall: Timestamp, monotonic: Int64) {
        self.time = time
        self.wall = wall
        self.monotonic = monotonic
    }
}
