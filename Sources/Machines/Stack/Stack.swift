public import TelltaleModel

/// A stack of tiles at one place of a board, and which of them is on top (Protocols/Widgets/rules.md, W36-W42).
///
/// The top is a function of the stack and a moment, and does not depend on former turns. So future turns are known in advance if
/// nothing happens, and a screen without a connection turns by itself. `Protocols/Machines/stack.table` tests it.
public struct Stack: Sendable {
    /// W36: the most tiles, a suggested one included.
    public static let tileLimit = 10
    /// How many turns are predicted, and how far ahead.
    public static let turnLimit = 16
    public static let predictionSpan = Milliseconds.hours(24)

    public struct Tile: Hashable, Sendable {
        public var key: Key
        public var relevance: Relevance

        public init(_ key: Key, _ relevance: Relevance) {
            (self.key, self.relevance) = (key, relevance)
        }
    }

    /// The tile that a person chose.
    public struct Choice: Hashable, Sendable {
        public var key: Key
        /// For a smart stack: the choice holds before this date.
        public var until: Timestamp

        public init(_ key: Key, until: Timestamp) {
            (self.key, self.until) = (key, until)
        }
    }

    /// The placed ones, in the order of their positions.
    public var tiles: [Tile]
    /// Tiles that may be suggested, in the order of their keys.
    public var candidates: [Tile] = []
    /// Whether it turns by relevance.
    public var isSmart: Bool
    public var choice: Choice?

    public init(_ tiles: [Tile], isSmart: Bool, choice: Choice? = nil) {
        (self.tiles, self.isSmart, self.choice) = (tiles, isSmart, choice)
    }

    /// The view state of the stack at a moment.
    public struct ViewState: Hashable, Sendable {
        /// `nil`: it is empty.
        public var top: Key?
        /// The top tile, if nobody placed it.
        public var suggestion: Key?

        public init(top: Key?, suggestion: Key?) {
            (self.top, self.suggestion) = (top, suggestion)
        }
    }

    /// - Complexity: O(n log m) for n tiles and m steps of their relevance.
    public func viewState(at now: Timestamp) -> ViewState {
        var suggestion: (key: Key, weight: Double)?
        if tiles.count < Self.tileLimit {
            for tile in candidates {
                let weight = tile.relevance.weight(at: now)
                if weight > suggestion?.weight ?? 0 { suggestion = (tile.key, weight) }
            }
        }
        let isHeld = !isSmart || now < choice?.until ?? .distantPast
        if isHeld, let choice, choice.key == suggestion?.key || tiles.contains(where: { $0.key == choice.key }) {
            return ViewState(top: choice.key, suggestion: suggestion?.key)
        }
        guard isSmart else { return ViewState(top: tiles.first?.key ?? suggestion?.key, suggestion: suggestion?.key) }
        var best: (key: Key?, weight: Double) = (nil, 0)
        for tile in tiles {
            let weight = tile.relevance.weight(at: now)
            if weight > best.weight { best = (tile.key, weight) }
        }
        // The suggestion follows all tiles that people placed.
        if let suggestion, suggestion.weight > best.weight { best = (suggestion.key, suggestion.weight) }
        return ViewState(top: best.key ?? tiles.first?.key ?? suggestion?.key, suggestion: suggestion?.key)
    }

    /// - Complexity: O(d · n log m), d = the number of its tiles' future dates.
    public func future(at now: Timestamp) -> Turns<ViewState> {
        var dates: Set<Timestamp> = []
        if isSmart, let choice { dates.insert(choice.until) }
        let counted = isSmart ? tiles + candidates : candidates
        for tile in counted { dates.formUnion(tile.relevance.steps.map(\.date)) }
        return Turns(at: now, dates: dates, viewState)
    }
}
