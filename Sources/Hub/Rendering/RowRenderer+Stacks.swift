internal import FanOut
internal import Kinds
internal import Machines
internal import Surfaces
internal import TelltaleModel

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
    /// - Parameter other: A tile of the board.
    func future(
        ofStack id: String, on board: Board, _ other: BoardTile, _ view: BoardView, _ store: borrowing EntityStore
    ) -> Turns<Stack.ViewState> {
        let viewing = StackViewing(
            board: other.board, stack: id, surface: view.surface, terms: view.terms, account: view.account,
            traits: view.session.traits.widgets)
        if let known = widgetForms.known(viewing, store.sequence, time) { return known }
        var moreKnownAt: Timestamp?
        var future = stack(id, on: board, other, view, store, &moreKnownAt).future(at: time)
        if let moreKnownAt { future.continuesAt = min(future.continuesAt ?? .distantFuture, moreKnownAt) }
        widgetForms.keep(future, of: viewing)
        return future
    }

    /// - Parameter moreKnownAt: When more of its widgets' future is known, if that matters.
    private func stack(
        _ id: String, on board: Board, _ other: BoardTile, _ view: BoardView, _ store: borrowing EntityStore,
        _ moreKnownAt: inout Timestamp?
    ) -> Stack {
        guard let holder = board.items[id]?.stack else { return Stack([], isSmart: false) }
        let name = other.key.kind
        var stack = Stack([], isSmart: holder.isSmart)
        for id in board.tiles(ofStack: id) {
            guard let tile = board.items[id]?.tile, let key = Key(kind: name, id: id),
                let kind = kind(ofTile: id, on: name, store), scene(of: tile, kind, view) != nil
            else { continue }
            let relevance = holder.isSmart ? relevance(of: tile, kind, view, store, &moreKnownAt) : Relevance()
            stack.tiles.append(Stack.Tile(key, relevance))
        }
        stack.candidates = candidates(forStack: id, on: board, other, view, store, &moreKnownAt)
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
    /// - Parameter name: That of its board.
    func kind(ofTile id: String, on name: Substring, _ store: borrowing EntityStore) -> WidgetKind? {
        guard let entity = Key(kind: name, id: id).flatMap({ store.index(of: $0) }),
            case .widget(let kind)? = store.kind(at: entity)?.body
        else { return nil }
        return kind
    }

    // MARK: The watch

    /// The position of a tile in the watch's Smart Stack; `nil` = it has no room, now or later.
    func smartViewState(of drawn: BoardTile, _ view: BoardView, _ store: borrowing EntityStore) -> TileViewState? {
        let (key, tile) = (drawn.key, drawn.tile)
        let future = smartStack(ofBoardWith: drawn, view, store)
        func order(_ keys: [Key]) -> Int { (keys.firstIndex(of: key) ?? -1) + 1 }
        var viewState = TileViewState(widget: tile.widget, order: order(future.look))
        var last = viewState.order
        for turn in future.turns where order(turn.look) != last {
            last = order(turn.look)
            viewState.orders.append(.init(date: turn.date, order: last))
        }
        viewState.turnsContinueAt = future.continuesAt
        if tile.isRelevantWidget { viewState.suggestedTimes = future.shownTimes(of: key) }
        return viewState.order == 0 && viewState.orders.isEmpty ? nil : viewState
    }

    /// - Parameter other: A tile of the board.
    private func smartStack(
        ofBoardWith other: BoardTile, _ view: BoardView, _ store: borrowing EntityStore
    ) -> Turns<[Key]> {
        let viewing = StackViewing(
            board: other.board, stack: "", surface: view.surface, terms: view.terms, account: view.account,
            traits: view.session.traits.widgets)
        if let known = widgetForms.knownOrder(viewing, store.sequence, time) { return known }
        let board = widgetForms.board(other.board, time, store)
        var members: [SmartStack.Member] = []
        var moreKnownAt: Timestamp?
        // Stacks are ignored here: the whole board is one stack.
        for id in board.places.flatMap({ board.items[$0]?.stack == nil ? [$0] : board.tiles(ofStack: $0) }) {
            guard let tile = board.items[id]?.tile, let key = Key(kind: other.key.kind, id: id),
                let kind = kind(ofTile: id, on: other.key.kind, store), scene(of: tile, kind, view) != nil
            else { continue }
            let relevance = relevance(of: tile, kind, view, store, &moreKnownAt)
            members.append(SmartStack.Member(key, relevance, pin: tile.pinned))
        }
        members += relevantWidgets(onBoard: other.board, view, store, &moreKnownAt)
        var future = SmartStack(members).future(at: time)
        if let moreKnownAt { future.continuesAt = min(future.continuesAt ?? .distantFuture, moreKnownAt) }
        widgetForms.keep(future, of: viewing)
        return future
    }

    // MARK: Tiles that nobody placed

    /// The tiles that a stack may suggest in a view, with their relevance, in the order of their widgets.
    ///
    /// - Parameters:
    ///   - other: A tile of the board.
    ///   - moreKnownAt: When more of the widgets' future is known, if that matters.
    private func candidates(
        forStack id: String, on board: Board, _ other: BoardTile, _ view: BoardView, _ store: borrowing EntityStore,
        _ moreKnownAt: inout Timestamp?
    ) -> [Stack.Tile] {
        guard board.account == nil || !view.terms.hidesOwnedSuggestions, board.items[id]?.stack?.suggests == true,
            board.tiles(ofStack: id).count < TileStack.limit
        else { return [] }
        return store.suggestions(of: board, other.board, inStack: id).compactMap { drawn in
            let kind = drawn.definition
            guard let scene = scene(of: drawn.tile, kind, view), scene.place != .smartStack else { return nil }
            let traits = view.session.traits.widgets
            let isInSituation = kind.relevance?.situations.contains { traits.meets($0) } ?? false
            let relevance = relevance(
                suggesting: drawn.tile, kind, view.account, isInSituation: isInSituation, store, &moreKnownAt)
            return Stack.Tile(drawn.key, relevance)
        }
    }

    /// A widget without content, or for other accounts, is not relevant.
    private func relevance(
        suggesting tile: Tile, _ kind: WidgetKind, _ account: String?, isInSituation: Bool,
        _ store: borrowing EntityStore, _ moreKnownAt: inout Timestamp?
    ) -> Relevance {
        guard !isUnavailable(tile, store) else { return Relevance() }
        let subject = subject(of: tile, isUnavailable: false, kind, account, store)
        guard subject.entity != nil else { return Relevance() }
        if kind.relevance != nil, let date = subject.future.continuesAt {
            moreKnownAt = min(moreKnownAt ?? .distantFuture, date)
        }
        return subject.widget.relevance(
            key: tile.widget, kind: kind, future: subject.future, isInSituation: isInSituation, needsContent: true)
    }

    /// The relevant widgets on a watch's board, with their relevance, in the order in which they began.
    ///
    /// - Parameter moreKnownAt: When more of their future is known.
    private func relevantWidgets(
        onBoard number: Int32, _ view: BoardView, _ store: borrowing EntityStore, _ moreKnownAt: inout Timestamp?
    ) -> [SmartStack.Member] {
        store.relevantTiles(onBoard: number).compactMap { relevantTile in
            let (key, kind) = (relevantTile.tile.widget, relevantTile.definition)
            guard let entity = store.index(of: key), let widget = store.widget(at: entity),
                store.isVisible(entity, to: view.account),
                // The scene also determines whether the device is in one of the situations.
                scene(of: relevantTile.tile, kind, view) != nil
            else { return nil }
            let future = widgetForms.future(of: widget, at: entity, kind, time, for: view.account, store)
            if let date = future.continuesAt { moreKnownAt = min(moreKnownAt ?? .distantFuture, date) }
            let relevance = widget.relevance(
                key: key, kind: kind, future: future, isInSituation: kind.relevance?.situations.isEmpty == false,
                needsContent: true)
            return SmartStack.Member(relevantTile.key, relevance, isPlaced: false)
        }
    }

    /// Whether some device may show the suggestion now; the situation of each device is unknown.
    func maySuggest(_ tile: BoardTile, _ store: borrowing EntityStore) -> Bool {
        var moreKnownAt: Timestamp?
        let isInSituation = tile.definition.relevance?.situations.isEmpty == false
        return relevance(
            suggesting: tile.tile, tile.definition, tile.account, isInSituation: isInSituation, store, &moreKnownAt
        ).weight(at: time) > 0
    }

    /// The relevance of a suggested widget outside and inside the situations that its kind names; `nil` if it depends on more,
    /// such as the account.
    func commonRelevance(ofSuggested entity: EntityIndex, _ key: Key, _ store: borrowing EntityStore) -> [Relevance]? {
        guard let kind = store.widgetKind(inForce: key.kind)?.kind, let widget = store.widget(at: entity),
            widget.accounts.isEmpty, !widget.isDerived, kind.aggregate?.isForAll ?? true, !store.isGone(entity)
        else { return nil }
        return commonRelevance(of: widget, at: entity, key, kind, store)
    }

    /// The same of a relevant widget that nobody placed; `nil` if more of its future may be known now than at the last call.
    func commonRelevance(ofRelevantWidget entity: EntityIndex, _ store: borrowing EntityStore) -> [Relevance]? {
        guard let key = store[entity].key, let widget = store.widget(at: entity), !store.isGone(entity),
            let kind = store.widgetKind(at: entity), kind.isVisiting
        else { return Self.neverRelevant }
        return commonRelevance(of: widget, at: entity, key, kind, store)
    }

    static let neverRelevant = [Relevance(), Relevance()]

    private func commonRelevance(
        of widget: Widget, at entity: EntityIndex, _ key: Key, _ kind: WidgetKind, _ store: borrowing EntityStore
    ) -> [Relevance]? {
        let future = widgetForms.future(of: widget, at: entity, kind, time, for: nil, store)
        // More of its future may be known now.
        guard future.continuesAt == nil || kind.relevance == nil else { return nil }
        return [false, true].map { isInSituation in
            widget.relevance(
                key: key, kind: kind, future: future,
                isInSituation: isInSituation && kind.relevance?.situations.isEmpty == false, needsContent: true)
        }
    }

    /// When a tile that nobody placed and that is hidden may become visible without a commit; `nil` = never.
    func nextLook(
        at entity: EntityIndex, for subscription: Subscription, of session: Session, _ store: borrowing EntityStore
    ) -> Timestamp? {
        guard let view = BoardView(subscription, session), let tile = unplacedTile(at: entity, store) else {
            return nil
        }
        let continuesAt: Timestamp?
        if let stack = tile.tile.stack {
            let board = widgetForms.board(tile.board, time, store)
            continuesAt = future(ofStack: stack, on: board, tile, view, store).continuesAt
        } else {
            guard view.surface == .watch, !subscription.followsEverything else { return nil }
            continuesAt = smartStack(ofBoardWith: tile, view, store).continuesAt
        }
        return continuesAt.map { max($0, time + Milliseconds(1)) }
    }
}

extension Turns<Stack.ViewState> {
    /// Whether a tile is on top now or later.
    func shows(_ key: Key) -> Bool { look.top == key || turns.contains { $0.look.top == key } }

    /// When a tile leaves the top for the last time; `nil` = it stays there, or never comes on top.
    func lastTurn(from key: Key) -> Timestamp? {
        let tops = [look.top] + turns.map(\.look.top)
        guard let last = tops.lastIndex(of: key), last < turns.count else { return nil }
        return turns[last].date
    }
}
