internal import FanOut
internal import Machines
internal import Surfaces
internal import TelltaleModel

// Tiles that nobody placed (``BoardPresence``): each subscriber gets the rows of those that its device shows.
extension SubscriptionRegistry {
    // MARK: Subscriptions that begin

    /// Holds the keys of tiles that nobody placed on the boards that a new subscription follows.
    ///
    /// - Parameter sequence: The sequence of the cursor that it resumes from.
    /// - Returns: For a resume, the keys of such tiles that it may hold and that are no more. The caller releases them.
    mutating func holdPresence(
        for subscription: Subscription, after sequence: Int64?, _ store: inout EntityStore
    ) -> [EntityIndex] {
        guard case .surface = subscription.terms.view else { return [] }
        let (selector, account) = (subscription.selector, subscription.terms.account)
        let suggesting = store.boardsWithSuggestions(followedBy: selector, account: account)
        let visited =
            subscription.terms.view == .surface(.watch) ? store.boardsWithRelevantTiles(followedBy: selector) : []
        for board in suggesting where presence.members(onBoard: board).isEmpty && !presence.isVisited(board) {
            // On other boards, the next change notifies the followers of what went.
            changePresence { _ = $0.examine(board, &store) }
        }
        for board in visited where !presence.isVisited(board) {
            changePresence { presence in
                presence.follow(board)
                _ = presence.examine(board, &store)
            }
        }
        guard let sequence else { return [] }
        let suggestions = store.formerSuggestions(
            since: sequence, onBoards: Set(suggesting).union(visited).sorted(), followedBy: selector, by: account)
        let former = suggestions.merging(
            store.formerRelevantTiles(since: sequence, onBoards: visited, for: account)
        ) { max($0, $1) }
        return former.sorted { $0.key < $1.key }.compactMap { key, rev in
            if case .key(let own) = selector, store[own].key != key { return nil }
            if let known = store.index(of: key),
                store.exists(known) || presence.member(at: known, onBoard: store[known].kindName) != nil
            {
                return nil
            }
            let entity = store.intern(unplaced: key, rev: rev)
            store.retain(entity)
            return entity
        }
    }

    /// The keys of tiles that nobody placed on the boards that a subscription follows, whether its device shows them or not.
    func presentTiles(for subscription: Subscription, _ store: borrowing EntityStore) -> [EntityIndex] {
        guard !presence.isEmpty, case .surface = subscription.terms.view else { return [] }
        let (selector, account) = (subscription.selector, subscription.terms.account)
        var boards = Set(store.boardsWithSuggestions(followedBy: selector, account: account))
        if subscription.terms.view == .surface(.watch) {
            boards.formUnion(store.boardsWithRelevantTiles(followedBy: selector))
        }
        return boards.sorted().flatMap { presence.members(onBoard: $0) }.map(\.entity)
            .filter { isPresent($0, for: subscription, store) }
    }

    /// Whether a key is that of a tile that nobody placed, on a board that a subscription follows and may be shown.
    func isPresent(_ entity: EntityIndex, for subscription: Subscription, _ store: borrowing EntityStore) -> Bool {
        let number = store[entity].kindName
        guard store.isWidget(entity), !store.exists(entity), store.follows(subscription.selector, entity),
            let member = presence.member(at: entity, onBoard: number)
        else { return false }
        return subscription.mayBeShown(
            unplacedOf: store.name(ofBoard: number)?.account, isRelevantTile: member.isRelevantWidget)
    }

    // MARK: Changes of boards and kinds

    /// Examines all boards after other kinds took effect. After a kept tile was forgotten, examines its board.
    mutating func publishPresenceOfNewKinds(
        commit: Int64, _ store: inout EntityStore, _ renderer: inout RowRenderer, to sessions: inout SessionTable
    ) {
        if store.hasBoards {
            let forgotten = store.forgotten.filter { store[$0].key?.mayBeUnplaced == true }
            for board in Set(forgotten.map { store[$0].kindName }).sorted() {
                publishPresence(onBoard: board, commit: commit, &store, &renderer, to: &sessions)
            }
        }
        let generation = store.kindsGeneration
        guard changePresence({ $0.renew(generation) }) else { return }
        for board in boardsFollowedByWatches(store) { changePresence { $0.follow(board) } }
        var boards = Set(presence.boardNumbers)
        if store.suggestsWidgets { boards.formUnion(store.allBoardsWithSuggestions.filter { isFollowed(board: $0) }) }
        for board in boards.sorted() {
            publishPresence(onBoard: board, commit: commit, &store, &renderer, to: &sessions)
        }
    }

    /// Publishes a change of a board or of the kinds: marks what looks different for each subscriber.
    ///
    /// - Complexity: O(followers · members of the board).
    mutating func publishPresence(
        onBoard number: Int32, commit: Int64, _ store: inout EntityStore, _ renderer: inout RowRenderer,
        to sessions: inout SessionTable
    ) {
        guard isFollowed(board: number) else { return giveUp(number, store, &renderer) }
        let former = presence.sequence(onBoard: number)
        let (members, gone) = changePresence { $0.examine(number, &store) }
        for member in members {
            renderer.invalidate(member.entity)
            // A change of the board affects an unplaced widget's row only by its order. A widget of everybody's may have
            // changed since the board was examined.
            let isChanged =
                !member.isRelevantWidget
                || store.index(of: member.widget).map { store.isRelevantForEverybody($0) && store[$0].rev > former }
                    == true
            owePresence(
                member.entity, onBoard: number, isChanged: isChanged, commit: commit, store, renderer, to: &sessions)
        }
        for member in gone where !store.exists(member.entity) {
            renderer.invalidate(member.entity)
            markDeletion(of: member.entity, onBoard: number, commit: commit, store, to: &sessions)
        }
        presence.release(gone, store)
        // The suggestions also affect the turns of the placed tiles.
        let items = store.itemsOfSuggestingStacks(onBoard: number)
        publishToNeighbours(
            of: items, inStacks: store.smartStacks(ofTiles: items, onBoard: number), onBoard: number, commit: commit,
            store, renderer,
            to: &sessions)
    }

    private mutating func giveUp(_ number: Int32, _ store: borrowing EntityStore, _ renderer: inout RowRenderer) {
        let gone = changePresence { $0.giveUp(number) }
        for member in gone { renderer.invalidate(member.entity) }
        presence.release(gone, store)
    }

    /// Makes the deletion of a tile pending for each subscription that holds it, and for each resume that has not scanned its index
    /// yet: the scan would find no key there.
    private mutating func markDeletion(
        of entity: EntityIndex, onBoard number: Int32, commit: Int64, _ store: borrowing EntityStore,
        to sessions: inout SessionTable
    ) {
        var followers = takeFollowers(of: entity, kind: number, isWidget: true)
        for index in followers {
            guard let subscription = self[index] else { continue }
            if subscription.knows(entity) || subscription.resumes(over: entity) {
                markSurroundings(of: entity, to: index, since: commit, store)
                sessions.makeReady(slot: subscription.session)
            } else {
                // Another key may get the index, so nothing may stay scheduled for this one.
                forgetSent(entity, by: index)
            }
        }
        giveBack(&followers)
    }

    /// Marks a tile that nobody placed pending for the subscribers of a board to whom it looks different.
    ///
    /// - Parameters:
    ///   - isChanged: Its widget changed, so every holder gets a row.
    ///   - isAlike: Its relevance is unchanged, so nobody else gets one.
    mutating func owePresence(
        _ entity: EntityIndex, onBoard number: Int32, isChanged: Bool, isAlike: Bool = false, commit: Int64,
        _ store: borrowing EntityStore, _ renderer: borrowing RowRenderer, to sessions: inout SessionTable
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
                        isDrawnDifferently(form, entity, to: subscription, at: renderer.time, store)
                    }
                guard isDifferent else { continue }
            }
            markSurroundings(of: entity, to: index, since: commit, store)
            sessions.makeReady(slot: subscription.session)
        }
        giveBack(&followers)
    }

    /// Records when a tile that a subscriber does not see is examined again.
    mutating func noteHidden(_ entity: EntityIndex, from index: SubscriptionIndex, until date: Timestamp?) {
        guard let date else { return forgetSent(entity, by: index) }
        noteSent(scene: nil, tile: nil, of: entity, to: index, usedUpAt: date)
    }

    // MARK: Changes of widgets

    /// Publishes a change of a widget that stacks may suggest. Subscribers that hold it as a suggestion get a row. If its relevance
    /// changed, the stacks of all boards are re-examined.
    ///
    /// - Complexity: O(followed boards that may show it).
    mutating func publishToSuggestions(
        of widget: EntityIndex, _ key: Key, commit: Int64, _ store: borrowing EntityStore,
        _ renderer: inout RowRenderer,
        to sessions: inout SessionTable
    ) {
        let relevance = renderer.commonRelevance(ofSuggested: widget, key, store)
        let isAlike = isAlike(relevance, presence.sentRelevance(of: key), at: renderer.time)
        changePresence { $0.setSentRelevance(relevance, of: key) }
        for board in presence.boards(with: key) {
            guard isFollowed(board: board) else {
                giveUp(board, store, &renderer)
                continue
            }
            let members = presence.members(of: key, onBoard: board)
            for member in members {
                renderer.invalidate(member.entity)
                owePresence(
                    member.entity, onBoard: board, isChanged: true, isAlike: isAlike, commit: commit, store, renderer,
                    to: &sessions)
            }
            guard !isAlike else { continue }
            for other in presence.members(onBoard: board) where other.widget != key {
                owePresence(
                    other.entity, onBoard: board, isChanged: false, commit: commit, store, renderer, to: &sessions)
            }
            let stacks = store.smart(members.compactMap(\.stack), onBoard: board)
            publishToNeighbours(
                of: [], inStacks: stacks, onBoard: board, commit: commit, store, renderer, to: &sessions)
        }
    }

    /// Publishes a relevant widget that came, changed or went. Watches that hold it get a row. If its relevance changed, everything
    /// on the boards of its accounts is re-examined.
    ///
    /// Boards that show a widget that is or was everybody's wait for their turn.
    ///
    /// - Complexity: O(the boards of its accounts that watches follow).
    mutating func publishToRelevantTiles(
        of widget: EntityIndex, _ key: Key, commit: Int64, _ store: inout EntityStore, _ renderer: inout RowRenderer,
        to sessions: inout SessionTable
    ) {
        if store.isRelevantForEverybody(widget) {
            let mayBeOnBoards = presence.isHeld(key) || store.isAmongNewestRelevantWidgets(widget)
            changePresence { presence in
                if mayBeOnBoards { presence.scan.demand(since: commit) }
                // Sent to all of them, whatever it was before.
                presence.setSentRelevance(nil, of: key)
            }
            return
        }
        // The boards that had it while it was for everybody.
        let limit = limits.boardsPerBatch
        if presence.isHeld(key, byMoreThan: limit) { changePresence { $0.scan.demand(since: commit) } }
        let boards = presence.boards(with: key, of: store.widget(at: widget)?.accounts ?? [], limit: limit)
        guard !boards.isEmpty else { return }
        let relevance = renderer.commonRelevance(ofRelevantWidget: widget, store)
        let former = presence.sentRelevance(of: key)
        for board in boards {
            guard isFollowed(board: board) else {
                giveUp(board, store, &renderer)
                continue
            }
            let isKnown = !presence.members(of: key, onBoard: board).isEmpty
            let isAlike =
                isAlike(relevance, former ?? (isKnown ? nil : RowRenderer.neverRelevant), at: renderer.time)
                && isUnmoved(widget, isKnown: isKnown, onBoard: board, store)
            if !isAlike, presence.sequence(onBoard: board) != store.sequence {
                publishPresence(onBoard: board, commit: commit, &store, &renderer, to: &sessions)
            }
            for member in presence.members(of: key, onBoard: board) {
                renderer.invalidate(member.entity)
                owePresence(
                    member.entity, onBoard: board, isChanged: true, isAlike: isAlike, commit: commit, store, renderer,
                    to: &sessions)
            }
        }
        changePresence { $0.setSentRelevance(relevance, of: key) }
    }

    /// - Returns: `false` if either is unknown.
    private func isAlike(_ relevance: [Relevance]?, _ former: [Relevance]?, at time: Timestamp) -> Bool {
        zip(relevance ?? [], former ?? []).map { $0.isAlike($1, from: time) } == [true, true]
    }

    /// Whether a widget is still there for a board's account and displaces no other: a board considers a limited number of them.
    private func isUnmoved(
        _ widget: EntityIndex, isKnown: Bool, onBoard board: Int32, _ store: borrowing EntityStore
    ) -> Bool {
        guard store.widget(at: widget)?.isGone == false else { return false }
        let account = store.name(ofBoard: board)?.account
        return store.relevantWidgetCount(for: account) < RelevantWidgets.limit
            && (!isKnown || store.isVisible(widget, to: account))
    }

    // MARK: Boards that wait

    /// Continues examining the boards that wait for it, within the limit of a batch.
    mutating func goOnLookingAtBoards(
        _ store: inout EntityStore, _ renderer: inout RowRenderer, to sessions: inout SessionTable
    ) {
        var share = ScanShare(keys: limits.boardsPerBatch, checksPerKey: 64)
        let end = store.kindNumberLimit
        while !share.isUsedUp, let number = changePresence({ $0.scan.next(end: end) }) {
            share.spend()
            if examineWaiting(board: number, &store, &renderer, to: &sessions) { share.takeKey() }
        }
    }

    /// Examines a board if it waits for that.
    ///
    /// - Returns: Whether it was waiting.
    @discardableResult
    mutating func examineWaiting(
        board number: Int32, _ store: inout EntityStore, _ renderer: inout RowRenderer, to sessions: inout SessionTable
    ) -> Bool {
        guard let since = presence.scan.since, presence.isWaiting(number) else { return false }
        publishPresence(onBoard: number, commit: since, &store, &renderer, to: &sessions)
        return true
    }

    // MARK: Who follows a board

    /// Whether a subscription follows a board, or a key of it that may not exist.
    func isFollowed(board number: Int32) -> Bool {
        tileFollowers[number] != nil || hasFollowers(ofBoard: number)
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
    private mutating func boardsFollowedByWatches(_ store: borrowing EntityStore) -> [Int32] {
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

    /// Whether its account may be shown a tile that nobody placed, on a board of `owner`; `nil` = everybody's.
    ///
    /// One to everything gets relevant widgets themselves, and without an account the suggestions of everybody's boards only.
    func mayBeShown(unplacedOf owner: String?, isRelevantTile: Bool) -> Bool {
        if followsEverything { return !isRelevantTile && (owner == nil || owner == terms.account) }
        return owner == nil || terms.account == nil || owner == terms.account
    }
}
