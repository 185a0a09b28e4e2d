public import TelltaleModel

/// The place of a tile on its board, as its row tells it (Protocols/Widgets/boards.md).
public struct TileSight: Hashable, Sendable {
    /// The key of the widget that it shows.
    public let widget: Key
    /// The number of its place on the board, from 1. Tiles of one stack share it.
    public let order: Int
    /// The id of its stack, its position there, and whether it is the one that is shown.
    public var stack: String?
    public var position: Int?
    public var isTop = true
    /// The position that it keeps.
    public var pinned: Int?
    /// Its kind was taken away, or the widget has ended.
    public var isUnavailable = false

    public init(widget: Key, order: Int) {
        (self.widget, self.order) = (widget, order)
    }

    func write(to writer: inout JSONWriter) {
        writer.member("widget", widget.text)
        if let stack {
            writer.member("stack", stack)
            if let position { writer.member("position", position) }
            writer.member("top", isTop)
        }
        if let pinned { writer.member("pinned", pinned) }
        if isUnavailable { writer.member("unavailable", true) }
    }
}
