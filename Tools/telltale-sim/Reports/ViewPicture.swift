import Cards
import TelltaleModel

/// The parts of one view of a row, drawn in HTML.
struct ViewPicture {
    private let parts: ViewParts
    private let tint: HTML

    init(_ view: JSON?) {
        parts = ViewParts(view)
        tint = Self.tint(view?["tint"]?.string)
    }

    /// All in one line: a half of a compact presentation, or a minimal one.
    func inline(at now: Timestamp) -> HTML {
        let percent: HTML = parts.progress.map { "<span class=\"dim\">\(Self.percent($0)) %</span>" } ?? ""
        let texts = [parts.subtitle, parts.text].compactMap(\.self).map { text -> HTML in "<span>\(text)</span>" }
        return "<span class=\"inline\">\(symbol)\(strong)\(texts.joined())\(timer(at: now))\(percent)</span>"
    }

    /// The parts below each other.
    func stacked(at now: Timestamp) -> HTML {
        let hasHead = parts.title != nil || parts.symbol != nil || parts.timer != nil
        let head: HTML =
            hasHead ? "<div class=\"row\"><span>\(symbol)\(strong)</span>\(timer(at: now))</div>" : ""
        let lines = [parts.subtitle, parts.text].compactMap(\.self).map { line -> HTML in "<p>\(line)</p>" }
        let buttons = parts.buttons.map { button -> HTML in
            let look: HTML = (button.isOn == true ? " on" : "") + (button.isLive ? "" : " dead")
            return "<span class=\"button\(look)\">\(button.label)</span>"
        }
        let row: HTML = buttons.isEmpty ? "" : "<div class=\"buttons\">\(buttons.joined())</div>"
        return head + lines.joined() + bar + row
    }

    private var strong: HTML { parts.title.map { "<b>\($0)</b>" } ?? "" }

    private var symbol: HTML { parts.symbol.map { "<span class=\"symbol\(tint)\">\($0)</span>" } ?? "" }

    /// A class of the style, of those that it has.
    private static func tint(_ name: String?) -> HTML {
        switch name {
        case "red"?, "pink"?: " t-red"
        case "green"?, "mint"?: " t-green"
        case "yellow"?, "orange"?, "brown"?: " t-orange"
        case "blue"?, "indigo"?, "teal"?, "cyan"?: " t-blue"
        case "purple"?: " t-purple"
        case _: ""
        }
    }

    private func timer(at now: Timestamp) -> HTML {
        parts.timer.map { "<span class=\"timer\">\(Countdown.text(until: $0, at: now))</span>" } ?? ""
    }

    private static func percent(_ fraction: Double) -> Int { DecimalText.percent(of: fraction) ?? 0 }

    private var bar: HTML {
        guard let progress = parts.progress else { return "" }
        let count = min(max(parts.segments, 1), 12)
        let pieces = (0..<count).map { part -> HTML in
            "<i><i style=\"width:\(Self.percent(progress * Double(count) - Double(part)))%\"></i></i>"
        }
        return "<div class=\"bar\(tint)\">\(pieces.joined())</div>"
    }
}
