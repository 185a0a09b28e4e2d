import Hub
import TelltaleEventLoop
import TelltaleModel

/// The clocks of the machine, as the hub wants them told. The one place where the time is asked.
final class Clock {
    /// The kinds' clock where it does not run at 1; there it is the wall's.
    private let fast: ScaledClock?
    private var steady: HybridClock

    /// - Parameters:
    ///   - speed: How many times as fast as real time the kinds' clock runs.
    ///   - lastRecord: The hub's time after a recovery; the kinds' clock goes on from there when it is ahead.
    ///   - lastWall: The same on the real clock.
    init(speed: Double, lastRecord: Timestamp, lastWall: Timestamp) {
        let wall = max(Timestamp(milliseconds: EventLoop.wallClockMilliseconds()), lastWall)
        let monotonic = EventLoop.sleeplessMilliseconds()
        steady = HybridClock(wall, monotonic: monotonic)
        fast = speed == 1 ? nil : ScaledClock(max(wall, lastRecord), monotonic: monotonic, speed: speed)
    }

    var now: HubTime {
        // What a laptop has slept is no jump.
        let monotonic = EventLoop.sleeplessMilliseconds()
        let wall = steady.reading(
            wall: Timestamp(milliseconds: EventLoop.wallClockMilliseconds()), monotonic: monotonic)
        return HubTime(
            time: fast?.reading(monotonic: monotonic) ?? wall, wall: wall,
            monotonic: EventLoop.monotonicMilliseconds())
    }

    /// Real milliseconds until the kinds' clock shows `time`; 0 when it is past.
    func milliseconds(untilKindsTime time: Timestamp, from now: HubTime) -> Int64 {
        let span = Double(max(0, (time - now.time).count)) / (fast?.speed ?? 1)
        return Int64(exactly: span.rounded(.up)) ?? .max
    }
}
