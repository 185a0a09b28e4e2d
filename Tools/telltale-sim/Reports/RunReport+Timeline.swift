import Simulation

extension RunReport {
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
