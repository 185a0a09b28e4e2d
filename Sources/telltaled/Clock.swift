import Hub
import Server
import TelltaleEventLoop
import TelltaleModel

/// The machine's clocks, in the server's types. The only place that reads the time.
final class Clock {
    /// The kinds' clock if its speed is not 1; `nil` = it is the wall clock.
    private var scaled: ScaledClock?
    private var hybrid: HybridClock
    #if DEBUG
        /// While a test holds the time: the readings at the start, and the time since then.
        private var held: (start: Reading, passed: Milliseconds)?
    #endif

    /// What the machine's clocks say at one moment.
    private struct Reading {
        var wall = Timestamp(milliseconds: EventLoop.wallClockMilliseconds())
        // Does not count the sleep of a laptop, which would look like a jump.
        var sleepless = MonotonicTime(milliseconds: EventLoop.sleeplessMilliseconds())
        var monotonic = MonotonicTime(nanoseconds: EventLoop.monotonicNanoseconds())
    }

    /// - Parameters:
    ///   - speed: How many times as fast as real time the kinds' clock runs.
    ///   - lastRecord: The hub's time after a recovery; the kinds' clock continues from there if that is later.
    ///   - lastWall: The same, in real time.
    init(speed: Double, lastRecord: Timestamp, lastWall: Timestamp) {
        let start = Reading()
        hybrid = HybridClock(wall: start.wall, lastRecord: lastWall, monotonic: start.sleepless)
        let wall = hybrid.reading(wall: start.wall, monotonic: start.sleepless)
        scaled = speed == 1 ? nil : ScaledClock(max(wall, lastRecord), monotonic: start.sleepless, speed: speed)
        #if DEBUG
            if HeldClock.path != nil { held = (start, .zero) }
        #endif
    }

    /// Goes on from the newest record of another node, where that is later. The time that this clock has given never goes back.
    func goOn(after times: (record: Timestamp, wall: Timestamp)) {
        let reading = reading
        hybrid.goOn(after: times.wall)
        if let scaled {
            let start = max(scaled.reading(monotonic: reading.sleepless), times.record)
            self.scaled = ScaledClock(start, monotonic: reading.sleepless, speed: scaled.speed)
        }
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
        /// Advances the time that a test holds.
        func pass(_ span: Milliseconds) {
            if let held { self.held = (held.start, held.passed + span) }
        }
    #endif
}
