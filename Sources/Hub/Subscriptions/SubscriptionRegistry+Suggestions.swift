internal import FanOut
internal import Machines
internal import Surfaces
internal import TelltaleModel

// Tiles that stacks suggest. Their keys are there as long as a board is looked at; each subscriber is owed the row of those that
// its device shows.
extension SubscriptionRegistry {
    /// Gives the suggestions of the boards that a subscription follows their keys.
    func lookAtSuggestions(for subscription: Subscription, _ store: inout EntityStore) {
        guard case .surface = subscription.terms.view else { return }
        let boards = store.boardsWithSuggestions(
            followedBy: subscription.selector, account: subscription.terms.account)
        // Of other boards, the next change tells the followers which suggestions have gone.
        for board in boards where store.suggestions.lacksKeys(onBoard: board) {
            _ = store.updateSuggestions(onBoard: board)
        }
        guard subscription.terms.view == .surface(.watch) else { return }
        for board in store.boardsWithVisits(followedBy: subscription.selector) { store.lookAtVisits(onBoard: board) }
    }

    /// Owes a resuming subscription every suggestion that it may hold, or may be shown now.
    ///
    /// - Parameter isWalk: A walk over the table tells those that there are.
    mutating func fillSuggestions(
        _ index: SubscriptionIndex, after sequence: Int64, isWalk: Bool = false, _ store: inout EntityStore
    ) {
        guard let subscription = self[index], case .surface = subscription.terms.view else { return }
        let (selector, account) = (subscription.selector, subscription.terms.account)
        let visited = subscription.terms.view == .surface(.watch) ? store.boardsWithVisits(followedBy: selector) : []
        let boards = Set(store.boardsWithSuggestions(followedBy: selector, account: account)).union(visited).sorted()
        var entities = isWalk ? [] : boards.flatMap { store.suggestions.keys(onBoard: $0) }
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

    /// Kinds have taken effect since the keys of suggestions were given: all of them are looked at anew. Where a kept tile was
    /// forgotten, those of its board are.
    mutating func publishSuggestionsOfNewKinds(
        commit: Int64, _ store: inout EntityStore, _ renderer: inout RowRenderer, to sessions: inout SessionTable
    ) {
        if !store.suggestions.outdated.isEmpty {
            for board in store.takeOutdatedSuggestions() {
                publishSuggestions(onBoard: board, commit: commit, &store, &renderer, to: &sessions)
            }
        }
        let generation = store.kinds.generation
        guard store.suggestions.generation != generation else { return }
        store.changeSuggestions { suggestions in
            suggestions.generation = generation
            suggestions.relevance = [:]
            suggestions.visitRelevance = [:]
        }
        for board in boardsFollowedByWatches(store) { store.visit(board) }
        let boards = Set(store.suggestions.boardNumbers).union(followedBoards(store))
        for board in boards.sorted() {
            publishSuggestions(onBoard: board, commit: commit, &store, &renderer, to: &sessions)
        }
    }

    /// The boards that take suggestions, now that a kind names some, and that a subscription follows.
    private func followedBoards(_ store: borrowing EntityStore) -> [Int32] {
        guard !store.kinds.suggested.isEmpty else { return [] }
        return store.boards.allBoardsWithSuggestions.filter { isFollowed(board: $0) }
    }

    /// A board, or the kinds, have changed: subscribers are owed what looks different now.
    ///
    /// - Complexity: O(followers · suggestions of the board).
    mutating func publishSuggestions(
        onBoard number: Int32, commit: Int64, _ store: inout EntityStore, _ renderer: inout RowRenderer,
        to sessions: inout SessionTable
    ) {
        guard isFollowed(board: number) else { return drop(number, &store, &renderer) }
        let former = store.suggestions.sequence(onBoard: number)
        let (keys, gone) = store.updateSuggestions(onBoard: number)
        for entity in keys {
            renderer.invalidate(entity)
            // The board says nothing of what comes and goes by itself but its number. What is everybody's may have changed since it
            // was looked at.
            let isChanged =
                store.boardItem(at: entity)?.tile?.isVisit != true
                || store.shownWidget(at: entity).map { store.isVisitorOfEverybody($0) && store[$0].rev > former }
                    == true
            oweSuggestion(
                entity, onBoard: number, isChanged: isChanged, commit: commit, &store, renderer, to: &sessions)
        }
        for entity in gone {
            renderer.invalidate(entity)
            var followers = takeFollowers(of: entity, kind: number, isWidget: true)
            for index in followers {
                guard let subscription = self[index] else { continue }
                if subscription.knows(entity) {
                    oweSurroundings(of: entity, to: index, since: commit, &store)
                    sessions.makeReady(slot: subscription.session)
                } else {
                    // Another key may get the index: nothing may be looked at for this one.
                    forgetSent(entity, by: index)
                }
            }
            giveBack(&followers)
        }
        store.free(suggestions: gone)
        // The suggestions decide on the turns of the placed tiles too.
        publishToNeighbours(
            of: store.itemsOfSuggestingStacks(onBoard: number), onBoard: number, commit: commit, &store, renderer,
            to: &sessions)
    }

    func drop(_ number: Int32, _ store: inout EntityStore, _ renderer: inout RowRenderer) {
        let gone = store.dropSuggestions(onBoard: number)
        for entity in gone { renderer.invalidate(entity) }
        store.free(suggestions: gone)
    }

    /// A widget changed that stacks may suggest. Those that hold it as a suggestion are owed a row; the stacks of all boards
    /// are looked at where it matters otherwise than before.
    ///
    /// - Complexity: O(boards that are looked at).
    mutating func publishToSuggestions(
        of widget: EntityIndex, commit: Int64, _ store: inout EntityStore, _ renderer: inout RowRenderer,
        to sessions: inout SessionTable
    ) {
        guard !store.suggestions.isEmpty, let key = store[widget].key,
            let number = store.kinds.suggested.firstIndex(where: { $0.widget == key })
        else { return }
        let relevance = renderer.commonRelevance(ofSuggested: widget, key, store)
        let isAlike =
            zip(relevance ?? [], store.suggestions.relevance[number] ?? [])
            .map { $0.isAlike($1, from: renderer.time) } == [true, true]
        store.changeSuggestions { $0.relevance[number] = relevance }
        for (board, entity) in store.suggestions.keys(ofWidget: number) {
            guard isFollowed(board: board) else {
                drop(board, &store, &renderer)
                continue
            }
            renderer.invalidate(entity)
            oweSuggestion(
                entity, onBoard: board, isChanged: true, isAlike: isAlike, commit: commit, &store, renderer,
                to: &sessions)
            guard !isAlike else { continue }
            for other in store.suggestions.keys(onBoard: board) where other != entity {
                oweSuggestion(
                    other, onBoard: board, isChanged: false, commit: commit, &store, renderer, to: &sessions)
            }
            publishToNeighbours(of: [entity], onBoard: board, commit: commit, &store, renderer, to: &sessions)
        }
    }

    /// Owes the subscribers of a board a suggestion that looks different to them.
    ///
    /// - Parameters:
    ///   - isChanged: Its widget is, so whoever holds it is owed a row.
    ///   - isAlike: It matters as before, so nobody else is.
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

    /// A subscriber is shown nothing of a suggestion: notes when that is looked at again.
    mutating func noteHidden(_ entity: EntityIndex, from index: SubscriptionIndex, until date: Timestamp?) {
        guard let date else { return forgetSent(entity, by: index) }
        noteSent(scene: nil, tile: nil, of: entity, to: index, usedUpAt: date)
    }
}
