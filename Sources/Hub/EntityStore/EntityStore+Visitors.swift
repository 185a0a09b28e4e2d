internal import FanOut
internal import Kinds
internal import Machines
internal import TelltaleModel

// The tiles of widgets that come and go by themselves, on the boards that a watch looks at (W43).
extension EntityStore {
    /// A tile that a board shows by itself, and the widget in it.
    struct Visit {
        let key: Key
        let tile: Tile
        let member: EntityIndex
    }

    var visitors: Visitors { suggestions.visitors }

    /// Notes a widget that comes and goes by itself, or that it is no more.
    mutating func noteVisitor(at entity: EntityIndex, isThere: Bool) {
        guard isThere else {
            if !visitors.isEmpty { changeSuggestions { $0.visitors.remove(entity) } }
            return
        }
        guard !kinds.everVisiting.isEmpty, let widget = widget(at: entity), !widget.isGone,
            let kind = widgetKind(at: entity), kind.isVisiting, let key = entities[entity].key
        else { return }
        let member = Visitors.Member(createdAt: widget.createdAt, key: key, entity: entity)
        changeSuggestions { $0.visitors.insert(member, accounts: widget.accounts) }
    }

    /// Whether a key is, or was, of a kind whose widgets come and go by themselves.
    func isOfVisitingKind(_ entity: EntityIndex) -> Bool {
        guard !kinds.everVisiting.isEmpty, let key = entities[entity].key else { return false }
        return kinds.everVisiting.contains(key.kind)
    }

    /// The tiles that a board may show by itself: of its account's widgets that come and go by themselves, and of everybody's,
    /// the newest, in the order of their beginnings. Which of them are shown, and when, is for the relevance to say.
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

    /// Whether a key of a board is a tile that comes and goes by itself.
    func isVisit(_ key: Key) -> Bool {
        guard key.id.utf8.first == UInt8(ascii: "~"), !visitors.isEmpty,
            let number = entities.kindNumbers.known(String(key.kind))
        else { return false }
        return visits(onBoard: number).contains { $0.key == key }
    }

    /// The boards whose visits a watch is shown that follows `selector`. One that follows everything has the widgets themselves.
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

    /// Whether a widget comes and goes by itself for everybody, or did until now.
    func isVisitorOfEverybody(_ member: EntityIndex) -> Bool { widget(at: member)?.accounts.isEmpty != false }

    /// Whether some board may look different since a widget of everybody's came, changed or went.
    func mayBeOnBoards(_ member: EntityIndex) -> Bool {
        suggestions.isHeld(member) || visitors.newest(Visitors.limit, for: nil).contains { $0.entity == member }
    }

    /// Gives the visits of a board their keys, from now on until nobody follows it.
    mutating func lookAtVisits(onBoard number: Int32) {
        guard !suggestions.isVisited(number) else { return }
        visit(number)
        _ = updateSuggestions(onBoard: number)
    }

    /// A watch looks at a board.
    mutating func visit(_ number: Int32) {
        changeSuggestions { $0.visit(number) }
    }

    /// A request reads a board that a watch may not follow.
    ///
    /// - Returns: The board that was read longest ago, where there are too many.
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

    /// The keys that may have been visits since a commit, and are none any more: of widgets that changed since, and as many of
    /// those that have become too old for a board.
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
            update(entity) { $0.rev = rev }
            former.append(entity)
        }
        return former
    }

    /// Whether a widget was for boards of `account` at `sequence`, or is now; `nil` = those that are everybody's. What was never
    /// there is not even told to be gone: that there was one is its account's to know.
    private func mayHaveVisited(_ member: EntityIndex, _ account: String?, at sequence: Int64) -> Bool {
        guard account == nil else { return mayHaveKnown(member, account: account, at: sequence) }
        return widget(at: member)?.accounts.isEmpty == true
            || entities.audienceHistories[member]?.contains(nil, after: sequence) == true
    }
}

extension WidgetKind {
    /// Its widgets come and go by themselves, and nobody places them.
    var isVisiting: Bool { isEach && relevance != nil }
}
