internal import FanOut
internal import Machines
internal import Surfaces
internal import TelltaleModel

// Tiles that stacks suggest. Their keys exist while a board is followed; each subscriber gets the rows of those that its device
// shows.
extension SubscriptionRegistry {
    /// Assigns keys to the suggestions on the boards that a subscription follows.
    func lookAtSuggestions(for subscription: Subscription, _ store: inout EntityStore) {
        guard case .surface = subscription.terms.view else { return }
        let boards = store.boardsWithSuggestions(
            followedBy: subscription.selector, account: subscription.terms.account)
        // On other boards, the next change notifies the followers of withdrawn suggestions.
        for board in boards where store.lacksKeys(onBoard: board) {
            _ = store.updateSuggestions(onBoard: board)
        }
        guard subscription.terms.view == .surface(.watch) else { return }
        for board in store.boardsWithVisits(followedBy: subscription.selector) { store.lookAtVisits(onBoard: board) }
    }

    /// Marks every suggestion pending that a resuming subscription may hold or may see now.
    ///
    /// - Parameter isWalk: A scan over the table sends the existing ones.
    mutating func fillSuggestions(
        _ index: SubscriptionIndex, after sequence: Int64, isWalk: Bool = false, _ store: inout EntityStore
    ) {
        guard let subscription = self[index], case .surface = subscription.terms.view else { return }
        let (selector, account) = (subscription.selector, subscription.terms.account)
        let visited = subscription.terms.view == .surface(.watch) ? store.boardsWithVisits(followedBy: selector) : []
        let boards = Set(store.boardsWithSuggestions(followedBy: selector, account: account)).union(visited).sorted()
        var entities = isWalk ? [] : boards.flatMap { store.suggestionKeys(onBoard: $0) }
        entities.removeAll { !store.follows(selector, $0) || !store.isVisible($0, to: account) }
        let former =
            store.formerSuggestions(since: sequence, onBoards: boards, followedBy: selector, by: account)
            + store.formerVisits(since: sequence, onBoards: visited, for: account)
        entities += former.filter { store.follows(selector, $0) }
        for entity in entities {
            enqueue(entity, in: index, &store) { $0.markResume(entity, firstCommit: sequence + 1) }
        }
        store.free(suggestions: former)
    }

    // MARK: Changes

    /// Re-examines all suggestions after other kinds took effect. After a kept tile was forgotten, re-examines those of its
    /// board.
    mutating func publishSuggestionsOfNewKinds(
        commit: Int64, _ store: inout EntityStore, _ renderer: inout RowRenderer, to sessions: inout SessionTable
    ) {
        if store.hasOutdatedSuggestions {
            for board in store.takeOutdatedSuggestions() {
                publishSuggestions(onBoard: board, commit: commit, &store, &renderer, to: &sessions)
            }
        }
        guard store.renewSuggestions() else { return }
        for board in boardsFollowedByWatches(store) { store.visit(board) }
        let boards = Set(store.boardsWithKeys).union(followedBoards(store))
        for board in boards.sorted() {
            publishSuggestions(onBoard: board, commit: commit, &store, &renderer, to: &sessions)
        }
    }

    /// The followed boards that take suggestions, now that a kind names some.
    private func followedBoards(_ store: borrowing EntityStore) -> [Int32] {
        guard store.suggestsWidgets else { return [] }
        return store.allBoardsWithSuggestions.filter { isFollowed(board: $0) }
    }

    /// Publishes a change of a board or of the kinds: marks what looks different for each subscriber.
    ///
    /// - Complexity: O(followers · suggestions of the board).
    mutating func publishSuggestions(
        onBoard number: Int32, commit: Int64, _ store: inout EntityStore, _ renderer: inout RowRenderer,
        to sessions: inout SessionTable
    ) {
        guard isFollowed(board: number) else { return drop(number, &store, &renderer) }
        let former = store.keysSequence(onBoard: number)
        let (keys, gone) = store.updateSuggestions(onBoard: number)
        for entity in keys {
            renderer.invalidate(entity)
            // A change of the board affects an unplaced widget's row only by its order. A widget of everybody's may have
            // changed since the board was examined.
            let isChanged =
                store.boardItem(at: entity)?.tile?.isVisit != true
                || store.shownWidget(at: entity).map { store.isVisitorOfEverybody($0) && store[$0].rev > former }
                    == true
            oweSuggestion(
                entity, onBoard: number, isChanged: isChanged, commit: commit, &store, renderer, to: &sessions)
        }
        for entity in gone {
            renderer.invalidate(entity)
            oweDeletion(ofSuggestion: entity, onBoard: number, commit: commit, &store, to: &sessions)
        }
        store.free(suggestions: gone)
        // The suggestions also affect the turns of the placed tiles.
        publishToNeighbours(
            of: store.itemsOfSuggestingStacks(onBoard: number), onBoard: number, commit: commit, &store, renderer,
            to: &sessions)
    }

    /// Marks a withdrawn suggestion as pending for those who hold it, or may hold it: a resume that has not reached its place in
    /// the table would find nothing there.
    private mutating func oweDeletion(
        ofSuggestion entity: EntityIndex, onBoard number: Int32, commit: Int64, _ store: inout EntityStore,
        to sessions: inout SessionTable
    ) {
        var followers = takeFollowers(of: entity, kind: number, isWidget: true)
        for index in followers {
            guard let subscription = self[index] else { continue }
            if subscription.knows(entity) || subscription.resumes(over: entity) {
                oweSurroundings(of: entity, to: index, since: commit, &store)
                sessions.makeReady(slot: subscription.session)
            } else {
                // Another key may get the index, so nothing may stay scheduled for this one.
                forgetSent(entity, by: index)
            }
        }
        giveBack(&followers)
    }

    func drop(_ number: Int32, _ store: inout EntityStore, _ renderer: inout RowRenderer) {
        let gone = store.dropSuggestions(onBoard: number)
        for entity in gone { renderer.invalidate(entity) }
        store.free(suggestions: gone)
    }

    /// Publishes a change of a widget that stacks may suggest. Subscribers that hold it as a suggestion get a row. If its
    /// relevance changed, the stacks of all boards are re-examined.
    ///
    /// - Complexity: O(followed boards).
    mutating func publishToSuggestions(
        of widget: EntityIndex, commit: Int64, _ store: inout EntityStore, _ renderer: inout RowRenderer,
        to sessions: inout SessionTable
    ) {
        guard !store.boardsWithKeys.isEmpty, let key = store[widget].key,
            let number = store.suggestionNumber(of: key)
        else { return }
        let relevance = renderer.commonRelevance(ofSuggested: widget, key, store)
        let isAlike =
            zip(relevance ?? [], store.toldRelevance(ofSuggestion: number) ?? [])
            .map { $0.isAlike($1, from: renderer.time) } == [true, true]
        store.setToldRelevance(relevance, ofSuggestion: number)
        for (board, entity) in store.suggestionKeys(ofWidget: number) {
            guard isFollowed(board: board) else {
                drop(board, &store, &renderer)
                continue
            }
            renderer.invalidate(entity)
            oweSuggestion(
                entity, onBoard: board, isChanged: true, isAlike: isAlike, commit: commit, &store, renderer,
                to: &sessions)
            guard !isAlike else { continue }
            for other in store.suggestionKeys(onBoard: board) where other != entity {
                oweSuggestion(
                    other, onBoard: board, isChanged: false, commit: commit, &store, renderer, to: &sessions)
            }
            publishToNeighbours(of: [entity], onBoard: board, commit: commit, &store, renderer, to: &sessions)
        }
    }

    /// Marks a suggestion as pending for the subscribers of a board to whom it looks different.
    ///
    /// - Parameters:
    ///   - isChanged: Its widget changed, so every holder gets a row.
    ///   - isAlike: Its relevance is unchanged, so nobody else gets one.
    mutating func oweSuggestion(
        _ entity: EntityIndex, onBoard number: Int32, isChanged: Bool, isAlike: Bool = false, commit: Int64,
        _ store: inout EntityStore, _ renderer: borrowing RowRenderer, to sessions: inout SessionTable
    ) {
        var followers = takeFollowers(of: entity, kind: number, isWidget: true)
        for index in followers {
            guard let subscription = self[index], case .surface = subscription.terms.view,
                !subscription.terms.isNotice, !subscription.isWaiting(for: entity),
                let session = sessions[slot: subscription.session]
            else { continue }
            if !(isChanged && subscription.shown(entity) != nil) {
                if isAlike { continue }
                let form = renderer.widgetForm(renderer.form(of: entity, for: subscription, of: session, store))
                let isDifferent =
                    if form == nil, subscription.shown(entity) == nil {
                        renderer.nextLook(at: entity, for: subscription, of: session, store)
                            != subscription.backlog?.widgets[entity.rawValue]?.usedUpAt
                    } else {
                        looksDifferent(form, entity, to: subscription, at: renderer.time, store)
                    }
                guard isDifferent else { continue }
            }
            oweSurroundings(of: entity, to: index, since: commit, &store)
            sessions.makeReady(slot: subscription.session)
        }
        giveBack(&followers)
    }

    /// Records when a suggestion that a subscriber does not see is examined again.
    mutating func noteHidden(_ entity: EntityIndex, from index: SubscriptionIndex, until date: Timestamp?) {
        guard let date else { return forgetSent(entity, by: index) }
        noteSent(scene: nil, tile: nil, of: entity, to: index, usedUpAt: date)
    }
}
