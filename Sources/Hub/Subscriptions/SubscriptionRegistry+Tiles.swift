internal import FanOut
internal import Surfaces
internal import TelltaleModel

// Tiles whose widgets change.
extension SubscriptionRegistry {
    /// Publishes a change of a widget or a tile to boards. Called for the removal of the last tile too, because unplaced tiles
    /// may remain.
    ///
    /// - Parameter isFirst: The batch has not changed it before.
    mutating func publishToBoards(
        of entity: EntityIndex, commit: Int64, isFirst: Bool, _ store: inout EntityStore, _ renderer: inout RowRenderer,
        to sessions: inout SessionTable
    ) {
        guard store.boardItem(at: entity) == nil else {
            let board = store[entity].kindName
            if store.hasVisitingKinds, !presence.isVisited(board),
                isFollowedByWatch(entity, onBoard: board, store)
            {
                changePresence { $0.follow(board) }
            }
            let isSuggesting =
                store.takesSuggestions(board) || presence.isVisited(board)
                || !presence.members(onBoard: board).isEmpty
            // Once for all changes of a batch on it.
            if isSuggesting, presence.sequence(onBoard: board) != store.sequence {
                publishPresence(onBoard: board, commit: commit, &store, &renderer, to: &sessions)
            }
            return publishToNeighbours(
                of: [entity], inStacks: store.smartStacks(ofTiles: [entity], onBoard: board), onBoard: board,
                commit: commit, store,
                renderer, to: &sessions)
        }
        if isFirst { publishToTiles(of: entity, commit: commit, store, &renderer, to: &sessions) }
        guard !presence.isEmpty, let key = store[entity].key else { return }
        if store.maySuggest(key) {
            publishToSuggestions(of: entity, key, commit: commit, store, &renderer, to: &sessions)
        }
        if presence.hasRelevantTiles, store.isOfVisitingKind(entity) {
            publishToRelevantTiles(of: entity, key, commit: commit, &store, &renderer, to: &sessions)
        }
    }

    /// Marks the rows of tiles dirty when their widget changes. The tiles themselves do not change: there may be many, and most
    /// have no follower.
    ///
    /// The rows are missing since the widget's commit: a resume from a later cursor would lack them.
    ///
    /// - Complexity: O(the widget's tiles, and the followed tiles on their boards).
    private mutating func publishToTiles(
        of widget: EntityIndex, commit: Int64, _ store: borrowing EntityStore, _ renderer: inout RowRenderer,
        to sessions: inout SessionTable
    ) {
        guard let key = store[widget].key else { return }
        var tilesByBoard: [Int32: [EntityIndex]] = [:]
        for tile in store.tiles(showing: key) {
            renderer.invalidate(tile)
            let board = store[tile].kindName
            // A hundred thousand boards may show this widget, and most have no follower.
            guard isFollowed(board: board) || !presence.members(onBoard: board).isEmpty else { continue }
            tilesByBoard[board, default: []].append(tile)
            var followers = takeFollowers(of: tile, kind: board, isWidget: true)
            for index in followers {
                guard let subscription = self[index] else { continue }
                if subscription.terms.isNotice {
                    markNotice(of: tile, commit: commit, through: store[widget].rev, to: index, store, &sessions)
                    continue
                }
                guard case .surface = subscription.terms.view,
                    subscription.shown(tile) != nil || isShownNow(tile, to: subscription, store, renderer, sessions)
                else { continue }
                markSurroundings(of: tile, to: index, since: commit, store)
                sessions.makeReady(slot: subscription.session)
            }
            giveBack(&followers)
        }
        for (board, tiles) in tilesByBoard.sorted(by: { $0.key < $1.key }) {
            publishToNeighbours(
                of: tiles, inStacks: store.smartStacks(ofTiles: tiles, onBoard: board), onBoard: board, commit: commit,
                store,
                renderer, to: &sessions)
        }
    }

    /// Whether a change reveals a tile that was not shown: in StandBy, only those that come on top.
    private func isShownNow(
        _ tile: EntityIndex, to subscription: Subscription, _ store: borrowing EntityStore,
        _ renderer: borrowing RowRenderer, _ sessions: borrowing SessionTable
    ) -> Bool {
        guard !subscription.isWaiting(for: tile), let session = sessions[slot: subscription.session] else {
            return false
        }
        return renderer.form(of: tile, for: subscription, of: session, store) != nil
    }

    /// Marks the rows of neighbouring tiles dirty if they look different. The turns of a smart stack are in the rows of all its
    /// tiles, and so are the order of a watch and the two places of StandBy.
    ///
    /// - Parameters:
    ///   - tiles: Tiles that changed, or whose widgets did.
    ///   - stacks: The smart stacks that contain them, or in which another tile changed.
    mutating func publishToNeighbours(
        of tiles: [EntityIndex], inStacks stacks: Set<String>, onBoard board: Int32, commit: Int64,
        _ store: borrowing EntityStore, _ renderer: borrowing RowRenderer, to sessions: inout SessionTable
    ) {
        let followed = store.items(onBoard: board).filter {
            hasFollowers(ofWidget: $0, board) && tiles != [$0]
        }
        let members = presence.members(onBoard: board)
        guard !followed.isEmpty || !members.isEmpty else { return }
        let stacked = Set(store.tiles(inStacks: stacks, onBoard: board))
        for neighbour in followed {
            let isStacked = stacked.contains(neighbour)
            var followers = takeFollowers(of: neighbour, kind: board, isWidget: true)
            for index in followers {
                guard let subscription = self[index], case .surface(let surface) = subscription.terms.view,
                    isStacked || surface.numbersTiles, !subscription.isWaiting(for: neighbour),
                    let session = sessions[slot: subscription.session]
                else { continue }
                let form = renderer.form(of: neighbour, for: subscription, of: session, store)
                guard
                    isDrawnDifferently(
                        renderer.widgetForm(form), neighbour, to: subscription, at: renderer.time, store)
                else { continue }
                markSurroundings(of: neighbour, to: index, since: commit, store)
                sessions.makeReady(slot: subscription.session)
            }
            giveBack(&followers)
        }
        for member in members where member.stack.map({ stacks.contains($0) }) ?? true {
            owePresence(
                member.entity, onBoard: board, isChanged: false, commit: commit, store, renderer, to: &sessions)
        }
    }

    /// The tiles of a resuming subscription whose widgets changed after its cursor, or that may have moved.
    func changedTiles(
        of subscription: Subscription, after sequence: Int64, _ store: borrowing EntityStore
    ) -> [EntityIndex] {
        guard case .surface(let surface) = subscription.terms.view else { return [] }
        let changed =
            surface.numbersTiles
            ? store.tiles(reorderedAfter: sequence, followedBy: subscription.selector)
            : store.tiles(changedAfter: sequence, followedBy: subscription.selector)
        return changed.filter { store.isListed($0) && store.isVisible($0, to: subscription.terms.account) }
    }
}

extension Surface {
    /// Whether the number of a tile's place depends on the other tiles shown: the order of a watch, and the two places of
    /// StandBy.
    var numbersTiles: Bool { self == .watch || self == .standby }
}
