import Hub
import Server
import TelltaleEventLoop
import TelltaleModel

/// The clocks of the machine, as the server wants them told. The one place where the time is asked.
final class Clock {
    /// The kinds' clock where it does not run at 1; there it is the wall's.
    private let scaled: ScaledClock?
    private var hybrid: HybridClock
    #if DEBUG
        /// The readings of the machine's clocks at the start, and the time since then, where a test holds it.
        private var held: (start: Reading, passed: Milliseconds)?
    #endif

    /// What the machine's clocks say at one moment.
    private struct Reading {
        var wall = Timestamp(milliseconds: EventLoop.wallClockMilliseconds())
        // The sleep of a laptop is no jump.
        var sleepless = MonotonicTime(milliseconds: EventLoop.sleeplessMilliseconds())
        var monotonic = MonotonicTime(nanoseconds: EventLoop.monotonicNanoseconds())
    }

    /// - Parameters:
    ///   - speed: How many times as fast as real time the kinds' clock runs.
    ///   - lastRecord: The hub's time after a recovery; the kinds' clock goes on from there when it is ahead.
    ///   - lastWall: The same on the real clock.
    init(speed: Double, lastRecord: Timestamp, lastWall: Timestamp) {
        let start = Reading()
        hybrid = HybridClock(wall: start.wall, lastRecord: lastWall, monotonic: start.sleepless)
        let wall = hybrid.reading(wall: start.wall, monotonic: start.sleepless)
        scaled = speed == 1 ? nil : ScaledClock(max(wall, lastRecord), monotonic: start.sleepless, speed: speed)
        #if DEBUG
            if HeldClock.path != nil { held = (start, .zero) }
        #endif
    }

    var now: HubTime {
        let reading = reading
        let wall = hybrid.reading(wall: reading.wall, monotonic: reading.sleepless)
        return HubTime(
            time: scaled?.reading(monotonic: reading.sleepless) ?? wall, wall: wall, monotonic: reading.monotonic,
            leap: hybrid.leap)
    }

    private var reading: Reading {
        #if DEBUG
            if let held {
                return Reading(
                    wall: held.start.wall + held.passed, sleepless: held.start.sleepless + held.passed,
                    monotonic: held.start.monotonic + held.passed)
            }
        #endif
        return Reading()
    }

    #if DEBUG
        /// Lets time pass that a test holds.
        func pass(_ span: Milliseconds) {
            if let held { self.held = (held.start, held.passed + span) }
        }
    #endif
}
