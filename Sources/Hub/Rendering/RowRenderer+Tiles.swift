internal import FanOut
internal import Kinds
internal import Machines
internal import Surfaces
internal import TelltaleModel
internal import TelltaleWire

// Rows of tiles: a widget in the place, family and style that its board gives it.
extension RowRenderer {
    /// The form of a tile; `nil` if the view does not show it. A stack has a row in the full view only.
    ///
    /// Never inlined: it would cost the forms of activities an allocation.
    @inline(never)
    func tileForm(
        of entity: EntityIndex, _ item: BoardItem, _ surface: Surface, _ terms: WidgetTerms, _ account: String?,
        _ session: Session, _ store: borrowing EntityStore
    ) -> RowForm? {
        guard !item.isGone, let tile = item.tile, case .widget(let kind)? = store.kind(at: entity)?.body,
            let scene = scene(of: tile, kind, surface, terms, hasAccount: account != nil, session),
            let sight = sight(of: entity, tile, scene, surface, terms, account, session, store)
        else { return nil }
        let subject = subject(of: tile, isUnavailable: sight.isUnavailable, kind, account, store)
        let future = sight.suggestedTimes.map { subject.future.kept(during: $0, at: time) } ?? subject.future
        let moments = future.moments
        let count = min(moments.count, Int(terms.ahead) + 1)
        let viewer = ControlViewer(
            placement: nil, connection: tapper(of: entity, session, store), isLocked: session.traits.isLocked)
        let form = WidgetForm(
            scene: widgetForms.box(scene), moments: Array(moments.prefix(count)),
            next: count < moments.count ? moments[count].date : nil,
            continuesAt: count < moments.count ? nil : future.continuesAt, device: session.device,
            viewer: kind.showsControls ? viewer : nil, tile: sight)
        return .widget(widgetForms.number(of: form, at: entity))
    }

    /// The scene of a tile; `nil` if the view lacks its place, or the place lacks its family.
    func scene(
        of tile: Tile, _ kind: WidgetKind, _ surface: Surface, _ terms: WidgetTerms, hasAccount: Bool,
        _ session: Session
    ) -> WidgetScene? {
        guard !terms.isElsewhere, terms.family == nil || terms.family == tile.family else { return nil }
        // A tile that names a place is shown only there.
        if let own = tile.look.placement, let wanted = terms.place, own != wanted { return nil }
        guard
            let place = terms.place ?? tile.look.placement
                ?? WidgetScene.firstPlace(of: kind, tile.family, on: surface),
            tile.stack == nil || place != .lockScreen
        else { return nil }
        return WidgetScene(
            kind, surface: surface, place: place, family: tile.family, mode: terms.mode, traits: session.traits,
            hasAccount: hasAccount, settings: settings, tile: tile.look)
    }

    // MARK: Where the tiles of a board, and of its stacks, become rows

    /// The position of a tile in a view of its board; `nil` if the view has no room for it. StandBy shows the tops of the first
    /// two places (W56).
    ///
    /// Everything that a row says about other tiles is decided here.
    private func sight(
        of entity: EntityIndex, _ tile: Tile, _ scene: WidgetScene, _ surface: Surface, _ terms: WidgetTerms,
        _ account: String?, _ session: Session, _ store: borrowing EntityStore
    ) -> TileSight? {
        guard let key = store[entity].key else { return nil }
        let id = String(key.id)
        let view = BoardView(surface: surface, terms: terms, account: account, session: session)
        var sight: TileSight
        if scene.place == .smartStack {
            // A watch has no stacks.
            guard !tile.isSuggested || tile.isVisit, let smart = smartSight(of: key, tile, entity, view, store) else {
                return nil
            }
            sight = smart
        } else if tile.stack == nil, scene.place != .standby {
            // Nothing else on the board matters.
            sight = TileSight(widget: tile.widget, order: tile.position)
        } else {
            let board = widgetForms.board(store[entity].kindName, time, store)
            var order = board.place(of: tile.isSuggested ? tile.stack ?? id : id)
            let future = tile.stack.map { self.future(ofStack: $0, on: board, entity, view, store) }
            if scene.place == .standby {
                // A tile that will come on top by a turn is sent in advance.
                guard future?.shows(key) ?? true,
                    let number = standByNumber(of: tile.stack ?? id, on: board, entity, view, store)
                else { return nil }
                order = number
            }
            sight = TileSight(widget: tile.widget, order: order)
            if let future {
                (sight.stack, sight.position, sight.isTop) = (tile.stack, tile.position, future.look.top == key)
                sight.turns = future.turns.compactMap { turn in turn.look.top.map { .init(date: turn.date, key: $0) } }
                sight.turnsContinueAt = future.continuesAt
                if tile.isSuggested {
                    let times = future.suggestedTimes(of: key)
                    guard !times.isEmpty else { return nil }
                    (sight.suggestedTimes, sight.position) = (times, board.tiles(ofStack: tile.stack ?? "").count + 1)
                    if scene.place == .standby { sight.leavesAt = future.lastTurn(from: key) }
                }
            }
        }
        sight.pinned = tile.pinned
        sight.isUnavailable = isUnavailable(tile, store)
        return sight
    }

    /// Its number, 1 or 2, among the places that StandBy shows side by side; `nil` = it is not among them.
    private func standByNumber(
        of place: String, on board: Board, _ entity: EntityIndex, _ view: BoardView, _ store: borrowing EntityStore
    ) -> Int? {
        var number = 0
        for other in board.places {
            let isStack = board.items[other]?.stack != nil
            let ids = isStack ? board.tiles(ofStack: other) : [other]
            let isShown = ids.contains { id in
                guard let tile = board.items[id]?.tile, let kind = kind(ofTile: id, beside: entity, store) else {
                    return false
                }
                return scene(
                    of: tile, kind, view.surface, view.terms, hasAccount: true, view.session) != nil
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
        _ item: BoardItem, at entity: EntityIndex, _ form: RowForm, _ widgetForms: WidgetForms,
        _ store: borrowing EntityStore, _ contents: inout RowContents, to writer: inout JSONWriter
    ) -> Bool {
        switch form {
        case .full:
            item.writeFullRow(to: &writer)
            return true
        case .widget(let number):
            guard let tile = item.tile, let kind = store.kind(at: entity), case .widget(let definition) = kind.body
            else { return false }
            let shown = store.widgetEntity(of: tile)
            let widget =
                shown.flatMap { store.widget(at: $0) } ?? Widget(configuration: tile.configuration, at: tile.createdAt)
            contents = writeWidgetRow(
                widget, tile.widget, at: shown ?? entity, kind, definition, widgetForms[number], store, to: &writer)
            return true
        case .activity, .control: return false
        }
    }

    /// The link for a tap on a tile or on a part of it.
    func openedBody(
        ofTile entity: EntityIndex, _ item: BoardItem, part: String?, for session: Session,
        _ store: borrowing EntityStore
    ) -> [UInt8]? {
        guard !item.isGone, let tile = item.tile, let shown = store.widgetEntity(of: tile),
            let widget = store.widget(at: shown)
        else { return nil }
        return openedBody(of: shown, widget, part: part, for: session, store)
    }

    // MARK: Revs

    /// The `rev` of a row. The full view of a tile says nothing about its widget.
    func rev(of entity: EntityIndex, _ view: ViewName, _ store: borrowing EntityStore) -> Int64 {
        view == .full ? store[entity].rev : store.rowRev(of: entity)
    }
}
