import Histogram
import Simulation
import TelltaleModel

/// The result of a scenario's run, for people and for programs.
struct RunReport {
    let scenario: Scenario
    let outcome: ScenarioOutcome
    let isLive: Bool
    /// Promises that were not kept, and expectations that were not met.
    let faults: [String]
    /// The parts of the scenario that this run left out.
    var notes: [String] = []
    /// The release, the time and the command, for the HTML report. The JSON report has neither time nor command, because
    /// the same run gives the same bytes.
    var provenance = ""
    /// By view, in the order of the report.
    let latencies: [(view: String, histogram: Histogram<UInt64>)]

    static let percentiles: [(name: String, value: Double)] = [
        ("p50", 50), ("p90", 90), ("p95", 95), ("p99", 99), ("max", 100),
    ]

    init(_ scenario: Scenario, _ outcome: ScenarioOutcome, isLive: Bool) {
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

    var text: String {
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
            let values = Self.percentiles.map { "\($0.name) \(Self.milliseconds(value(latency.histogram, $0.value)))" }
            add(
                index == 0 ? "event to view" : "",
                latency.view.padded(to: 12) + " " + values.joined(separator: "  ")
                    + "  (\(latency.histogram.totalCount) rows)"
            )
        }
        add(
            "",
            "\(outcome.inputs) inputs, \(outcome.crashes) crashes, \(Self.seconds(outcome.milliseconds)) \(isLive ? "of its own time" : "of virtual time")"
        )
        for note in notes { add("note", note) }
        lines.append(
            faults.isEmpty ? "Everything is as it should be." : "\(faults.count) things are not as they should be.")
        return lines.joined(separator: "\n")
    }

    func value(_ histogram: Histogram<UInt64>, _ percentile: Double) -> UInt64 {
        percentile == 100 ? histogram.max : histogram.valueAtPercentile(percentile)
    }

    static func table(_ counts: [String: Int]) -> String {
        counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    }

    static func milliseconds(_ microseconds: UInt64) -> String {
        if microseconds >= 10_000_000 { return seconds(Int64(clamping: microseconds / 1000)) }
        if microseconds >= 10_000 { return "\((microseconds + 500) / 1000) ms" }
        let hundredths = (microseconds + 5) / 10
        let fraction = hundredths % 100
        return "\(hundredths / 100).\(fraction < 10 ? "0" : "")\(fraction) ms"
    }

    static func seconds(_ milliseconds: Int64) -> String {
        let seconds = milliseconds / 1000
        if seconds < 60 { return "\(seconds).\(milliseconds % 1000 / 100) s" }
        if seconds < 3600 { return "\(seconds / 60) min \(seconds % 60) s" }
        return "\(seconds / 3600) h \(seconds % 3600 / 60) min"
    }

    // MARK: JSON

    var json: JSON {
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

extension String {
    func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
