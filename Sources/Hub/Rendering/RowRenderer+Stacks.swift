internal import FanOut
internal import Kinds
internal import Machines
internal import Surfaces
internal import TelltaleModel

/// How a subscription or a single request views a board.
struct BoardView {
    let surface: Surface
    let terms: WidgetTerms
    let account: String?
    let session: Session
}

/// Everything besides the state that determines the turns of a stack.
struct StackViewing: Hashable {
    let board: Int32
    let stack: String
    let surface: Surface
    let terms: WidgetTerms
    let account: String?
    let traits: WidgetTraits
}

// Stacks: the tile on top, now and later.
extension RowRenderer {
    /// The view states of a stack from now on. Tiles that the view does not show are ignored.
    ///
    /// - Parameter entity: A tile of the board.
    func future(
        ofStack id: String, on board: Board, _ entity: EntityIndex, _ view: BoardView, _ store: borrowing EntityStore
    ) -> Turns<Stack.Sight> {
        let number = store[entity].kindName
        let viewing = StackViewing(
            board: number, stack: id, surface: view.surface, terms: view.terms, account: view.account,
            traits: view.session.traits.widgets)
        if let known = widgetForms.known(viewing, store.sequence, time) { return known }
        var moreKnownAt: Timestamp?
        var future = stack(id, on: board, entity, view, store, &moreKnownAt).future(at: time)
        if let moreKnownAt { future.continuesAt = min(future.continuesAt ?? .distantFuture, moreKnownAt) }
        widgetForms.keep(future, of: viewing)
        return future
    }

    /// - Parameter moreKnownAt: When more of its widgets' future is known, if that matters.
    private func stack(
        _ id: String, on board: Board, _ entity: EntityIndex, _ view: BoardView, _ store: borrowing EntityStore,
        _ moreKnownAt: inout Timestamp?
    ) -> Stack {
        guard let name = store[entity].key?.kind, let holder = board.items[id]?.stack else {
            return Stack([], isSmart: false)
        }
        var stack = Stack([], isSmart: holder.isSmart)
        for id in board.tiles(ofStack: id) {
            guard let tile = board.items[id]?.tile, let key = Key(kind: name, id: id),
                let kind = kind(ofTile: id, beside: entity, store),
                scene(
                    of: tile, kind, view.surface, view.terms, hasAccount: view.account != nil, view.session) != nil
            else { continue }
            let relevance = holder.isSmart ? relevance(of: tile, kind, view, store, &moreKnownAt) : Relevance()
            stack.tiles.append(Stack.Tile(key, relevance))
        }
        stack.candidates = candidates(forStack: id, on: board, entity, view, store, &moreKnownAt)
        if let chosen = board.chosen(ofStack: id), let key = Key(kind: name, id: chosen.tile) {
            stack.choice = Stack.Choice(key, until: chosen.date + settings.stackHold)
        }
        return stack
    }

    private func relevance(
        of tile: Tile, _ kind: WidgetKind, _ view: BoardView, _ store: borrowing EntityStore,
        _ moreKnownAt: inout Timestamp?
    ) -> Relevance {
        guard !isUnavailable(tile, store) else { return Relevance() }
        let subject = subject(of: tile, isUnavailable: false, kind, view.account, store)
        if kind.relevance != nil, let date = subject.future.continuesAt {
            moreKnownAt = min(moreKnownAt ?? .distantFuture, date)
        }
        let traits = view.session.traits.widgets
        return subject.widget.relevance(
            key: tile.widget, kind: kind, future: subject.future,
            isInSituation: kind.relevance?.situations.contains { traits.meets($0) } ?? false)
    }

    /// The kind of a tile's widget; for a removed kind, its last version.
    ///
    /// - Parameter other: A tile of the same board.
    func kind(ofTile id: String, beside other: EntityIndex, _ store: borrowing EntityStore) -> WidgetKind? {
        guard let name = store[other].key?.kind, let entity = Key(kind: name, id: id).flatMap({ store.index(of: $0) }),
            case .widget(let kind)? = store.kind(at: entity)?.body
        else { return nil }
        return kind
    }

    // MARK: The watch

    /// The position of a tile in the watch's Smart Stack; `nil` = it has no room, now or later.
    func smartSight(
        of key: Key, _ tile: Tile, _ entity: EntityIndex, _ view: BoardView, _ store: borrowing EntityStore
    ) -> TileSight? {
        let future = smartStack(entity, view, store)
        func order(_ keys: [Key]) -> Int { (keys.firstIndex(of: key) ?? -1) + 1 }
        var sight = TileSight(widget: tile.widget, order: order(future.look))
        var last = sight.order
        for turn in future.turns where order(turn.look) != last {
            last = order(turn.look)
            sight.orders.append(.init(date: turn.date, order: last))
        }
        sight.turnsContinueAt = future.continuesAt
        if tile.isVisit { sight.suggestedTimes = future.shownTimes(of: key) }
        return sight.order == 0 && sight.orders.isEmpty ? nil : sight
    }

    func smartStack(
        _ entity: EntityIndex, _ view: BoardView, _ store: borrowing EntityStore
    ) -> Turns<[Key]> {
        let viewing = StackViewing(
            board: store[entity].kindName, stack: "", surface: view.surface, terms: view.terms, account: view.account,
            traits: view.session.traits.widgets)
        if let known = widgetForms.knownOrder(viewing, store.sequence, time) { return known }
        let board = widgetForms.board(store[entity].kindName, time, store)
        var members: [SmartStack.Member] = []
        var moreKnownAt: Timestamp?
        // Stacks are ignored here: the whole board is one stack.
        for id in board.places.flatMap({ board.items[$0]?.stack == nil ? [$0] : board.tiles(ofStack: $0) }) {
            guard let tile = board.items[id]?.tile, let name = store[entity].key?.kind,
                let key = Key(kind: name, id: id),
                let kind = kind(ofTile: id, beside: entity, store),
                scene(
                    of: tile, kind, view.surface, view.terms, hasAccount: view.account != nil, view.session) != nil
            else { continue }
            let relevance = relevance(of: tile, kind, view, store, &moreKnownAt)
            members.append(SmartStack.Member(key, relevance, pin: tile.pinned))
        }
        members += visitors(onBoardOf: entity, view, store, &moreKnownAt)
        var future = SmartStack(members).future(at: time)
        if let moreKnownAt { future.continuesAt = min(future.continuesAt ?? .distantFuture, moreKnownAt) }
        widgetForms.keep(future, of: viewing)
        return future
    }
}

extension Turns<Stack.Sight> {
    /// Whether a tile is on top now or later.
    func shows(_ key: Key) -> Bool { look.top == key || turns.contains { $0.look.top == key } }

    /// When a tile leaves the top for the last time; `nil` = it stays there, or never comes on top.
    func lastTurn(from key: Key) -> Timestamp? {
        let tops = [look.top] + turns.map(\.look.top)
        guard let last = tops.lastIndex(of: key), last < turns.count else { return nil }
        return turns[last].date
    }
}
