public import TelltaleModel

/// The place of a tile on its board, as its row tells it. Its picture is the row's ``WidgetRow``.
///
/// A stack turns, and a watch's order changes, at dates that the row knows ahead: an app follows them without a message and
/// without a connection.
public struct TilePlace: Hashable, Sendable {
    /// The widget that it shows.
    public var widget: Key
    /// The stack that it stands in, and its position there.
    public var stack: String?
    public var position: Int?
    /// The position that it keeps.
    public var pinned: Int?
    /// Whether its kind was taken away, or its widget has ended: the placeholder stands there.
    public var isUnavailable: Bool
    /// Whether the server suggests it: it goes by itself unless it is kept.
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

    /// Reads the body of a row; `nil` if it is none of a tile on a surface.
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

    /// The number of its place, from 1; tiles of one stack share it. 0: a watch has no room for it then.
    ///
    /// - Parameter now: On the server's clock, which the dates are on.
    public func order(at now: Timestamp) -> Int { orders.last { $0.date <= now }?.order ?? order }

    /// Whether its stack shows it; `true` for a tile that is in none.
    ///
    /// - Parameter key: Of the tile.
    public func isTop(_ key: Key, at now: Timestamp) -> Bool {
        turns.last { $0.date <= now }.map { $0.key == key.text } ?? isTop
    }

    /// When its stack turns, or its number changes, next.
    public func nextDate(after now: Timestamp) -> Timestamp? {
        (turns.map(\.date) + orders.map(\.date)).filter { $0 > now }.min()
    }
}
