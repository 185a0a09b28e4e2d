public import TelltaleModel

/// A row to draw, from a subscription.
public struct Card: Hashable, Sendable {
    public var key: String
    public var body: JSONObject
    /// The row's `rev`; `nil` if unknown.
    public var rev: Int64?

    public init(key: String, body: JSONObject, rev: Int64? = nil) {
        self.key = key
        self.body = body
        self.rev = rev
    }

    var row: JSON { .object(body) }
    var isControl: Bool { body["control"] != nil }
    /// Whether a surface draws it: a control of an activity may not be offered in its state.
    var isOffered: Bool { body["offered"]?.bool ?? true }
    /// Activities come first, controls last.
    var sort: Int { isControl ? 2 : isWidget ? 1 : 0 }
    var order: Int64 { body["order"]?.integer ?? .max }

    /// Dims a block that is stale or ended, as the surfaces do.
    func faded(_ block: Block) -> Block {
        isOver ? block.inked { $0.isDim = true } : block
    }

    /// Whether an activity has ended, or what it shows is stale.
    var isOver: Bool {
        row["stale"]?.bool == true || row["lifecycle"]?.string == "ended" || row["lifecycle"]?.string == "stale"
    }

    /// A note beside the view that the activity is ended or stale.
    var note: Line {
        switch row["lifecycle"]?.string {
        case "ended"?: Line("ended", .dim)
        case "stale"?: Line("stale", Ink(.yellow))
        case "pending"?: Line("pending", Ink(.blue))
        case _: Line()
        }
    }

    // MARK: Presentations

    /// One presentation of an activity, in a frame of `width` columns.
    func presentation(_ name: String, view: JSON?, width: Int, at now: Timestamp) -> Block {
        let inner = max(8, width - 4)
        let lines: [Line]
        switch name {
        case "compact":
            let leading = ViewParts(view?["leading"]).inline(at: now)
            let trailing = ViewParts(view?["trailing"]).inline(at: now)
            lines = [leading.justified(with: trailing, to: inner)]
        case "minimal": lines = [ViewParts(view).inline(at: now)]
        case "expanded":
            let leading = ViewParts(view?["leading"]).inline(at: now)
            let trailing = ViewParts(view?["trailing"]).inline(at: now)
            let center = ViewParts(view?["center"]).stacked(width: inner, at: now)
            lines =
                [leading.justified(with: trailing, to: inner)] + center.map { $0.fitted(to: inner, centered: true) }
                + ViewParts(view?["bottom"]).stacked(width: inner, at: now)
        case _: lines = ViewParts(view).stacked(width: inner, at: now)
        }
        var title = Line(row["appName"]?.string ?? "", .dim)
        title.add(note)
        let isHighlighted = row["highlighted"]?.bool == true
        return faded(
            Block(lines, inner: inner).framed(
                .rounded, title: title, ink: isHighlighted ? Ink(.yellow, bold: true) : .dim))
    }

    /// A row of a surface that shows an activity in one place.
    func single(width: Int, at now: Timestamp) -> Block {
        if isControl { return control(width: width) }
        if isWidget { return widget(width: width, at: now) }
        return presentation(row["presentation"]?.string ?? "", view: row["view"], width: width, at: now)
    }

    /// A toggle or a button: its value, the wanted value, and whether it is available.
    func control(width: Int) -> Block {
        let inner = max(8, width - 4)
        var head = Line(" ")
        if let symbol = row["symbol"]?.string {
            head.append(Symbols.glyph(symbol) + " ", Ink(row["tint"]?.string.flatMap { Ink.Color(tint: $0) }))
        }
        head.append(row["title"]?.string ?? key, .bold)
        var lines = [head.justified(with: switchFace, to: inner + 1)]
        var below = Line(row["text"]?.string ?? "")
        below.add(controlState)
        if below.width > 0 {
            var line = Line(" ")
            line.append(below)
            lines.append(line)
        }
        let block = Block(lines, width: inner + 2).framed(.rounded)
        return row["available"]?.bool == false ? block.inked { $0.isDim = true } : block
    }

    private var switchFace: Line {
        switch (row["control"]?.string, row["shown"]) {
        case ("button"?, _):
            row["phase"]?.string == "performing" ? Line("[ … ]", Ink(.yellow)) : Line("[press]", Ink(.cyan))
        case (_, .bool(true)?): Line("[ ─●]", Ink(.green))
        case (_, .bool(false)?): Line("[●─ ]")
        case _: Line("[ ? ]", .dim)
        }
    }

    /// A control in a few columns: a button as one, a toggle by what it shows.
    var controlFace: Line {
        let isAvailable = row["available"]?.bool ?? true
        guard row["control"]?.string == "toggle" else {
            let label = [row["symbol"]?.string.map(Symbols.glyph), row["title"]?.string ?? "press"]
            return ViewParts.Button(
                label: label.compactMap(\.self).joined(separator: " "), isOn: nil, isLive: isAvailable,
                isPending: row["phase"]?.string == "performing"
            ).line
        }
        guard let isOn = row["shown"]?.bool else { return Line("?", .dim) }
        let text = row["text"]?.string ?? (isOn ? "on" : "off")
        return Line("\(isOn ? "◉" : "○") \(text)", !isAvailable ? .dim : isOn ? Ink(.green) : .plain)
    }

    var controlState: Line {
        if let status = row["status"]?.string { return Line(status, Ink(.red)) }
        if row["available"]?.bool == false { return Line("unavailable", .dim) }
        switch row["phase"]?.string {
        case "pending"?: return Line("→ \(row["wanted"]?.bool == true ? "on" : "off") …", Ink(.yellow))
        case "performing"?: return Line("…", Ink(.yellow))
        case _: return row["assumed"]?.bool == true ? Line("assumed", .dim) : Line()
        }
    }

    /// The whole state, for operators.
    func full(_ titles: KindTitles, width: Int, at now: Timestamp) -> Block {
        if isControl { return control(width: width) }
        if isWidget { return widget(width: width, at: now) }
        let inner = max(8, width - 4)
        var lines: [Line] = []
        var state = Line(" ")
        state.append(titles.title(ofState: row["state"]?.string ?? "?", of: kind), .bold)
        lines.append(state.justified(with: Line(clock(at: now), .dim), to: inner + 1))
        for name in ["attributes", "content"] {
            let members = members(of: row[name], named: name, titles, at: now)
            if !members.isEmpty { lines.append(Line(" " + members.joined(separator: " · "))) }
        }
        if let progress = row["progress"]?.double {
            var line = Line(" ")
            line.append(ProgressBar.line(progress, width: max(3, inner - 5)))
            let percent = ProgressBar.percent(progress)
            line.append(String(repeating: " ", count: 5 - percent.count) + percent)
            lines.append(line)
        }
        var title = Line(key, Ink(.cyan))
        title.add(note)
        return faded(Block(lines, width: inner + 2).framed(.rounded, title: title))
    }
}

extension Card {
    /// The row in one line of plain text.
    public func summary(at now: Timestamp) -> String {
        if isControl {
            let shown =
                row["shown"]?.bool.map { $0 ? "on" : "off" } ?? (row["control"]?.string == "toggle" ? "unknown" : "")
            let parts = [
                row["control"]?.string ?? "", shown, row["phase"]?.string ?? "", controlState.text(color: false),
            ]
            return parts.filter { !$0.isEmpty }.joined(separator: " ").harmless
        }
        if let place = TileCardPlace(self, at: now) { return tileSummary(place, at: now) }
        if isWidget { return widgetSummary(at: now) }
        if let state = row["state"]?.string {
            let progress = row["progress"]?.double.map { " " + ProgressBar.percent($0) } ?? ""
            return "\(state) \(row["lifecycle"]?.string ?? "")\(progress)".harmless
        }
        var texts: [String] = []
        for place in [row, row["lockScreen"], row["island"]] {
            guard let place, let presentation = place["presentation"]?.string else { continue }
            let view = place["view"]
            let halves = [view?["leading"], view?["trailing"], view?["center"], view].map {
                ViewParts($0).inline(at: now).text(color: false)
            }
            texts.append(presentation + ": " + halves.filter { !$0.isEmpty }.joined(separator: " · "))
        }
        let lifecycle = row["lifecycle"]?.string ?? ""
        return (lifecycle == "active" ? "" : lifecycle + " ") + texts.joined(separator: " | ")
    }
}
