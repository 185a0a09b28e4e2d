import Histogram
public import Simulation
public import TelltaleModel

/// The result of a scenario's run, for people and for programs.
public struct RunReport {
    public let scenario: Scenario
    let outcome: ScenarioOutcome
    let isLive: Bool
    /// Promises that were not kept, and expectations that were not met.
    public let faults: [String]
    /// The parts of the scenario that this run left out.
    public var notes: [String] = []
    /// How the report was made, for the HTML report. The JSON report has none of it, because the same run gives the same bytes.
    public var origin = Origin()
    /// By view, in the order of the report.
    let latencies: [(view: String, histogram: Histogram<UInt64>)]

    public struct Origin: Sendable {
        /// The release of the program.
        public var version = ""
        /// The date and the time, for people.
        public var date = ""
        /// The command that repeats the run, for a shell.
        public var command = ""

        public init() {}

        public init(version: String, date: String, arguments: [String]) {
            (self.version, self.date) = (version, date)
            command = (["telltale-sim"] + arguments.map(Self.quoted)).joined(separator: " ")
        }

        /// A word as a shell reads it back.
        private static func quoted(_ word: String) -> String {
            let plain = word.unicodeScalars.allSatisfy { scalar in
                switch scalar {
                case "a"..."z", "A"..."Z", "0"..."9", "-", "_", ".", "/", ":", "=", ",", "+", "@", "%": true
                case _: false
                }
            }
            return plain && !word.isEmpty ? word : "'" + word.replacing("'", with: "'\\''") + "'"
        }
    }

    static let percentiles: [(name: String, value: Double)] = [
        ("p50", 50), ("p90", 90), ("p95", 95), ("p99", 99), ("max", 100),
    ]

    public init(_ scenario: Scenario, _ outcome: ScenarioOutcome, isLive: Bool) {
        self.scenario = scenario
        self.outcome = outcome
        self.isLive = isLive
        faults =
            outcome.violations.map { "\($0)" } + scenario.expectations.unmet(by: outcome, isLive: isLive)
        latencies = outcome.latencies.sorted { $0.key < $1.key }.map { view, samples in
            var histogram = Histogram<UInt64>(numberOfSignificantValueDigits: .three)
            for sample in samples { histogram.record(UInt64(max(0, sample))) }
            return (view, histogram)
        }
    }

    // MARK: Text

    public var text: String {
        var lines = [scenario.title]
        func add(_ name: String, _ text: String) {
            lines.append("  " + name + String(repeating: " ", count: max(1, 15 - name.count)) + text)
        }
        if !outcome.verdicts.isEmpty { add("verdicts", Self.table(outcome.verdicts)) }
        if !outcome.errors.isEmpty { add("refusals", Self.table(outcome.errors)) }
        let screens = outcome.screens.values.reduce(0, +)
        add(
            "screens",
            "\(screens), \(outcome.rows) rows (\(outcome.folded) commits folded), \(outcome.resumes) resumes, \(outcome.resets) resets, \(outcome.regressions) regressions"
        )
        if !outcome.operations.isEmpty { add("controls", Self.table(outcome.operations)) }
        for (index, latency) in latencies.enumerated() {
            let values = Self.percentiles.map { "\($0.name) \(Self.time(value(latency.histogram, $0.value)))" }
            add(
                index == 0 ? "event to view" : "",
                latency.view.padded(to: 12) + " " + values.joined(separator: "  ")
                    + "  (\(latency.histogram.totalCount) rows)"
            )
        }
        add(
            "",
            "\(outcome.inputs) inputs, \(outcome.crashes) crashes, \(HumanTime.text(milliseconds: outcome.milliseconds)) \(isLive ? "of its own time" : "of virtual time")"
        )
        for note in notes { add("note", note) }
        lines.append(
            faults.isEmpty ? "Everything is as it should be." : "\(faults.count) things are not as they should be.")
        return lines.joined(separator: "\n")
    }

    func value(_ histogram: Histogram<UInt64>, _ percentile: Double) -> UInt64 {
        percentile == 100 ? histogram.max : histogram.valueAtPercentile(percentile)
    }

    static func time(_ microseconds: UInt64) -> String { HumanTime.text(microseconds: Int64(clamping: microseconds)) }

    /// Counts in one line, by name.
    public static func table(_ counts: [String: Int]) -> String {
        counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    }

    // MARK: JSON

    public var json: JSON {
        func object(_ counts: [String: Int]) -> JSON {
            var object = JSONObject()
            for (name, count) in counts { object[name] = .integer(Int64(count)) }
            return .object(object)
        }
        var latency = JSONObject()
        for each in latencies {
            var values = JSONObject()
            for percentile in Self.percentiles {
                values[percentile.name] = .integer(Int64(clamping: value(each.histogram, percentile.value)))
            }
            values["rows"] = .integer(Int64(clamping: each.histogram.totalCount))
            latency[each.view] = .object(values)
        }
        return [
            "scenario": .string(scenario.name), "seed": .string("\(scenario.climate.seed)"),
            "ok": .bool(faults.isEmpty), "faults": .array(faults.map { .string($0) }),
            "notes": .array(notes.map { .string($0) }),
            "inputs": .integer(Int64(outcome.inputs)), "crashes": .integer(Int64(outcome.crashes)),
            "rows": .integer(Int64(outcome.rows)), "folded": .integer(Int64(outcome.folded)),
            "resumes": .integer(Int64(outcome.resumes)), "resets": .integer(Int64(outcome.resets)),
            "regressions": .integer(Int64(outcome.regressions)), "verdicts": object(outcome.verdicts),
            "refusals": object(outcome.errors), "controls": object(outcome.operations),
            "screens": object(outcome.screens), "event_to_view_us": .object(latency),
            "milliseconds": .integer(outcome.milliseconds),
        ]
    }
}
