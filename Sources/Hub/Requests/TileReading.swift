internal import Kinds
internal import Machines
internal import Surfaces
internal import TelltaleModel
internal import TelltaleWire

/// Interprets a `TILE` by the kinds in force. A request that is refused here does not reach a board.
struct TileReading {
    let command: TileCommand
    let board: Board
    /// The kinds in force.
    let kinds: [Kind]
    /// The key's tile as a suggestion, if some device may show it now.
    var suggestion: Tile?
    /// The key is a relevant widget that nobody placed.
    var isRelevantWidget = false

    private var id: String { String(command.key.id) }

    func input() throws(WireError) -> TileInput {
        if isRelevantWidget, command.action != .add {
            throw notOffered("\(command.key) comes and goes by itself on a watch, and is neither kept nor arranged")
        }
        if suggestion != nil, command.action != .keep, command.action != .add {
            throw notOffered(
                "\(command.key) is a suggestion, which comes and goes by itself; do=keep lets it stay, then arrange it")
        }
        switch command.action {
        case .add: return .add(try addition())
        case .configure: return .configure(try change())
        case .move:
            let destination: TileInput.Destination =
                switch command.stack {
                case nil: .same
                case "none": .none
                case let stack?: .stack(stack)
                }
            guard destination != .same || command.position != nil else { throw missing("pos= or stack=") }
            return .move(to: destination, position: command.position)
        case .pin:
            if let position = command.position, position > TileStack.limit {
                throw WireError(
                    .badAttribute, "TILE: pos=\(position) is not taken; pins are from 1 to \(TileStack.limit)")
            }
            return .pin(position: command.position)
        case .unpin: return .unpin
        case .show: return .show
        case .keep: return .keep(try keeping())
        case .remove: return .remove
        case .stack:
            if board.items[id] == nil { try checkID(id) }
            var stacking = TileInput.Stacking()
            stacking.family = try family()
            (stacking.isSmart, stacking.suggests) = (command.isSmart, command.suggests)
            stacking.placement = try placement()
            stacking.position = command.position
            return .stack(stacking)
        }
    }

    // MARK: Placing

    private func addition() throws(WireError) -> TileInput.Addition {
        guard let word = command.widget else { throw missing("widget=") }
        try checkID(id)
        if let stack = command.stack { try checkID(stack) }
        let named = Key(word)
        let name = named.map { String($0.kind) } ?? word
        let kind = try definition(of: name)
        guard !kind.isEach else {
            throw notOffered("\(name) comes and goes by itself, and is not placed")
        }
        let configuration = try configuration(for: kind, named: named)
        let id = WidgetParameter.id(of: configuration, parameters: kind.parameters)
        guard let widget = Key(kind: name, id: id) else {
            throw WireError(.badAttribute, "TILE: the configuration gives no key")
        }
        let place = try placement()
        let family = try family() ?? standardFamily(of: kind, at: place)
        var addition = TileInput.Addition(widget: widget, configuration: configuration, family: family)
        addition.stack = command.stack == "none" ? nil : command.stack
        addition.position = command.position
        addition.style = try style(from: TileStyle(), kind)
        try check(addition.style, family, kind, name)
        return addition
    }

    /// Such ids are reserved for suggestions.
    private func checkID(_ id: String) throws(WireError) {
        guard id.utf8.first == UInt8(ascii: "~") else { return }
        throw WireError(.badKey, "TILE: \(id) is an id that the server gives; begin yours without ~")
    }

    private func keeping() throws(WireError) -> TileInput.Addition? {
        guard let suggestion else {
            // Kept already, or refused by the board.
            guard board.items[id] == nil, id.utf8.first == UInt8(ascii: "~") else { return nil }
            throw WireError(
                .unknownKey,
                "TILE: \(command.key) is no suggestion any more; one goes when it does not matter, LIST shows those there are"
            )
        }
        return Board.addition(keeping: suggestion, at: command.position)
    }

    private func change() throws(WireError) -> TileInput.Change {
        guard let item = board.items[id] else { throw .unknownKey(command.key) }
        var change = TileInput.Change()
        // The board reports that a stack has no configuration.
        guard let tile = item.tile else { return change }
        let name = String(tile.widget.kind)
        if let word = command.widget, word != name {
            throw WireError(
                .badAttribute, "TILE: widget=\(word) is another kind than the tile's; add a tile of its own")
        }
        let kind = try definition(of: name)
        if command.configuration != nil {
            let whole = try configuration(for: kind, named: nil)
            change.widget = Key(kind: name, id: WidgetParameter.id(of: whole, parameters: kind.parameters))
            change.configuration = whole
        }
        if command.placement != nil || command.mounting != nil || command.scale != nil || command.theme != nil {
            let style = try style(from: tile.style, kind)
            try check(style, tile.family, kind, name)
            if style.placement != tile.style.placement, tile.stack != nil {
                throw notOffered("the tile stands where its stack does")
            }
            change.style = style
        }
        guard change != TileInput.Change() else { throw missing("configuration") }
        return change
    }

    private func definition(of name: String) throws(WireError) -> WidgetKind {
        guard let kind = kinds.first(where: { $0.name == name }) else {
            throw WireError(.unknownKind, "there is no kind \(name); GALLERY lists the widgets that can be placed")
        }
        guard case .widget(let definition) = kind.body else {
            throw WireError(.badAction, "\(name) is \(kind.noun); TILE places widgets")
        }
        return definition
    }

    /// W79: complete, with the name of the wrong or missing parameter.
    private func configuration(for kind: WidgetKind, named key: Key?) throws(WireError) -> JSON {
        if let key, command.configuration == nil {
            guard let known = kind.configuration(ofID: String(key.id)) else {
                throw WireError(.badAttribute, "TILE: widget=\(key) is no configuration; KIND tells the parameters")
            }
            return known
        }
        do throws(WidgetParameter.Refusal) {
            return try WidgetParameter.configuration(
                of: command.configuration ?? JSONObject(), parameters: kind.parameters)
        } catch {
            var details = JSONObject()
            details["path"] = .string("configuration.\(error.name)")
            throw WireError(
                .badAttribute, "TILE: configuration.\(error.name): \(error.reason); KIND tells the parameters",
                details: details)
        }
    }

    // MARK: Places

    private func family() throws(WireError) -> WidgetFamily? {
        guard let word = command.family else { return nil }
        guard let family = WidgetFamily(rawValue: word) else {
            throw unknown("family", word, WidgetFamily.allCases.map(\.rawValue))
        }
        return family
    }

    private func placement() throws(WireError) -> WidgetPlace? {
        guard let word = command.placement else { return nil }
        guard let place = WidgetPlace(rawValue: word), place != .gallery else {
            throw unknown("placement", word, WidgetPlace.allCases.filter { $0 != .gallery }.map(\.rawValue))
        }
        return place
    }

    /// The family of its stack; else that of the place; else the kind's first one.
    private func standardFamily(of kind: WidgetKind, at place: WidgetPlace?) -> WidgetFamily {
        if let stack = command.stack.flatMap({ board.items[$0]?.stack }) { return stack.family }
        let wanted: WidgetFamily =
            switch place {
            case .lockScreen, .smartStack, .complications: .accessoryRectangular
            default: .systemSmall
            }
        if WidgetScene.isOffered(kind, wanted, at: place) { return wanted }
        return kind.families.first { WidgetScene.isOffered(kind, $0, at: place) } ?? wanted
    }

    private func style(from former: TileStyle, _ kind: WidgetKind) throws(WireError) -> TileStyle {
        var style = former
        if let place = try placement() { style.placement = place }
        if let word = command.mounting {
            guard let mounting = WidgetMounting(rawValue: word) else {
                throw unknown("mounting", word, WidgetMounting.allCases.map(\.rawValue))
            }
            style.mounting = mounting
        }
        // The kind supports no other mounting.
        if style.placement == .vertical, style.mounting == nil, kind.mountings == [.recessed] {
            style.mounting = .recessed
        }
        if let scale = command.scale { style.scale = scale }
        if let theme = command.theme { style.theme = theme == "none" ? nil : theme }
        return style
    }

    /// W1, W49, W60, W64, W65, W70.
    private func check(_ style: TileStyle, _ family: WidgetFamily, _ kind: WidgetKind, _ name: String) throws(WireError)
    {
        let place = style.placement.map { " at \($0.rawValue)" } ?? ""
        guard kind.families.contains(family) else {
            let families = kind.families.map(\.rawValue).joined(separator: ", ")
            throw notOffered("\(name) has no \(family.rawValue); it has \(families)")
        }
        guard WidgetScene.isOffered(kind, family, at: style.placement) else {
            throw notOffered("\(family.rawValue) of \(name) is not shown\(place)")
        }
        let isSpatial = style.placement == nil || style.placement == .horizontal || style.placement == .vertical
        guard isSpatial || (style.mounting == nil && style.scale == nil && style.theme == nil) else {
            throw notOffered("mounting=, scale= and theme= are of visionOS: of placement=horizontal and vertical")
        }
        // Unless stated, it is elevated, if the kind supports that.
        let spoken = style.mounting ?? (style.placement == .horizontal ? .elevated : nil)
        if let mounting = spoken, !kind.mountings.contains(mounting) {
            throw notOffered("\(name) does not stand \(mounting.rawValue)")
        }
        guard spoken != .recessed || style.placement == .vertical else {
            throw notOffered("a recessed widget stands in a wall; say placement=vertical")
        }
    }

    // MARK: Refusals

    private func missing(_ what: String) -> WireError {
        WireError(.badAttribute, "TILE: \(what) is missing for do=\(command.action.rawValue); HELP TILE explains it")
    }

    private func unknown(_ name: String, _ word: String, _ words: [String]) -> WireError {
        WireError(.badAttribute, "TILE: \(name)=\(word) is not taken; there are \(words.joined(separator: ", "))")
    }

    private func notOffered(_ message: String) -> WireError { WireError(.notOffered, "TILE: \(message)") }
}
