import Foundation
import Histogram
import Simulation
import TelltaleModel

extension RunReport {
    /// One file with everything in it: no script, no font, no picture from elsewhere.
    var html: String {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>\(Self.escaped(scenario.title)) · telltale-sim</title>
        <style>
        :root { color-scheme: light dark; --ink: #1c1c1e; --dim: #6b6b70; --paper: #ffffff; --line: #dcdce0;
          --one: #2f6fde; --two: #e0862f; --good: #2c8a4b; --bad: #c4342d; }
        @media (prefers-color-scheme: dark) { :root { --ink: #f0f0f3; --dim: #9b9ba3; --paper: #151518; --line: #35353b;
          --one: #6ea0ff; --two: #f2a65a; --good: #58c47c; --bad: #ff6b61; } }
        body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 60rem;
          margin: 2rem auto; padding: 0 1rem; }
        h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.05rem; margin: 2rem 0 .5rem; }
        .about, .note { color: var(--dim); } .good { color: var(--good); } .bad { color: var(--bad); }
        table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
        th, td { text-align: right; padding: .25rem .6rem; border-bottom: 1px solid var(--line); }
        th:first-child, td:first-child { text-align: left; } th { color: var(--dim); font-weight: 500; }
        svg { width: 100%; height: auto; } svg text { fill: var(--dim); font: 11px system-ui, sans-serif; }
        .wide { overflow-x: auto; } .wide svg { min-width: 36rem; }
        svg .bar { fill: var(--one); } svg .grid { stroke: var(--line); } svg .curve { fill: none; stroke-width: 1.8; }
        </style>
        </head>
        <body>
        <h1>\(Self.escaped(scenario.title))</h1>
        <p class="about">\(Self.escaped(scenario.about))</p>
        \(verdictHTML)
        \(latencyHTML)
        \(countsHTML("Verdicts", outcome.verdicts))
        \(countsHTML("Refusals", outcome.errors))
        \(countsHTML("Controls, by how their operations ended", outcome.operations))
        \(screensHTML)
        <p class="note">Scenario \(Self.escaped(scenario.name)), seed \(scenario.climate.seed), \
        \(isLive ? "against a live daemon" : "in process, on virtual time"); \(outcome.inputs) inputs, \
        \(outcome.crashes) crashes, \(Self.seconds(outcome.milliseconds)) of the scenario's time.</p>
        <p class="note">\(Self.escaped(provenance))</p>
        \(notes.map { "<p class=\"note\">\(Self.escaped($0))</p>" }.joined(separator: "\n"))
        </body>
        </html>

        """
    }

    private var verdictHTML: String {
        guard !faults.isEmpty else { return "<p class=\"good\">✓ Everything is as it should be.</p>" }
        let items = faults.map { "<li>\(Self.escaped($0))</li>" }.joined(separator: "\n")
        return "<p class=\"bad\">✗ \(faults.count) things are not as they should be.</p>\n<ul>\n\(items)\n</ul>"
    }

    private var screensHTML: String {
        let screens = outcome.screens.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
        return """
            <h2>Screens</h2>
            <div class="wide"><table><tr><th>screens</th><th>rows</th><th>commits folded</th><th>no-ops</th><th>resumes</th><th>resets</th>\
            <th>regressions</th></tr>
            <tr><td>\(Self.escaped(screens))</td><td>\(outcome.rows)</td><td>\(outcome.folded)</td>\
            <td>\(outcome.verdicts["noop"] ?? 0)</td><td>\(outcome.resumes)</td><td>\(outcome.resets)</td>\
            <td class="\(outcome.regressions == 0 ? "good" : "bad")">\(outcome.regressions)</td></tr></table></div>
            """
    }

    private func countsHTML(_ title: String, _ counts: [String: Int]) -> String {
        guard !counts.isEmpty else { return "" }
        let sorted = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        let most = max(1, sorted.first?.value ?? 1)
        var svg = "<svg viewBox=\"0 0 640 \(sorted.count * 22)\" role=\"img\" aria-label=\"\(Self.escaped(title))\">\n"
        for (row, each) in sorted.enumerated() {
            let y = row * 22
            let width = max(1, 380 * each.value / most)
            svg += "<text x=\"170\" y=\"\(y + 15)\" text-anchor=\"end\">\(Self.escaped(each.key))</text>"
            svg += "<rect class=\"bar\" x=\"180\" y=\"\(y + 4)\" width=\"\(width)\" height=\"14\" rx=\"2\"/>"
            svg += "<text x=\"\(188 + width)\" y=\"\(y + 15)\">\(each.value)</text>\n"
        }
        return "<h2>\(Self.escaped(title))</h2>\n<div class=\"wide\">\(svg)</svg></div>"
    }

    // MARK: Latency

    private static let colors = [
        "var(--one)", "var(--two)", "var(--good)", "var(--bad)", "var(--dim)", "#9a6be0", "#2aa7a7", "#b5a11f",
    ]

    private var latencyHTML: String {
        guard !latencies.isEmpty else { return "" }
        var rows = ""
        for each in latencies {
            rows += "<tr><td>\(Self.escaped(each.view))</td>"
            for percentile in Self.percentiles {
                rows += "<td>\(Self.milliseconds(value(each.histogram, percentile.value)))</td>"
            }
            rows += "<td>\(each.histogram.totalCount)</td></tr>\n"
        }
        let heads = Self.percentiles.map { "<th>\($0.name)</th>" }.joined()
        return """
            <h2>Event to view</h2>
            <p class="note">From the moment at which an event was meant to leave its sender, to its row on a screen. What was \
            folded into a newer state has no row.</p>
            <div class="wide"><table><tr><th>view</th>\(heads)<th>rows</th></tr>
            \(rows)</table></div>
            \(curves)
            """
    }

    /// Time over percentile, both on scales that give a long tail its room: 90, 99, 99.9 % are one step apart each.
    private var curves: String {
        let (left, top, width, height) = (84.0, 10.0, 526.0, 220.0)
        let most = latencies.map { max(1, $0.histogram.max) }.max() ?? 1
        let least = max(1, latencies.map { $0.histogram.valueAtPercentile(0) }.min() ?? 1)
        let decades = (low: floor10(least), high: ceil10(most))
        let steps = [0, 50, 75, 90, 95, 99, 99.9, 99.99]
        func x(_ percentile: Double) -> Double {
            left + width * log10(1 / max(0.0001, 1 - percentile / 100)) / log10(10_000)
        }
        func y(_ microseconds: UInt64) -> Double {
            let span = max(1e-9, log10(Double(decades.high)) - log10(Double(decades.low)))
            return top + height
                * (1 - (log10(Double(max(decades.low, microseconds))) - log10(Double(decades.low))) / span)
        }
        var svg =
            "<svg viewBox=\"0 0 640 \(Int(height) + 50 + 16 * ((latencies.count + 3) / 4))\" role=\"img\" aria-label=\"Event to view by percentile\">\n"
        var decade = decades.low
        while decade <= decades.high {
            let line = rounded(y(decade))
            svg += "<line class=\"grid\" x1=\"\(left)\" y1=\"\(line)\" x2=\"\(left + width)\" y2=\"\(line)\"/>"
            svg += "<text x=\"\(left - 6)\" y=\"\(line + 4)\" text-anchor=\"end\">\(Self.milliseconds(decade))</text>\n"
            decade *= 10
        }
        for step in steps.dropFirst() {
            svg +=
                "<text x=\"\(rounded(x(step)))\" y=\"\(top + height + 16)\" text-anchor=\"middle\">\(step == Double(Int(step)) ? "\(Int(step))" : "\(step)") %</text>"
        }
        for (index, each) in latencies.enumerated() {
            let color = Self.colors[index % Self.colors.count]
            let points = stride(from: 0.0, through: 4.0, by: 0.05).map { nines -> String in
                let percentile = 100 * (1 - 1 / pow(10, nines))
                return "\(rounded(x(percentile))),\(rounded(y(each.histogram.valueAtPercentile(percentile))))"
            }
            svg += "<polyline class=\"curve\" stroke=\"\(color)\" points=\"\(points.joined(separator: " "))\"/>\n"
            let (column, row) = (Double(index % 4) * 130 + left, Double(index / 4) * 16 + top + height + 36)
            svg += "<rect x=\"\(column)\" y=\"\(row - 8)\" width=\"10\" height=\"10\" style=\"fill: \(color)\"/>"
            svg += "<text x=\"\(column + 15)\" y=\"\(row + 1)\">\(Self.escaped(each.view))</text>\n"
        }
        return "<div class=\"wide\">\(svg)</svg></div>"
    }

    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for character in text.unicodeScalars {
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case _: escaped.unicodeScalars.append(character)
            }
        }
        return escaped
    }
}

private func floor10(_ value: UInt64) -> UInt64 {
    var power: UInt64 = 1
    while power * 10 <= value { power *= 10 }
    return power
}

private func ceil10(_ value: UInt64) -> UInt64 {
    let floor = floor10(value)
    return floor == value ? max(10, value) : floor * 10
}

private func rounded(_ value: Double) -> Double { (value * 10).rounded() / 10 }
