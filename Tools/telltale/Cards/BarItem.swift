public import TelltaleModel

/// A row as an item of a status bar: a few words, and a tooltip.
public struct BarItem: Hashable, Sendable {
    /// The effect of a click.
    public enum Action: Hashable, Sendable {
        case open, set(Bool), press
    }

    public var key: String
    /// Symbols and words, without control characters.
    public var text: String
    public var detail: String
    /// `active`, `stale`, `ended` or `pending`; of a control `on`, `off`, `unknown`, `idle`, `performing` or
    /// `unavailable`.
    public var status: String
    /// The progress in percent, if any.
    public var percentage: Int?
    /// The deep link, if there is one that may be opened.
    public var url: String?
    /// The row's `rev`. A click sends it, so that a click on an old row does nothing.
    public var rev: Int64?
    /// `nil` if a click has no effect, as on a control that nobody serves.
    public var action: Action?

    public var isDim: Bool { ["stale", "ended", "unavailable", "unknown"].contains(status) }

    /// The items of a bar, in the order of the rows, controls last.
    public static func items(_ cards: [Card], at now: Timestamp) -> [BarItem] {
        cards.sorted { ($0.isControl ? 1 : 0, $0.order, $0.key) < ($1.isControl ? 1 : 0, $1.order, $1.key) }
            .map { BarItem($0, at: now) }.filter { !$0.text.isEmpty }
    }

    public init(_ card: Card, at now: Timestamp) {
        key = card.key.harmless
        let row = card.row
        let title = row["title"]?.string ?? card.key
        detail = "\(title): \(card.summary(at: now))".harmless
        rev = card.rev
        url = row["url"]?.string.flatMap { Self.mayBeOpened($0) ? $0 : nil }
        guard !card.isControl else {
            let glyph = row["symbol"]?.string.map(Symbols.glyph) ?? "●"
            let isAvailable = row["available"]?.bool ?? true
            if row["control"]?.string == "button" {
                status = row["phase"]?.string ?? "idle"
                text = "\(glyph) \(title)".harmless
                action = .press
            } else {
                let shown = row["shown"]?.bool
                status = shown.map { $0 ? "on" : "off" } ?? "unknown"
                text = "\(glyph) \(status)".harmless
                action = shown.map { .set(!$0) }
            }
            if !isAvailable {
                status = "unavailable"
                action = nil
            }
            return
        }
        status = row["lifecycle"]?.string ?? "active"
        let view = row["view"]
        let parts = [view?["leading"], view?["trailing"], view].map { ViewParts($0).inline(at: now).text(color: false) }
        text = parts.filter { !$0.isEmpty }.joined(separator: " ").harmless
        if text.isEmpty, let state = row["state"]?.string { text = state.harmless }
        percentage =
            (Self.progress(view) ?? Self.progress(view?["trailing"]) ?? row["progress"]?.double).flatMap {
                DecimalText.percent(of: $0)
            }
        action = url == nil ? nil : .open
    }

    /// Whether the link has a scheme that the board allows too: one that opens a page, a call or a message. Other
    /// schemes could start programs, and links come from kinds and producers.
    public static func mayBeOpened(_ url: String) -> Bool {
        guard let colon = url.utf8.firstIndex(of: UInt8(ascii: ":")) else { return false }
        return ["https", "http", "tel", "sms", "mailto"].contains(url[..<colon].lowercased())
    }

    private static func progress(_ view: JSON?) -> Double? { ViewParts(view).progress }
}
