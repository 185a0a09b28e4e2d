public import TelltaleModel

/// Wall time that goes on, whatever the machine's clock does.
///
/// Deadlines, time-outs and the age of event ids go by it. A clock that is put back must not let them sleep; and one
/// wrong reading of the future must not be the end of them all, for what has fired, and what was forgotten, does not come
/// back when the clock does.
public struct HybridClock: Sendable {
    private var time: Timestamp
    /// The moment of that time, by the monotonic clock.
    private var monotonic: MonotonicTime
    /// The moment since which the clock has been further ahead than a clock gets by itself.
    private var aheadSince: MonotonicTime?
    /// The time that the readings have leapt ahead of the monotonic clock since the start; less than zero while time
    /// waits for a clock that was put back.
    public private(set) var leap = Milliseconds.zero

    /// How far the clock may be set ahead at once, and for how long it must say so when it is set ahead further: a virtual
    /// machine that was halted comes back to another time.
    public static let trustedSpan = Milliseconds.minutes(1)
    /// How far it may be put back for time to wait until it comes here again. Beyond that, time goes on without it.
    public static let patience = Milliseconds.seconds(1)

    /// How far the clock may be ahead of the newest record at a start to be believed at once. Beyond that it must say so
    /// for ``trustedSpan``, as when it is set ahead by much: what is decided under a wrong clock stays.
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
    ///   - monotonic: A clock that never jumps, and goes on while the machine sleeps.
    public init(_ time: Timestamp, monotonic: MonotonicTime) {
        self.time = time
        self.monotonic = monotonic
    }

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
            // A clock that is kept right is put back by little: the next readings are those of others again.
            time = max(time, wall)
        } else {
            time = steady
        }
        leap = leap + (time - steady)
        return time
    }
}
