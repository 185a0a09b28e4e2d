public import TelltaleModel

// The row of a widget: the present picture, and later ones with their dates, which need no further message.
extension Card {
    var isWidget: Bool { body["control"] == nil && (body["entries"]?.array != nil || body["source"]?.string != nil) }

    /// The entries of a list that are drawn.
    private static let listLimit = 4

    private var entries: [JSON] { row["entries"]?.array ?? [] }

    private func date(_ entry: JSON) -> Timestamp? { entry["date"]?.integer.map(Timestamp.init(milliseconds:)) }

    /// The entry to draw: the last one whose date has come.
    private func shown(at now: Timestamp) -> JSON? {
        entries.last { date($0).map { $0 <= now } ?? false } ?? entries.first
    }

    /// When the next entry is drawn.
    func next(at now: Timestamp) -> Timestamp? { entries.compactMap(date).first { $0 > now } }

    func hasPicture(at now: Timestamp) -> Bool { shown(at: now)?["view"]?.object != nil }

    func isStale(at now: Timestamp) -> Bool { shown(at: now)?["stale"]?.bool == true }

    /// Whether a tap is about to change some part of it.
    var isChanging: Bool { !invalid.isEmpty }

    /// Whether it is drawn dimmed as a whole.
    func isFaint(at now: Timestamp) -> Bool { isStale(at: now) || row["luminance"]?.string == "reduced" }

    /// The parts that a tap is about to change.
    private var invalid: [String] { (row["invalid"]?.array ?? []).compactMap(\.string) }

    private func note(_ entry: JSON?, at now: Timestamp) -> Line {
        var note = Line()
        if !invalid.isEmpty { note.add(Line("changing", Ink(.yellow))) }
        if entry?["stale"]?.bool == true { note.add(Line("stale", Ink(.yellow))) }
        if let next = next(at: now) { note.add(Line("next in \(Countdown.text(until: next, at: now))", .dim)) }
        return note
    }

    /// The picture in one line.
    func inline(at now: Timestamp) -> Line {
        let line = ViewParts(shown(at: now)?["view"], invalid: invalid).inline(at: now)
        return isFaint(at: now) ? line.inked { $0.isDim = true } : line
    }

    /// The parts of the picture below each other, as they fit into a circle.
    func roundLines(at now: Timestamp) -> [Line] { ViewParts(shown(at: now)?["view"], invalid: invalid).round(at: now) }

    /// The lines of the picture in `inner` columns.
    func widgetLines(width inner: Int, at now: Timestamp) -> [Line] {
        let entry = shown(at: now)
        let view = entry?["view"]
        let parts = ViewParts(view, invalid: invalid)
        var lines = parts.stacked(width: inner, at: now)
        let list = view?["list"]?.array ?? []
        for item in list.prefix(Self.listLimit) {
            let texts = item.object?.compactMap(\.value.string) ?? [item.string ?? item.description]
            lines.append(Line("· " + texts.joined(separator: " "), parts.ink("list")))
        }
        // W93: the entries without room here, and those that the row omits.
        let moreCount = max(0, list.count - Self.listLimit) + Int(clamping: max(0, view?["more"]?.integer ?? 0))
        if moreCount > 0 { lines.append(Line("and \(moreCount) more", .dim)) }
        if row["phase"] != nil { lines += content(of: entry) }
        return lines.isEmpty ? [Line("nothing to show", .dim)] : lines
    }

    /// A widget in a frame of `width` columns, as it is drawn at `now` on the server's clock.
    public func widget(width: Int, at now: Timestamp) -> Block {
        let inner = max(8, width - 4)
        var title = Line(row["appName"]?.string ?? row["title"]?.string ?? key, .dim)
        title.add(note(shown(at: now), at: now))
        let block = Block(widgetLines(width: inner, at: now), inner: inner).framed(.rounded, title: title, ink: .dim)
        return isFaint(at: now) ? block.inked { $0.isDim = true } : block
    }

    /// The content of an entry of the full view, which has no picture.
    private func content(of entry: JSON?) -> [Line] {
        let members = (entry?["content"]?.object ?? JSONObject()).map {
            "\($0.name) \($0.value.string ?? $0.value.description)"
        }
        let phase = Line(row["phase"]?.string ?? "", .bold)
        return [phase] + (members.isEmpty ? [] : [Line(members.joined(separator: " · "))])
    }

    /// The content of now, the parameters and when the next entry follows, for operators.
    func widgetDetail(_ titles: KindTitles, at now: Timestamp) -> String {
        let entry = shown(at: now)
        let sources = [
            ("configuration", row["configuration"]), ("content", entry?["content"]), ("values", row["values"]),
        ]
        let parts = sources.flatMap { members(of: $0.1, named: $0.0, titles, at: now) }
        return (parts + [note(entry, at: now).text(color: false)]).filter { !$0.isEmpty }.joined(separator: " · ")
    }

    /// The picture of now in one line, and when the next one follows.
    func widgetSummary(at now: Timestamp) -> String {
        let entry = shown(at: now)
        let family = row["presentation"]?.string ?? row["phase"]?.string ?? "widget"
        let picture =
            row["phase"] == nil
            ? ViewParts(entry?["view"]).inline(at: now).text(color: false)
            : entry?["content"]?.description ?? ""
        let note = note(entry, at: now).text(color: false)
        return ("\(family): " + picture + (note.isEmpty ? "" : " (\(note))")).harmless
    }
}
