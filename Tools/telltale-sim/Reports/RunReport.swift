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

    /// The course of the run: events, rows and latencies by the scenario's time.
    var timelineHTML: HTML {
        let intervals = outcome.timeline.intervals
        guard intervals.count > 1 else { return "" }
        let seconds = Double(outcome.timeline.width) / 1_000
        let acknowledged = intervals.map { Double($0.acknowledged) / seconds }
        let rows = intervals.map { Double($0.rows) / seconds }
        let medians = intervals.map { $0.latency(percentile: 50).map(Double.init) }
        let tails = intervals.map { $0.latency(percentile: 99).map(Double.init) }
        var charts = [
            rates("Acknowledged events a second", acknowledged, color: 0),
            rates("Rows on screens a second", rows, color: 2),
        ]
        let times = (medians + tails).compactMap(\.self)
        if let least = times.min(), let most = times.max() {
            let scale = Scale(from: least, upTo: most)
            charts.append(
                Chart(
                    title: "Event to view",
                    series: [
                        Chart.Series(name: "p50", color: 0, points: points(medians, on: scale)),
                        Chart.Series(name: "p99", color: 1, points: points(tails, on: scale)),
                    ], yTicks: Self.ticks(ofTimes: scale), xTicks: xTicks))
        }
        return """
            <section><h2>Over time</h2>
            <p class="note">By the scenario's time, in intervals of \(HumanTime.tick(milliseconds: outcome.timeline.width)).</p>
            \(charts.map(\.html).joined())</section>
            """
    }

    private func rates(_ title: String, _ values: [Double], color: Int) -> Chart {
        let scale = Scale(upTo: values.max() ?? 1)
        return Chart(
            title: title,
            series: [Chart.Series(name: "", color: color, points: points(values, on: scale), isFilled: true)],
            yTicks: scale.ticks.map { Chart.Tick(at: $0.at, text: Int($0.value).grouped) }, xTicks: xTicks)
    }

    /// A value stands at the middle of its interval.
    private func points(_ values: [Double?], on scale: Scale) -> [(x: Double, y: Double)?] {
        values.enumerated().map { index, value in
            value.map { ((Double(index) + 0.5) / Double(values.count), scale.place(of: $0)) }
        }
    }

    private var xTicks: [Chart.Tick] {
        let length = outcome.timeline.width * Int64(outcome.timeline.intervals.count)
        let (second, minute, hour): (Int64, Int64, Int64) = (1_000, 60_000, 3_600_000)
        let steps = [
            100, 200, 500, second, 2 * second, 5 * second, 10 * second, 15 * second, 30 * second, minute, 2 * minute,
            5 * minute, 10 * minute, 15 * minute, 30 * minute, hour, 2 * hour, 6 * hour, 12 * hour, 24 * hour,
            7 * 24 * hour, 30 * 24 * hour,
        ]
        let step = steps.first { length / $0 <= 5 } ?? length
        return stride(from: 0, through: length, by: Int64.Stride(step)).map { time in
            Chart.Tick(at: Double(time) / Double(length), text: HumanTime.tick(milliseconds: Int64(time)))
        }
    }

    var isScript: Bool { !scenario.setting.steps.isEmpty }

    /// The scenes of the run, each with the screens that it changed.
    var storyHTML: HTML {
        guard !outcome.story.isEmpty else { return "" }
        var before: [String: String] = [:]
        let scenes = outcome.story.map { scene -> HTML in
            var (changed, same): ([HTML], [String]) = ([], [])
            for display in scene.displays {
                let look = "\(display.isAway) " + display.rows.map { "\($0.key) \(JSON.object($0.body))" }.joined()
                if before[display.name] == look {
                    same.append(display.name)
                } else {
                    changed.append(ScreenPicture(display, at: scene.daemonTime).html)
                }
                before[display.name] = look
            }
            let action: HTML = scene.action.isEmpty ? "" : "<p class=\"deed\"><code>\(scene.action)</code></p>"
            let checks = scene.checks.map { check -> HTML in
                let caption: HTML = check.caption.isEmpty ? "" : "<b>\(check.caption)</b> "
                return check.fault.map { "<li class=\"bad\">\(caption)\(check.text): \($0)</li>" }
                    ?? "<li>\(caption)\(check.text)</li>"
            }
            let list: HTML = checks.isEmpty ? "" : "<ul class=\"checks\">\(checks.joined())</ul>"
            let unchanged: HTML =
                same.isEmpty ? "" : "<p class=\"note\">Unchanged: \(same.joined(separator: ", "))</p>"
            let title: HTML = scene.caption.isEmpty ? "" : "<h3>\(scene.caption)</h3>"
            return """
                <li><div class="when">\(HumanTime.moment(scene.time))</div><div class="scene">\(title)\(action)\(list)\
                <div class="screens">\(changed.joined())</div>\(unchanged)</div></li>

                """
        }
        return """
            <section><h2>\(isScript ? "Step by step" : "Screens on the way")</h2>
            <ol class="story">
            \(scenes.joined())</ol></section>
            """
    }
}

extension HumanTime {
    /// A round time on an axis: `0`, `500 ms`, `30 s`, `1m 30s`, `2h`.
    static func tick(milliseconds: Int64) -> String {
        if milliseconds == 0 { return "0" }
        if milliseconds < 60_000 {
            return milliseconds % 1_000 == 0 ? "\(milliseconds / 1_000) s" : text(milliseconds: milliseconds)
        }
        let parts = text(milliseconds: milliseconds).split(separator: " ")
        return parts.filter { !["00s", "00m", "0h"].contains($0) }.joined(separator: " ")
    }

    /// A power of ten, in microseconds: `10 µs`, `1 ms`, `100 s`.
    static func tick(microseconds: Double) -> String {
        if microseconds < 1_000 { return "\(Int(microseconds)) µs" }
        if microseconds < 1_000_000 { return "\(Int(microseconds / 1_000)) ms" }
        return "\(Int(microseconds / 1_000_000).grouped) s"
    }
}
