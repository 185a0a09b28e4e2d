public import TelltaleModel

/// Two reports of the same scenario, figure by figure.
public struct ReportComparison {
    struct Figure {
        var name: String
        var before: Double
        /// `nil`: the second report does not have it.
        var after: Double?
        /// In microseconds; else a count.
        var isTime = false
        /// The most that passes; `nil` where the figure is reported and judges nothing.
        var allowed: Double?

        var isWorse: Bool {
            guard let allowed else { return false }
            return after.map { $0 > allowed } ?? true
        }
    }

    private(set) var figures: [Figure] = []
    private(set) var notes: [String] = []

    /// - Parameters:
    ///   - before: What `telltale-sim run --json` printed.
    ///   - percent: How much longer a time may be.
    ///   - leastMicroseconds: Differences of times up to this many do not count.
    /// - Returns: `nil` when the reports are of two scenarios.
    public init?(before: JSON, after: JSON, percent: Double, leastMicroseconds: Double) {
        guard before["scenario"] == after["scenario"] else { return nil }
        for (name, word) in [("seed", "seeds"), ("inputs", "numbers of inputs")] where before[name] != after[name] {
            notes.append("the reports have different \(word)")
        }
        let faults = [before, after].map { Double($0["faults"]?.array?.count ?? 0) }
        figures.append(Figure(name: "faults", before: faults[0], after: faults[1], allowed: faults[0]))
        for name in ["regressions", "inputs", "rows", "folded", "resumes", "resets"] {
            guard let count = before[name]?.double else { continue }
            figures.append(
                Figure(
                    name: name, before: count, after: after[name]?.double,
                    allowed: name == "regressions" ? count : nil))
        }
        for member in before["event_to_view_us"]?.object ?? JSONObject() {
            for percentile in RunReport.percentiles.map(\.name) {
                guard let time = member.value[percentile]?.double else { continue }
                // One sample is no measure of a build, so the longest time judges nothing.
                let allowed = percentile == "max" ? nil : max(time * (1 + percent / 100), time + leastMicroseconds)
                figures.append(
                    Figure(
                        name: "\(member.name) \(percentile)", before: time,
                        after: after["event_to_view_us"]?[member.name]?[percentile]?.double, isTime: true,
                        allowed: allowed))
            }
        }
        for member in after["event_to_view_us"]?.object ?? JSONObject()
        where before["event_to_view_us"]?[member.name] == nil {
            notes.append("\(member.name) is in the second report alone")
        }
    }

    public var isGood: Bool { !figures.contains(where: \.isWorse) }

    /// A table for people.
    public var text: String {
        let width = max(20, (figures.map(\.name.count).max() ?? 0) + 2)
        var lines = ["".padded(to: width) + ["before", "after", "change", "allowed"].map { Self.right($0) }.joined()]
        for figure in figures {
            let values = [figure.before, figure.after, nil, figure.allowed].map {
                Self.value($0, isTime: figure.isTime)
            }
            let cells = [values[0], figure.after == nil ? "none" : values[1], Self.change(figure), values[3]]
            var line = figure.name.padded(to: width) + cells.map { Self.right($0) }.joined()
            if figure.isWorse { line += "  worse" }
            while line.last == " " { line.removeLast() }
            lines.append(line)
        }
        let worse = figures.filter(\.isWorse).map(\.name)
        lines += notes.map { "Note: \($0)." }
        lines.append(
            worse.isEmpty
                ? "Nothing is worse than is allowed." : "Worse than is allowed: \(worse.joined(separator: ", ")).")
        return lines.joined(separator: "\n")
    }

    public var json: JSON {
        [
            "ok": .bool(isGood), "notes": .array(notes.map { .string($0) }),
            "figures": .array(
                figures.map { figure in
                    [
                        "name": .string(figure.name), "before": JSON(figure.before),
                        "after": figure.after.map { JSON($0) } ?? .null,
                        "allowed": figure.allowed.map { JSON($0) } ?? .null, "worse": .bool(figure.isWorse),
                    ]
                }),
        ]
    }

    private static func value(_ value: Double?, isTime: Bool) -> String {
        guard let value else { return "" }
        let whole = Int64(exactly: value.rounded()) ?? .max
        return isTime ? HumanTime.text(microseconds: whole) : "\(whole)"
    }

    private static func change(_ figure: Figure) -> String {
        guard let after = figure.after else { return "" }
        guard figure.before > 0 else { return after == 0 ? "" : "new" }
        guard let percent = Int(exactly: ((after / figure.before - 1) * 100).rounded()) else { return "" }
        return percent == 0 ? "" : "\(percent > 0 ? "+" : "")\(percent) %"
    }

    private static func right(_ text: String) -> String {
        String(repeating: " ", count: max(1, 12 - text.count)) + text
    }
}
