internal import FanOut
internal import Kinds
internal import Machines
internal import Surfaces
internal import TelltaleModel

/// How a subscription, or a single look, is shown a board.
struct BoardView {
    let surface: Surface
    let terms: WidgetTerms
    let account: String?
    let session: Session
}

/// All that decides how a stack turns, beside the state.
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
    /// The look of a stack from now on. Tiles that the view does not show do not count.
    ///
    /// - Parameter entity: A tile of the board.
    func future(
        ofStack id: String, on board: Board, _ entity: EntityIndex, _ view: BoardView, _ store: borrowing EntityStore
    ) -> Stack.Future {
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

    /// - Parameter moreKnownAt: When the content of its widgets is known further ahead, where that decides.
    private func stack(
        _ id: String, on board: Board, _ entity: EntityIndex, _ view: BoardView, _ store: borrowing EntityStore,
        _ moreKnownAt: inout Timestamp?
    ) -> Stack {
        guard let name = store[entity].key?.kind, let holder = board.items[id]?.stack else {
            return Stack([], isSmart: false)
        }
        var stack = Stack([], isSmart: holder.isSmart)
        for id in board.tiles(ofStack: id) {
            guard let tile = board.items[id]?.tile, let key = Key(kind: name, id: id), let kind = kind(of: tile, store),
                scene(
                    of: tile, kind, view.surface, view.terms, hasAccount: view.account != nil, view.session) != nil
            else { continue }
            let relevance = holder.isSmart ? relevance(of: tile, kind, view, store, &moreKnownAt) : Relevance()
            stack.tiles.append(Stack.Tile(key, relevance))
        }
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

    /// The kind of a tile's widget in force; `nil` = it was taken away.
    func kind(of tile: Tile, _ store: borrowing EntityStore) -> WidgetKind? {
        guard let version = store.widgetVersion(named: tile.widget.kind),
            case .widget(let kind) = store.kinds.versions[version].body
        else { return nil }
        return kind
    }
}

extension Stack.Future {
    /// Whether a tile is on top now, or will be.
    func shows(_ key: Key) -> Bool { sight.top == key || turns.contains { $0.sight.top == key } }
}
