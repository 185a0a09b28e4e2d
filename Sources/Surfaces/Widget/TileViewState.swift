public import TelltaleModel

/// The position of a tile on its board, as shown in its row (Protocols/Widgets/boards.md).
public struct TileViewState: Hashable, Sendable {
    /// The key of the widget that it shows.
    public let widget: Key
    /// The number of its place on the board, from 1. Tiles of one stack share it. 0: a watch has no room for it at present.
    public var order: Int
    /// On a watch: its future numbers, if nothing happens.
    public var orders: [Order] = []
    /// The id of its stack, its position there, and whether it is on top.
    public var stack: String?
    public var position: Int?
    public var isTop = true
    /// The future turns of the stack, if nothing happens.
    public var turns: [Turn] = []
    /// When more turns are known; `nil` if these are all.
    public var turnsContinueAt: Timestamp?
    /// For a suggestion: the half-open ranges of time in which it is suggested. A range that has begun starts in the distant
    /// past; one without a known end ends in the distant future.
    public var suggestedTimes: [Range<Timestamp>]?
    /// For a suggestion in StandBy, which shows the tops of stacks: when it leaves the top for good, as far as is known.
    public var leavesAt: Timestamp?
    /// The position that it is pinned to.
    public var pinned: Int?
    /// Its kind was removed, or the widget has ended.
    public var isUnavailable = false

    public init(widget: Key, order: Int) {
        (self.widget, self.order) = (widget, order)
    }

    /// Its number changes.
    public struct Order: Hashable, Sendable {
        public let date: Timestamp
        public let order: Int

        public init(date: Timestamp, order: Int) {
            (self.date, self.order) = (date, order)
        }
    }

    /// A tile comes on top.
    public struct Turn: Hashable, Sendable {
        public let date: Timestamp
        public let key: Key

        public init(date: Timestamp, key: Key) {
            (self.date, self.key) = (date, key)
        }
    }

    /// Its position at a later moment, as predicted by this value.
    ///
    /// - Parameter key: The tile's key.
    public func turned(to now: Timestamp, _ key: Key) -> TileViewState {
        var viewState = self
        if let shown = turns.last(where: { $0.date <= now }) {
            viewState.isTop = shown.key == key
            viewState.turns.removeAll { $0.date <= now }
        }
        if let times = suggestedTimes {
            viewState.suggestedTimes = times.filter { now < $0.upperBound }.map { time in
                (time.lowerBound <= now ? .distantPast : time.lowerBound)..<time.upperBound
            }
        }
        if let moved = orders.last(where: { $0.date <= now }) {
            viewState.order = moved.order
            viewState.orders.removeAll { $0.date <= now }
        }
        return viewState
    }

    func write(to writer: inout JSONWriter) {
        if !orders.isEmpty {
            writer.name("orders")
            writer.beginArray()
            for moved in orders {
                writer.beginObject()
                writer.member("date", moved.date.milliseconds)
                writer.member("order", moved.order)
                writer.endObject()
            }
            writer.endArray()
        }
        writer.member("widget", widget.text)
        if let stack {
            writer.member("stack", stack)
            if let position { writer.member("position", position) }
            writer.member("top", isTop)
            if !turns.isEmpty {
                writer.name("turns")
                writer.beginArray()
                for turn in turns {
                    writer.beginObject()
                    writer.member("date", turn.date.milliseconds)
                    writer.member("key", turn.key.text)
                    writer.endObject()
                }
                writer.endArray()
            }
        }
        if suggestedTimes != nil { writer.member("suggested", true) }
        if let pinned { writer.member("pinned", pinned) }
        if isUnavailable { writer.member("unavailable", true) }
    }
}
