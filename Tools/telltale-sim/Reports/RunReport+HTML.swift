import Histogram
import Simulation

extension RunReport {
    /// One file with everything in it: no script, and no font, style or picture from elsewhere.
    public var html: String { page.markup }

    private var page: HTML {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>\(scenario.title) · telltale-sim</title>
        <style>\(Self.style)</style>
        </head>
        <body>
        <header>
        <h1>\(scenario.title)</h1>
        <p class="about">\(scenario.about)</p>
        \(verdictHTML)
        </header>
        \(tilesHTML)
        \(isScript ? storyHTML : "")
        \(timelineHTML)
        \(latencyHTML)
        \(isScript ? "" : storyHTML)
        <section class="columns">
        \(countsHTML("Verdicts", outcome.verdicts))
        \(countsHTML("Refusals", outcome.errors))
        \(countsHTML("Controls, by how their operations ended", outcome.operations))
        \(countsHTML("Screens", outcome.screens))
        </section>
        \(originHTML)
        </body>
        </html>

        """
    }

    private var verdictHTML: HTML {
        guard !faults.isEmpty else {
            return "<p class=\"verdict good\">✓ Every promise was kept, and every expectation was met.</p>"
        }
        let items = faults.map { fault -> HTML in "<li>\(fault)</li>\n" }.joined()
        let count =
            faults.count == 1
            ? "One thing is not as it should be." : "\(faults.count) things are not as they should be."
        return "<div class=\"verdict bad\"><p>✗ \(count)</p>\n<ul>\(items)</ul></div>"
    }

    private var tilesHTML: HTML {
        var tiles: [(name: String, value: String, note: String)] = [
            ("Inputs", outcome.inputs.grouped, "\((outcome.verdicts["applied"] ?? 0).grouped) applied"),
            ("Rows on screens", outcome.rows.grouped, "\(outcome.folded.grouped) commits folded"),
        ]
        for (name, percentile) in [("Event to view, p50", 50.0), ("Event to view, p99", 99)] {
            guard let time = outcome.latency(of: nil, percentile: percentile) else { continue }
            tiles.append((name, HumanTime.text(microseconds: time), "over all screens that read"))
        }
        tiles.append(
            ("Resumes", outcome.resumes.grouped, outcome.resets == 1 ? "1 reset" : "\(outcome.resets.grouped) resets"))
        tiles.append(("Regressions", outcome.regressions.grouped, "rows whose rev went back"))
        if outcome.crashes > 0 { tiles.append(("Crashes", outcome.crashes.grouped, "of the daemon")) }
        tiles.append(
            (
                "Duration", HumanTime.text(milliseconds: outcome.milliseconds),
                isLive ? "of the scenario's time" : "of virtual time"
            ))
        let cells = tiles.map { tile -> HTML in
            "<div><dt>\(tile.name)</dt><dd>\(tile.value)</dd><dd class=\"dim\">\(tile.note)</dd></div>\n"
        }
        return "<dl class=\"tiles\">\n\(cells.joined())</dl>"
    }

    private func countsHTML(_ title: String, _ counts: [String: Int]) -> HTML {
        guard !counts.isEmpty else { return "" }
        let sorted = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        let most = max(1, sorted.first?.value ?? 1)
        let rows = sorted.map { each -> HTML in
            """
            <tr><th scope="row">\(each.key)</th><td><span class="meter" style="width:\(100 * each.value / most)%"></span></td>\
            <td>\(each.value.grouped)</td></tr>

            """
        }
        return "<div><h2>\(title)</h2>\n<table class=\"counts\">\n\(rows.joined())</table></div>"
    }

    private var latencyHTML: HTML {
        guard !latencies.isEmpty else { return "" }
        let rows = latencies.map { each -> HTML in
            let cells = Self.percentiles.map { percentile -> HTML in
                "<td data-name=\"\(percentile.name)\">\(Self.time(value(each.histogram, percentile.value)))</td>"
            }
            return
                "<tr><th scope=\"row\">\(each.view)</th>\(cells.joined())<td data-name=\"rows\">\(Int(clamping: each.histogram.totalCount).grouped)</td></tr>\n"
        }
        let heads = Self.percentiles.map { percentile -> HTML in "<th scope=\"col\">\(percentile.name)</th>" }
        return """
            <section><h2>Event to view</h2>
            <p class="note">From the moment at which an event was due at its sender to its row on a screen. An event that was folded \
            into a newer state has no row.</p>
            <div class="wide"><table class="figures"><tr><th scope="col">View</th>\(heads.joined())<th scope="col">Rows</th></tr>
            \(rows.joined())</table></div>
            \(percentileChart.html)</section>
            """
    }

    /// Time by percentile. Each further nine has the same room, because that is where the long times are.
    private var percentileChart: Chart {
        let most = Double(latencies.map { $0.histogram.max }.max() ?? 1)
        let least = Double(latencies.map { $0.histogram.valueAtPercentile(0) }.min() ?? 1)
        let scale = Scale(from: least, upTo: most)
        // A percentile that has less than one row beyond it says nothing.
        let rows = latencies.map { Int(clamping: $0.histogram.totalCount) }.max() ?? 0
        let nines = rows >= 10_000 ? 4 : rows >= 1_000 ? 3 : 2
        let series = latencies.enumerated().map { index, each in
            Chart.Series(
                name: each.view, color: index % Self.colorCount,
                points: (0...nines * 20).map { step in
                    let below = 1 / (0..<step).reduce(1.0) { power, _ in power * 1.122_018_454_301_963_3 }
                    let time = each.histogram.valueAtPercentile(100 * (1 - below))
                    return (Double(step) / Double(nines * 20), scale.place(of: Double(time)))
                })
        }
        let marks = [(0.301_03, "p50"), (1, "p90"), (2, "p99"), (3, "p99.9"), (4, "p99.99")]
        return Chart(
            title: "Time by percentile", series: series, yTicks: Self.ticks(ofTimes: scale),
            xTicks: marks.filter { $0.0 <= Double(nines) }.map {
                Chart.Tick(at: $0.0 / Double(nines), text: $0.1)
            })
    }

    static let colorCount = 8

    static func ticks(ofTimes scale: Scale) -> [Chart.Tick] {
        scale.ticks.map { Chart.Tick(at: $0.at, text: HumanTime.tick(microseconds: $0.value)) }
    }

    private var originHTML: HTML {
        let place = isLive ? "at a live daemon" : "in process, on virtual time"
        let items = notes.map { note -> HTML in "<li>\(note)</li>\n" }
        let list: HTML = notes.isEmpty ? "" : "<h2>Notes</h2><ul>\(items.joined())</ul>"
        let command: HTML = origin.command.isEmpty ? "" : "<dt>Command</dt><dd><code>\(origin.command)</code></dd>"
        let version: HTML = origin.version.isEmpty ? "" : "<dt>Version</dt><dd>telltale-sim \(origin.version)</dd>"
        let date: HTML = origin.date.isEmpty ? "" : "<dt>Date</dt><dd>\(origin.date)</dd>"
        return """
            <footer>\(list)
            <h2>This run</h2>
            <dl class="origin">\(command)<dt>Scenario</dt><dd>\(scenario.name), seed \(scenario.climate.seed), \(place)</dd>\
            \(version)\(date)</dl></footer>
            """
    }
}
