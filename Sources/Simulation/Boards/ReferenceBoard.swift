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

    /// As replies and records tell it.
    func state(of id: String) -> String {
        guard let tile = tiles[id] else { return stacks[id] == nil ? "gone" : "stack" }
        return tile.pinned == nil ? "placed" : "pinned"
    }

    // MARK: What is refused

    /// The codes with which a request may be refused; empty = it is to be taken.
    ///
    /// - Parameter kinds: Of widgets, in force.
    func refusals(of deed: TileDeed, kinds: Set<String>) -> Set<String> {
        var codes: Set<String> = []
        if let account, account != deed.account { codes.insert("unknown_key") }
        if let seen = deed.seen, let rev = revs[deed.id], isThere(deed.id), seen < rev { codes.insert("stale_rev") }
        switch deed.action {
        case .add: codes.formUnion(refusals(ofAdding: deed, kinds: kinds))
        case .stack: codes.formUnion(refusals(ofStacking: deed))
        case .move: codes.formUnion(refusals(ofMoving: deed))
        case .remove: if !isThere(deed.id) { codes.insert("unknown_key") }
        case .configure, .pin, .unpin, .show, .keep: codes.formUnion(refusals(ofChanging: deed, kinds: kinds))
        }
        return codes
    }

    private func refusals(ofAdding deed: TileDeed, kinds: Set<String>) -> Set<String> {
        var codes = Self.refusals(ofWidget: deed, kinds: kinds)
        if isThere(deed.id) || deed.stack == deed.id { codes.insert("bad_action") }
        let family = family(of: deed)
        if !SimulatedBoards.families.contains(family) { codes.insert("not_offered") }
        if let place = deed.placement, !SimulatedBoards.offers(family, at: place) { codes.insert("not_offered") }
        // The first tile of a stack makes it.
        let makesStack = deed.stack.map { $0 != "none" && !isThere($0) } ?? false
        if count + (makesStack ? 2 : 1) > SimulatedBoards.limit { codes.insert("limit_tiles") }
        if let stack = deed.stack, stack != "none" {
            codes.formUnion(refusals(ofRoomIn: stack, family, deed.placement, isMade: makesStack))
        }
        return codes
    }

    private static func refusals(ofWidget deed: TileDeed, kinds: Set<String>) -> Set<String> {
        guard let widget = deed.widget else { return [] }
        let kind = String(widget.prefix { $0 != "/" })
        if !kinds.contains(kind) { return ["unknown_kind"] }
        if kind == "card" { return ["not_offered"] }
        return deed.flaw == nil ? [] : ["bad_attr"]
    }

    /// That of its stack, where nothing is said; else what the place shows without being told.
    private func family(of deed: TileDeed) -> String {
        if let family = deed.family { return family }
        if let stack = deed.stack.flatMap({ stacks[$0] }) { return stack.family }
        return deed.placement == "lockScreen" || deed.placement == "smartStack" ? "accessoryRectangular" : "systemSmall"
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

    private func refusals(ofStacking deed: TileDeed) -> Set<String> {
        var codes: Set<String> = []
        if tiles[deed.id] != nil { codes.insert("bad_action") }
        if deed.placement == "lockScreen" { codes.insert("not_offered") }
        guard let stack = stacks[deed.id] else {
            if count >= SimulatedBoards.limit { codes.insert("limit_tiles") }
            return codes
        }
        guard !stack.members.isEmpty else { return codes }
        if let family = deed.family, family != stack.family { codes.insert("not_offered") }
        if let place = deed.placement, place != stack.placement { codes.insert("not_offered") }
        return codes
    }

    private func refusals(ofMoving deed: TileDeed) -> Set<String> {
        guard isThere(deed.id) else { return ["unknown_key"] }
        guard let tile = tiles[deed.id] else { return deed.stack == nil ? [] : ["bad_action"] }
        guard let stack = deed.stack, stack != "none", stack != self.stack(of: deed.id) else { return [] }
        return refusals(ofRoomIn: stack, tile.family, tile.placement)
    }

    private func refusals(ofChanging deed: TileDeed, kinds: Set<String>) -> Set<String> {
        guard let tile = tiles[deed.id] else { return isThere(deed.id) ? ["bad_action"] : ["unknown_key"] }
        switch deed.action {
        case .configure:
            let kind = tile.widget.prefix { $0 != "/" }
            if !kinds.contains(String(kind)) { return ["unknown_kind"] }
            // Parameters of another kind are unknown ones.
            let isOwn = deed.parameter == SimulatedBoards.parameter(of: tile.widget)
            return isOwn && deed.flaw != .unknownParameter ? [] : ["bad_attr"]
        case .show: return stack(of: deed.id) == nil ? ["not_offered"] : []
        case .pin:
            let own = stack(of: deed.id)
            if own == nil, let place = tile.placement, place != "smartStack" { return ["not_offered"] }
            let position = deed.position ?? position(of: deed.id)
            let others = own.map { stacks[$0]?.members ?? [] } ?? places
            let isTaken = others.contains { $0 != deed.id && tiles[$0]?.pinned == position }
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
    mutating func apply(_ deed: TileDeed, at now: Int64, sequence: Int64) -> Set<String> {
        let before = self
        step(deed, at: now)
        if count == 0 { account = nil }
        let changed = arranged(since: before)
        for id in changed { revs[id] = sequence }
        return changed
    }

    private mutating func step(_ deed: TileDeed, at now: Int64) {
        let id = deed.id
        switch deed.action {
        case .add:
            tiles[id] = Tile(widget: deed.widget ?? "", family: family(of: deed), placement: deed.placement)
            if count == 1 { account = deed.account }
            if let stack = deed.stack, stack != "none" {
                if stacks[stack] == nil {
                    stacks[stack] = Stack(family: family(of: deed), placement: deed.placement)
                    places.append(stack)
                }
                settle(id, in: stack, at: deed.position)
            } else {
                Self.insert(id, into: &places, at: deed.position)
            }
        case .configure:
            if let widget = deed.widget, deed.parameter != nil { tiles[id]?.widget = widget }
        case .move: move(id, deed)
        case .pin:
            let position = deed.position ?? position(of: id)
            tiles[id]?.pinned = position
        case .unpin: tiles[id]?.pinned = nil
        case .show:
            guard let stack = stack(of: id) else { break }
            // Of two choices of one moment the later one counts.
            stacks[stack]?.choices.removeAll { $0.date >= now || $0.tile == id }
            stacks[stack]?.choices.append(Choice(tile: id, date: now))
        case .keep:
            guard tiles[id] == nil, let origin = deed.origin, let stack = stacks[origin.stack] else { break }
            tiles[id] = Tile(widget: origin.widget, family: stack.family, placement: stack.placement)
            settle(id, in: origin.stack, at: deed.position)
        case .stack:
            if stacks[id] == nil {
                stacks[id] = Stack(family: deed.family ?? "systemSmall")
                if count == 1 { account = deed.account }
                Self.insert(id, into: &places, at: deed.position)
            } else if deed.position != nil {
                Self.insert(id, into: &places, at: deed.position)
            }
            if let family = deed.family { stacks[id]?.family = family }
            if let isSmart = deed.isSmart { stacks[id]?.isSmart = isSmart }
            if let suggests = deed.suggests { stacks[id]?.suggests = suggests }
            if let placement = deed.placement { stacks[id]?.placement = placement }
        case .remove:
            for member in stacks.removeValue(forKey: id)?.members ?? [] { tiles[member] = nil }
            leave(id)
            tiles[id] = nil
            places.removeAll { $0 == id }
        }
    }

    private mutating func move(_ id: String, _ deed: TileDeed) {
        let own = stack(of: id)
        guard tiles[id] != nil, let wanted = deed.stack, wanted != own ?? "none" else {
            if let own {
                Self.insert(id, into: &stacks[own, default: Stack(family: "")].members, at: deed.position)
            } else {
                Self.insert(id, into: &places, at: deed.position)
            }
            return
        }
        leave(id)
        places.removeAll { $0 == id }
        tiles[id]?.pinned = nil
        if wanted == "none" {
            Self.insert(id, into: &places, at: deed.position)
        } else {
            settle(id, in: wanted, at: deed.position)
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
