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

    init?(_ reader: inout ScenarioReader, named name: String, needsKind: Bool) {
        guard var trace = reader.inner(name) else { return nil }
        let named = trace.needText("file")
        kind = needsKind ? trace.needText("kind") : nil
        span = trace.span("over")
        cases = needsKind ? trace.count("cases", 1...10_000_000) : nil
        path = trace.path
        trace.finish()
        guard let named, !needsKind || kind != nil else { return nil }
        self.name = named
    }
}

extension Arrivals {
    init?(_ scenario: inout ScenarioReader) {
        guard var reader = scenario.inner("arrivals") else { return nil }
        let faultsBefore = reader.faults.texts.count
        if let rate = reader.rate("rate") { (self.rate, endRate) = (rate, rate) }
        if var ramp = reader.inner("ramp") {
            let (to, over) = (ramp.rate("to"), ramp.span("over"))
            if let to, let over, over > 0 {
                (endRate, rampSpan) = (to, over)
            } else {
                ramp.fault("takes { \"to\": events a second, \"over\": \"30s\" }")
            }
            ramp.finish()
        }
        for var burst in reader.list("bursts") {
            let place = both(burst.span("at"), burst.count("events", 1...1_000_000))
            let every = burst.span("every")
            burst.finish()
            guard let (at, events) = place else {
                burst.fault("takes { \"at\": \"10s\", \"events\": 200 }, and \"every\" to repeat it")
                continue
            }
            if every == 0 { burst.fault("every", "takes a duration above 0") }
            bursts.append(Burst(at: at, events: events, every: every == 0 ? nil : every))
        }
        traceFile = TraceFile(&reader, named: "trace", needsKind: false)
        if traceFile != nil, rate > 0 || !bursts.isEmpty {
            reader.fault("trace", "goes alone: a trace says when each event comes")
        } else if rate == 0, bursts.isEmpty, traceFile == nil, reader.faults.texts.count == faultsBefore {
            reader.fault("takes a rate, bursts or a trace")
        }
        reader.finish()
    }
}
