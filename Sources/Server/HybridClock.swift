public import TelltaleModel

/// Wall time that always advances, whatever the machine's clock does.
///
/// Deadlines, timeouts and the age of event ids use it. A clock that is set back must not delay them, and a single
/// wrong reading from the future must not fire them all: what has fired, and what was forgotten, does not come back
/// when the clock does.
public struct HybridClock: Sendable {
    private var time: Timestamp
    /// The moment of that time, by the monotonic clock.
    private var monotonic: MonotonicTime
    /// Since when the clock has been further ahead than drift explains.
    private var aheadSince: MonotonicTime?
    /// How far the readings are ahead of the monotonic clock since the start; negative while time waits for a clock
    /// that was set back.
    public private(set) var leap = Milliseconds.zero

    /// How far the clock may jump ahead at once, and how long it must keep a longer jump before that is believed: a
    /// virtual machine that was paused resumes at another time.
    public static let trustedSpan = Milliseconds.minutes(1)
    /// How far the clock may be set back for time to wait until it catches up. After a longer step, time continues
    /// without waiting.
    public static let patience = Milliseconds.seconds(1)

    /// How far the clock may be ahead of the newest record at a start to be believed at once. A larger lead must last
    /// for ``trustedSpan``, because decisions made under a wrong clock are permanent.
    public static let trustedAbsence = Milliseconds.days(7)

    /// The clock of a process that starts.
    ///
    /// - Parameters:
    ///   - wall: What the machine's clock says.
    ///   - lastRecord: The time of the newest record; ``Timestamp/distantPast`` where there is none.
    ///   - monotonic: As of ``init(_:monotonic:)``.
    public init(wall: Timestamp, lastRecord: Timestamp, monotonic: MonotonicTime) {
        self.init(max(wall, lastRecord), monotonic: monotonic)
        guard lastRecord > .distantPast, wall - lastRecord > Self.trustedAbsence else { return }
        time = lastRecord
        aheadSince = monotonic
    }

    /// - Parameters:
    ///   - time: Now, or the time of the newest record where that is later.
    ///   - monotonic: A clock that never jumps, and that advances while the machine sleeps.
    public init(_ time: Timestamp, monotonic: MonotonicTime) {
        self.time = time
        self.monotonic = monotonic
    }

    /// The history goes on from a record of another machine, whose clock may be ahead of this one's.
    public mutating func goOn(after record: Timestamp) { time = max(time, record) }

    /// The time, from these readings of the clocks. Never before the last one.
    public mutating func reading(wall: Timestamp, monotonic clock: MonotonicTime) -> Timestamp {
        let elapsed = max(.zero, clock.milliseconds(since: monotonic))
        let steady = time + elapsed
        let ahead = wall - steady
        // Whole milliseconds, so that the rest of a millisecond counts at the next reading.
        monotonic = monotonic + elapsed
        if ahead <= Self.trustedSpan { aheadSince = nil }
        if ahead > Self.trustedSpan {
            let since = aheadSince ?? clock
            let isBelieved = clock.milliseconds(since: since) >= Self.trustedSpan
            time = isBelieved ? wall : steady
            aheadSince = isBelieved ? nil : since
        } else if ahead >= .zero {
            time = wall
        } else if steady - wall <= Self.patience {
            // A synchronised clock is set back by little, and soon catches up.
            time = max(time, wall)
        } else {
            time = steady
        }
        leap = leap + (time - steady)
        return time
    }
}
