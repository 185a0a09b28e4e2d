internal import FanOut
internal import Surfaces
internal import TelltaleModel

// Tiles whose widgets change.
extension SubscriptionRegistry {
    /// Rows of tiles come again when their widget changes. The tiles themselves do not change: their number may be great,
    /// and nobody follows most of them.
    ///
    /// The rows are missing since the widget's commit: a cursor beyond it would resume without them.
    mutating func publishToTiles(
        of widget: EntityIndex, commit: Int64, _ store: inout EntityStore, _ renderer: inout RowRenderer,
        to sessions: inout SessionTable
    ) {
        guard let key = store[widget].key else { return }
        for tile in store.boards.tiles(on: key) {
            renderer.invalidate(tile)
            var followers = takeFollowers(of: tile, kind: store[tile].kindName, isWidget: true)
            for index in followers {
                guard let subscription = self[index], case .surface = subscription.terms.view,
                    subscription.shown(tile) != nil
                else { continue }
                oweSurroundings(of: tile, to: index, since: commit, &store)
                sessions.makeReady(slot: subscription.session)
            }
            giveBack(&followers)
        }
    }

    /// Owes a resuming subscription the tiles whose widgets changed after its cursor.
    mutating func fillTiles(_ index: SubscriptionIndex, after sequence: Int64, _ store: inout EntityStore) {
        guard let subscription = self[index], case .surface = subscription.terms.view else { return }
        let account = subscription.terms.account
        for entity in store.tiles(changedAfter: sequence, followedBy: subscription.selector)
        where store.isListed(entity) && store.isVisible(entity, to: account) {
            enqueue(entity, in: index, &store) { $0.markResume(entity, firstCommit: sequence + 1) }
        }
    }
}
