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

extension BoardView {
    /// `nil` if the subscription is for no device.
    init?(_ subscription: Subscription, _ session: Session) {
        guard case .surface(let surface) = subscription.terms.view else { return nil }
        self.init(
            surface: surface, terms: subscription.terms.widgets, account: subscription.terms.account, session: session)
    }
}

// Rows of tiles: a widget in the place, family and style that its board gives it. A stack has a row in the full view only.
extension RowRenderer {
    /// The tile that nobody placed at a key without state.
    func unplacedTile(at entity: EntityIndex, _ store: borrowing EntityStore) -> BoardTile? {
        guard store.hasBoards, store.isWidget(entity), !store.exists(entity), let key = store[entity].key else {
            return nil
        }
        return widgetForms.unplacedTile(key, onBoard: store[entity].kindName, time, store)
    }

    /// The form of a tile; `nil` if the view does not show it.
    ///
    /// Never inlined: it would cost the forms of activities an allocation.
    ///
    /// - Parameter entity: `nil` = its key has no index.
    @inline(never)
    func form(
        of tile: BoardTile, at entity: EntityIndex?, _ view: BoardView, _ store: borrowing EntityStore
    ) -> WidgetForm? {
        let session = view.session
        guard let scene = scene(of: tile.tile, tile.definition, view),
            let viewState = viewState(of: tile, scene, view, store)
        else { return nil }
        let subject = subject(
            of: tile.tile, isUnavailable: viewState.isUnavailable, tile.definition, view.account, store)
        let future = viewState.suggestedTimes.map { subject.future.kept(during: $0, at: time) } ?? subject.future
        let moments = future.moments
        let count = min(moments.count, Int(view.terms.ahead) + 1)
        let connection: ConnectionNumber? =
            if let entity { tapper(of: entity, session, store) } else { session.hasTapped ? session.id.number : nil }
        let viewer = ControlViewer(placement: nil, connection: connection, isLocked: session.traits.isLocked)
        return WidgetForm(
            scene: widgetForms.box(scene), moments: Array(moments.prefix(count)),
            next: count < moments.count ? moments[count].date : nil,
            continuesAt: count < moments.count ? nil : future.continuesAt, device: session.device,
            viewer: tile.definition.showsControls ? viewer : nil, tile: viewState)
    }

    /// The scene of a tile; `nil` if the view lacks its place, or the place lacks its family.
    ///
    /// - Parameter hasAccount: `nil` = as in the view.
    func scene(of tile: Tile, _ kind: WidgetKind, _ view: BoardView, hasAccount: Bool? = nil) -> WidgetScene? {
        let terms = view.terms
        guard !terms.isElsewhere, terms.family == nil || terms.family == tile.family else { return nil }
        // A tile that names a place is shown only there.
        if let own = tile.style.placement, let wanted = terms.place, own != wanted { return nil }
        guard
            let place = terms.place ?? tile.style.placement
                ?? WidgetScene.firstPlace(of: kind, tile.family, on: view.surface),
            tile.stack == nil || place != .lockScreen
        else { return nil }
        return WidgetScene(
            kind, surface: view.surface, place: place, family: tile.family, mode: terms.mode,
            traits: view.session.traits, hasAccount: hasAccount ?? (view.account != nil), settings: settings,
            tile: tile.style)
    }

    // MARK: Where the tiles of a board, and of its stacks, become rows

    /// The position of a tile in a view of its board; `nil` if the view has no room for it. StandBy shows the tops of the first
    /// two places (W56).
    ///
    /// Everything that a row says about other tiles is decided here.
    private func viewState(
        of drawn: BoardTile, _ scene: WidgetScene, _ view: BoardView, _ store: borrowing EntityStore
    ) -> TileViewState? {
        let (key, tile) = (drawn.key, drawn.tile)
        let id = String(key.id)
        var viewState: TileViewState
        if scene.place == .smartStack {
            // A watch has no stacks.
            guard !tile.isSuggested || tile.isRelevantWidget, let smart = smartViewState(of: drawn, view, store) else {
                return nil
            }
            viewState = smart
        } else if tile.stack == nil, scene.place != .standby {
            // Nothing else on the board matters.
            viewState = TileViewState(widget: tile.widget, order: tile.position)
        } else {
            let board = widgetForms.board(drawn.board, time, store)
            var order = board.place(of: tile.isSuggested ? tile.stack ?? id : id)
            let future = tile.stack.map { self.future(ofStack: $0, on: board, drawn, view, store) }
            if scene.place == .standby {
                // A tile that will come on top by a turn is sent in advance.
                guard future?.shows(key) ?? true,
                    let number = standByNumber(of: tile.stack ?? id, on: board, key.kind, view, store)
                else { return nil }
                order = number
            }
            viewState = TileViewState(widget: tile.widget, order: order)
            if let future {
                (viewState.stack, viewState.position, viewState.isTop) = (
                    tile.stack, tile.position, future.look.top == key
                )
                viewState.turns = future.turns.compactMap { turn in
                    turn.look.top.map { .init(date: turn.date, key: $0) }
                }
                viewState.turnsContinueAt = future.continuesAt
                if tile.isSuggested {
                    let times = future.suggestedTimes(of: key)
                    guard !times.isEmpty else { return nil }
                    (viewState.suggestedTimes, viewState.position) = (
                        times, board.tiles(ofStack: tile.stack ?? "").count + 1
                    )
                    if scene.place == .standby { viewState.leavesAt = future.lastTurn(from: key) }
                }
            }
        }
        viewState.pinned = tile.pinned
        viewState.isUnavailable = isUnavailable(tile, store)
        return viewState
    }

    /// Its number, 1 or 2, among the places that StandBy shows side by side; `nil` = it is not among them.
    private func standByNumber(
        of place: String, on board: Board, _ name: Substring, _ view: BoardView, _ store: borrowing EntityStore
    ) -> Int? {
        var number = 0
        for other in board.places {
            let isStack = board.items[other]?.stack != nil
            let ids = isStack ? board.tiles(ofStack: other) : [other]
            let isShown = ids.contains { id in
                guard let tile = board.items[id]?.tile, let kind = kind(ofTile: id, on: name, store) else {
                    return false
                }
                return scene(of: tile, kind, view, hasAccount: true) != nil
            }
            guard isShown else { continue }
            number += 1
            if other == place { return number }
            if number == 2 { return nil }
        }
        return nil
    }

    /// Whether its kind was removed, or its posted widget has ended.
    func isUnavailable(_ tile: Tile, _ store: borrowing EntityStore) -> Bool {
        guard let kind = store.widgetKind(inForce: tile.widget.kind)?.kind else { return true }
        guard kind.isPushed, let entity = store.index(of: tile.widget) else { return false }
        return store.widget(at: entity)?.isGone == true
    }

    // MARK: What a tile shows

    struct Subject {
        let widget: Widget
        /// The widget; or the tile, while there is no widget.
        let entity: EntityIndex?
        let future: WidgetFuture
    }

    /// The widget of a tile. While there is none, or none for this account, it is a placeholder.
    func subject(
        of tile: Tile, isUnavailable: Bool, _ kind: WidgetKind, _ account: String?, _ store: borrowing EntityStore
    ) -> Subject {
        if !isUnavailable, let entity = store.widgetEntity(of: tile), let widget = store.widget(at: entity),
            store.isVisible(entity, to: account)
        {
            let future = widgetForms.future(of: widget, at: entity, kind, time, for: account, store)
            return Subject(widget: widget, entity: entity, future: future)
        }
        let widget = Widget(configuration: tile.configuration, at: tile.createdAt)
        let date = min(tile.createdAt, time)
        let future =
            isUnavailable
            ? WidgetFuture(moments: [WidgetMoment(date: date, content: .placeholder)])
            : widget.future(at: time, kind: kind)
        return Subject(widget: widget, entity: nil, future: future)
    }

    static func writeTile(
        _ tile: BoardTile, at entity: EntityIndex?, _ form: WidgetForm, _ store: borrowing EntityStore,
        _ contents: inout RowContents, to writer: inout JSONWriter
    ) -> Bool {
        let shown = store.widgetEntity(of: tile.tile)
        // What nobody placed is drawn only while its widget exists.
        guard let place = shown ?? entity else { return false }
        let widget =
            shown.flatMap { store.widget(at: $0) }
            ?? Widget(configuration: tile.tile.configuration, at: tile.tile.createdAt)
        contents = writeWidgetRow(
            widget, tile.tile.widget, at: place, tile.kind, tile.definition, form, store, to: &writer)
        return true
    }

    /// The link for a tap on a tile or on a part of it.
    func openedBody(
        ofTile tile: Tile, part: String?, for session: Session, _ store: borrowing EntityStore
    ) -> [UInt8]? {
        guard let shown = store.widgetEntity(of: tile), let widget = store.widget(at: shown) else { return nil }
        return openedBody(of: shown, widget, part: part, for: session, store)
    }

    // MARK: Revs

    /// The `rev` of a row. The full view of a tile says nothing about its widget.
    func rev(of entity: EntityIndex, _ view: ViewName, _ store: borrowing EntityStore) -> Int64 {
        guard view != .full else { return store[entity].rev }
        guard let tile = unplacedTile(at: entity, store) else { return store.rowRev(of: entity) }
        return max(store[entity].rev, store.rev(ofUnplaced: tile))
    }
}
