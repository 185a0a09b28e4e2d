/// When the next flush may begin: at once while there is time to spare, else after a pause as long as the load needs.
///
/// Under load, batching saves more than anything else: the changes of a pause go to each screen in one write. The pause
/// is counted from the end of a flush. Counted from its beginning, it would be over when a flush to a large audience
/// ends, and large audiences gain most. A wait for the disk is part of the pause: what is decided is committed, and
/// sent when it is durable.
///
/// A tap on an idle server takes three flushes in a row (its pending row, the provider's answer, the settled row), and
/// none of them should wait for the one before: unused pauses are saved up. Nor is there a reason to wait when much has
/// accumulated: a write to a subscriber of everything then costs less than its rows, and producers that wait for
/// replies send nothing more. A lone client sends nothing more either, so an adaptive pace delays no lone request.
public struct FlushPacer: Sendable {
    private let pace: Pace
    /// Nanoseconds; of an adaptive pace the most.
    private let bound: Int64
    private var meter = LoadMeter()
    /// The requests that the last flush answered.
    private var lastRequestCount = 0
    /// The moment of the monotonic clock, in nanoseconds, from which the next flush may be.
    public private(set) var nextFlush: Int64 = 0

    /// Flushes that a pause saves up.
    private static let burst: Int64 = 4
    /// With so many requests none waits for more: a send to a screen costs about as much as 25 rows.
    private static let enough = 32

    public init(_ pace: Pace) {
        self.pace = pace
        bound = Int64(min(max(pace.bound, .zero), .seconds(86_400)) / .nanoseconds(1))
    }

    /// The share of its time that the loop would be at work if no flush waited; 1 = all of it.
    public var load: Double { meter.load }

    /// - Parameters:
    ///   - now: Nanoseconds of the monotonic clock.
    ///   - count: How many requests wait to be decided.
    public func isDue(at now: Int64, waiting count: Int) -> Bool {
        now >= nextFlush || count >= Self.enough || (pace.isAdaptive && count < 2 && lastRequestCount < 2)
    }

    /// - Parameters:
    ///   - start: When the flush began, in nanoseconds of the monotonic clock.
    ///   - end: When it ended, likewise.
    ///   - work: The writes of the flush, and the work of the loop since the flush before.
    public mutating func flushed(from start: Int64, to end: Int64, _ work: FlushWork = FlushWork()) {
        var interval = bound
        if pace.isAdaptive {
            lastRequestCount = work.requestCount
            meter.flushed(at: end, taking: end - start, work)
            interval = Int64(Double(bound) * meter.need)
        }
        let saved = max(nextFlush, start - (Self.burst - 1) * interval)
        // A flush before its time postpones the next by one pause at most.
        nextFlush = min(saved + end - start, end) + interval
    }
}
