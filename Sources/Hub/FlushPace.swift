/// How often everybody is written to: at most once in `interval` over time, and at once for one who comes after a pause.
///
/// Batching is worth more than any other trick while much goes on. But a tap on an idle daemon takes three flushes in a
/// row (its pending row, the provider's answer, the settled row), and none of them should wait for the one before.
struct FlushPace {
    /// Milliseconds; 0 = no pace.
    let interval: Int64
    /// The moment of the monotonic clock, well past 0, from which the next flush may be.
    private(set) var nextFlush: Int64 = 0

    /// Flushes that a pause saves up.
    private static let burst: Int64 = 4

    init(interval: Int64) {
        self.interval = interval
    }

    func isDue(at now: Int64) -> Bool { now >= nextFlush }

    mutating func flushed(at now: Int64) {
        nextFlush = max(nextFlush, now - (Self.burst - 1) * interval) + interval
    }
}
