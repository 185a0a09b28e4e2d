internal import FanOut
internal import TelltaleModel

// Activities and widgets whose views contain controls.
extension SubscriptionRegistry {
    /// Marks the rows of activities dirty whose views contain a changed control.
    ///
    /// They are missing since the control's commit: a resume from a later cursor would lack them.
    mutating func publishToEmbedders(
        of entity: EntityIndex, commit: Int64, _ store: borrowing EntityStore, _ renderer: inout RowRenderer,
        to sessions: inout SessionTable
    ) {
        guard let key = store[entity].key else { return }
        for activity in renderer.activities(with: key) {
            renderer.invalidateRows(of: activity)
            let isWidget = store.isWidget(activity)
            var followers = takeFollowers(of: activity, kind: store[activity].kindName, isWidget: isWidget)
            for index in followers {
                guard let subscription = self[index], case .surface = subscription.terms.view else { continue }
                if subscription.terms.isNotice {
                    markNotice(
                        of: activity, commit: commit, through: store[entity].rev, to: index, store, &sessions)
                    continue
                }
                guard subscription.shown(activity) != nil else { continue }
                markSurroundings(of: activity, to: index, since: commit, store)
                sessions.makeReady(slot: subscription.session)
            }
            giveBack(&followers)
        }
    }

    /// Marks the rows of controls dirty that a changed activity offers, or does not offer any more (E6).
    mutating func publishOffers(
        of activity: EntityIndex, commit: Int64, _ store: borrowing EntityStore, _ renderer: inout RowRenderer,
        to sessions: inout SessionTable
    ) {
        for control in store.controls(of: activity) where renderer.updateOffer(of: control, store) {
            var followers = takeFollowers(of: control, kind: store[control].kindName, isWidget: false)
            for index in followers {
                guard let subscription = self[index], !subscription.terms.isNotice else { continue }
                let isHeld =
                    subscription.terms.tracksRows
                    ? subscription.shown(control) != nil
                    : store.isVisible(control, to: subscription.terms.account, digest: subscription.terms.accountDigest)
                guard isHeld else { continue }
                markSurroundings(of: control, to: index, since: commit, store)
                sessions.makeReady(slot: subscription.session)
            }
            giveBack(&followers)
        }
    }

    /// The controls of a subscription that changed activities may offer, or not offer any more.
    func offers(of subscription: Subscription, after sequence: Int64, _ store: borrowing EntityStore) -> [EntityIndex] {
        guard store.hasAttachments else { return [] }
        return store.changed(after: sequence).filter { store.hidesControls($0) }
            .flatMap { store.controls(of: $0) }
            .filter {
                store.follows(subscription.selector, $0)
                    && store.isVisible($0, to: subscription.terms.account, digest: subscription.terms.accountDigest)
            }
    }

    /// The keys of a subscription whose views contain a changed control.
    func embedders(
        of subscription: Subscription, after sequence: Int64, _ store: borrowing EntityStore
    ) -> [EntityIndex] {
        guard case .surface = subscription.terms.view, store.showsControls else {
            return []
        }
        func followed() -> [EntityIndex] {
            store.followed(by: subscription)
        }
        // With a single key, its controls are checked directly: many screens with one key each may reconnect at once.
        if subscription.key != nil {
            return followed().filter { store.showsControl(in: $0, changedAfter: sequence) }
        }
        var changed: Set<String> = []
        for entity in store.changed(after: sequence) where store.isControl(entity) {
            if let key = store[entity].key { changed.insert(key.text) }
        }
        guard !changed.isEmpty else { return [] }
        return followed().filter { store.controlKeys(in: $0).contains { changed.contains($0) } }
    }
}
