internal import FanOut
internal import Kinds
internal import Machines
internal import Surfaces
internal import TelltaleModel

// The suggestions of a stack in one view.
extension RowRenderer {
    /// The tiles that a stack may suggest in a view, with their relevance, in the order of their widgets.
    ///
    /// - Parameters:
    ///   - entity: A tile of the board.
    ///   - moreKnownAt: When more of the widgets' future is known, if that matters.
    func candidates(
        forStack id: String, on board: Board, _ entity: EntityIndex, _ view: BoardView, _ store: borrowing EntityStore,
        _ moreKnownAt: inout Timestamp?
    ) -> [Stack.Tile] {
        guard let name = store[entity].key?.kind, board.account == nil || !view.terms.hidesOwnedSuggestions else {
            return []
        }
        return store.suggestions(ofStack: id, on: board, named: name).compactMap { key, tile in
            guard let kind = store.widgetKind(inForce: tile.widget.kind)?.kind,
                let scene = scene(
                    of: tile, kind, view.surface, view.terms, hasAccount: view.account != nil, view.session),
                scene.place != .smartStack
            else { return nil }
            let traits = view.session.traits.widgets
            let isInSituation = kind.relevance?.situations.contains { traits.meets($0) } ?? false
            let relevance = relevance(
                suggesting: tile, kind, view.account, isInSituation: isInSituation, store, &moreKnownAt)
            return Stack.Tile(key, relevance)
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

    /// The relevance of a suggested widget outside and inside the situations that its kind names; `nil` if it depends on more,
    /// such as the account.
    func commonRelevance(ofSuggested entity: EntityIndex, _ key: Key, _ store: borrowing EntityStore) -> [Relevance]? {
        guard let kind = store.widgetKind(inForce: key.kind)?.kind, let widget = store.widget(at: entity),
            widget.accounts.isEmpty, !widget.isDerived, kind.aggregate?.isForAll ?? true, !store.isGone(entity)
        else { return nil }
        let future = widgetForms.future(of: widget, at: entity, kind, time, for: nil, store)
        // More of its future may be known now.
        guard future.continuesAt == nil || kind.relevance == nil else { return nil }
        return [false, true].map { isInSituation in
            widget.relevance(
                key: key, kind: kind, future: future,
                isInSituation: isInSituation && kind.relevance?.situations.isEmpty == false, needsContent: true)
        }
    }

    /// Whether some device may show the suggestion now; the situation of each device is unknown.
    func maySuggest(_ tile: Tile, for account: String?, _ store: borrowing EntityStore) -> Bool {
        guard let kind = store.widgetKind(inForce: tile.widget.kind)?.kind else { return false }
        var moreKnownAt: Timestamp?
        let isInSituation = kind.relevance?.situations.isEmpty == false
        return relevance(suggesting: tile, kind, account, isInSituation: isInSituation, store, &moreKnownAt)
            .weight(at: time) > 0
    }

    /// The relevant widgets on a watch's board, with their relevance, in the order in which they began.
    ///
    /// - Parameters:
    ///   - entity: A tile of the board.
    ///   - moreKnownAt: When more of their future is known.
    func visitors(
        onBoardOf entity: EntityIndex, _ view: BoardView, _ store: borrowing EntityStore,
        _ moreKnownAt: inout Timestamp?
    ) -> [SmartStack.Member] {
        store.visits(onBoard: store[entity].kindName).compactMap { visit in
            guard let kind = store.widgetKind(inForce: visit.tile.widget.kind)?.kind,
                let widget = store.widget(at: visit.member), store.isVisible(visit.member, to: view.account),
                // The scene also determines whether the device is in one of the situations.
                scene(
                    of: visit.tile, kind, view.surface, view.terms, hasAccount: view.account != nil, view.session)
                    != nil
            else { return nil }
            let future = widgetForms.future(of: widget, at: visit.member, kind, time, for: view.account, store)
            if let date = future.continuesAt { moreKnownAt = min(moreKnownAt ?? .distantFuture, date) }
            let relevance = widget.relevance(
                key: visit.tile.widget, kind: kind, future: future,
                isInSituation: kind.relevance?.situations.isEmpty == false, needsContent: true)
            return SmartStack.Member(visit.key, relevance, isPlaced: false)
        }
    }

    /// The relevance of an unplaced widget outside and inside the situations of its kind; `nil` if more of its future may be
    /// known now than at the last call.
    func commonRelevance(ofVisitor entity: EntityIndex, _ store: borrowing EntityStore) -> [Relevance]? {
        guard let key = store[entity].key, let widget = store.widget(at: entity), !store.isGone(entity),
            let kind = store.widgetKind(at: entity), kind.isVisiting
        else { return Self.neverRelevant }
        let future = widgetForms.future(of: widget, at: entity, kind, time, for: nil, store)
        guard future.continuesAt == nil else { return nil }
        return [false, true].map { isInSituation in
            widget.relevance(
                key: key, kind: kind, future: future,
                isInSituation: isInSituation && kind.relevance?.situations.isEmpty == false, needsContent: true)
        }
    }

    static let neverRelevant = [Relevance(), Relevance()]

    /// The view states of a suggestion's stack in a view.
    private func future(
        besideSuggestion entity: EntityIndex, _ view: BoardView, _ store: borrowing EntityStore
    ) -> Turns<Stack.Sight>? {
        guard let stack = store.boardItem(at: entity)?.tile?.stack else { return nil }
        return future(
            ofStack: stack, on: widgetForms.board(store[entity].kindName, time, store), entity, view, store)
    }

    /// When a hidden suggestion may become visible without a commit; `nil` = never.
    func nextLook(
        at entity: EntityIndex, for subscription: Subscription, of session: Session, _ store: borrowing EntityStore
    ) -> Timestamp? {
        guard store.isSuggestion(entity), store.isListed(entity), case .surface(let surface) = subscription.terms.view
        else { return nil }
        let view = BoardView(
            surface: surface, terms: subscription.terms.widgets, account: subscription.terms.account, session: session)
        if store.boardItem(at: entity)?.tile?.isVisit == true {
            guard surface == .watch, !subscription.followsEverything else { return nil }
            return smartStack(entity, view, store).continuesAt.map { max($0, time + Milliseconds(1)) }
        }
        return future(besideSuggestion: entity, view, store)?.continuesAt.map { max($0, time + Milliseconds(1)) }
    }
}
