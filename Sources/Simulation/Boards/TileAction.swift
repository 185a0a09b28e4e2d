/// One request about a tile or a stack, as a simulated person sends it: `TILE @BOARD/ID do=…`.
struct TileAction {
    enum Action: String {
        case add, configure, move, pin, unpin, show, keep, stack, remove
    }

    /// A mistake in what it says of the widget.
    enum Flaw {
        case lacksParameter, unknownParameter
    }

    /// With its `@`.
    var board: String
    var id: String
    var action: Action
    /// Of the person.
    var account: String
    var eid: String
    /// The key of the widget that is to be shown.
    var widget: String?
    /// Whether the widget is named by its kind and its parameters; else by its key.
    var namesParameters = false
    var flaw: Flaw?
    var family: String?
    /// The id of a stack, or `none`.
    var stack: String?
    var placement: String?
    var position: Int?
    var isSmart: Bool?
    var suggests: Bool?
    /// The rev of the row that the person saw.
    var seen: Int64?
    /// Of an id of a suggestion: the tile that it stands for.
    var origin: SuggestionNames.Origin?

    init(_ action: Action, _ board: String, _ id: String, by account: String, eid: String) {
        (self.action, self.board, self.id, self.account, self.eid) = (action, board, id, account, eid)
    }

    var key: String { "\(board)/\(id)" }
    /// The parameter of which its configuration reports the value; `nil` = it reports of none.
    var parameter: String? { flaw == .lacksParameter ? nil : widget.flatMap { SimulatedBoards.parameter(of: $0) } }

    var line: String {
        var line = "TILE \(key) do=\(action.rawValue)"
        func word(_ name: String, _ value: String?) { if let value { line += " \(name)=\(value)" } }
        let isNamed = namesParameters || flaw != nil
        if action == .add { word("widget", isNamed ? widget.map { String($0.prefix { $0 != "/" }) } : widget) }
        word("family", family)
        word("stack", stack)
        word("placement", placement)
        word("pos", position.map(String.init))
        word("smart", isSmart.map { $0 ? "yes" : "no" })
        word("suggest", suggests.map { $0 ? "yes" : "no" })
        word("if", seen.map(String.init))
        word("eid", eid)
        if let widget, action == .configure || isNamed { line += #" {"configuration":\#(configuration(of: widget))}"# }
        return line
    }

    private func configuration(of widget: String) -> String {
        guard let name = SimulatedBoards.parameter(of: widget) else { return "{}" }
        let value = widget.drop { $0 != "/" }.dropFirst()
        return switch flaw {
        case .lacksParameter: "{}"
        case .unknownParameter: #"{"\#(name)":"\#(value)","shp":"\#(value)"}"#
        case nil: #"{"\#(name)":"\#(value)"}"#
        }
    }
}

/// The boards of a simulated world, and what may stand on them.
enum SimulatedBoards {
    /// The first is alice's and the last bob's by habit; the one between is whose that comes first.
    static let names = ["@car", "@hall", "@wrist"]
    /// Tiles and stacks of one board, of a daemon of a run: few, so that people meet the limit.
    static let limit = 13
    /// How long a smart stack keeps the tile that a person chose, in milliseconds, in a run.
    static let hold: Int64 = 20_000
    /// Tiles of one stack.
    static let stackLimit = 10

    /// Widgets that can be placed. The kind of some is taken away at times.
    static let widgets =
        SimulatedWidgets.keys + ["sales/Hoegi", "sales/Central"] + SimulatedWidgets.towns + [
            "hours/main", SimulatedWidgets.trip, SimulatedWidgets.queue, "status/shared-1", "status/shop-0-1",
            "status/shop-1-2",
            "status/none",
        ]
    static let families: Set<String> = ["systemSmall", "accessoryCircular", "accessoryRectangular"]

    /// The name of the parameter of a widget's kind; `nil` = it has none.
    static func parameter(of widget: String) -> String? {
        if widget.hasPrefix("sales/") { return "shop" }
        if widget.hasPrefix("status/") { return "order" }
        return widget.hasPrefix("weather/") ? "town" : nil
    }

    static func isTile(_ key: String) -> Bool { key.hasPrefix("@") }

    /// The name of the board and the id, of a key of a tile.
    static func parts(of key: String) -> (board: String, id: String) {
        (String(key.prefix { $0 != "/" }), String(key.drop { $0 != "/" }.dropFirst()))
    }

    /// Whether a place has a family of the simulated kinds, which want every place.
    static func offers(_ family: String, at place: String) -> Bool {
        switch place {
        case "carplay", "home": family == "systemSmall"
        case "smartStack": family == "accessoryRectangular"
        // A pad's shows small ones.
        case "lockScreen": true
        case _: false
        }
    }
}
