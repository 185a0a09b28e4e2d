internal import FanOut
internal import Machines
internal import Surfaces
internal import TelltaleModel

// Relevant widgets that nobody placed, on the boards that watches follow.
extension SubscriptionRegistry {
    /// Publishes a relevant widget that came, changed or went. Watches that hold it get a row. If its relevance changed,
    /// everything on the boards of its accounts is re-examined.
    ///
    /// Boards that show a widget that is or was everybody's wait for their turn.
    ///
    /// - Complexity: O(the boards of its accounts that watches follow).
    mutating func publishToVisits(
        of member: EntityIndex, commit: Int64, _ store: inout EntityStore, _ renderer: inout RowRenderer,
        to sessions: inout SessionTable
    ) {
        if store.isVisitorOfEverybody(member) {
            if store.mayBeOnBoards(member) { changeBoardWalk { $0.demand(since: commit) } }
            // Sent to all of them, whatever it was before.
            store.setToldRelevance(nil, ofVisitor: member)
            return
        }
        // The boards that had it while it was for everybody.
        if store.isHeld(member, byMoreThan: limits.boardsPerBatch) {
            changeBoardWalk { $0.demand(since: commit) }
        }
        let boards = store.boards(
            visitedBy: member, of: store.widget(at: member)?.accounts ?? [], limit: limits.boardsPerBatch)
        guard !boards.isEmpty else { return }
        let relevance = renderer.commonRelevance(ofVisitor: member, store)
        let former = store.toldRelevance(ofVisitor: member)
        for board in boards {
            guard isFollowed(board: board) else {
                drop(board, &store, &renderer)
                continue
            }
            let known = store.visitKey(of: member, onBoard: board)
            let isAlike =
                isAlike(relevance, former ?? (known == nil ? RowRenderer.neverRelevant : nil), at: renderer.time)
                && isUnmoved(member, isKnown: known != nil, onBoard: board, store)
            if !isAlike, store.keysSequence(onBoard: board) != store.sequence {
                publishSuggestions(onBoard: board, commit: commit, &store, &renderer, to: &sessions)
            }
            guard let entity = store.visitKey(of: member, onBoard: board) else { continue }
            renderer.invalidate(entity)
            oweSuggestion(
                entity, onBoard: board, isChanged: true, isAlike: isAlike, commit: commit, &store, renderer,
                to: &sessions)
        }
        store.setToldRelevance(relevance, ofVisitor: member)
    }

    /// Whether a subscription follows a board, or a key of it that may not exist.
    func isFollowed(board number: Int32) -> Bool {
        tileFollowers[number] != nil || hasFollowers(ofBoard: number)
    }

    /// Continues re-examining the boards that wait for it, within the limit of a batch.
    mutating func goOnLookingAtBoards(
        _ store: inout EntityStore, _ renderer: inout RowRenderer, to sessions: inout SessionTable
    ) {
        var share = WalkShare(keys: limits.boardsPerBatch, looksPerKey: 64)
        while !share.isUsedUp, let number = changeBoardWalk({ $0.next(end: store.kindNumberLimit) }) {
            share.takeLook()
            if lookAtWaiting(board: number, &store, &renderer, to: &sessions) { share.takeKey() }
        }
    }

    /// Re-examines a waiting board out of turn, because its current content is about to be sent.
    ///
    /// - Returns: Whether it was waiting.
    @discardableResult
    mutating func lookAtWaiting(
        board number: Int32, _ store: inout EntityStore, _ renderer: inout RowRenderer, to sessions: inout SessionTable
    ) -> Bool {
        guard let since = boardWalk.since, store.isVisited(number),
            store.keysSequence(onBoard: number) < boardWalk.newest
        else { return false }
        publishSuggestions(onBoard: number, commit: since, &store, &renderer, to: &sessions)
        return true
    }

    /// - Returns: `false` if either is unknown.
    private func isAlike(_ relevance: [Relevance]?, _ former: [Relevance]?, at time: Timestamp) -> Bool {
        zip(relevance ?? [], former ?? []).map { $0.isAlike($1, from: time) } == [true, true]
    }

    /// Whether a widget is still there for a board's account and displaces no other: a board considers a limited number of them.
    private func isUnmoved(
        _ member: EntityIndex, isKnown: Bool, onBoard board: Int32, _ store: borrowing EntityStore
    ) -> Bool {
        guard let widget = store.widget(at: member), !widget.isGone else { return false }
        let account = store.name(ofBoard: board)?.account
        return store.visitorCount(for: account) < Visitors.limit
            && (!isKnown || store.isVisible(member, to: account))
    }

    /// A board was read long ago: its relevant widgets keep their keys only if a watch follows it.
    mutating func endReading(_ number: Int32, _ store: inout EntityStore, _ renderer: inout RowRenderer) {
        var isFollowed = false
        for entity in store.items(onBoard: number) + store.visitKeys(onBoard: number)
        where !isFollowed {
            isFollowed = isFollowedByWatch(entity, onBoard: number, store)
        }
        guard !isFollowed else { return }
        let gone = store.endVisit(onBoard: number)
        for entity in gone { renderer.invalidate(entity) }
        store.free(suggestions: gone)
    }

    /// Whether a watch follows the board of a tile.
    mutating func isFollowedByWatch(
        _ entity: EntityIndex, onBoard number: Int32, _ store: borrowing EntityStore
    ) -> Bool {
        guard hasFollowers(ofWidget: entity, number) else { return false }
        var followers = takeFollowers(of: entity, kind: number, isWidget: true)
        var isFollowed = false
        for index in followers where !isFollowed {
            guard let subscription = self[index], !subscription.followsEverything else { continue }
            isFollowed = subscription.terms.view == .surface(.watch)
        }
        giveBack(&followers)
        return isFollowed
    }

    /// The boards that watches follow, after kinds have taken effect.
    mutating func boardsFollowedByWatches(_ store: borrowing EntityStore) -> [Int32] {
        guard store.hasVisitingKinds else { return [] }
        var found: [Int32] = []
        for number in store.boardNumbers {
            for entity in store.items(onBoard: number) where found.last != number {
                if isFollowedByWatch(entity, onBoard: number, store) { found.append(number) }
            }
        }
        return found
    }
}

extension Subscription {
    /// It gets the widgets themselves, so it gets no tiles of relevant widgets.
    var followsEverything: Bool { selector == .allWithWidgets || selector == .all }
}
