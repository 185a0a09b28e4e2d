/// The course of a run: its acknowledgements, rows and latencies over the scenario's time.
///
/// The number of intervals is bounded. When the run gets longer than they reach, each two become one.
public struct Timeline: Sendable {
    public struct Interval: Sendable {
        /// Events that were answered `OK`.
        public var acknowledged = 0
        /// Rows that screens received.
        public var rows = 0
        /// From the moment at which an event was due to its row on a screen, in microseconds. Screens that read slowly by the
        /// scenario's own fault are left out.
        public var latencies: [Int64] = []

        /// - Returns: Microseconds; `nil` where nothing was measured.
        public func latency(percentile: Double) -> Int64? { latencies.value(atPercentile: percentile) }
    }

    /// The length of an interval, in milliseconds.
    public private(set) var width: Int64 = 100
    /// From the beginning of the scenario. The last one is the last in which something happened.
    public private(set) var intervals: [Interval] = []

    static let limit = 120

    public init() {}

    mutating func acknowledged(at time: Int64) { intervals[place(of: time)].acknowledged += 1 }
    mutating func delivered(at time: Int64) { intervals[place(of: time)].rows += 1 }
    mutating func measured(_ latency: Int64, at time: Int64) { intervals[place(of: time)].latencies.append(latency) }

    private mutating func place(of time: Int64) -> Int {
        let time = max(0, time)
        while time / width >= Int64(Self.limit) { halve() }
        let place = Int(time / width)
        while intervals.count <= place { intervals.append(Interval()) }
        return place
    }

    private mutating func halve() {
        width *= 2
        intervals = stride(from: 0, to: intervals.count, by: 2).map { index in
            var interval = intervals[index]
            if index + 1 < intervals.count {
                interval.acknowledged += intervals[index + 1].acknowledged
                interval.rows += intervals[index + 1].rows
                interval.latencies += intervals[index + 1].latencies
            }
            return interval
        }
    }
}

extension [Int64] {
    /// The smallest value that so many percent do not exceed (nearest rank); `nil` without values.
    func value(atPercentile percentile: Double) -> Int64? {
        guard !isEmpty else { return nil }
        let rank = Int((percentile / 100 * Double(count)).rounded(.up))
        return sorted()[Swift.min(count - 1, Swift.max(0, rank - 1))]
    }
}
