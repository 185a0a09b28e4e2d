internal import FanOut
internal import Machines
internal import Surfaces
internal import TelltaleModel
internal import TelltaleWire

// The rows that a subscription gets from a scan over the table.
extension RowRenderer {
    /// Continues the scan of a subscription while the write has room and the turn has time.
    ///
    /// - Returns: Whether the scan is complete, and `LIVE` has been written if it follows.
    mutating func writeScan(
        of index: SubscriptionIndex, of session: Session, in backlog: Backlog, _ writing: inout RowWriting,
        _ subscriptions: inout SubscriptionRegistry, _ store: borrowing EntityStore, to writer: inout LineWriter
    ) -> Bool {
        while let scan = backlog.scan, !scan.isOver {
            guard writer.count < writing.limit, writing.spendChecks(1) else { return false }
            let entity = EntityIndex(scan.position)
            backlog.scan?.position += 1
            let ahead = backlog.scan?.ahead.remove(entity)
            guard let entry = entry(of: entity, ahead, scan, index, session, subscriptions, store) else {
                if case .resume = scan.purpose {
                    assumeShown(entity, by: index, of: session, &subscriptions, store)
                }
                continue
            }
            if repeatsRow(entity, entry, of: index, of: session, &subscriptions, store) {
                if ahead != nil { store.release(entity) }
                continue
            }
            let isHeldBack = holdBack(entity, entry, of: index, in: backlog, &writing, subscriptions)
            if isHeldBack {
                // A key that changed ahead of the scan is already retained.
                if ahead == nil { store.retain(entity) }
            } else {
                backlog.noteSent(entity)
                noteRate(entity, of: index, in: backlog, writing, subscriptions)
                write(entity, entry, of: index, of: session, &writing, &subscriptions, store, to: &writer)
                if ahead != nil { store.release(entity) }
            }
        }
        guard let scan = backlog.scan else { return true }
        backlog.scan = nil
        if scan.endsInLive { writeLive(index, writing.commit, &subscriptions, store, to: &writer) }
        return true
    }

    /// What to send for a key that the scan reaches; `nil` = nothing.
    private func entry(
        of entity: EntityIndex, _ ahead: DirtyQueue.Entry?, _ scan: TableScan, _ index: SubscriptionIndex,
        _ session: Session, _ subscriptions: borrowing SubscriptionRegistry, _ store: borrowing EntityStore
    ) -> DirtyQueue.Entry? {
        guard let subscription = subscriptions[index], store[entity].key != nil,
            store.follows(subscription.selector, entity)
        else { return ahead }
        let (account, digest) = (subscription.terms.account, subscription.terms.accountDigest)
        let isPresent = subscriptions.isPresent(entity, for: subscription, store)
        let isSeen = isPresent || store.isListed(entity) && store.isVisible(entity, to: account, digest: digest)
        switch scan.purpose {
        case .snapshot:
            return ahead ?? (isSeen ? DirtyQueue.Entry(snapshotSince: store.sequence + 1) : nil)
        case .resume(let sequence):
            if let ahead { return ahead.resuming }
            let hasChanged =
                store.hasChanged(entity, after: sequence)
                && store.mayHaveKnown(entity, account: account, at: sequence)
            let looksNew =
                isSeen
                && (isPresent || subscription.isSituated
                    || showsControl(in: entity, changedAfter: sequence, subscription, store)
                    || store.mayBeOfferedAnew(entity, after: sequence)
                    || mayHaveMoved(entity, for: subscription, store) || store.mayBeUsedUp(entity, by: subscription))
            return hasChanged || looksNew ? DirtyQueue.Entry(resumeSince: sequence + 1) : nil
        case .projection(let controls):
            // Its row is pending anyway, and will show the newest state.
            guard !subscription.isWaiting(for: entity) else { return nil }
            let before = subscription.shown(entity)
            let form = form(of: entity, for: subscription, of: session, store)
            let after = form?.placement
            let isControlled = before != nil && (store.isControl(entity) || shows(controlsIn: entity))
            let isWidgetChanged =
                store.isWidget(entity)
                && subscriptions.isDrawnDifferently(widgetForm(form), entity, to: subscription, at: time, store)
            guard before != after || isWidgetChanged || (controls && isControlled) else { return nil }
            return DirtyQueue.Entry(surroundingsSince: store.sequence + 1)
        }
    }

    /// Whether the position of a tile depends on other tiles of its board. A scan examines none of these, so each such tile is
    /// sent.
    private func mayHaveMoved(
        _ entity: EntityIndex, for subscription: Subscription, _ store: borrowing EntityStore
    ) -> Bool {
        guard case .surface(let surface) = subscription.terms.view else { return false }
        return surface.numbersTiles && store.boardItem(at: entity) != nil
    }

    private func showsControl(
        in entity: EntityIndex, changedAfter sequence: Int64, _ subscription: Subscription,
        _ store: borrowing EntityStore
    ) -> Bool {
        guard case .surface = subscription.terms.view else { return false }
        return store.showsControl(in: entity, changedAfter: sequence)
    }

    /// Records what a subscriber kept that is not sent again on its resume, so that its deletion will be sent.
    mutating func assumeShown(
        _ entity: EntityIndex, by index: SubscriptionIndex, of session: Session,
        _ subscriptions: inout SubscriptionRegistry, _ store: borrowing EntityStore
    ) {
        guard let subscription = subscriptions[index], subscription.terms.tracksRows, !subscription.isSituated,
            store[entity].key != nil, store.follows(subscription.selector, entity),
            let form = form(of: entity, for: subscription, of: session, store)
        else { return }
        // Its last row was for the usual situation, which is still this session's.
        subscriptions.change(index) { $0.show(entity, form.placement) }
        if let form = widgetForm(form) {
            subscriptions.noteSent(form, of: entity, to: index, usedUpAt: nil)
        }
        // It is not encoded now, and has not been since a restart, so its controls are recorded here.
        noteControls(in: entity, store)
    }
}
