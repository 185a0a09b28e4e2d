public import TelltaleModel

/// Rows of the full view as a table, a section for each kind.
public enum EntityTable {
    private static let columns = ["KEY", "STATE", "DONE", "CHANGED", "DETAILS"]

    /// - Parameters:
    ///   - cards: Without tiles of boards.
    ///   - now: On the server's clock.
    ///   - width: The most columns to use.
    public static func draw(_ cards: [Card], titles: KindTitles, at now: Timestamp, width: Int) -> Block {
        var table = Table(columns)
        let kinds = Dictionary(grouping: cards, by: \.kind)
        let order = kinds.map { (sort: $0.value.map(\.sort).min() ?? 0, title: titles.title(of: $0.key), kind: $0.key) }
        for section in order.sorted(by: { ($0.sort, $0.title, $0.kind) < ($1.sort, $1.title, $1.kind) }) {
            table.beginSection(Line(section.title, Ink(.cyan)))
            for card in (kinds[section.kind] ?? []).sorted(by: { $0.key < $1.key }) {
                table.append(card.cells(titles, at: now))
            }
        }
        return table.draw(width: width)
    }
}

extension Card {
    /// The kind, by the key.
    public var kind: String { String(key.prefix { $0 != "/" }) }

    /// What a surface shows of it, in one line.
    public func brief(at now: Timestamp) -> Line {
        guard isControl else { return Line(summary(at: now)) }
        var line = controlFace
        line.add(controlState)
        return line
    }

    /// The cells of one line of ``EntityTable``.
    fileprivate func cells(_ titles: KindTitles, at now: Timestamp) -> [Line] {
        let fraction = row["progress"]?.double
        let changed = row["updatedAt"]?.integer.map { RelativeTime.text(Timestamp(milliseconds: $0), at: now) }
        return [
            Line("  \(key)"), stateCell(titles), Line(fraction.map(ProgressBar.percent) ?? "", Ink(.green)),
            Line(changed ?? "", .dim), detailCell(titles, at: now),
        ]
    }

    private func stateCell(_ titles: KindTitles) -> Line {
        if isControl { return controlFace }
        if isWidget { return Line(row["phase"]?.string ?? "") }
        var line = Line(titles.title(ofState: row["state"]?.string ?? "", of: kind))
        line.add(note)
        return line
    }

    private func detailCell(_ titles: KindTitles, at now: Timestamp) -> Line {
        if isControl { return controlState }
        if isWidget { return Line(widgetDetail(titles, at: now)) }
        var line = Line()
        for name in ["content", "attributes"] {
            for member in members(of: row[name], named: name, titles, at: now) { line.add(Line(member)) }
        }
        line.add(Line(clock(at: now), .dim))
        return line
    }

    /// The members of an object of the row as texts, with dates in words.
    func members(of json: JSON?, named name: String, _ titles: KindTitles, at now: Timestamp) -> [String] {
        (json?.object ?? JSONObject()).map { member in
            let date = titles.date(member.value, at: "\(name).\(member.name)", of: kind)
            let text = date.map { RelativeTime.text($0, at: now) } ?? member.value.string ?? member.value.description
            return "\(member.name) \(text)"
        }
    }

    /// When an activity becomes stale or leaves, in words.
    func clock(at now: Timestamp) -> String {
        if let staleAt = row["staleAt"]?.integer, row["lifecycle"]?.string == "active" {
            return "stale \(RelativeTime.text(Timestamp(milliseconds: staleAt), at: now))"
        }
        guard let removeAt = row["removeAt"]?.integer else { return "" }
        return "gone \(RelativeTime.text(Timestamp(milliseconds: removeAt), at: now))"
    }
}

/// A date as the span from now, in its largest unit.
public enum RelativeTime {
    /// The dates of 2001 to 2100: any other whole number is a quantity.
    private static let dates: Range<Int64> = 978_307_200_000..<4_133_980_800_000

    /// `nil` for a number that is no date in Unix milliseconds.
    public static func date(_ number: Int64) -> Timestamp? {
        dates.contains(number) ? Timestamp(milliseconds: number) : nil
    }

    /// `in 4 min`, `12 s ago`, `in 3 d`. What is left is rounded up, so that a quarter of an hour begins with 15; what has
    /// passed is rounded down.
    public static func text(_ date: Timestamp, at now: Timestamp) -> String {
        let span = (date - now).count
        guard span > 0 else {
            let seconds = Int64(span.magnitude / 1000)
            return seconds == 0 ? "now" : "\(unit(seconds, rounding: 0)) ago"
        }
        return "in \(unit(span / 1000 + (span % 1000).signum(), rounding: 1))"
    }

    private static func unit(_ seconds: Int64, rounding: Int64) -> String {
        func whole(_ length: Int64) -> Int64 { (seconds + rounding * (length - 1)) / length }
        if seconds < 60 { return "\(seconds) s" }
        if whole(60) < 120 { return "\(whole(60)) min" }
        if whole(3600) < 48 { return "\(whole(3600)) h" }
        return "\(whole(86_400)) d"
    }
}
