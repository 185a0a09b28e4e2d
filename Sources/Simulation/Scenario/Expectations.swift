import TelltaleModel

/// The expected outcome of a scenario. Every scenario also expects that all promises are kept.
public struct Expectations: Sendable {
    /// How often something may have happened, by the names of a report.
    struct Count: Sendable {
        var name: String
        var least: Int
        var most: Int?
    }

    /// How long an event takes to a screen, in milliseconds.
    struct Threshold: Sendable {
        /// `nil`: any screen.
        var surface: String?
        var percentile: Double
        var name: String
        var most: Int64
    }

    var counts: [Count] = []
    var eventually: [ExpectedView] = []
    var never: [ExpectedView] = []
    /// By key, the state at the end.
    var states: [(key: String, state: String)] = []
    var latency: [Threshold] = []

    private static let percentiles = ["p50": 50.0, "p90": 90, "p95": 95, "p99": 99, "max": 100]

    init() {}

    init(_ scenario: inout ScenarioReader, screens: [StageScreen]) {
        guard var reader = scenario.inner("expect") else { return }
        for name in ScenarioOutcome.countNames {
            if reader.members[name]?.object != nil, var bounds = reader.inner(name) {
                let (least, most) = (bounds.count("least", 0...Int.max), bounds.count("most", 0...Int.max))
                if let least, let most, least > most { bounds.fault("least", "is above most: nothing can meet both") }
                counts.append(Count(name: name, least: least ?? 0, most: most))
                bounds.finish()
            } else if let least = reader.count(name, 0...Int.max) {
                counts.append(Count(name: name, least: least, most: name == "regressions" ? least : nil))
            }
        }
        for (name, list) in [("eventually", \Expectations.eventually), ("never", \Expectations.never)] {
            for var expected in reader.list(name) {
                if let read = ExpectedView(&expected, screens: screens) { self[keyPath: list].append(read) }
                expected.finish()
            }
        }
        if let states = reader.inner("states") {
            for member in states.members {
                if Key(member.name) != nil, let state = member.value.string {
                    self.states.append((member.name, state))
                } else {
                    states.fault(
                        member.name, "takes a key and the state it ends in, as \"coffee-order/1\": \"collected\"")
                }
            }
        }
        if let latency = reader.inner("latency") { readLatency(latency) }
        reader.finish()
    }

    private mutating func readLatency(_ latency: ScenarioReader) {
        for member in latency.members {
            guard member.name == "all" || ViewName(member.name) != nil else {
                latency.fault(
                    member.name,
                    "is no surface (\(Surface.allCases.map(\.rawValue).joined(separator: ", "))), nor full, nor all")
                continue
            }
            guard var bounds = ScenarioReader(member.value, at: "\(latency.path).\(member.name)", latency.faults) else {
                continue
            }
            for (name, percentile) in Self.percentiles.sorted(by: { $0.value < $1.value }) {
                guard let most = bounds.span(name) else { continue }
                self.latency.append(
                    Threshold(
                        surface: member.name == "all" ? nil : member.name, percentile: percentile, name: name,
                        most: most))
            }
            bounds.finish()
        }
    }

    /// The expectations that `outcome` does not meet.
    ///
    /// - Parameter isLive: The run was against a daemon in another process, which cannot meet the expectations of
    ///   crashes and full disks.
    public func unmet(by outcome: ScenarioOutcome, isLive: Bool = false) -> [String] {
        var unmet = outcome.unmetViews
        for count in counts where !(isLive && ScenarioOutcome.inProcessCounts.contains(count.name)) {
            let found = outcome.count(of: count.name)
            if found < count.least {
                unmet.append("\(count.name): \(found), and at least \(count.least) were expected")
            }
            if let most = count.most, found > most {
                unmet.append("\(count.name): \(found), and at most \(most) were expected")
            }
        }
        for (key, state) in states where outcome.states[key] != state {
            unmet.append("\(key) ended as \(outcome.states[key] ?? "nothing"), and \(state) was expected")
        }
        for threshold in latency {
            guard let found = outcome.latency(of: threshold.surface, percentile: threshold.percentile) else {
                unmet.append("latency \(threshold.surface ?? "all"): no event reached a screen")
                continue
            }
            if found > threshold.most * 1000 {
                unmet.append(
                    "latency \(threshold.surface ?? "all") \(threshold.name): \(found / 1000) ms, and at most \(threshold.most) ms were expected"
                )
            }
        }
        return unmet
    }
}
