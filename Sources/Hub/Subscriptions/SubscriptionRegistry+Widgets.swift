internal import FanOut
internal import Surfaces
internal import TelltaleModel

// The rows of widgets that subscribers hold.
extension SubscriptionRegistry {
    /// Records the row of a widget that a subscriber was sent, or is known to hold.
    mutating func noteSent(
        _ form: WidgetForm, of entity: EntityIndex, to index: SubscriptionIndex, usedUpAt: Timestamp?,
        digest: UInt32 = 0
    ) {
        noteSent(scene: form.sceneBox, tile: form.tile, of: entity, to: index, usedUpAt: usedUpAt, digest: digest)
    }

    /// - Parameter scene: `nil` for a suggestion that the subscriber does not see now.
    mutating func noteSent(
        scene: WidgetForm.SceneBox?, tile: TileViewState?, of entity: EntityIndex, to index: SubscriptionIndex,
        usedUpAt: Timestamp?, digest: UInt32 = 0
    ) {
        guard let subscription = self[index] else { return }
        let former = subscription.backlog?.widgets[entity.rawValue]?.watchedAt
        var watchedAt = former
        if let usedUpAt, usedUpAt < former ?? .distantFuture {
            watch(entity, of: index, at: usedUpAt)
            watchedAt = usedUpAt
        }
        change(index) { subscription in
            subscription.needBacklog().widgets[entity.rawValue] = WidgetSent(
                scene: scene, tile: SentTile(tile), usedUpAt: usedUpAt, watchedAt: watchedAt, digest: digest)
            subscription.noteDrained()
        }
    }

    /// Schedules a subscription for when its entries of a widget are used up.
    private mutating func watch(_ entity: EntityIndex, of index: SubscriptionIndex, at time: Timestamp) {
        if changeTimelines({ $0.isSweepDue }) {
            // Replaced moments are dropped when they may outnumber the others.
            var kept = changeTimelines { watch in watch.take() }
            kept.removeAll { moment in
                self[moment.subscription]?.backlog?.widgets[moment.entity.rawValue]?.watchedAt != moment.time
            }
            changeTimelines { $0.restore(kept) }
        }
        changeTimelines { $0.insert(time, entity, of: index) }
    }

    /// Records that a subscriber holds no row of a widget any more.
    mutating func forgetSent(_ entity: EntityIndex, by index: SubscriptionIndex) {
        change(index) { subscription in
            guard subscription.backlog?.widgets.removeValue(forKey: entity.rawValue) != nil else { return }
            subscription.noteDrained()
        }
    }

    /// Marks a row pending for each subscriber that has used up its entries at `time`. The row belongs to no commit.
    mutating func markUsedUp(at time: Timestamp, _ store: borrowing EntityStore, to sessions: inout SessionTable) {
        while let moment = changeTimelines({ $0.pop(by: time) }) {
            guard let subscription = self[moment.subscription],
                let sent = subscription.backlog?.widgets[moment.entity.rawValue], sent.watchedAt == moment.time
            else { continue }
            change(moment.subscription) { $0.backlog?.widgets[moment.entity.rawValue]?.watchedAt = nil }
            guard let usedUpAt = sent.usedUpAt else { continue }
            guard usedUpAt <= time else {
                watch(moment.entity, of: moment.subscription, at: usedUpAt)
                change(moment.subscription) { $0.backlog?.widgets[moment.entity.rawValue]?.watchedAt = usedUpAt }
                continue
            }
            guard store.isListed(moment.entity) || isPresent(moment.entity, for: subscription, store) else { continue }
            markSurroundings(of: moment.entity, to: moment.subscription, since: store.sequence + 1, store)
            sessions.makeReady(slot: subscription.session)
        }
    }

    /// Whether a subscriber holds a widget in an outdated form, because the situation of its device has changed.
    ///
    /// - Parameters:
    ///   - form: The form as it would be drawn now; `nil` = not at all.
    ///   - time: The kinds' clock: turns of a stack that the subscriber knows have happened by then.
    func isDrawnDifferently(
        _ form: WidgetForm?, _ entity: EntityIndex, to subscription: Subscription, at time: Timestamp,
        _ store: borrowing EntityStore
    ) -> Bool {
        let sent = subscription.backlog?.widgets[entity.rawValue]
        guard sent?.scene?.scene == form?.scene else { return true }
        return !(sent?.tile ?? .none).isAt(form?.tile, at: time, store[entity].key)
    }
}

extension EntityStore {
    /// Whether a subscriber may have used up the entries in the row of a widget's newest commit.
    func mayBeUsedUp(_ entity: EntityIndex, by subscription: Subscription) -> Bool {
        guard isWidget(entity), case .surface = subscription.terms.view else { return false }
        if boardItem(at: entity) != nil {
            let isOnWatch = subscription.terms.view == .surface(.watch)
            // A scan over everything does not examine the other tiles of a board.
            if isOnWatch, case .allWithWidgets = subscription.selector { return true }
            if mayTurnsBeUsedUp(ofTile: entity, isOnWatch: isOnWatch) { return true }
        }
        return mayBeUsedUp(shownWidget(at: entity) ?? entity, ahead: Int(subscription.terms.widgets.ahead))
    }
}
