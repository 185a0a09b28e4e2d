internal import FanOut
internal import Surfaces
internal import TelltaleModel

// The debts of a subscription at its beginning, or because its device changed.
extension SubscriptionRegistry {
    /// Owes a new subscription everything that it follows.
    mutating func fillSnapshot(_ index: SubscriptionIndex, _ store: inout EntityStore) {
        guard let subscription = self[index] else { return }
        let nextCommit = store.sequence + 1
        for entity in store.visible(to: subscription.terms.account, followedBy: subscription.selector) {
            enqueue(entity, in: index, &store) { $0.markSnapshot(entity, firstCommit: nextCommit) }
        }
        change(index) { $0.finishFilling() }
    }

    /// Owes a new subscription everything that changed after its cursor.
    mutating func fillResume(
        _ index: SubscriptionIndex, after sequence: Int64, of session: Session, _ store: inout EntityStore,
        _ renderer: inout RowRenderer
    ) {
        guard let subscription = self[index] else { return }
        let account = subscription.terms.account
        for entity in store.changed(after: sequence, followedBy: subscription.selector)
        where mayHaveKnown(entity, account: account, at: sequence, store) {
            enqueue(entity, in: index, &store) { $0.markResume(entity, firstCommit: sequence + 1) }
        }
        if subscription.terms.competes || subscription.isSituated {
            // The surroundings of an unchanged activity, or the device, may have changed the way it is shown.
            for entity in store.visible(to: account, followedBy: subscription.selector) {
                enqueue(entity, in: index, &store) { $0.markResume(entity, firstCommit: sequence + 1) }
            }
        }
        fillEmbedders(index, after: sequence, &store)
        assumeShown(by: index, of: session, &store, &renderer)
        change(index) { subscription in
            subscription.toldCursor = sequence
            subscription.finishFilling()
        }
    }

    /// Whether `account` could see what stood behind the key at `sequence`, or can now. What is other accounts' is not
    /// even told to be gone.
    private func mayHaveKnown(
        _ entity: EntityIndex, account: String?, at sequence: Int64, _ store: borrowing EntityStore
    ) -> Bool {
        guard let account, !store.isAddressed(entity, to: account) else { return true }
        return store.entities.audienceHistories[entity]?.contains(account, after: sequence) == true
    }

    /// An activity that did not change looks different when a control in its view did.
    private mutating func fillEmbedders(
        _ index: SubscriptionIndex, after sequence: Int64, _ store: inout EntityStore
    ) {
        guard let subscription = self[index], case .surface = subscription.terms.view,
            store.kinds.versions.contains(where: \.showsControls)
        else { return }
        var changed: Set<String> = []
        for entity in store.changed(after: sequence) where store.isControl(entity) {
            if let key = store[entity].key { changed.insert(key.text) }
        }
        guard !changed.isEmpty else { return }
        for entity in store.visible(to: subscription.terms.account, followedBy: subscription.selector) {
            guard store.controlKeys(in: entity).contains(where: { changed.contains($0) }) else { continue }
            enqueue(entity, in: index, &store) { $0.markResume(entity, firstCommit: sequence + 1) }
        }
    }

    /// Notes what a subscriber has kept that is not sent again on its resume, so that its end will be told.
    private mutating func assumeShown(
        by index: SubscriptionIndex, of session: Session, _ store: inout EntityStore, _ renderer: inout RowRenderer
    ) {
        guard let subscription = self[index], subscription.terms.tracksRows, !subscription.terms.competes,
            !subscription.isSituated
        else { return }
        for entity in store.visible(to: subscription.terms.account, followedBy: subscription.selector)
        where !subscription.isWaiting(for: entity) {
            // Its last row was of the usual situation, which is this session's still.
            let placement = renderer.form(of: entity, for: subscription, of: session, store)?.placement
            change(index) { $0.show(entity, placement) }
            // It is not encoded again now, and has not been encoded since a restart.
            if placement != nil { renderer.noteControls(in: entity, store) }
        }
    }

    /// Lets every surface view of a session be projected anew: its situation changed.
    ///
    /// - Parameters:
    ///   - locked: The device was locked or unlocked: it shows more or less of its controls now.
    ///   - commit: The one behind the newest durable record.
    mutating func reproject(
        _ session: Session, locked: Bool, before commit: Int64, _ store: inout EntityStore,
        _ renderer: borrowing RowRenderer
    ) {
        for index in session.subscriptions {
            guard let subscription = self[index], case .surface = subscription.terms.view else { continue }
            change(index) { subscription in
                subscription.needsProjection = true
                guard !subscription.terms.competes, !subscription.isSituated else { return }
                // The first row that looks different brings a cursor that says so.
                subscription.isSituated = true
                subscription.toldCursor = 0
            }
            guard locked else { continue }
            for raw in subscription.allShown.keys.sorted() {
                let entity = EntityIndex(raw)
                guard store.isControl(entity) || renderer.shows(controlsIn: entity) else { continue }
                oweSurroundings(of: entity, to: index, since: commit, &store)
            }
        }
    }
}
