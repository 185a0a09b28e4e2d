internal import FanOut
internal import Surfaces
internal import TelltaleModel

// Tiles whose widgets change.
extension SubscriptionRegistry {
    /// A widget changed, or a tile.
    mutating func publishToBoards(
        of entity: EntityIndex, commit: Int64, _ store: inout EntityStore, _ renderer: inout RowRenderer,
        to sessions: inout SessionTable
    ) {
        guard store.boardItem(at: entity) == nil else {
            return publishToNeighbours(
                of: [entity], onBoard: store[entity].kindName, commit: commit, &store, renderer, to: &sessions)
        }
        publishToTiles(of: entity, commit: commit, &store, &renderer, to: &sessions)
    }

    /// Rows of tiles come again when their widget changes. The tiles themselves do not change: their number may be great,
    /// and nobody follows most of them.
    ///
    /// The rows are missing since the widget's commit: a cursor beyond it would resume without them.
    ///
    /// - Complexity: O(the tiles of the widget, and those of their boards that are followed).
    private mutating func publishToTiles(
        of widget: EntityIndex, commit: Int64, _ store: inout EntityStore, _ renderer: inout RowRenderer,
        to sessions: inout SessionTable
    ) {
        guard let key = store[widget].key else { return }
        var tilesByBoard: [Int32: [EntityIndex]] = [:]
        for tile in store.boards.tiles(on: key) {
            renderer.invalidate(tile)
            let board = store[tile].kindName
            tilesByBoard[board, default: []].append(tile)
            var followers = takeFollowers(of: tile, kind: board, isWidget: true)
            for index in followers {
                guard let subscription = self[index] else { continue }
                if subscription.terms.isNotice {
                    oweNotice(of: tile, commit: commit, to: index, &store, &sessions)
                    continue
                }
                guard case .surface = subscription.terms.view, subscription.shown(tile) != nil else { continue }
                oweSurroundings(of: tile, to: index, since: commit, &store)
                sessions.makeReady(slot: subscription.session)
            }
            giveBack(&followers)
        }
        for board in tilesByBoard.keys.sorted() {
            publishToNeighbours(
                of: tilesByBoard[board] ?? [], onBoard: board, commit: commit, &store, renderer, to: &sessions)
        }
    }

    /// The turns of a smart stack stand in the rows of all of its tiles, and so does the order of a watch: those whose rows
    /// look different come again.
    ///
    /// - Parameter tiles: Their widgets, or what they are themselves, have changed.
    private mutating func publishToNeighbours(
        of tiles: [EntityIndex], onBoard board: Int32, commit: Int64, _ store: inout EntityStore,
        _ renderer: borrowing RowRenderer, to sessions: inout SessionTable
    ) {
        let followed = store.boards.items(onBoard: board).filter {
            patterns.hasFollowers(ofWidget: $0, board) && tiles != [$0]
        }
        guard !followed.isEmpty else { return }
        let stacked = store.neighbours(ofTiles: tiles, onBoard: board)
        for neighbour in followed {
            let isStacked = stacked.contains(neighbour)
            var followers = takeFollowers(of: neighbour, kind: board, isWidget: true)
            for index in followers {
                guard let subscription = self[index], case .surface(let surface) = subscription.terms.view,
                    isStacked || surface == .watch, !subscription.isWaiting(for: neighbour),
                    let session = sessions[slot: subscription.session]
                else { continue }
                let form = renderer.form(of: neighbour, for: subscription, of: session, store)
                guard
                    looksDifferent(
                        renderer.widgetForm(form), neighbour, to: subscription, at: renderer.time, store)
                else { continue }
                oweSurroundings(of: neighbour, to: index, since: commit, &store)
                sessions.makeReady(slot: subscription.session)
            }
            giveBack(&followers)
        }
    }

    /// Owes a resuming subscription the tiles whose widgets changed after its cursor.
    mutating func fillTiles(_ index: SubscriptionIndex, after sequence: Int64, _ store: inout EntityStore) {
        guard let subscription = self[index], case .surface = subscription.terms.view else { return }
        let account = subscription.terms.account
        let changed =
            subscription.terms.view == .surface(.watch)
            ? store.tiles(reorderedAfter: sequence, followedBy: subscription.selector)
            : store.tiles(changedAfter: sequence, followedBy: subscription.selector)
        for entity in changed
        where store.isListed(entity) && store.isVisible(entity, to: account) {
            enqueue(entity, in: index, &store) { $0.markResume(entity, firstCommit: sequence + 1) }
        }
    }
}
