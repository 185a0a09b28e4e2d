public import Kinds
public import TelltaleModel

/// A widget that stacks may suggest, on any board (Protocols/Widgets/boards.md, *Suggestions*).
public struct SuggestedWidget: Hashable, Sendable {
    public let widget: Key
    /// Every parameter of the widget's kind with its value.
    public let configuration: JSON
    public let families: [WidgetFamily]

    /// The most widgets that all kinds in force together may suggest. It bounds the cost of a stack with suggestions.
    public static let limit = 16

    public init(widget: Key, configuration: JSON, families: [WidgetFamily]) {
        (self.widget, self.configuration, self.families) = (widget, configuration, families)
    }
}

extension Board {
    /// The id of a widget's tile as a suggestion in a stack: `~` and 16 hex digits.
    ///
    /// It is the same in every process, so a kept tile has the id under which it was suggested.
    public static func suggestionID(of widget: Key, inStack stack: String) -> String {
        var hash = StableHash()
        hash.combine(stack)
        hash.combine(widget.text)
        return "~" + Hexadecimal.text(of: hash.finalize())
    }

    /// The tiles that this board's stacks may suggest, in the order of the stacks' ids, and within a stack in that of the
    /// widgets.
    ///
    /// A stack suggests widgets of its family that are not on the board. Relevance decides which of them is shown, and when
    /// (``Stack/viewState(at:)``).
    ///
    /// - Parameters:
    ///   - widgets: In the order of their keys.
    ///   - stack: Limits the result to this stack.
    /// - Complexity: O(tiles + stacks · widgets).
    public func suggestions(
        from widgets: [SuggestedWidget], ofStack stack: String? = nil
    ) -> [(id: String, tile: Tile)] {
        guard !widgets.isEmpty else { return [] }
        let stacks = stack.map { [$0] } ?? items.keys.sorted()
        let suggesting = stacks.filter { items[$0]?.stack?.suggests == true }
        guard !suggesting.isEmpty else { return [] }
        let placed = Set(items.values.compactMap { $0.tile?.widget })
        return suggesting.flatMap { id -> [(id: String, tile: Tile)] in
            guard let stack = items[id]?.stack else { return [] }
            return widgets.compactMap { suggested in
                guard suggested.families.contains(stack.family), !placed.contains(suggested.widget) else { return nil }
                var style = TileStyle()
                style.placement = stack.placement
                var tile = Tile(
                    widget: suggested.widget, configuration: suggested.configuration, family: stack.family,
                    style: style,
                    createdAt: Timestamp(milliseconds: 0))
                tile.stack = id
                tile.isSuggested = true
                let own = Self.suggestionID(of: suggested.widget, inStack: id)
                return items[own] == nil ? (own, tile) : nil
            }
        }
    }

    /// The id of the tile in which a board shows a relevant widget that nobody placed (W43).
    public static func relevantTileID(of widget: Key) -> String { suggestionID(of: widget, inStack: "") }

    /// The tile in which a board shows a relevant widget that nobody placed: in the watch's Smart Stack only.
    public static func relevantTile(of widget: Key, configuration: JSON, family: WidgetFamily) -> Tile {
        var style = TileStyle()
        style.placement = .smartStack
        var tile = Tile(
            widget: widget, configuration: configuration, family: family, style: style,
            createdAt: Timestamp(milliseconds: 0))
        tile.isSuggested = true
        return tile
    }

    /// The tile that a suggestion becomes when it is kept.
    ///
    /// - Parameter position: Its position in the stack, from 1; `nil` = at the end.
    public static func addition(keeping tile: Tile, at position: Int?) -> TileInput.Addition {
        var addition = TileInput.Addition(
            widget: tile.widget, configuration: tile.configuration, family: tile.family)
        (addition.stack, addition.position, addition.style) = (tile.stack, position, tile.style)
        return addition
    }
}

extension BoardItem {
    /// A suggested tile. No board stores it.
    public init(suggested tile: Tile, account: String?) {
        self.init(content: .tile(tile), account: account)
    }
}

extension Turns<Stack.ViewState> {
    /// The half-open ranges of time in which a tile is the suggested one. A range that has begun starts in the distant past; one
    /// without a known end ends in the distant future.
    public func suggestedTimes(of key: Key) -> [Range<Timestamp>] { times { $0.suggestion == key } }
}

extension Turns<[Key]> {
    /// The ranges of time in which a watch shows a tile, in the same form.
    public func shownTimes(of key: Key) -> [Range<Timestamp>] { times { $0.contains(key) } }
}

extension Turns {
    fileprivate func times(_ isMet: (Look) -> Bool) -> [Range<Timestamp>] {
        var times: [Range<Timestamp>] = []
        var begin = isMet(look) ? Timestamp.distantPast : nil
        for turn in turns {
            if isMet(turn.look) {
                begin = begin ?? turn.date
            } else if let start = begin {
                times.append(start..<turn.date)
                begin = nil
            }
        }
        if let begin { times.append(begin ..< .distantFuture) }
        return times
    }
}

extension WidgetFuture {
    /// The same future, with nothing drawn outside these times, so that a screen without a connection removes a suggestion in
    /// time.
    public func kept(during times: [Range<Timestamp>], at now: Timestamp) -> WidgetFuture {
        var kept: [WidgetMoment] = []
        for (index, moment) in moments.enumerated() {
            let end = index + 1 < moments.count ? moments[index + 1].date : .distantFuture
            let turns = Set(times.flatMap { [$0.lowerBound, $0.upperBound] }).filter { moment.date < $0 && $0 < end }
            for date in [moment.date] + turns.sorted() {
                var next = moment
                next.date = date
                if !times.contains(where: { $0.contains(date) }) { next.content = .nothing }
                // Two consecutive spans of nothing become one.
                if case .nothing = next.content, case .nothing? = kept.last?.content { continue }
                kept.append(next)
            }
        }
        return WidgetFuture(moments: kept.cut(at: now), continuesAt: continuesAt)
    }
}
