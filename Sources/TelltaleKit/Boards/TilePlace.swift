public import TelltaleModel

/// The place of a tile on its board, read from its row. The content is the row's ``WidgetRow``.
///
/// The row lists in advance when its stack turns and when a watch's order changes, so an app needs no message and no
/// connection to follow them.
public struct TilePlace: Hashable, Sendable {
    /// The widget that it shows.
    public var widget: Key
    /// The stack that contains it, and its position there.
    public var stack: String?
    public var position: Int?
    /// The position that it is pinned to.
    public var pinned: Int?
    /// Whether its kind was removed or its widget has ended. It then shows the placeholder.
    public var isUnavailable: Bool
    /// Whether the server suggests it. A suggestion disappears by itself unless it is kept.
    public var isSuggested: Bool
    /// On visionOS: `elevated` or `recessed`.
    public var mounting: String?
    private var order: Int
    private var isTop: Bool
    private var orders: [Moved] = []
    private var turns: [Turn] = []

    private struct Moved: Hashable, Sendable {
        let date: Timestamp
        let order: Int
    }

    private struct Turn: Hashable, Sendable {
        let date: Timestamp
        let key: String
    }

    /// Reads the body of a row; `nil` if it is not the row of a tile on a surface.
    public init?(_ body: JSONObject) {
        guard body["entries"]?.array != nil, let widget = body["widget"]?.string.flatMap({ Key($0) }) else {
            return nil
        }
        self.widget = widget
        stack = body["stack"]?.string
        position = body["position"]?.integer.map { Int(clamping: $0) }
        pinned = body["pinned"]?.integer.map { Int(clamping: $0) }
        isUnavailable = body["unavailable"]?.bool ?? false
        isSuggested = body["suggested"]?.bool ?? false
        mounting = body["mounting"]?.string
        order = body["order"]?.integer.map { Int(clamping: $0) } ?? 0
        isTop = body["top"]?.bool ?? true
        orders = (body["orders"]?.array ?? []).compactMap { json in
            guard let date = json["date"]?.integer, let order = json["order"]?.integer else { return nil }
            return Moved(date: Timestamp(milliseconds: date), order: Int(clamping: order))
        }
        turns = (body["turns"]?.array ?? []).compactMap { json in
            guard let date = json["date"]?.integer, let key = json["key"]?.string else { return nil }
            return Turn(date: Timestamp(milliseconds: date), key: key)
        }
    }

    /// The number of its place, from 1, which the tiles of a stack share; 0 = a watch has no room for it.
    ///
    /// - Parameter now: In the server's time, as the dates are.
    public func order(at now: Timestamp) -> Int { orders.last { $0.date <= now }?.order ?? order }

    /// Whether its stack shows it; `true` for a tile outside a stack.
    ///
    /// - Parameter key: The key of the tile.
    public func isTop(_ key: Key, at now: Timestamp) -> Bool {
        turns.last { $0.date <= now }.map { $0.key == key.text } ?? isTop
    }

    /// The next time its stack turns or its number changes.
    public func nextDate(after now: Timestamp) -> Timestamp? {
        (turns.map(\.date) + orders.map(\.date)).filter { $0 > now }.min()
    }
}
