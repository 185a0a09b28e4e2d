/// The model of one board, by the words of Protocols/Widgets/boards.md: its places in their order.
struct ReferenceBoard: Hashable {
    struct Tile: Hashable {
        var widget: String
        var family: String
        var placement: String?
        var pinned: Int?
    }

    /// A person turned the stack to a tile.
    struct Choice: Hashable {
        var tile: String
        /// In milliseconds.
        var date: Int64
    }

    struct Stack: Hashable {
        var family: String
        var isSmart = false
        var suggests = false
        var placement: String?
        var members: [String] = []
        /// In their order.
        var choices: [Choice] = []
    }

    /// The ids of tiles that stand alone, and of stacks.
    private(set) var places: [String] = []
    private(set) var tiles: [String: Tile] = [:]
    private(set) var stacks: [String: Stack] = [:]
    /// Of the person who placed the first tile; `nil` = nothing stands there.
    private(set) var account: String?
    /// The commit that arranged each id last.
    private(set) var revs: [String: Int64] = [:]

    var ids: [String] { tiles.keys.sorted() + stacks.keys.sorted() }
    var count: Int { tiles.count + stacks.count }
    func isThere(_ id: String) -> Bool { tiles[id] != nil || stacks[id] != nil }
    /// The id of the stack in which a tile stands.
    func stack(of id: String) -> String? { stacks.first { $0.value.members.contains(id) }?.key }

    /// The number of an id among the places, from 1.
    func order(of id: String) -> Int { (places.firstIndex(of: stack(of: id) ?? id) ?? -1) + 1 }

    /// As replies and records report it.
    func state(of id: String) -> String {
        guard let tile = tiles[id] else { return stacks[id] == nil ? "gone" : "stack" }
        return tile.pinned == nil ? "placed" : "pinned"
    }

    // MARK: What is refused

    /// The codes with which a request may be refused; empty = it is to be taken.
    ///
    /// - Parameter kinds: Of widgets, in force.
    func refusals(of action: TileAction, kinds: Set<String>) -> Set<String> {
        var codes: Set<String> = []
        if let account, account != action.account { codes.insert("unknown_key") }
        if let seen = action.seen, let rev = revs[action.id], isThere(action.id), seen < rev {
            codes.insert("stale_rev")
        }
        switch action.action {
        case .add: codes.formUnion(refusals(ofAdding: action, kinds: kinds))
        case .stack: codes.formUnion(refusals(ofStacking: action))
        case .move: codes.formUnion(refusals(ofMoving: action))
        case .remove: if !isThere(action.id) { codes.insert("unknown_key") }
        case .configure, .pin, .unpin, .show, .keep: codes.formUnion(refusals(ofChanging: action, kinds: kinds))
        }
        return codes
    }

    private func refusals(ofAdding action: TileAction, kinds: Set<String>) -> Set<String> {
        var codes = Self.refusals(ofWidget: action, kinds: kinds)
        if isThere(action.id) || action.stack == action.id { codes.insert("bad_action") }
        let family = family(of: action)
        if !SimulatedBoards.families.contains(family) { codes.insert("not_offered") }
        if let place = action.placement, !SimulatedBoards.offers(family, at: place) { codes.insert("not_offered") }
        // The first tile of a stack makes it.
        let makesStack = action.stack.map { $0 != "none" && !isThere($0) } ?? false
        if count + (makesStack ? 2 : 1) > SimulatedBoards.limit { codes.insert("limit_tiles") }
        if let stack = action.stack, stack != "none" {
            codes.formUnion(refusals(ofRoomIn: stack, family, action.placement, isMade: makesStack))
        }
        return codes
    }

    private static func refusals(ofWidget action: TileAction, kinds: Set<String>) -> Set<String> {
        guard let widget = action.widget else { return [] }
        let kind = String(widget.prefix { $0 != "/" })
        if !kinds.contains(kind) { return ["unknown_kind"] }
        if kind == "card" { return ["not_offered"] }
        return action.flaw == nil ? [] : ["bad_attr"]
    }

    /// That of its stack, where nothing is said; else what the place shows without being reported.
    private func family(of action: TileAction) -> String {
        if let family = action.family { return family }
        if let stack = action.stack.flatMap({ stacks[$0] }) { return stack.family }
        return action.placement == "lockScreen" || action.placement == "smartStack"
            ? "accessoryRectangular" : "systemSmall"
    }

    private func refusals(
        ofRoomIn id: String, _ family: String, _ placement: String?, isMade: Bool = false
    ) -> Set<String> {
        guard let stack = stacks[id] else {
            if tiles[id] != nil { return ["bad_action"] }
            return !isMade ? ["unknown_key"] : placement == "lockScreen" ? ["not_offered"] : []
        }
        var codes: Set<String> = []
        if stack.family != family { codes.insert("not_offered") }
        if let placement, let own = stack.placement, placement != own { codes.insert("not_offered") }
        if placement ?? stack.placement == "lockScreen" { codes.insert("not_offered") }
        if stack.members.count >= SimulatedBoards.stackLimit { codes.insert("limit_tiles") }
        return codes
    }

    private func refusals(ofStacking action: TileAction) -> Set<String> {
        var codes: Set<String> = []
        if tiles[action.id] != nil { codes.insert("bad_action") }
        if action.placement == "lockScreen" { codes.insert("not_offered") }
        guard let stack = stacks[action.id] else {
            if count >= SimulatedBoards.limit { codes.insert("limit_tiles") }
            return codes
        }
        guard !stack.members.isEmpty else { return codes }
        if let family = action.family, family != stack.family { codes.insert("not_offered") }
        if let place = action.placement, place != stack.placement { codes.insert("not_offered") }
        return codes
    }

    private func refusals(ofMoving action: TileAction) -> Set<String> {
        guard isThere(action.id) else { return ["unknown_key"] }
        guard let tile = tiles[action.id] else { return action.stack == nil ? [] : ["bad_action"] }
        guard let stack = action.stack, stack != "none", stack != self.stack(of: action.id) else { return [] }
        return refusals(ofRoomIn: stack, tile.family, tile.placement)
    }

    private func refusals(ofChanging action: TileAction, kinds: Set<String>) -> Set<String> {
        guard let tile = tiles[action.id] else { return isThere(action.id) ? ["bad_action"] : ["unknown_key"] }
        switch action.action {
        case .configure:
            let kind = tile.widget.prefix { $0 != "/" }
            if !kinds.contains(String(kind)) { return ["unknown_kind"] }
            // Parameters of another kind are unknown ones.
            let isOwn = action.parameter == SimulatedBoards.parameter(of: tile.widget)
            return isOwn && action.flaw != .unknownParameter ? [] : ["bad_attr"]
        case .show: return stack(of: action.id) == nil ? ["not_offered"] : []
        case .pin:
            let own = stack(of: action.id)
            if own == nil, let place = tile.placement, place != "smartStack" { return ["not_offered"] }
            let position = action.position ?? position(of: action.id)
            let others = own.map { stacks[$0]?.members ?? [] } ?? places
            let isTaken = others.contains { $0 != action.id && tiles[$0]?.pinned == position }
            return isTaken ? ["not_offered"] : []
        case _: return []
        }
    }

    /// In its stack, or among the places of the board, from 1.
    func position(of id: String) -> Int {
        let container = stack(of: id).map { stacks[$0]?.members ?? [] } ?? places
        return (container.firstIndex(of: id) ?? -1) + 1
    }
}

// MARK: What is done

extension ReferenceBoard {
    /// Does what is asked for.
    ///
    /// - Returns: The ids that the commit arranges; empty = nothing is different.
    mutating func apply(_ action: TileAction, at now: Int64, sequence: Int64) -> Set<String> {
        let before = self
        step(action, at: now)
        if count == 0 { account = nil }
        let changed = arranged(since: before)
        for id in changed { revs[id] = sequence }
        return changed
    }

    private mutating func step(_ action: TileAction, at now: Int64) {
        let id = action.id
        switch action.action {
        case .add:
            tiles[id] = Tile(widget: action.widget ?? "", family: family(of: action), placement: action.placement)
            if count == 1 { account = action.account }
            if let stack = action.stack, stack != "none" {
                if stacks[stack] == nil {
                    stacks[stack] = Stack(family: family(of: action), placement: action.placement)
                    places.append(stack)
                }
                settle(id, in: stack, at: action.position)
            } else {
                Self.insert(id, into: &places, at: action.position)
            }
        case .configure:
            if let widget = action.widget, action.parameter != nil { tiles[id]?.widget = widget }
        case .move: move(id, action)
        case .pin:
            let position = action.position ?? position(of: id)
            tiles[id]?.pinned = position
        case .unpin: tiles[id]?.pinned = nil
        case .show:
            guard let stack = stack(of: id) else { break }
            // Of two choices of one moment the later one counts.
            stacks[stack]?.choices.removeAll { $0.date >= now || $0.tile == id }
            stacks[stack]?.choices.append(Choice(tile: id, date: now))
        case .keep:
            guard tiles[id] == nil, let origin = action.origin, let stack = stacks[origin.stack] else { break }
            tiles[id] = Tile(widget: origin.widget, family: stack.family, placement: stack.placement)
            settle(id, in: origin.stack, at: action.position)
        case .stack:
            if stacks[id] == nil {
                stacks[id] = Stack(family: action.family ?? "systemSmall")
                if count == 1 { account = action.account }
                Self.insert(id, into: &places, at: action.position)
            } else if action.position != nil {
                Self.insert(id, into: &places, at: action.position)
            }
            if let family = action.family { stacks[id]?.family = family }
            if let isSmart = action.isSmart { stacks[id]?.isSmart = isSmart }
            if let suggests = action.suggests { stacks[id]?.suggests = suggests }
            if let placement = action.placement { stacks[id]?.placement = placement }
        case .remove:
            for member in stacks.removeValue(forKey: id)?.members ?? [] { tiles[member] = nil }
            leave(id)
            tiles[id] = nil
            places.removeAll { $0 == id }
        }
    }

    private mutating func move(_ id: String, _ action: TileAction) {
        let own = stack(of: id)
        guard tiles[id] != nil, let wanted = action.stack, wanted != own ?? "none" else {
            if let own {
                Self.insert(id, into: &stacks[own, default: Stack(family: "")].members, at: action.position)
            } else {
                Self.insert(id, into: &places, at: action.position)
            }
            return
        }
        leave(id)
        places.removeAll { $0 == id }
        tiles[id]?.pinned = nil
        if wanted == "none" {
            Self.insert(id, into: &places, at: action.position)
        } else {
            settle(id, in: wanted, at: action.position)
        }
    }

    private mutating func settle(_ id: String, in stack: String, at position: Int?) {
        guard stacks[stack] != nil else { return }
        Self.insert(id, into: &stacks[stack, default: Stack(family: "")].members, at: position)
        // A stack has one place, and so have its tiles.
        let placement = stacks[stack]?.placement
        if tiles[id]?.placement == nil { tiles[id]?.placement = placement }
    }

    /// A tile leaves its stack, which goes with the last one.
    private mutating func leave(_ id: String) {
        guard let stack = stack(of: id) else { return }
        stacks[stack]?.members.removeAll { $0 == id }
        stacks[stack]?.choices.removeAll { $0.tile == id }
        guard stacks[stack]?.members.isEmpty == true else { return }
        stacks[stack] = nil
        places.removeAll { $0 == stack }
    }

    private static func insert(_ id: String, into list: inout [String], at position: Int?) {
        list.removeAll { $0 == id }
        list.insert(id, at: min(list.count, max(1, position ?? .max) - 1))
    }

    /// The ids that look different from before: a tile of a stack does with each change of the stack.
    private func arranged(since before: ReferenceBoard) -> Set<String> {
        var changed: Set<String> = []
        for id in Set(before.ids + ids) {
            let (old, new) = (before.stack(of: id), stack(of: id))
            if tiles[id] != before.tiles[id] || old != new || position(of: id) != before.position(of: id) {
                changed.insert(id)
            }
            if stacks[id].map({ [$0.family, $0.placement, "\($0.isSmart)", "\($0.suggests)"] })
                != before.stacks[id].map({ [$0.family, $0.placement, "\($0.isSmart)", "\($0.suggests)"] })
            {
                changed.insert(id)
            }
        }
        for (id, stack) in stacks {
            let former = before.stacks[id]
            let isTouched =
                former?.choices.last != stack.choices.last || changed.contains(id)
                || (stack.members + (former?.members ?? [])).contains { changed.contains($0) }
            if isTouched { changed.formUnion(stack.members) }
        }
        return changed
    }
}
