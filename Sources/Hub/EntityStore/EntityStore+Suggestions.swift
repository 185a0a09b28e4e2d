internal import FanOut
internal import Kinds
internal import Machines
internal import TelltaleModel

// Tiles that stacks suggest. Each has a key while its board is followed. Whether and when it is shown is decided for each view
// when a row is made.
extension EntityStore {
    /// Whether the key is a tile that nobody placed.
    func isSuggestion(_ entity: EntityIndex) -> Bool { boardItem(at: entity)?.tile?.isSuggested == true }

    /// Assigns keys to the tiles that the stacks of a board may suggest, and withdraws the keys of those that no longer qualify.
    ///
    /// - Returns: The current keys, and the withdrawn ones. Send their followers a deletion, then call ``free(suggestions:)``.
    mutating func updateSuggestions(onBoard number: Int32) -> (keys: [EntityIndex], gone: [EntityIndex]) {
        let known = suggestions.keys(onBoard: number)
        guard !known.isEmpty || boards.takesSuggestions(number) || suggestions.isVisited(number) else {
            return ([], [])
        }
        var keys: [EntityIndex] = []
        var widgets: [EntityIndex: Int] = [:]
        if let name = boards.items(onBoard: number).first.flatMap({ entities[$0].key?.kind }) {
            let board = board(numbered: number)
            for (id, tile) in board.suggestions(from: kinds.suggested) {
                guard let key = Key(kind: name, id: id) else { continue }
                // A kept tile of this id was removed. It is not suggested again until that is forgotten.
                if let known = entities.index(of: key), exists(known), !isSuggestion(known) { continue }
                let rev = tile.stack.flatMap { Key(kind: name, id: $0) }.flatMap { entities.index(of: $0) }
                    .map { entities[$0].rev }
                let entity = suggest(BoardItem(suggested: tile, account: board.account), at: key, rev: rev ?? 0)
                keys.append(entity)
                widgets[entity] = kinds.suggested.firstIndex { $0.widget == tile.widget }
            }
        }
        if suggestions.isVisited(number) { keys += updateVisits(onBoard: number) }
        let gone = Set(known).subtracting(keys).filter { isSuggestion($0) }.sorted()
        takeOff(gone)
        changeSuggestions { [sequence] in $0.set(keys, widgets, onBoard: number, at: sequence) }
        return (keys, gone)
    }

    /// Assigns keys to the relevant widgets of a board.
    private mutating func updateVisits(onBoard number: Int32) -> [EntityIndex] {
        let account = boards.items(onBoard: number).first.flatMap { boardItem(at: $0) }?.account
        var keys: [EntityIndex: EntityIndex] = [:]
        for visit in visits(onBoard: number) {
            let item = BoardItem(suggested: visit.tile, account: account)
            keys[visit.member] = suggest(item, at: visit.key, rev: entities[visit.member].rev)
        }
        changeSuggestions { $0.setVisits(keys, of: account, onBoard: number) }
        return keys.values.sorted()
    }

    private mutating func suggest(_ item: BoardItem, at key: Key, rev: Int64) -> EntityIndex {
        let entity = intern(key)
        let kind = item.tile.flatMap { widgetVersion(named: $0.widget.kind) } ?? -1
        replace(entity) { place in
            place.state = .tile(item)
            (place.kind, place.rev, place.isWidget) = (kind, rev, true)
            place.dismissedAt = nil
        }
        return entity
    }

    /// Records that a key is being forgotten: if it was a kept tile, it may be suggested again.
    mutating func noteForgotten(_ entity: EntityIndex) {
        guard boardItem(at: entity)?.tile != nil, entities[entity].key?.id.utf8.first == UInt8(ascii: "~") else {
            return
        }
        let board = entities[entity].kindName
        changeSuggestions { $0.outdated.insert(board) }
    }

    /// Returns the boards to re-examine because a tile was forgotten.
    mutating func takeOutdatedSuggestions() -> [Int32] {
        let boards = suggestions.outdated.sorted()
        changeSuggestions { $0.outdated = [] }
        return boards
    }

    private mutating func takeOff(_ gone: [EntityIndex]) {
        for entity in gone {
            // The deletion must not be older than the last row sent, whose `rev` may be the widget's. A relevant widget's tile is
            // gone since the commit of its widget.
            var rev = max(entities[entity].rev, shownWidget(at: entity).map { entities[$0].rev } ?? 0)
            if boardItem(at: entity)?.tile?.isVisit == true { rev = max(rev, rowRev(of: entity)) }
            replace(entity) { place in
                (place.state, place.rev) = (.none, rev)
            }
        }
    }

    /// Frees the indices of withdrawn suggestions, unless a follower still waits for the deletion.
    mutating func free(suggestions gone: [EntityIndex]) {
        for entity in gone {
            retain(entity)
            release(entity)
        }
    }

    /// Drops the keys of suggestions on a board that nobody follows any more.
    mutating func dropSuggestions(onBoard number: Int32) -> [EntityIndex] {
        let gone = suggestions.keys(onBoard: number).filter { isSuggestion($0) }
        takeOff(gone)
        changeSuggestions { [sequence] in
            $0.endVisit(number)
            $0.set([], [:], onBoard: number, at: sequence)
        }
        return gone
    }

    /// The boards with suggestions that a selector follows.
    ///
    /// A subscription to everything without an account gets the suggestions of everybody's boards only: there may be many others,
    /// and none is arranged for it.
    func boardsWithSuggestions(followedBy selector: PatternIndex.Selector, account: String?) -> [Int32] {
        switch selector {
        case .all: []
        case .kind(let number): boards.takesSuggestions(number) ? [number] : []
        case .key(let entity):
            boards.takesSuggestions(entities[entity].kindName) ? [entities[entity].kindName] : []
        case .allWithWidgets: boards.boardsWithSuggestions(of: account)
        }
    }

    /// Whether a subscription may be shown a suggestion, by what it follows.
    func mayBeShown(suggestion item: BoardItem, to selector: PatternIndex.Selector, account: String?) -> Bool {
        guard case .allWithWidgets = selector else { return true }
        return item.tile?.isVisit != true && (item.account == nil || account != nil)
    }

    /// The suggested tile that a key of a board stands for at present; `nil` = none.
    func suggestedTile(at key: Key) -> Tile? {
        guard key.id.utf8.first == UInt8(ascii: "~"), !kinds.suggested.isEmpty,
            index(of: key).map({ !exists($0) || isSuggestion($0) }) ?? true
        else { return nil }
        return board(named: key.kind).suggestions(from: kinds.suggested).first { $0.id == String(key.id) }?.tile
    }

    /// The tiles that a stack may suggest, with their keys, in the order of their widgets.
    ///
    /// - Parameter board: The board of this name.
    func suggestions(ofStack id: String, on board: Board, named name: Substring) -> [(key: Key, tile: Tile)] {
        // The stack is full, or takes no suggestions.
        guard board.items[id]?.stack?.suggests == true, board.tiles(ofStack: id).count < TileStack.limit else {
            return []
        }
        return board.suggestions(from: kinds.suggested, ofStack: id).compactMap { own, tile in
            guard let key = Key(kind: name, id: own),
                index(of: key).map({ !exists($0) || isSuggestion($0) }) ?? true
            else { return nil }
            return (key, tile)
        }
    }

    /// The keys that may have been suggestions since a commit and no longer are: of stacks that changed since, and of removed
    /// kinds.
    mutating func formerSuggestions(
        since sequence: Int64, onBoards numbers: [Int32], followedBy selector: PatternIndex.Selector,
        by account: String?
    ) -> [EntityIndex] {
        guard !kinds.everSuggested.isEmpty else { return [] }
        var stacks = numbers.flatMap { boards.items(onBoard: $0) }.filter { boardItem(at: $0)?.stack?.suggests == true }
        stacks += changed(after: sequence, followedBy: selector).filter { boardItem(at: $0)?.stack != nil }
        stacks.removeAll { !mayHaveKnown($0, account: account, at: sequence) }
        var keys: [Key: Int64] = [:]
        for stack in stacks {
            guard let key = entities[stack].key else { continue }
            for widget in kinds.everSuggested {
                guard let own = Key(kind: key.kind, id: Board.suggestionID(of: widget, inStack: String(key.id))) else {
                    continue
                }
                // Not older than a row that was sent for the stack or the widget, which may have been forgotten since.
                let shown = index(of: widget).map { entities[$0].rev } ?? 0
                keys[own] = max(entities[stack].rev, shown > 0 ? shown : resumeFloor)
            }
        }
        return keys.sorted { $0.key < $1.key }.compactMap { key, rev in
            if let known = index(of: key), exists(known) { return nil }
            let entity = intern(key)
            setRev(max(entities[entity].rev, rev), ofAbsent: entity)
            return entity
        }
    }

    /// Whether a commit after `sequence` changed what the smart stack of a tile may suggest, which also affects its turns.
    func hasSuggestionChanged(besideTile entity: EntityIndex, after sequence: Int64) -> Bool {
        guard !kinds.suggested.isEmpty, stack(ofTile: entity)?.suggests == true else { return false }
        return kinds.suggested.contains { suggested in
            index(of: suggested.widget).map { hasOwnChange($0, after: sequence) } ?? false
        }
    }

    /// The stacks of a board that take suggestions, with their tiles.
    func itemsOfSuggestingStacks(onBoard number: Int32) -> [EntityIndex] {
        boards.items(onBoard: number).filter { entity in
            boardItem(at: entity)?.stack?.suggests ?? (stack(ofTile: entity)?.suggests == true)
        }
    }

    /// The stack that contains a tile.
    func stack(ofTile entity: EntityIndex) -> TileStack? {
        guard let id = boardItem(at: entity)?.tile?.stack, let name = entities[entity].key?.kind else { return nil }
        return Key(kind: name, id: id).flatMap { index(of: $0) }.flatMap { boardItem(at: $0)?.stack }
    }
}
