import Cards
import TelltaleModel

/// The parts of one view of a row (`symbol title subtitle text timer progress buttons tint`), drawn in HTML.
struct ViewPicture {
    private let view: JSON?

    init(_ view: JSON?) { self.view = view }

    /// All in one line: a half of a compact presentation, or a minimal one.
    func inline(at now: Timestamp) -> HTML {
        let percent: HTML = progress.map { "<span class=\"dim\">\(Self.percent($0)) %</span>" } ?? ""
        return
            "<span class=\"inline\">\(symbol)\(strong)\(plain("subtitle"))\(plain("text"))\(timer(at: now))\(percent)</span>"
    }

    /// The parts below each other.
    func stacked(at now: Timestamp) -> HTML {
        let clock = timer(at: now)
        let hasHead = text("title") != nil || view?["symbol"]?.string != nil || view?["timer"]?.integer != nil
        let head: HTML = hasHead ? "<div class=\"row\"><span>\(symbol)\(strong)</span>\(clock)</div>" : ""
        let lines = ["subtitle", "text"].compactMap { text($0) }.map { line -> HTML in "<p>\(line)</p>" }
        return head + lines.joined() + bar + buttons
    }

    private func text(_ name: String) -> String? {
        switch view?[name] {
        case nil, .null?: nil
        case .string(let text)?: text.isEmpty ? nil : text
        case .some(let json): json.description
        }
    }

    private var strong: HTML { text("title").map { "<b>\($0)</b>" } ?? "" }
    private func plain(_ name: String) -> HTML { text(name).map { "<span>\($0)</span>" } ?? "" }

    private var symbol: HTML {
        guard let name = view?["symbol"]?.string else { return "" }
        return "<span class=\"symbol\(tint)\">\(Symbols.glyph(name))</span>"
    }

    /// A class of the style, of those that it has.
    private var tint: HTML {
        switch view?["tint"]?.string {
        case "red"?, "pink"?: " t-red"
        case "green"?, "mint"?: " t-green"
        case "yellow"?, "orange"?, "brown"?: " t-orange"
        case "blue"?, "indigo"?, "teal"?, "cyan"?: " t-blue"
        case "purple"?: " t-purple"
        case _: ""
        }
    }

    private func timer(at now: Timestamp) -> HTML {
        guard let end = view?["timer"]?.integer else { return "" }
        return "<span class=\"timer\">\(Countdown.text(until: Timestamp(milliseconds: end), at: now))</span>"
    }

    private var progress: Double? { view?["progress"]?.double ?? view?["progress"]?["value"]?.double }

    private static func percent(_ fraction: Double) -> Int { DecimalText.percent(of: fraction) ?? 0 }

    private var bar: HTML {
        guard let progress else { return "" }
        var count = 1
        switch view?["progress"]?["segments"] {
        case .integer(let segments)?: count = Int(clamping: segments)
        case .array(let segments)?: count = segments.count
        case .null?, .bool?, .number?, .string?, .object?, nil: break
        }
        count = min(max(count, 1), 12)
        let parts = (0..<count).map { part -> HTML in
            "<i><i style=\"width:\(Self.percent(progress * Double(count) - Double(part)))%\"></i></i>"
        }
        return "<div class=\"bar\(tint)\">\(parts.joined())</div>"
    }

    private var buttons: HTML {
        let pieces = (view?["buttons"]?.array ?? []).compactMap(Self.button)
        return pieces.isEmpty ? "" : "<div class=\"buttons\">\(pieces.joined())</div>"
    }

    /// `nil` where the room stays empty: the control does not exist, or the link leads nowhere.
    private static func button(_ json: JSON) -> HTML? {
        let isLink = json["link"] != nil
        if json.object != nil, json["control"] == nil, !isLink { return nil }
        let title = json["title"]?.string ?? json["key"]?.string ?? json.string ?? (isLink ? "" : "?")
        let symbol = json["symbol"]?.string.map { Symbols.glyph($0) + " " } ?? ""
        let isLive = json.object != nil && json["interactive"]?.bool ?? true && json["available"]?.bool ?? true
        let look: HTML = (json["shown"]?.bool == true ? " on" : "") + (isLive ? "" : " dead")
        return "<span class=\"button\(look)\">\(symbol)\(title)\(isLink ? " ↗" : "")</span>"
    }
}
