public import TelltaleModel
internal import TelltaleWire

/// A change of a device's board, for ``TelltaleRequests/tile(_:_:ifRev:eid:)``. A `nil` stays as it is, or takes the
/// server's default.
///
/// Positions count from 1. The server refuses what the place, the family, the stack or the kind does not allow
/// (Protocols/Widgets/boards.md).
public enum Arrangement: Hashable, Sendable {
    /// Places a widget: a kind with its configuration, or the key of a widget.
    case place(
        widget: String, configuration: JSONObject? = nil, family: String? = nil, position: Int? = nil,
        stack: String? = nil, style: TileStyle = TileStyle())
    /// Changes the configuration that the tile shows.
    case configure(JSONObject? = nil, style: TileStyle = TileStyle())
    /// Moves the tile on the board, within its stack, or onto another stack.
    case move(to: Int? = nil, stack: String? = nil)
    /// Takes the tile out of its stack, to a place on the board.
    case takeOut(to: Int? = nil)
    /// Fixes the position of a tile in a stack, or on a watch: 1 to 10.
    case pin(at: Int? = nil)
    case unpin
    /// Turns the stack to this tile.
    case show
    /// Keeps a suggested tile.
    case keep
    /// Removes a tile, or a stack with its tiles.
    case remove
    /// Makes a stack, or changes one. A smart stack turns to what is relevant.
    case stack(
        isSmart: Bool? = nil, takesSuggestions: Bool? = nil, family: String? = nil, position: Int? = nil,
        placement: String? = nil)

    /// - Throws: ``TelltaleError/invalidRequest(_:)`` for what the grammar of the protocol does not allow.
    func command(_ key: Key) throws(TelltaleError) -> TileCommand {
        var command = TileCommand(key: key, action: action)
        switch self {
        case .place(let widget, let configuration, let family, let position, let stack, let style):
            command.widget = try Words.value("the widget", widget)
            command.family = try Words.optional("the family", family)
            command.stack = try stack.map(Self.stack)
            command.position = try Self.position(position)
            command.configuration = try Self.configuration(configuration)
            try style.apply(to: &command)
        case .configure(let configuration, let style):
            command.configuration = try Self.configuration(configuration)
            try style.apply(to: &command)
        case .move(let position, let stack):
            command.position = try Self.position(position)
            command.stack = try stack.map(Self.stack)
        case .takeOut(let position):
            command.position = try Self.position(position)
            command.stack = "none"
        case .pin(let position): command.position = try Self.position(position)
        case .unpin, .show, .keep, .remove: break
        case .stack(let isSmart, let takesSuggestions, let family, let position, let placement):
            (command.isSmart, command.suggests) = (isSmart, takesSuggestions)
            command.family = try Words.optional("the family", family)
            command.position = try Self.position(position)
            command.placement = try Words.optional("the placement", placement)
        }
        return command
    }

    private var action: TileCommand.Action {
        switch self {
        case .place: .add
        case .configure: .configure
        case .move, .takeOut: .move
        case .pin: .pin
        case .unpin: .unpin
        case .show: .show
        case .keep: .keep
        case .remove: .remove
        case .stack: .stack
        }
    }

    private static func stack(_ id: String) throws(TelltaleError) -> String {
        guard Key.isSegment(id.utf8) else {
            throw .invalidRequest("the stack is not sent: an id is 1 to 64 of A-Z a-z 0-9 . _ ~ : @ -")
        }
        return id
    }

    private static func position(_ position: Int?) throws(TelltaleError) -> Int? {
        guard let position else { return nil }
        return Int(try Words.number("the position", Int64(position), 1...TileCommand.positionLimit))
    }

    private static func configuration(_ configuration: JSONObject?) throws(TelltaleError) -> JSONObject? {
        guard let configuration else { return nil }
        return try Words.tail(["configuration": .object(configuration)])["configuration"]?.object
    }
}

/// How a tile is presented. A `nil` takes the server's default.
public struct TileStyle: Hashable, Sendable {
    /// The one place that shows it, as `lockScreen`.
    public var placement: String?
    /// On visionOS: `elevated` or `recessed`.
    public var mounting: String?
    /// On visionOS: 75 to 125 percent.
    public var scale: Int?
    /// On visionOS: a colour, or `none`.
    public var theme: String?

    public init(placement: String? = nil, mounting: String? = nil, scale: Int? = nil, theme: String? = nil) {
        (self.placement, self.mounting, self.scale, self.theme) = (placement, mounting, scale, theme)
    }

    func apply(to command: inout TileCommand) throws(TelltaleError) {
        command.placement = try Words.optional("the placement", placement)
        command.mounting = try Words.optional("the mounting", mounting)
        command.theme = try Words.optional("the theme", theme)
        if let scale { command.scale = Int(try Words.number("the scale", Int64(scale), TileCommand.scales)) }
    }
}

/// The answer to an ``Arrangement``, which is then on disk.
public struct Arranged: Hashable, Sendable {
    public var key: Key
    /// `noop` if nothing had to change, `duplicate` for an event id that has acted before.
    public var verdict: Verdict
    /// The commit number of the tile's last change.
    public var rev: Int64?
    /// `placed`, `pinned`, `stack` or `gone`.
    public var state: String?
    /// The event id that was used.
    public var eid: String

    init(_ line: ServerLine, key: Key, eid: String) {
        self.key = key
        self.eid = eid
        verdict = line["verdict"].flatMap { Verdict(rawValue: $0) } ?? .applied
        rev = line.integer("rev")
        state = line["state"]
    }
}

extension TelltaleRequests {
    /// Arranges a tile, or a stack, of a device's board, from any device of its account.
    ///
    ///     try await telltale.tile("@alice-car/t1", .place(widget: "kitchen", configuration: ["shop": "Hoegi"]))
    ///     try await telltale.tile("@alice-car/t1", .move(to: 1), ifRev: row.rev)
    ///
    /// - Parameters:
    ///   - key: `@board/id`. A board is created with its first tile.
    ///   - ifRev: The ``RowUpdate/rev`` of the row that the person saw. If the tile was arranged since, nothing is
    ///     done, and the error is a ``Refusal`` with ``Refusal/isStaleTap``.
    ///   - eid: An event id of your own, which takes effect once, also across runs of the program.
    @discardableResult
    public final func tile(
        _ key: String, _ arrangement: Arrangement, ifRev: Int64? = nil, eid: String? = nil
    ) async throws(TelltaleError) -> Arranged {
        let key = try Words.key(key)
        guard key.kind.utf8.first == UInt8(ascii: "@"), key.kind.utf8.count > 1 else {
            throw .invalidRequest("\(key) is not arranged: the key of a tile is @BOARD/ID, as @alice-car/t1")
        }
        var command = try arrangement.command(key)
        if let ifRev { command.seenRev = try Words.number("the rev", ifRev) }
        let eid = try Words.optional("the eid", eid) ?? session.makeEventID()
        command.eid = eid
        return Arranged(try await ask(.tile(command), eid: eid).line, key: key, eid: eid)
    }
}
