internal import FanOut
internal import Surfaces
internal import TelltaleModel

// What is pending for a subscription at its beginning, or because its device changed.
extension SubscriptionRegistry {
    /// Marks everything that a new subscription follows as pending; of competing activities, those with a placement.
    mutating func fillSnapshot(
        _ index: SubscriptionIndex, of session: Session, _ store: borrowing EntityStore, _ renderer: inout RowRenderer
    ) {
        guard let subscription = self[index] else { return }
        let account = subscription.competingAccount
        let placed = account == nil ? [] : renderer.place(index, of: session, &self, store)
        if isFilledByScan(subscription, store) {
            let (sequence, end) = (store.sequence, store.indexCount)
            change(index) { subscription in
                if account != nil { subscription.sentCursor = sequence }
                subscription.begin(TableScan(.snapshot, end: end))
            }
            return
        }
        let nextCommit = store.sequence + 1
        let present = presentTiles(for: subscription, store)
        var entities = placed + store.followed(by: subscription) + present
        if account != nil || !present.isEmpty { entities.sort { $0.rawValue < $1.rawValue } }
        for entity in entities {
            enqueue(entity, in: index, store) { $0.markSnapshot(entity, firstCommit: nextCommit) }
        }
        change(index) { $0.finishFilling(isPlaced: account != nil) }
    }

    /// Marks everything that changed after a resuming subscription's cursor as pending.
    ///
    /// - Parameter former: What ``holdPresence(for:after:_:)`` returned.
    mutating func fillResume(
        _ index: SubscriptionIndex, after sequence: Int64, former: [EntityIndex], of session: Session,
        _ store: borrowing EntityStore, _ renderer: inout RowRenderer
    ) {
        guard let subscription = self[index] else { return }
        // With an account, a deletion is sent depending on the key's past, and a scan may reach the key too late for that.
        if subscription.terms.account == nil, isFilledByScan(subscription, store),
            subscription.terms.tracksRows || store.hasChanged(moreThan: limits.keysFilledAtOnce, after: sequence)
        {
            let end = store.indexCount
            change(index) { subscription in
                subscription.sentCursor = sequence
                subscription.begin(TableScan(.resume(after: sequence), end: end))
            }
            markResume(former, in: index, after: sequence, store)
            noteResume(index)
            return
        }
        let account = subscription.terms.account
        let changed = store.changed(after: sequence, followedBy: subscription.selector)
        var entities = changed.filter { store.mayHaveKnown($0, account: account, at: sequence) }
        if subscription.terms.competes || subscription.isSituated {
            // The surroundings of an unchanged activity, or the device, may have changed how it is shown. Widgets do not compete.
            entities += unchanged(by: changed, for: subscription, store)
                .filter { subscription.isSituated || !store.isWidget($0) }
        }
        if store.hasWidgetKinds, subscription.terms.tracksRows {
            entities += store.followed(by: subscription).filter { store.mayBeUsedUp($0, by: subscription) }
        }
        entities += changedTiles(of: subscription, after: sequence, store)
        entities += presentTiles(for: subscription, store) + former
        entities += embedders(of: subscription, after: sequence, store)
        entities += offers(of: subscription, after: sequence, store)
        markResume(entities, in: index, after: sequence, store)
        assumeShown(by: index, of: session, store, &renderer)
        change(index) { subscription in
            subscription.sentCursor = sequence
            subscription.finishFilling()
        }
    }

    private mutating func markResume(
        _ entities: [EntityIndex], in index: SubscriptionIndex, after sequence: Int64, _ store: borrowing EntityStore
    ) {
        for entity in entities {
            enqueue(entity, in: index, store) { $0.markResume(entity, firstCommit: sequence + 1) }
        }
    }

    /// Whether a subscription follows so many keys that it is filled by a scan over the table, and not key by key.
    ///
    /// Competing activities do not count: a view shows few of them.
    private func isFilledByScan(_ subscription: Subscription, _ store: borrowing EntityStore) -> Bool {
        guard subscription.key == nil else { return false }
        if let account = subscription.competingAccount {
            return store.otherCount(visibleTo: account, followedBy: subscription.selector) > limits.keysFilledAtOnce
        }
        return store.candidateCount(for: subscription.terms.account, followedBy: subscription.selector)
            > limits.keysFilledAtOnce
    }

    /// Keys that a subscriber may hold and that may look different without having changed, in the order of the table.
    private func unchanged(
        by changed: [EntityIndex], for subscription: Subscription, _ store: borrowing EntityStore
    ) -> [EntityIndex] {
        let followed = store.followed(by: subscription)
        guard let account = subscription.competingAccount else { return followed }
        let competitors = store.competitors(
            for: account, digest: subscription.terms.accountDigest, kind: subscription.kind, unlike: changed)
        return (followed + competitors).sorted { $0.rawValue < $1.rawValue }
    }

    /// Whether so much changed since a cursor of an account's view that keys that left it are not searched for: its few rows are
    /// all sent again.
    func isTooOldToResume(
        _ subscription: Subscription, after sequence: Int64, _ store: borrowing EntityStore
    ) -> Bool {
        guard let account = subscription.competingAccount else { return false }
        return store.competitorCount(for: account, followedBy: subscription.selector) > limits.keysFilledAtOnce
            && store.hasChanged(moreThan: limits.keysFilledAtOnce, after: sequence)
    }

    /// Whether a subscription is projected now, and not after `LIVE`.
    func projectsNow(_ index: SubscriptionIndex) -> Bool {
        guard let subscription = self[index], subscription.needsProjection else { return false }
        return subscription.backlog?.scan?.endsInLive != true
    }

    /// How many keys a projection examines.
    func projectionCost(of index: SubscriptionIndex, _ store: borrowing EntityStore) -> Int {
        guard let subscription = self[index], subscription.key == nil else { return 1 }
        let isScan = isFilledByScan(subscription, store)
        guard let account = subscription.competingAccount else {
            return isScan ? 1 : store.candidateCount(for: subscription.terms.account, followedBy: subscription.selector)
        }
        let placed = max(limits.activitiesPerView, subscription.backlog?.placedCount ?? 0)
        guard subscription.mayGainWidgets, !isScan else { return placed }
        return placed + store.otherCount(visibleTo: account, followedBy: subscription.selector)
    }

    /// Starts a scan over the table that projects a subscription to many keys; a scan in progress starts over.
    ///
    /// - Returns: `false` if the subscription is projected at once instead.
    mutating func projectsByScan(
        _ index: SubscriptionIndex, redrawsControls: Bool, _ store: borrowing EntityStore
    ) -> Bool {
        guard let subscription = self[index], isFilledByScan(subscription, store) else { return false }
        var redrawsControls = redrawsControls
        if case .projection(true)? = subscription.backlog?.scan?.purpose { redrawsControls = true }
        let end = store.indexCount
        change(index) { $0.begin(TableScan(.projection(controls: redrawsControls), end: end)) }
        return true
    }

    /// Records what a subscriber kept that is not sent again on its resume, so that its deletion will be sent.
    private mutating func assumeShown(
        by index: SubscriptionIndex, of session: Session, _ store: borrowing EntityStore, _ renderer: inout RowRenderer
    ) {
        guard let subscription = self[index], subscription.terms.tracksRows, !subscription.isSituated else { return }
        let competes = subscription.terms.competes
        guard !competes || store.hasWidgetKinds else { return }
        for entity in store.followed(by: subscription)
        where !subscription.isWaiting(for: entity) && (!competes || store.isWidget(entity)) {
            renderer.assumeShown(entity, by: index, of: session, &self, store)
        }
    }

    /// Makes a projection due for every surface view of a session, because its situation changed.
    ///
    /// - Parameter locked: The device was locked or unlocked, so it shows more or less of its controls.
    mutating func reproject(_ session: Session, locked: Bool) {
        for index in session.subscriptions {
            change(index) { subscription in
                guard case .surface = subscription.terms.view, !subscription.terms.isNotice else { return }
                // A row that looks different now is free.
                subscription.backlog?.reconsidersHeld = true
                (subscription.needsProjection, subscription.mayGainWidgets) = (true, true)
                if locked { subscription.needsControlsRedrawn = true }
                guard !subscription.terms.competes, !subscription.isSituated else { return }
                // The first row that looks different has a cursor that says so.
                subscription.isSituated = true
                subscription.sentCursor = 0
            }
        }
    }
}

extension EntityStore {
    /// What a subscription follows and its account may see, in the order of the table, without competing activities: a view has
    /// few of them (``lineup(for:kind:more:)``).
    func followed(by subscription: Subscription) -> [EntityIndex] {
        guard let account = subscription.competingAccount else {
            return visible(
                to: subscription.terms.account, digest: subscription.terms.accountDigest,
                followedBy: subscription.selector)
        }
        return others(
            visibleTo: account, digest: subscription.terms.accountDigest, followedBy: subscription.selector)
    }
}
