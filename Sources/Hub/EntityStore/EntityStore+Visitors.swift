internal import FanOut
internal import Kinds
internal import Machines
internal import TelltaleModel

// Tiles of relevant widgets, which nobody placed, on the boards that a watch follows (W43).
extension EntityStore {
    /// A tile of a relevant widget on a board, and its widget.
    struct Visit {
        let key: Key
        let tile: Tile
        let member: EntityIndex
    }

    var visitors: Visitors { suggestions.visitors }

    /// Whether a key is or was of a kind with relevant widgets.
    func isOfVisitingKind(_ entity: EntityIndex) -> Bool {
        guard !kinds.everVisiting.isEmpty, let key = entities[entity].key else { return false }
        return kinds.everVisiting.contains(key.kind)
    }

    /// The tiles that a board may show unplaced: the newest relevant widgets of its account and of everybody, in the order in
    /// which they began. Relevance decides which of them are shown, and when.
    ///
    /// - Complexity: O(``Visitors/limit``), however many there are.
    func visits(onBoard number: Int32) -> [Visit] {
        guard !kinds.visiting.isEmpty, !visitors.isEmpty, let first = boards.items(onBoard: number).first,
            let name = entities[first].key?.kind, let account = boardItem(at: first).map(\.account)
        else { return [] }
        let newest = visitors.newest(Visitors.limit, for: account)
        return newest.reversed().compactMap { visit(of: $0, onBoard: name, of: account) }
    }

    private func visit(of member: Visitors.Member, onBoard name: Substring, of account: String?) -> Visit? {
        guard let family = kinds.visiting[member.key.kind], isVisible(member.entity, to: account),
            let widget = widget(at: member.entity), let key = Key(kind: name, id: Board.visitID(of: member.key)),
            index(of: key).map({ !exists($0) || isSuggestion($0) }) ?? true
        else { return nil }
        let tile = Board.visit(of: member.key, configuration: widget.configuration, family: family)
        return Visit(key: key, tile: tile, member: member.entity)
    }

    /// Whether a key of a board is the tile of a relevant widget.
    func isVisit(_ key: Key) -> Bool {
        guard key.id.utf8.first == UInt8(ascii: "~"), !visitors.isEmpty,
            let number = entities.kindNumbers.known(String(key.kind))
        else { return false }
        return visits(onBoard: number).contains { $0.key == key }
    }

    /// The boards whose relevant widgets a watch with `selector` gets. A selector for everything gets the widgets themselves.
    func boardsWithVisits(followedBy selector: PatternIndex.Selector) -> [Int32] {
        guard !kinds.visiting.isEmpty else { return [] }
        let number: Int32
        switch selector {
        case .all, .allWithWidgets: return []
        case .kind(let kind): number = kind
        case .key(let entity): number = entities[entity].kindName
        }
        return boards.items(onBoard: number).isEmpty ? [] : [number]
    }

    /// Whether a relevant widget is, or was until now, for everybody.
    func isVisitorOfEverybody(_ member: EntityIndex) -> Bool { widget(at: member)?.accounts.isEmpty != false }

    /// Whether some board may look different because a widget of everybody's came, changed or went.
    func mayBeOnBoards(_ member: EntityIndex) -> Bool {
        suggestions.isHeld(member) || visitors.newest(Visitors.limit, for: nil).contains { $0.entity == member }
    }

    /// Assigns keys to the relevant widgets of a board until nobody follows it.
    mutating func lookAtVisits(onBoard number: Int32) {
        guard !suggestions.isVisited(number) else { return }
        visit(number)
        _ = updateSuggestions(onBoard: number)
    }

    /// Records that a watch follows a board.
    mutating func visit(_ number: Int32) {
        changeSuggestions { $0.visit(number) }
    }

    /// Records that a request read a board that no watch may follow.
    ///
    /// - Returns: The board that was read longest ago, if there are too many.
    mutating func noteRead(board number: Int32) -> Int32? {
        var oldest: Int32?
        changeSuggestions { oldest = $0.noteRead(number) }
        return oldest
    }

    /// The key that a widget has, or would have, on a board.
    func visitEntity(of member: EntityIndex, onBoard number: Int32) -> EntityIndex? {
        guard let name = boards.items(onBoard: number).first.flatMap({ entities[$0].key?.kind }),
            let widget = entities[member].key
        else { return nil }
        return Key(kind: name, id: Board.visitID(of: widget)).flatMap { index(of: $0) }
    }

    /// The keys that may have been relevant widgets since a commit and no longer are: of widgets that changed since, and of as
    /// many that have become too old for a board.
    mutating func formerVisits(
        since sequence: Int64, onBoards numbers: [Int32], for viewer: String?
    ) -> [EntityIndex] {
        guard !kinds.everVisiting.isEmpty, !numbers.isEmpty else { return [] }
        let changed = changed(after: sequence).filter { isOfVisitingKind($0) }
        var revs: [Key: Int64] = [:]
        for number in numbers {
            guard let first = boards.items(onBoard: number).first, let name = entities[first].key?.kind,
                let account = boardItem(at: first).map(\.account), account == nil || viewer == nil || account == viewer
            else { continue }
            let older = visitors.newest(Visitors.limit + changed.count, for: account).dropFirst(Visitors.limit)
            for member in changed.filter({ mayHaveVisited($0, account, at: sequence) }) + older.map(\.entity) {
                guard let widget = entities[member].key, let key = Key(kind: name, id: Board.visitID(of: widget)) else {
                    continue
                }
                revs[key] = entities[member].rev
            }
        }
        var former: [EntityIndex] = []
        for (key, rev) in revs.sorted(by: { $0.key < $1.key }) {
            if let known = index(of: key), exists(known) { continue }
            let entity = intern(key)
            setRev(rev, ofAbsent: entity)
            former.append(entity)
        }
        return former
    }

    /// Whether a widget was for boards of `account` at `sequence`, or is now; `nil` = everybody's boards. If not, its deletion is
    /// not sent either, so its existence stays private.
    private func mayHaveVisited(_ member: EntityIndex, _ account: String?, at sequence: Int64) -> Bool {
        guard account == nil else { return mayHaveKnown(member, account: account, at: sequence) }
        return widget(at: member)?.accounts.isEmpty == true
            || entities.audienceHistories[member]?.contains(nil, after: sequence) == true
    }
}

extension WidgetKind {
    /// Its widgets come and go by relevance, and nobody places them.
    var isVisiting: Bool { isEach && relevance != nil }
}
