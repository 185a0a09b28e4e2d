internal import FanOut
internal import Kinds
internal import Machines
internal import TelltaleModel

// Stacks, as far as a resume has to know them.
extension EntityStore {
    /// The tiles on the boards on which a commit after `sequence` changed anything: on a watch each one may have moved.
    func tiles(reorderedAfter sequence: Int64, followedBy selector: PatternIndex.Selector) -> [EntityIndex] {
        guard !boards.isEmpty, selector != .all else { return [] }
        var numbers: Set<Int32> = []
        for entity in changed(after: sequence) where isWidget(entity) {
            if boardItem(at: entity) != nil { numbers.insert(entities[entity].kindName) }
            for tile in entities[entity].key.map({ boards.tiles(on: $0) }) ?? [] {
                numbers.insert(entities[tile].kindName)
            }
        }
        return numbers.sorted().flatMap { boards.items(onBoard: $0) }.filter { follows(selector, $0) }
    }

    /// Whether a subscriber that was sent the row of a tile after the newest change of its smart stack may have used up the
    /// turns that were in it.
    ///
    /// - Parameter isOnWatch: All of its board is one stack.
    func mayTurnsBeUsedUp(ofTile entity: EntityIndex, isOnWatch: Bool) -> Bool {
        let tiles =
            isOnWatch
            ? boards.items(onBoard: entities[entity].kindName) : [entity] + neighbours(ofTile: entity)
        guard tiles.count > 1 else { return false }
        var stack = Stack([], isSmart: true)
        var begin = Timestamp.distantPast
        for tile in tiles {
            guard let shown = shownWidget(at: tile), let widget = widget(at: shown), let key = entities[tile].key,
                let kind = widgetKind(at: shown)
            else { continue }
            // Its content may be known further ahead by now.
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
        // A choice that ends is one more turn.
        return future.continuesAt != nil || future.turns.count >= Stack.turnLimit - 1
    }
}
