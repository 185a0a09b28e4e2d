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

    /// Whether it says how something stands, as a button and a control that nobody serves do not.
    public var isInformative: Bool { rank < 2 }

    /// Activities first, then toggles, buttons, and what is unavailable.
    private var rank = 0

    /// The items of a bar, in the order of the rows, controls last. The first one is informative if any is.
    ///
    /// - Parameter titles: For rows without a title of their own, as controls in a menu bar are.
    public static func items(_ cards: [Card], titles: KindTitles, at now: Timestamp) -> [BarItem] {
        cards.filter(\.isOffered).sorted { ($0.order, $0.key) < ($1.order, $1.key) }
            .map { BarItem($0, titles: titles, at: now) }.filter { !$0.text.isEmpty }
            .enumerated().sorted { ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset) }.map(\.element)
    }

    public init(_ card: Card, titles: KindTitles, at now: Timestamp) {
        key = card.key.harmless
        let row = card.row
        let title = (row["title"]?.string ?? titles.title(of: card.kind)).harmless
        rev = card.rev
        url = row["url"]?.string.flatMap { Self.mayBeOpened($0) ? $0 : nil }
        if card.isControl {
            (text, detail, status) = ("", "", "")
            readControl(row, title, card)
            return
        }
        status = row["lifecycle"]?.string ?? "active"
        let parts = [row["view"]?["leading"], row["view"]?["trailing"], row["view"]].map { ViewParts($0) }
        let symbol = parts.compactMap(\.symbol).first ?? ""
        let words = parts.map { $0.inline(at: now, withSymbol: false).text(color: false) }.filter {
            !$0.isEmpty && $0 != title
        }
        var rest = words.joined(separator: " ").harmless
        if rest.isEmpty, let state = row["state"]?.string {
            rest = titles.title(ofState: state, of: card.kind).harmless
        }
        let name = [symbol, title].filter { !$0.isEmpty }.joined(separator: " ")
        text = rest.isEmpty ? name : "\(name) · \(rest)"
        detail = rest.isEmpty ? title : "\(title): \(rest)"
        percentage =
            (parts.compactMap(\.progress).first ?? row["progress"]?.double).flatMap { DecimalText.percent(of: $0) }
        action = url == nil ? nil : .open
    }

    private mutating func readControl(_ row: JSON, _ title: String, _ card: Card) {
        let glyph = row["symbol"]?.string.map(Symbols.glyph) ?? "●"
        if row["control"]?.string == "button" {
            status = row["phase"]?.string ?? "idle"
            text = "\(glyph) \(title)".harmless
            detail = title
            action = .press
            rank = 2
        } else {
            let shown = row["shown"]?.bool
            status = shown.map { $0 ? "on" : "off" } ?? "unknown"
            text = "\(glyph) \(title) \(status)".harmless
            detail = "\(title): \(status)"
            action = shown.map { .set(!$0) }
            rank = shown == nil ? 3 : 1
        }
        let state = card.controlState.text(color: false)
        guard row["available"]?.bool == false else {
            if !state.isEmpty { detail += " (\(state))" }
            return
        }
        detail = "\(title): \(state)"
        status = "unavailable"
        action = nil
        rank = 3
    }

    /// Whether the link has a scheme that the board allows too: one that opens a page, a call or a message. Other
    /// schemes could start programs, and links come from kinds and producers.
    public static func mayBeOpened(_ url: String) -> Bool {
        guard let colon = url.utf8.firstIndex(of: UInt8(ascii: ":")) else { return false }
        return ["https", "http", "tel", "sms", "mailto"].contains(url[..<colon].lowercased())
    }
}
