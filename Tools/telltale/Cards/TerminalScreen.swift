public import TelltaleModel

/// An alert that a surface shows for a moment.
public struct Notice: Hashable, Sendable {
    public var title: String
    public var body: String

    public init(title: String, body: String) {
        self.title = title
        self.body = body
    }
}

/// A surface with its cards, as it would look: rows, the time and a width in, lines of text out.
///
/// Pure: the same rows at the same time are the same drawing.
public enum TerminalScreen {
    /// - Parameters:
    ///   - cards: In any order; they are drawn in the order of their rows, widgets and controls last.
    ///   - now: On the server's clock, which the dates in the rows are on.
    ///   - width: The most columns to use.
    ///   - label: At the top of the frame, beside the surface's name.
    public static func draw(
        _ cards: [Card], view: ViewName, at now: Timestamp, width: Int, label: String = "", notices: [Notice] = []
    ) -> Block {
        let cards = cards.sorted {
            ($0.sort, $0.order, $0.key) < ($1.sort, $1.order, $1.key)
        }
        switch view {
        case .full: return table(cards, titles: KindTitles(), at: now, width: width)
        case .surface(let surface):
            let boards = BoardPicture.all(of: cards, at: now)
            let others = cards.filter { $0.isOffered && TileCardPlace($0, at: now) == nil }
            let display = Display(surface, width: width, showsBoards: !boards.isEmpty)
            let content = display.content(of: others, boards, notices: notices, at: now)
            var title = Line(display.name, .bold)
            if !label.isEmpty { title.append(" · \(label)", .dim) }
            return content.filled(toHeight: display.height).framed(.display, title: title)
        }
    }

    /// Rows of the full view as operators look at many: a table by kind, and an outline of each board below it.
    public static func table(_ cards: [Card], titles: KindTitles, at now: Timestamp, width: Int) -> Block {
        full(cards, at: now, width: width) { EntityTable.draw($0, titles: titles, at: now, width: width) }
    }

    /// Rows of the full view as operators look at a few: a card each, and an outline of each board below them.
    public static func cards(_ cards: [Card], titles: KindTitles, at now: Timestamp, width: Int) -> Block {
        let columns = max(1, width / 46)
        let cardWidth = min(64, max(20, (width - (columns - 1)) / columns))
        return full(cards.sorted { ($0.sort, $0.key) < ($1.sort, $1.key) }, at: now, width: width) { cards in
            Block.flowing(cards.map { $0.full(titles, width: cardWidth, at: now) }, width: width)
        }
    }

    /// What a desktop shows of an activity that was selected, and the link that it opens.
    public static func opened(_ card: Card, at now: Timestamp, width: Int) -> Block {
        let picture = card.single(width: min(64, width), at: now)
        guard let url = card.row["url"]?.string else { return picture }
        return Block.above([picture, Block([Line("opens \(url)", .dim)])])
    }

    private static func full(
        _ cards: [Card], at now: Timestamp, width: Int, entities: ([Card]) -> Block
    ) -> Block {
        guard !cards.isEmpty else { return Block([Line("nothing yet", .dim)]) }
        let others = cards.filter { TileCardPlace($0, at: now) == nil }
        let boards = BoardOutline.all(of: cards, at: now).map { $0.draw(width: min(width, 96)) }
        return Block.above((others.isEmpty ? [] : [entities(others)]) + boards)
    }
}

/// The proportions of one surface's display in a terminal, whose characters are twice as high as wide.
private struct Display {
    let surface: Surface
    let name: String
    /// Inside its frame.
    let width: Int
    let height: Int

    init(_ surface: Surface, width available: Int, showsBoards: Bool = false) {
        self.surface = surface
        let (name, wanted, height): (String, Int, Int) =
            switch surface {
            case .phone: ("iPhone", 38, 18)
            case .pad: ("iPad", 60, 18)
            case .watch: ("Watch", 26, 11)
            case .carplay: ("CarPlay", 58, 11)
            case .desktop: ("Mac", 64, 5)
            case .standby: ("StandBy", 60, 10)
            case .vision: ("Vision", 60, 10)
            }
        self.name = name
        self.height = height
        // Four small tiles beside each other take more than a dashboard does.
        let hasFour = showsBoards && [.pad, .desktop, .vision].contains(surface)
        width = max(12, min(hasFour ? Self.widthOfFour : wanted, available - 2))
    }

    private static let widthOfFour = 75

    /// Activities and controls, and the boards below them.
    func content(of cards: [Card], _ boards: [BoardPicture], notices: [Notice], at now: Timestamp) -> Block {
        guard !boards.isEmpty else { return content(of: cards, notices: notices, at: now) }
        // A phone, a tablet and a Mac show something without an activity too: an island, a menu bar.
        let isBare = cards.isEmpty && notices.isEmpty && ![.phone, .pad, .desktop].contains(surface)
        let pictures = boards.flatMap { board -> [Block] in
            let picture = board.draw(on: surface, width: width, at: now)
            return boards.count == 1 ? [picture] : [Block([Line(board.name, Ink(.cyan))], width: width), picture]
        }
        let others = isBare ? [] : [content(of: cards, notices: notices, at: now, isWhole: false)]
        return Block([], width: width).joined(Block.above(others + pictures))
    }

    /// - Parameter isWhole: Whether nothing is drawn below.
    private func content(of cards: [Card], notices: [Notice], at now: Timestamp, isWhole: Bool = true) -> Block {
        let notes = notices.map(note)
        switch surface {
        case .desktop:
            let widgets = cards.filter(\.isWidget)
            let below = widgets.isEmpty ? [] : [dashboard(widgets, at: now, columns: 3)]
            return Block.above([menuBar(cards.filter { !$0.isWidget }, at: now)] + notes + below)
        case .phone, .pad: return Block.above(island(cards, at: now) + notes + lockScreen(cards, at: now))
        // A car's display shows the text of an alert at the bottom, where it covers no card.
        case .carplay:
            return Block.above([dashboard(cards, at: now, columns: 2).filled(toHeight: height - notes.count)] + notes)
        case .watch: return Block.above(notes + [dashboard(cards, at: now, columns: 1)])
        case .standby: return Block.above(notes + [standby(cards, at: now)])
        case .vision: return Block.above(notes + [dashboard(cards, at: now, columns: 1)])
        }
    }

    private func note(_ notice: Notice) -> Block {
        var text = Line(" 🔔 ")
        text.append(notice.title, Ink(.yellow, bold: true))
        if !notice.body.isEmpty { text.append(" \(notice.body)") }
        return Block([text], width: width)
    }

    private func dashboard(_ cards: [Card], at now: Timestamp, columns: Int) -> Block {
        let columns = width < 44 ? 1 : columns
        let cardWidth = (width - (columns - 1)) / columns
        return Block([], width: width).joined(
            Block.flowing(cards.map { $0.single(width: cardWidth, at: now) }, width: width))
    }

    /// The menu bar's right end: compact for one app, minimal for several; controls last.
    private func menuBar(_ cards: [Card], at now: Timestamp) -> Block {
        var bar = Line()
        for card in cards {
            var item = Line()
            if card.isControl {
                item.append(card.row["symbol"]?.string.map(Symbols.glyph) ?? "●")
                item.append(card.row["shown"]?.bool == true ? " on" : "", Ink(.green))
            } else if card.row["presentation"]?.string == "compact" {
                item.append(ViewParts(card.row["view"]?["leading"]).inline(at: now))
                item.append(" ")
                item.append(ViewParts(card.row["view"]?["trailing"]).inline(at: now))
            } else {
                item.append(ViewParts(card.row["view"]).inline(at: now))
            }
            guard bar.width + item.width + 3 <= width - 2 else {
                bar.append(" …", .dim)
                break
            }
            if bar.width > 0 { bar.append(" │ ", .dim) }
            bar.append(card.row["stale"]?.bool == true ? item.inked { $0.isDim = true } : item)
        }
        var line = Line(String(repeating: " ", count: max(0, width - 1 - bar.width)))
        line.append(bar)
        let rule = Line(String(repeating: "─", count: width), .dim)
        return Block([line, rule], width: width)
    }

    /// The Dynamic Island: one compact, or two minimal ones.
    private func island(_ cards: [Card], at now: Timestamp) -> [Block] {
        guard surface == .phone else { return [] }
        let shown = cards.filter { $0.row["island"]?["presentation"] != nil }
            .sorted { ($0.row["island"]?["order"]?.integer ?? 0) < ($1.row["island"]?["order"]?.integer ?? 0) }
        var line = Line()
        if let first = shown.first?.row["island"], first["presentation"]?.string == "compact" {
            line = compactIsland(first["view"], at: now)
        } else {
            line = circles(shown.prefix(2).map { ViewParts($0.row["island"]?["view"]) }, at: now)
        }
        if shown.isEmpty { line.append("(  ●  )", .dim) }
        return [Block([line, Line()], width: width, centered: true)]
    }

    /// The camera is in the middle, and neither half reaches it.
    private func compactIsland(_ view: JSON?, at now: Timestamp) -> Line {
        let leading = ViewParts(view?["leading"]).inline(at: now)
        let trailing = ViewParts(view?["trailing"]).inline(at: now)
        let half = min(max(leading.width, trailing.width), max(1, (width - 7) / 2))
        var line = Line("(", .dim)
        line.append(leading.fitted(to: half))
        line.append("  ●  ", .dim)
        line.append(String(repeating: " ", count: max(0, half - trailing.width)))
        line.append(trailing.cut(toWidth: half))
        line.append(")", .dim)
        return line
    }

    /// Minimal presentations, each as a circle.
    private func circles(_ views: some Sequence<ViewParts>, at now: Timestamp) -> Line {
        var line = Line()
        for view in views {
            if line.width > 0 { line.append("  ") }
            line.append("( ", .dim)
            line.append(view.inline(at: now))
            line.append(" )", .dim)
        }
        return line
    }

    /// Minimal presentations as circles at the upper edge; the rest of the display is dark, or one activity fills it.
    private func standby(_ cards: [Card], at now: Timestamp) -> Block {
        let small = cards.filter { $0.row["presentation"]?.string == "minimal" }
        let others = cards.filter { $0.row["presentation"]?.string != "minimal" }
        guard !small.isEmpty else { return dashboard(others, at: now, columns: 1) }
        var line = Line()
        for card in small {
            let circle = circles([ViewParts(card.row["view"])], at: now)
            guard line.width + 2 + circle.width <= width else { break }
            if line.width > 0 { line.append("  ") }
            line.append(card.isOver ? circle.inked { $0.isDim = true } : circle)
        }
        let upper = Block([Line(), line, Line()], width: width, centered: true)
        return others.isEmpty ? upper : Block.above([upper, dashboard(others, at: now, columns: 1)])
    }

    private func lockScreen(_ cards: [Card], at now: Timestamp) -> [Block] {
        cards.map { card in
            if card.isControl { return card.control(width: width) }
            if card.isWidget { return card.widget(width: width, at: now) }
            let banner = card.row["banner"]
            return card.presentation(
                "lockScreen", view: (banner ?? card.row["lockScreen"])?["view"], width: width, at: now)
        }
    }
}

extension Block {
    /// As wide as `self`, with the lines of `other` below.
    fileprivate func joined(_ other: Block) -> Block { Block(lines + other.lines, width: max(width, other.width)) }
}
