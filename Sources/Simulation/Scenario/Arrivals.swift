internal import TelltaleModel

/// The times of events in an open model, in which senders do not wait for replies.
///
/// A sender that waits for replies hides how slow they are. Here every event has a due time, and latency is measured
/// from it.
public struct Arrivals: Sendable, Hashable {
    /// Events a second at first, and after ``rampSpan``.
    var rate: Double = 0
    var endRate: Double = 0
    var rampSpan: Int64 = 0
    var bursts: [Burst] = []
    /// Offsets of a trace.
    var trace: [Int64] = []
    var traceFile: TraceFile?

    struct Burst: Sendable, Hashable {
        var at: Int64
        var events: Int
        /// Again and again, so many milliseconds apart.
        var every: Int64?
    }

    /// The time of the next arrivals after `time`, and how many come together.
    func next(after time: Int64, index: Int, random: inout SimulationRandom) -> (time: Int64, count: Int)? {
        if !trace.isEmpty { return index < trace.count ? (trace[index], 1) : nil }
        var next: (time: Int64, count: Int)?
        if rate > 0 || endRate > 0 {
            let now = rampSpan > 0 ? rate + (endRate - rate) * min(1, Double(time) / Double(rampSpan)) : rate
            // Exponential gaps: a Poisson process. The logarithm is a series, so that every machine has the same.
            let gap = Self.exponential(random.below(1_000_000)) * 1000 / max(0.001, now)
            next = (time + max(gap < 1 ? 0 : 1, Int64(gap.rounded())), 1)
        }
        for burst in bursts {
            var at = burst.at
            if let every = burst.every, at <= time { at += ((time - at) / every + 1) * every }
            guard at > time, at <= next?.time ?? .max else { continue }
            next = (at, burst.events)
        }
        return next
    }

    /// −ln(1 − draw/10⁶), by halving until the series of ln(1+x) is quick.
    private static func exponential(_ draw: Int) -> Double {
        var rest = 1 - Double(draw) / 1_000_000
        var sum = 0.0
        while rest < 0.5 {
            rest *= 2
            sum += 0.693_147_180_559_945_3
        }
        let x = (1 - rest) / (1 + rest)
        var (power, series) = (x, 0.0)
        for term in stride(from: 1.0, through: 25, by: 2) {
            series += power / term
            power *= x * x
        }
        return sum + 2 * series
    }
}

/// A file of offsets, beside the scenario.
public struct TraceFile: Sendable, Hashable {
    public var name: String
    public var kind: String?
    /// How long the whole shall take, in milliseconds; its own time where it is `nil`.
    public var span: Int64?
    /// How many of its cases.
    public var cases: Int?
    let path: String

    init?(_ reader: inout ScenarioReader, named name: String, needsKind: Bool) throws(Scenario.Fault) {
        guard var trace = try reader.inner(name) else { return nil }
        self.name = try trace.needText("file")
        kind = needsKind ? try trace.needText("kind") : nil
        span = try trace.span("over")
        cases = needsKind ? try trace.count("cases", 1...10_000_000) : nil
        path = trace.path
        try trace.finish()
    }
}

extension Arrivals {
    init?(_ scenario: inout ScenarioReader) throws(Scenario.Fault) {
        guard var reader = try scenario.inner("arrivals") else { return nil }
        if let rate = try reader.rate("rate") { (self.rate, endRate) = (rate, rate) }
        if var ramp = try reader.inner("ramp") {
            guard let to = try ramp.rate("to"), let over = try ramp.span("over"), over > 0 else {
                throw Scenario.Fault(at: ramp.path, "takes { \"to\": events a second, \"over\": \"30s\" }")
            }
            (endRate, rampSpan) = (to, over)
            try ramp.finish()
        }
        for var burst in try reader.list("bursts") {
            guard let at = try burst.span("at"), let events = try burst.count("events", 1...1_000_000) else {
                throw Scenario.Fault(
                    at: burst.path, "takes { \"at\": \"10s\", \"events\": 200 }, and \"every\" to repeat it")
            }
            let every = try burst.span("every")
            guard every.map({ $0 > 0 }) ?? true else { throw burst.fault("every", "takes a duration above 0") }
            bursts.append(Burst(at: at, events: events, every: every))
            try burst.finish()
        }
        traceFile = try TraceFile(&reader, named: "trace", needsKind: false)
        guard rate > 0 || !bursts.isEmpty || traceFile != nil else {
            throw Scenario.Fault(at: reader.path, "takes a rate, bursts or a trace")
        }
        guard traceFile == nil || (rate == 0 && bursts.isEmpty) else {
            throw reader.fault("trace", "goes alone: a trace says when each event comes")
        }
        try reader.finish()
    }
}
