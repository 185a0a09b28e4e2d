public import Kinds
public import TelltaleModel

/// A widget on a board: the key of the widget, the family, and the position (Protocols/Widgets/boards.md).
public struct Tile: Hashable, Sendable {
    public enum Phase: String, Hashable, Sendable { case placed, pinned, suggested }

    /// The key of the widget that it shows.
    public internal(set) var widget: Key
    /// Every parameter of the widget's kind with its value.
    public internal(set) var configuration: JSON
    public let family: WidgetFamily
    /// The id of the stack that contains it; `nil` = it has a separate place.
    public internal(set) var stack: String?
    /// From 1: in its stack, or among the places of its board.
    public internal(set) var position = 0
    /// The position that it is pinned to in a stack or in the watch's Smart Stack, regardless of relevance.
    public internal(set) var pinned: Int?
    /// When a person turned its stack to it; `nil` = never.
    public internal(set) var chosenAt: Timestamp?
    public internal(set) var style: TileStyle
    public internal(set) var createdAt: Timestamp
    /// Nobody placed it. A board never stores such a tile: it follows from the kinds and the stack
    /// (``Board/suggestions(from:)``).
    public internal(set) var isSuggested = false

    /// It appears on a watch by relevance, and no stack suggests it (``Board/relevantTile(of:configuration:family:)``).
    public var isRelevantWidget: Bool { isSuggested && stack == nil }

    public var phase: Phase { isSuggested ? .suggested : pinned == nil ? .placed : .pinned }
}

/// The style of a tile in its place.
public struct TileStyle: Hashable, Sendable {
    /// The only place that shows it; `nil` = every place that has its family.
    public var placement: WidgetPlace?
    /// On visionOS only; `nil` = elevated.
    public var mounting: WidgetMounting?
    /// On visionOS only, in percent: ``scales``; `nil` = 100.
    public var scale: Int?
    /// The colour of its frame and its content on visionOS; `nil` = none.
    public var theme: String?

    public init() {}
}

/// A place of a board that several tiles of one family share.
public struct TileStack: Hashable, Sendable {
    public internal(set) var family: WidgetFamily
    /// It turns to relevant tiles.
    public internal(set) var isSmart = false
    /// It takes suggestions.
    public internal(set) var suggests = false
    /// The only place that shows it.
    public internal(set) var placement: WidgetPlace?
    /// Its position among the places of its board, from 1.
    public internal(set) var position = 0

    /// The most tiles of a stack (W36).
    public static let limit = 10

    init(family: WidgetFamily) { self.family = family }
}

/// The tile or the stack at a key of a board.
public struct BoardItem: Hashable, Sendable {
    public enum Content: Hashable, Sendable {
        case tile(Tile)
        case stack(TileStack)
    }

    public internal(set) var content: Content
    /// The board's account, which is that of its first tile; `nil` = everybody's.
    public let account: String?
    /// It was removed. It can be requested until it is forgotten.
    public internal(set) var isGone = false

    public var tile: Tile? { if case .tile(let tile) = content { tile } else { nil } }
    public var stack: TileStack? { if case .stack(let stack) = content { stack } else { nil } }

    /// Its accounts, in the form that keys of other kinds use.
    public var accounts: [String] { account.map { [$0] } ?? [] }

    /// Whether the devices of `account` may show it.
    public func isVisible(to account: String) -> Bool { self.account == nil || self.account == account }

    /// The state in one word, for replies and histories.
    public var state: String {
        if isGone { return "gone" }
        return switch content {
        case .tile(let tile): tile.phase.rawValue
        case .stack: "stack"
        }
    }

    public mutating func remove() { isGone = true }

    /// Appends the body of a `view=full` row as one object.
    public func writeFullRow(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("state", state)
        switch content {
        case .tile(let tile):
            writer.member("widget", tile.widget.text)
            writer.member("configuration", tile.configuration)
            writer.member("family", tile.family.rawValue)
            if let stack = tile.stack { writer.member("stack", stack) }
            writer.member(tile.stack == nil ? "order" : "position", tile.position)
            if let pinned = tile.pinned { writer.member("pinned", pinned) }
            if let chosenAt = tile.chosenAt { writer.member("chosenAt", chosenAt.milliseconds) }
            if let placement = tile.style.placement { writer.member("placement", placement.rawValue) }
            if let mounting = tile.style.mounting { writer.member("mounting", mounting.rawValue) }
            if let scale = tile.style.scale { writer.member("scale", scale) }
            if let theme = tile.style.theme { writer.member("theme", theme) }
        case .stack(let stack):
            writer.member("family", stack.family.rawValue)
            writer.member("smart", stack.isSmart)
            writer.member("suggest", stack.suggests)
            writer.member("order", stack.position)
            if let placement = stack.placement { writer.member("placement", placement.rawValue) }
        }
        writer.endObject()
    }
}
