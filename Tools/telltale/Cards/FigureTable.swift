public import TelltaleModel

/// The figures of `STATS` as a table, a line for each; those of one object stand in one line.
public enum FigureTable {
    /// - Parameters:
    ///   - last: The figures of before; what a figure has grown by since is in a column of its own.
    ///   - width: The most columns to use.
    public static func draw(_ figures: JSONObject, since last: JSONObject?, at now: Timestamp, width: Int) -> Block {
        var table = Table(["FIGURE", "VALUE"] + (last == nil ? [] : ["CHANGE"]))
        for figure in figures {
            let name = figure.name
            var cells = [Line(name), Line(text(figure.value, at: name, now))]
            if let last { cells.append(change(from: last[name], to: figure.value)) }
            table.append(cells)
        }
        return table.draw(width: width)
    }

    /// How numbers have changed: of an object each that did.
    private static func change(from before: JSON?, to now: JSON) -> Line {
        if case .object(let members) = now {
            return members.reduce(into: Line()) { line, member in
                var change = change(from: before?[member.name], to: member.value)
                guard change.width > 0 else { return }
                change.append(" \(member.name)", .dim)
                line.add(change)
            }
        }
        guard let before = before?.double, let now = now.double, now != before else { return Line() }
        return Line("\(now > before ? "+" : "")\(JSON(now - before))", Ink(now > before ? .green : .yellow))
    }

    private static func text(_ value: JSON, at name: String, _ now: Timestamp) -> String {
        if case .object(let members) = value {
            return members.map { member in
                let text = text(member.value, at: member.name, now)
                return member.name == "buckets" ? text : "\(member.name.replacing("Microseconds", with: "")) \(text)"
            }.joined(separator: " · ")
        }
        if name == "buckets", let buckets = value.array { return quantiles(buckets) }
        guard let number = value.integer else { return value.string ?? value.description }
        if let date = RelativeTime.date(number) { return RelativeTime.text(date, at: now) }
        if name.hasSuffix("Microseconds") { return milliseconds(number) }
        return name.hasSuffix("Bytes") ? bytes(number) : "\(number)"
    }

    /// `[microseconds, count]` in rising order, each with the count of all that took at most so long.
    private static func quantiles(_ buckets: [JSON]) -> String {
        var bounds: [(bound: Int64, count: Int64)] = []
        for bucket in buckets {
            guard let pair = bucket.array, pair.count == 2 else { continue }
            guard let bound = pair[0].integer, let count = pair[1].integer else { continue }
            bounds.append((bound, count))
        }
        guard let total = bounds.last?.count, total > 0 else { return "none yet" }
        var texts: [String] = []
        for (percent, part) in [(50, 0.5), (99, 0.99)] {
            let rank = Int64((Double(total) * part).rounded(.up))
            guard let bound = bounds.first(where: { $0.count >= rank })?.bound else { continue }
            texts.append("\(percent)% within \(milliseconds(bound))")
        }
        return texts.joined(separator: ", ")
    }

    private static func milliseconds(_ microseconds: Int64) -> String {
        "\(JSON((Double(microseconds) / 10).rounded() / 100)) ms"
    }

    private static func bytes(_ count: Int64) -> String {
        let units = ["KiB", "MiB", "GiB"]
        guard count >= 1024 else { return "\(count) B" }
        var (amount, unit) = (Double(count) / 1024, 0)
        while amount >= 1024, unit < units.count - 1 { (amount, unit) = (amount / 1024, unit + 1) }
        return "\(JSON((amount * 10).rounded() / 10)) \(units[unit])"
    }
}
