public import TelltaleModel

/// The outcomes of the events of a replay.
public struct ReplayTally: Hashable, Sendable {
    public private(set) var answered = 0
    /// Posts that were made again although they had been answered.
    public private(set) var repeated = 0
    /// Connections that were cut, and posts made again because of it.
    public private(set) var cuts = 0
    public private(set) var retried = 0
    /// By verdict, and `ERR` codes by their own names.
    public private(set) var verdicts: [String: Int] = [:]
    /// Events that the daemon refused, or that were lost with the connection.
    public private(set) var failureCount = 0
    /// The first failure, for people.
    public private(set) var firstFailure: String?

    public init() {}

    public mutating func accepted(_ verdict: String) {
        answered += 1
        verdicts[verdict, default: 0] += 1
    }

    public mutating func willRepeat() { repeated += 1 }
    public mutating func wasCut() { cuts += 1 }
    public mutating func willRetry() { retried += 1 }

    public mutating func refused(_ code: String, key: Key, event: String, message: String) {
        answered += 1
        verdicts[code, default: 0] += 1
        failureCount += 1
        if firstFailure == nil { firstFailure = "\(key) \(event): \(code): \(message)" }
    }

    /// The verdicts in the order of line-protocol.md §4, then others by name.
    public var counts: [(name: String, count: Int)] {
        let known = Verdict.allCases.map(\.rawValue)
        let others = verdicts.keys.filter { !known.contains($0) }.sorted()
        return (known + others).compactMap { name in verdicts[name].map { (name, $0) } }
    }
}

/// The report of a replay when it has ended.
public struct ReplaySummary: Sendable {
    public var plan: ReplayPlan
    public var tally: ReplayTally
    /// Of real time.
    public var elapsed: Milliseconds
    /// Where the ends were compared with the data's.
    public var check: OutcomeCheck?

    public init(plan: ReplayPlan, tally: ReplayTally, elapsed: Milliseconds, check: OutcomeCheck? = nil) {
        self.plan = plan
        self.tally = tally
        self.elapsed = elapsed
        self.check = check
    }

    public var isClean: Bool {
        tally.failureCount == 0 && tally.answered == plan.posts.count + tally.repeated && check?.isClean != false
    }

    public var eventsPerSecond: Int64 {
        Int64(tally.answered) * 1000 / max(1, elapsed.count)
    }

    /// One line for people.
    public var text: String {
        let verdicts = tally.counts.map { "\($0.count) \($0.name)" }.joined(separator: ", ")
        let seconds = "\(elapsed.count / 1000).\((elapsed.count % 1000) / 100)"
        var text =
            "\(plan.cases.count) cases, \(plan.posts.count) events: \(verdicts.isEmpty ? "none answered" : verdicts); "
            + "\(seconds) s, \(eventsPerSecond) events/s"
        if tally.repeated > 0 || tally.cuts > 0 {
            text +=
                "\n\(tally.repeated) events posted twice, \(tally.cuts) connections cut, "
                + "\(tally.retried) events posted again after a cut"
        }
        if let check {
            text +=
                "\n\(check.agreementCount) of \(plan.cases.count) cases ended as the data says: \(check.countsText)"
            for disagreement in check.disagreements.prefix(10) { text += "\n\(disagreement)" }
            if check.disagreements.count > 10 { text += "\n… and \(check.disagreements.count - 10) more" }
        }
        if let failure = tally.firstFailure { text += "\nfirst failure: \(failure)" }
        return text
    }

    /// One JSON object, for programs.
    public var json: JSON {
        var verdicts = JSONObject()
        for (name, count) in tally.counts { verdicts[name] = .integer(Int64(count)) }
        var object: JSON = [
            "cases": .integer(Int64(plan.cases.count)), "events": .integer(Int64(plan.posts.count)),
            "answered": .integer(Int64(tally.answered)), "failed": .integer(Int64(tally.failureCount)),
            "verdicts": .object(verdicts), "elapsed_ms": .integer(elapsed.count),
            "events_per_s": .integer(eventsPerSecond),
        ]
        if tally.repeated > 0 || tally.cuts > 0 {
            object = object.merging([
                "repeated": .integer(Int64(tally.repeated)), "cuts": .integer(Int64(tally.cuts)),
                "retried": .integer(Int64(tally.retried)),
            ])
        }
        if let check {
            object = object.merging([
                "agreed": .integer(Int64(check.agreementCount)),
                "disagreements": .array(check.disagreements.map { .string($0.description) }),
            ])
        }
        if let failure = tally.firstFailure { object = object.merging(["first_failure": .string(failure)]) }
        return object
    }
}
