package import TelltaleModel

/// The parts of one view of a row (`symbol title subtitle text timer progress buttons tint`), read for drawing.
package struct ViewParts {
    package private(set) var symbol: String?
    package private(set) var title: String?
    package private(set) var subtitle: String?
    package private(set) var text: String?
    package private(set) var timer: Timestamp?
    package private(set) var progress: Double?
    package private(set) var segments = 1
    package private(set) var buttons: [Button] = []
    var tint: Ink.Color?
    /// The parts that a tap is about to change, by their names.
    private var doubtful: Set<String> = []

    package struct Button {
        package var label: String
        package var isOn: Bool?
        /// Whether it can be tapped here and is available.
        package var isLive: Bool
        var isPending = false

        var line: Line {
            let state = isPending ? "◌ " : isOn.map { $0 ? "◉ " : "○ " } ?? ""
            return Line("[\(state)\(label)]", isLive ? Ink(isPending ? .yellow : .cyan) : .dim)
        }
    }

    /// - Parameter invalid: The parts that a tap is about to change. They are drawn dimmed.
    package init(_ json: JSON?, invalid: [String] = []) {
        doubtful = Set(invalid)
        symbol = json?["symbol"]?.string.map(Symbols.glyph)
        title = Self.text(json?["title"])
        subtitle = Self.text(json?["subtitle"])
        text = Self.text(json?["text"])
        timer = json?["timer"]?.integer.map(Timestamp.init(milliseconds:))
        progress = json?["progress"]?.double ?? json?["progress"]?["value"]?.double
        switch json?["progress"]?["segments"] {
        case .integer(let count)?: segments = Int(clamping: count)
        case .array(let parts)?: segments = parts.count
        case .null?, .bool?, .number?, .string?, .object?, nil: break
        }
        tint = json?["tint"]?.string.flatMap { Ink.Color(tint: $0) }
        buttons = (json?["buttons"]?.array ?? []).compactMap(Self.button)
    }

    private static func text(_ json: JSON?) -> String? {
        guard let json else { return nil }
        switch json {
        case .null: return nil
        // The space for a text of a widget that is not known yet.
        case .object(let object) where object["block"]?.integer != nil:
            return String(repeating: "░", count: Int(min(max(object["block"]?.integer ?? 0, 0), 24)))
        case .string(let text): return text.isEmpty ? nil : text
        case .bool, .integer, .number, .array, .object: return json.description
        }
    }

    /// `nil` if nothing is drawn: the control does not exist, or the link is empty.
    private static func button(_ json: JSON) -> Button? {
        if json["link"] != nil {
            let label = [json["symbol"]?.string.map { Symbols.glyph($0) }, text(json["title"])].compactMap(\.self)
            return Button(
                label: (label + ["↗"]).joined(separator: " "), isOn: nil, isLive: json["interactive"]?.bool ?? true)
        }
        if case .object = json, json["control"] == nil { return nil }
        if let key = json.string { return Button(label: key, isOn: nil, isLive: false) }
        var label = json["title"]?.string ?? json["key"]?.string ?? "?"
        if let symbol = json["symbol"]?.string { label = "\(Symbols.glyph(symbol)) \(label)" }
        let isLive = json["interactive"]?.bool ?? true && json["available"]?.bool ?? true
        let phase = json["phase"]?.string
        return Button(
            label: label, isOn: json["shown"]?.bool, isLive: isLive,
            isPending: phase == "pending" || phase == "performing")
    }

    /// Whether a part is drawn dimmed.
    func isDoubtful(_ part: String) -> Bool { doubtful.contains(part) }

    /// The style of a part. While a tap is about to change it, it is dimmed and not bold, because a terminal would show
    /// bold instead.
    func ink(_ part: String, _ usual: Ink = .plain) -> Ink {
        isDoubtful(part) ? Ink(usual.color, dim: true) : usual
    }

    /// All in one line: a half of a compact presentation, or a minimal one.
    func inline(at now: Timestamp, withSymbol: Bool = true) -> Line {
        var line = Line()
        func add(_ text: String?, _ ink: Ink) {
            guard let text else { return }
            if line.width > 0 { line.append(" ") }
            line.append(text, ink)
        }
        if withSymbol { add(symbol, ink("symbol", Ink(tint))) }
        add(title, ink("title", .bold))
        add(subtitle, ink("subtitle"))
        add(text, ink("text"))
        if let timer { add(Countdown.text(until: timer, at: now), ink("timer", Ink(.yellow))) }
        if let progress { add(ProgressBar.percent(progress), ink("progress", Ink(.green))) }
        return line
    }

    /// The parts that a circle has room for: the symbol, and one text or figure.
    func round(at now: Timestamp) -> [Line] {
        var lines: [Line] = []
        if let symbol { lines.append(Line(symbol, ink("symbol", Ink(tint)))) }
        if let title {
            lines.append(Line(title, ink("title", .bold)))
        } else if let text {
            lines.append(Line(text, ink("text")))
        }
        if let timer { lines.append(Line(Countdown.text(until: timer, at: now), ink("timer", Ink(.yellow)))) }
        if let progress { lines.append(Line(ProgressBar.percent(progress), ink("progress", Ink(.green)))) }
        return lines
    }

    /// The parts below each other, as far as a card has room.
    func stacked(width: Int, at now: Timestamp) -> [Line] {
        var lines: [Line] = []
        var head = Line()
        if let symbol { head.append(symbol + " ", ink("symbol", Ink(tint))) }
        if let title { head.append(title, ink("title", .bold)) }
        var clock = Line()
        if let timer { clock.append(Countdown.text(until: timer, at: now), ink("timer", Ink(.yellow))) }
        if head.width > 0 || clock.width > 0 { lines.append(head.justified(with: clock, to: width)) }
        if let subtitle { lines.append(Line(subtitle, ink("subtitle"))) }
        if let text { lines.append(Line(text, ink("text"))) }
        if let progress {
            let percent = ProgressBar.percent(progress)
            var line = ProgressBar.line(
                progress, width: max(3, width - 5), segments: segments, ink: Ink(tint ?? .green))
            line.append(String(repeating: " ", count: 5 - percent.count) + percent)
            lines.append(isDoubtful("progress") ? line.inked { $0.isDim = true } : line)
        }
        lines += buttonRows(width: width)
        return lines
    }

    /// Side by side as far as they fit, then below.
    private func buttonRows(width: Int) -> [Line] {
        var rows: [Line] = []
        for button in buttons {
            let line = isDoubtful("buttons") ? button.line.inked { $0.isDim = true } : button.line
            if let last = rows.indices.last, rows[last].width + 1 + line.width <= width {
                rows[last].append(" ")
                rows[last].append(line)
            } else {
                rows.append(line)
            }
        }
        return rows
    }
}
