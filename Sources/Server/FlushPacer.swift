/// When the next flush may be: at once while there is time to spare, and so much behind the flush before as the load needs.
///
/// Batching is worth more than any other trick while much goes on: what gathers meanwhile goes to each screen in one
/// write. So the pause is counted from the end of a flush. From its beginning it would be over when the flush is,
/// before audiences that take as long as that to write to, and they are the ones that gain most. A wait for the disk is
/// part of the pause: what is decided is committed, and shown when it is durable.
///
/// But a tap on an idle server takes three flushes in a row (its pending row, the provider's answer, the settled row),
/// and none of them should wait for the one before: pauses that nobody needed are saved up. And where much has gathered
/// there is nothing to wait for: a write to who follows all of it then costs less than the rows in it, and producers
/// that wait for their replies send nothing more. An asker that is alone sends nothing more either, so an adaptive pace
/// holds no lone request back.
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
    /// Requests that are not kept waiting for more: a screen's send costs about as much as 25 rows.
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
    ///   - start: The moment of the monotonic clock at which everybody began to be written to, in nanoseconds.
    ///   - end: The same, of its end.
    ///   - work: The writes of the flush, and the work of the loop since the flush before.
    public mutating func flushed(from start: Int64, to end: Int64, _ work: FlushWork = FlushWork()) {
        var interval = bound
        if pace.isAdaptive {
            lastRequestCount = work.requestCount
            meter.flushed(at: end, taking: end - start, work)
            interval = Int64(Double(bound) * meter.need)
        }
        let saved = max(nextFlush, start - (Self.burst - 1) * interval)
        // One that came before its time puts off the next by no more than a pause.
        nextFlush = min(saved + end - start, end) + interval
    }
}
