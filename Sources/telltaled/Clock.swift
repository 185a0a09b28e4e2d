import EventLoop
import Hub
import Model

/// The clocks of the machine, as the hub wants them told. The one place where the time is asked.
final class Clock {
    /// How many times as fast as real time the kinds' clock runs.
    let speed: Double
    private let startedAt: Timestamp
    /// Where the kinds' clock stood at the start.
    private let origin: Timestamp
    private var steady: SteadyTime

    /// - Parameters:
    ///   - lastRecord: The hub's time after a recovery; the kinds' clock goes on from there when it is ahead.
    ///   - lastWall: The same on the real clock.
    init(speed: Double, lastRecord: Timestamp, lastWall: Timestamp) {
        self.speed = speed
        startedAt = max(Timestamp(milliseconds: EventLoop.wallClockMilliseconds()), lastWall)
        origin = speed == 1 ? startedAt : max(startedAt, lastRecord)
        steady = SteadyTime(startedAt, monotonic: EventLoop.sleeplessMilliseconds())
    }

    var now: HubTime {
        // What a laptop has slept is no jump.
        let wall = steady.reading(
            wall: Timestamp(milliseconds: EventLoop.wallClockMilliseconds()),
            monotonic: EventLoop.sleeplessMilliseconds())
        return HubTime(time: kindsTime(at: wall), wall: wall, monotonic: EventLoop.monotonicMilliseconds())
    }

    private func kindsTime(at wall: Timestamp) -> Timestamp {
        guard speed != 1 else { return wall }
        let elapsed = (Double((wall - startedAt).count) * speed).rounded()
        return origin + Milliseconds(Int64(exactly: elapsed) ?? (elapsed < 0 ? .min : .max))
    }

    /// Real milliseconds until the kinds' clock shows `time`; 0 when it is past.
    func milliseconds(untilKindsTime time: Timestamp, from now: HubTime) -> Int64 {
        let span = Double(max(0, (time - now.time).count)) / speed
        return Int64(exactly: span.rounded(.up)) ?? .max
    }
}
