internal import FanOut
internal import Kinds
internal import Machines
internal import TelltaleModel

// What a resume needs to know about stacks.
extension EntityStore {
    /// Whether a relevant widget may appear on the board of a tile.
    private func hasVisits(besideTile entity: EntityIndex) -> Bool {
        !kinds.visiting.isEmpty && visitors.count(for: boardItem(at: entity)?.account) > 0
    }

    /// The tiles on boards on which a commit after `sequence` changed anything: on a watch, and in StandBy, each may have moved.
    func tiles(reorderedAfter sequence: Int64, followedBy selector: PatternIndex.Selector) -> [EntityIndex] {
        guard !boards.isEmpty, selector != .all else { return [] }
        // A key that is on no board need not be searched on all of them.
        if case .key(let entity) = selector, boards.items(onBoard: entities[entity].kindName).isEmpty { return [] }
        var numbers: Set<Int32> = []
        for entity in changed(after: sequence) where isWidget(entity) {
            // A relevant widget that came or went moved the others.
            if isOfVisitingKind(entity) { numbers.formUnion(boardsWithVisits(followedBy: selector)) }
            if boardItem(at: entity) != nil { numbers.insert(entities[entity].kindName) }
            for tile in entities[entity].key.map({ boards.tiles(on: $0) }) ?? [] {
                numbers.insert(entities[tile].kindName)
            }
        }
        return numbers.sorted().flatMap { boards.items(onBoard: $0) }.filter { follows(selector, $0) }
    }

    /// Whether a subscriber may have used up the turns in a tile's row that it got after the newest change of the smart stack.
    ///
    /// - Parameter isOnWatch: The whole board is one stack.
    func mayTurnsBeUsedUp(ofTile entity: EntityIndex, isOnWatch: Bool) -> Bool {
        let tiles =
            isOnWatch
            ? boards.items(onBoard: entities[entity].kindName) : [entity] + neighbours(ofTile: entity)
        // The relevance of unplaced widgets is not examined, so the answer is conservative.
        if isOnWatch, hasVisits(besideTile: entity) { return true }
        if !isOnWatch, !kinds.suggested.isEmpty, let stack = stack(ofTile: entity), stack.suggests, stack.isSmart {
            return true
        }
        guard tiles.count > 1 else { return false }
        var stack = Stack([], isSmart: true)
        var begin = Timestamp.distantPast
        for tile in tiles {
            guard let shown = shownWidget(at: tile), let widget = widget(at: shown), let key = entities[tile].key,
                let kind = widgetKind(at: shown)
            else { continue }
            // By now its content may be known further ahead.
            if kind.relevance != nil, !kind.isPushed { return true }
            begin = max(begin, widget.asOf ?? widget.createdAt)
            let future = widget.future(at: begin, kind: kind)
            stack.tiles.append(Stack.Tile(key, widget.relevance(key: key, kind: kind, future: future)))
        }
        if isOnWatch {
            return SmartStack(stack.tiles.map { SmartStack.Member($0.key, $0.relevance) }).future(at: begin).continuesAt
                != nil
        }
        let future = stack.future(at: begin)
        // A choice that ends takes one more turn.
        return future.continuesAt != nil || future.turns.count >= Stack.turnLimit - 1
    }
}
