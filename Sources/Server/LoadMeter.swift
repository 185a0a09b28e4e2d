/// The writes of a flush, and the work of the loop since the flush before.
public struct FlushWork: Hashable, Sendable {
    /// Nanoseconds in which the loop was at work since the flush before, this flush included.
    public var busy: Int64
    /// Requests that were decided since then.
    public var requestCount: Int
    /// Sessions that were written to.
    public var writeCount: Int
    /// Rows and replies that they were sent.
    public var rowCount: Int

    public init(busy: Int64 = 0, requestCount: Int = 0, writeCount: Int = 0, rowCount: Int = 0) {
        self.busy = busy
        self.requestCount = requestCount
        self.writeCount = writeCount
        self.rowCount = rowCount
    }
}

/// The share of the loop's time that the load would take if no flush waited.
///
/// It counts the time at work and the writes that requests saved by sharing a flush. Without the savings, a pause would
/// lower the load that justifies it, and would oscillate or stay long. So the measured load depends on the requests
/// alone, and not on the pause.
struct LoadMeter {
    /// 1 = all of the loop's time; 0 = none. A moving average.
    private(set) var load = 0.0
    /// Nanoseconds of the monotonic clock, at the end of the last flush.
    private var last: Int64?

    /// The average covers about the last hundredth of a second. A shorter burst does not count.
    private static let span = 10_000_000.0
    /// Below this share of the loop's time there is time to spare, and nothing waits.
    private static let spare = 0.6
    /// A higher load counts as this one, so that it is forgotten as fast.
    private static let most = 1.25
    /// Rows that cost as much as a write.
    private static let rowsOfWrite = 25.0

    /// How much of the longest pause the load needs: 0 to 1.
    var need: Double { min(max(0, (load - Self.spare) / (1 - Self.spare)), 1) }

    /// - Parameters:
    ///   - end: Nanoseconds of the monotonic clock.
    ///   - duration: Of the flush, in nanoseconds.
    mutating func flushed(at end: Int64, taking duration: Int64, _ work: FlushWork) {
        defer { last = max(last ?? end, end) }
        // The first one has no time before it to compare with.
        guard let last, end > last else { return }
        let elapsed = Double(end - last)
        let share = min((Double(work.busy) + Double(duration) * Self.savedWrites(work)) / elapsed, Self.most)
        load += (share - load) * elapsed / (elapsed + Self.span)
    }

    /// The cost of the writes that requests saved by sharing them, in flushes like this one.
    ///
    /// A request alone costs no more than a flush. So rows that no request made (a snapshot, the rest of a slow reader)
    /// save none.
    private static func savedWrites(_ work: FlushWork) -> Double {
        guard work.writeCount > 0 else { return 0 }
        let shared = min(Double(work.rowCount) / Double(work.writeCount), Double(work.requestCount))
        return max(0, shared - 1) * rowsOfWrite / (rowsOfWrite + shared)
    }
}
