public import Kinds
public import TelltaleModel

/// One request about a key of a board. What depends on the widget's kind is already resolved: whether a place has the family, and
/// which key a configuration stands for.
public enum TileInput: Hashable, Sendable {
    /// A widget to place.
    public struct Addition: Hashable, Sendable {
        public var widget: Key
        public var configuration: JSON
        public var family: WidgetFamily
        public var stack: String?
        /// `nil` = at the end.
        public var position: Int?
        public var style = TileStyle()

        public init(widget: Key, configuration: JSON, family: WidgetFamily) {
            (self.widget, self.configuration, self.family) = (widget, configuration, family)
        }
    }

    /// Another configuration or another style; `nil` = unchanged.
    public struct Change: Hashable, Sendable {
        public var widget: Key?
        public var configuration: JSON?
        public var style: TileStyle?

        public init() {}
    }

    /// The settings of a stack; `nil` = unchanged.
    public struct Stacking: Hashable, Sendable {
        public var family: WidgetFamily?
        public var isSmart: Bool?
        public var suggests: Bool?
        public var placement: WidgetPlace?
        public var position: Int?

        public init() {}
    }

    /// The stack that a tile is moved to.
    public enum Destination: Hashable, Sendable {
        case same
        /// A separate place.
        case none
        case stack(String)
    }

    case add(Addition)
    case configure(Change)
    case move(to: Destination, position: Int?)
    /// `nil` = at its current position.
    case pin(position: Int?)
    case unpin
    /// Its stack turns to it.
    case show
    /// A suggestion is kept as this tile; `nil` = the tile is on the board already.
    case keep(Addition?)
    case stack(Stacking)
    case remove

    /// The value of `do=`.
    public var name: String {
        switch self {
        case .add: "add"
        case .configure: "configure"
        case .move: "move"
        case .pin: "pin"
        case .unpin: "unpin"
        case .show: "show"
        case .keep: "keep"
        case .stack: "stack"
        case .remove: "remove"
        }
    }
}

/// Why a board refuses a request. Nothing changed.
public enum TileRejection: Error, Hashable, Sendable {
    /// The id is already in use.
    case exists(String)
    case unknown(String)
    /// The id belongs to a stack, and the request is for tiles.
    case isStack(String)
    /// The id belongs to a tile, and not to a stack.
    case isTile(String)
    case otherFamily(stack: String, has: WidgetFamily)
    case otherPlace(stack: String)
    case stackFull(String)
    /// W38.
    case lockScreen
    case notStacked(String)
    case notPinnable(String)
    case pinTaken(position: Int, by: String)

    /// The error code on the wire.
    public var code: String {
        switch self {
        case .exists, .isStack, .isTile: "bad_action"
        case .unknown: "unknown_key"
        case .stackFull: "limit_tiles"
        case .otherFamily, .otherPlace, .lockScreen, .notStacked, .notPinnable, .pinTaken: "not_offered"
        }
    }

    /// A message for people, with the remedy.
    public var message: String {
        switch self {
        case .exists(let id): "there is a \(id) on this board; configure or remove it, or add another id"
        case .unknown(let id): "there is no \(id) on this board; LIST shows what there is"
        case .isStack(let id): "\(id) is a stack; do=stack, do=move and do=remove are for stacks"
        case .isTile(let id): "\(id) is a tile; name the stack by an id of its own"
        case .otherFamily(let id, let family): "the stack \(id) holds \(family.rawValue), and no other family"
        case .otherPlace(let id): "the stack \(id) stands in another place; leave placement= out, or name its own"
        case .stackFull(let id): "the stack \(id) has \(TileStack.limit) tiles; remove one, or add it elsewhere"
        case .lockScreen: "the Lock Screen has no stacks; place the tile by itself"
        case .notStacked(let id): "\(id) stands in no stack; do=show turns a stack to one of its tiles"
        case .notPinnable(let id):
            "\(id) stands by itself in a place that keeps its order; pin tiles of a stack or a watch"
        case .pinTaken(let position, let id): "position \(position) is that of \(id), which is pinned; unpin it first"
        }
    }
}
