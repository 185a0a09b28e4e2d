internal import Kinds
public import TelltaleModel

/// Everything on one board: its places in order, each a tile or a stack of tiles.
///
/// A value without a clock. `Protocols/Machines/tile.table` tests it.
///
/// Invariants:
/// - The places of a board, and the tiles of a stack, are numbered from 1 without a gap.
/// - A stack holds at most ``TileStack/limit`` tiles, of its family.
/// - No two tiles of a container are pinned at one position.
public struct Board: Sendable {
    /// By id; removed items are not included.
    public private(set) var items: [String: BoardItem]

    public init(_ items: [String: BoardItem] = [:]) { self.items = items }

    /// The account of its first tile; `nil` = everybody's, or no tile yet.
    public var account: String? { items.first?.value.account }

    /// The result of a request.
    public struct Outcome: Hashable, Sendable {
        public var verdict: Verdict
        /// The ids whose rows look different now, including removed ones, in byte order.
        public var changed: [String] = []
        public var removed: Set<String> = []
    }

    /// Applies a request to one id.
    ///
    /// - Parameters:
    ///   - account: The account that owns the board from its first tile on; `nil` = everybody.
    ///   - now: The kinds' clock.
    /// - Throws: The refusal; nothing has changed then.
    public mutating func apply(
        _ input: TileInput, to id: String, for account: String?, at now: Timestamp
    ) throws(TileRejection) -> Outcome {
        let before = items
        do throws(TileRejection) {
            try step(input, to: id, for: account, at: now)
        } catch {
            items = before
            throw error
        }
        return outcome(since: before)
    }

    private mutating func step(
        _ input: TileInput, to id: String, for account: String?, at now: Timestamp
    ) throws(TileRejection) {
        switch input {
        case .add(let addition): try add(addition, id, for: account, at: now)
        case .configure(let change):
            var tile = try tile(id)
            if let widget = change.widget { tile.widget = widget }
            if let configuration = change.configuration { tile.configuration = configuration }
            if let style = change.style { tile.style = style }
            put(tile, at: id)
        case .move(let destination, let position): try move(id, to: destination, position)
        case .pin(let position): try pin(id, at: position)
        case .unpin:
            var tile = try tile(id)
            tile.pinned = nil
            put(tile, at: id)
        case .show:
            var tile = try tile(id)
            guard let stack = tile.stack else { throw .notStacked(id) }
            // The later of two choices at one moment counts. Moments repeat, because the clock stands still for a while after it
            // was set back.
            for other in tiles(ofStack: stack) where other != id {
                guard var former = items[other]?.tile, let date = former.chosenAt, date >= now else { continue }
                former.chosenAt = nil
                put(former, at: other)
            }
            tile.chosenAt = now
            put(tile, at: id)
        case .keep(let addition):
            // An existing tile has already been kept.
            if items[id] == nil, let addition {
                try add(addition, id, for: account, at: now)
            } else {
                _ = try tile(id)
            }
        case .stack(let stacking): try stack(stacking, id, for: account)
        case .remove: try remove(id)
        }
    }

    // MARK: View state

    /// The ids of its places in order: of single tiles, and of stacks.
    public var places: [String] {
        items.filter { $0.value.tile?.stack == nil }.map { ($0.value.position, $0.key) }
            .sorted { $0.0 < $1.0 }.map(\.1)
    }

    /// The ids of the tiles of a stack in their order.
    public func tiles(ofStack id: String) -> [String] {
        items.filter { $0.value.tile?.stack == id }.map { ($0.value.position, $0.key) }
            .sorted { $0.0 < $1.0 }.map(\.1)
    }

    /// The number of the place that contains an id, from 1; 0 = none.
    public func place(of id: String) -> Int {
        guard let item = items[id] else { return 0 }
        guard let stack = item.tile?.stack else { return item.position }
        return items[stack]?.position ?? 0
    }

    /// The tile that a person last turned a stack to, while that holds; else the first one.
    ///
    /// - Parameter hold: How long a smart stack keeps a choice; other stacks keep it forever (W41).
    public func top(ofStack id: String, at now: Timestamp, hold: Milliseconds) -> String? {
        guard let stack = items[id]?.stack else { return nil }
        guard let chosen = chosen(ofStack: id), !stack.isSmart || now < chosen.date + hold else {
            return tiles(ofStack: id).first
        }
        return chosen.tile
    }

    /// The tile that a person last turned a stack to, and when; `nil` = none.
    public func chosen(ofStack id: String) -> (tile: String, date: Timestamp)? {
        tiles(ofStack: id).compactMap { tile in items[tile]?.tile?.chosenAt.map { (tile: tile, date: $0) } }
            .max { $0.date < $1.date }
    }

    private func tile(_ id: String) throws(TileRejection) -> Tile {
        switch items[id]?.content {
        case nil: throw .unknown(id)
        case .stack: throw .isStack(id)
        case .tile(let tile): return tile
        }
    }

    private mutating func put(_ tile: Tile, at id: String) { items[id]?.content = .tile(tile) }

    // MARK: Steps

    private mutating func add(
        _ addition: TileInput.Addition, _ id: String, for account: String?, at now: Timestamp
    ) throws(TileRejection) {
        guard items[id] == nil else { throw .exists(id) }
        var tile = Tile(
            widget: addition.widget, configuration: addition.configuration, family: addition.family,
            style: addition.style, createdAt: now)
        let owner = items.isEmpty ? account : self.account
        if let stack = addition.stack {
            guard stack != id else { throw .exists(id) }
            if items[stack] == nil {
                var made = TileStack(family: tile.family)
                made.placement = tile.style.placement
                items[stack] = BoardItem(content: .stack(made), account: owner)
                insert(stack, into: nil, at: nil)
            }
            try checkRoom(for: &tile, in: stack)
            tile.stack = stack
        }
        items[id] = BoardItem(content: .tile(tile), account: owner)
        insert(id, into: tile.stack, at: addition.position)
    }

    private mutating func checkRoom(for tile: inout Tile, in stack: String) throws(TileRejection) {
        guard let holder = items[stack] else { throw .unknown(stack) }
        guard let own = holder.stack else { throw .isTile(stack) }
        if let place = tile.style.placement, let wanted = own.placement, place != wanted {
            throw .otherPlace(stack: stack)
        }
        guard tile.style.placement ?? own.placement != .lockScreen else { throw .lockScreen }
        guard own.family == tile.family else { throw .otherFamily(stack: stack, has: own.family) }
        guard tiles(ofStack: stack).count < TileStack.limit else { throw .stackFull(stack) }
        tile.style.placement = tile.style.placement ?? own.placement
    }

    private mutating func move(_ id: String, to destination: TileInput.Destination, _ position: Int?)
        throws(TileRejection)
    {
        guard let item = items[id] else { throw .unknown(id) }
        guard case .tile(var tile) = item.content else {
            guard destination == .same else { throw .isStack(id) }
            return insert(id, into: nil, at: position)
        }
        let former = tile.stack
        switch destination {
        case .same: return insert(id, into: former, at: position)
        case .none: tile.stack = nil
        case .stack(let stack) where stack == former: return insert(id, into: former, at: position)
        case .stack(let stack):
            try checkRoom(for: &tile, in: stack)
            tile.stack = stack
        }
        guard tile.stack != former else { return insert(id, into: former, at: position) }
        (tile.pinned, tile.chosenAt) = (nil, nil)
        // It is last in its new container until it gets its position.
        tile.position = .max
        put(tile, at: id)
        // The stack that it leaves may go: a position refers to the final state.
        leave(former)
        insert(id, into: tile.stack, at: position)
    }

    private mutating func pin(_ id: String, at position: Int?) throws(TileRejection) {
        var tile = try tile(id)
        if tile.stack == nil, let place = tile.style.placement, place != .smartStack { throw .notPinnable(id) }
        let position = position ?? tile.position
        let taken = items.first {
            $0.key != id && $0.value.tile?.stack == tile.stack && $0.value.tile?.pinned == position
        }
        if let taken { throw .pinTaken(position: position, by: taken.key) }
        tile.pinned = position
        put(tile, at: id)
    }

    private mutating func stack(
        _ stacking: TileInput.Stacking, _ id: String, for account: String?
    ) throws(TileRejection) {
        guard stacking.placement != .lockScreen else { throw .lockScreen }
        var stack: TileStack
        switch items[id]?.content {
        case .tile: throw .isTile(id)
        case .stack(let known): stack = known
        case nil: stack = TileStack(family: stacking.family ?? .systemSmall)
        }
        let tiles = tiles(ofStack: id)
        if let family = stacking.family, family != stack.family {
            guard tiles.isEmpty else { throw .otherFamily(stack: id, has: stack.family) }
            stack.family = family
        }
        if let placement = stacking.placement, placement != stack.placement {
            guard tiles.isEmpty else { throw .otherPlace(stack: id) }
            stack.placement = placement
        }
        stack.isSmart = stacking.isSmart ?? stack.isSmart
        stack.suggests = stacking.suggests ?? stack.suggests
        guard items[id] != nil else {
            items[id] = BoardItem(content: .stack(stack), account: items.isEmpty ? account : self.account)
            return insert(id, into: nil, at: stacking.position)
        }
        items[id]?.content = .stack(stack)
        if stacking.position != nil { insert(id, into: nil, at: stacking.position) }
    }

    private mutating func remove(_ id: String) throws(TileRejection) {
        guard let item = items[id] else { throw .unknown(id) }
        items[id] = nil
        switch item.content {
        case .tile(let tile):
            number(tile.stack == nil ? places : tiles(ofStack: tile.stack ?? ""))
            leave(tile.stack)
        case .stack:
            for tile in tiles(ofStack: id) { items[tile] = nil }
            number(places)
        }
    }

    /// Removes a stack that has no tiles left.
    private mutating func leave(_ stack: String?) {
        guard let stack else { return number(places) }
        let rest = tiles(ofStack: stack)
        if rest.isEmpty { items[stack] = nil }
        number(rest.isEmpty ? places : rest)
    }

    // MARK: Positions

    /// Places an id at a position of its container, from 1; beyond the end or for `nil`, at the end.
    private mutating func insert(_ id: String, into stack: String?, at position: Int?) {
        var ids = stack.map { tiles(ofStack: $0) } ?? places
        ids.removeAll { $0 == id }
        let index = position.map { min(max($0, 1), ids.count + 1) - 1 } ?? ids.count
        ids.insert(id, at: index)
        number(ids)
    }

    private mutating func number(_ ids: [String]) {
        for (index, id) in ids.enumerated() { items[id]?.position = index + 1 }
    }

    // MARK: Outcome

    private func outcome(since before: [String: BoardItem]) -> Outcome {
        var changed = Set(items.keys.filter { items[$0] != before[$0] })
        let removed = Set(before.keys.filter { items[$0] == nil })
        guard !changed.isEmpty || !removed.isEmpty else { return Outcome(verdict: .noop) }
        // The tile on top of a stack depends on all its tiles.
        var stacks: Set<String> = []
        for id in changed.union(removed) {
            for item in [items[id], before[id]] {
                if let stack = item?.tile?.stack {
                    stacks.insert(stack)
                } else if item?.stack != nil {
                    stacks.insert(id)
                }
            }
        }
        if !stacks.isEmpty {
            for (id, item) in items { if let stack = item.tile?.stack, stacks.contains(stack) { changed.insert(id) } }
        }
        let ids = changed.union(removed).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        return Outcome(verdict: .applied, changed: ids, removed: removed)
    }
}

extension BoardItem {
    /// From 1: among the places of its board, or in its stack.
    public internal(set) var position: Int {
        get {
            switch content {
            case .tile(let tile): tile.position
            case .stack(let stack): stack.position
            }
        }
        set {
            switch content {
            case .tile(var tile):
                tile.position = newValue
                content = .tile(tile)
            case .stack(var stack):
                stack.position = newValue
                content = .stack(stack)
            }
        }
    }
}
