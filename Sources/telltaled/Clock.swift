import Hub
import Server
import TelltaleEventLoop
import TelltaleModel

/// The clocks of the machine, as the server wants them told. The one place where the time is asked.
final class Clock {
    /// The kinds' clock where it does not run at 1; there it is the wall's.
    private let scaled: ScaledClock?
    private var hybrid: HybridClock

    /// - Parameters:
    ///   - speed: How many times as fast as real time the kinds' clock runs.
    ///   - lastRecord: The hub's time after a recovery; the kinds' clock goes on from there when it is ahead.
    ///   - lastWall: The same on the real clock.
    init(speed: Double, lastRecord: Timestamp, lastWall: Timestamp) {
        let clock = Timestamp(milliseconds: EventLoop.wallClockMilliseconds())
        let monotonic = MonotonicTime(milliseconds: EventLoop.sleeplessMilliseconds())
        hybrid = HybridClock(wall: clock, lastRecord: lastWall, monotonic: monotonic)
        let wall = hybrid.reading(wall: clock, monotonic: monotonic)
        scaled = speed == 1 ? nil : ScaledClock(max(wall, lastRecord), monotonic: monotonic, speed: speed)
    }

    var now: HubTime {
        // The sleep of a laptop is no jump.
        let monotonic = MonotonicTime(milliseconds: EventLoop.sleeplessMilliseconds())
        let wall = hybrid.reading(
            wall: Timestamp(milliseconds: EventLoop.wallClockMilliseconds()), monotonic: monotonic)
        return HubTime(
            time: scaled?.reading(monotonic: monotonic) ?? wall, wall: wall,
            monotonic: MonotonicTime(nanoseconds: EventLoop.monotonicNanoseconds()), leap: hybrid.leap)
    }
}
