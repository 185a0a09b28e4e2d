internal import FanOut
internal import Kinds
internal import TelltaleModel
internal import TelltaleWire

// Subscriptions with `deliver=notice`: they receive notices of changes, and no rows.
extension SubscriptionRegistry {
    /// Begins a subscription with `deliver=notice`. The current state is not sent, because the reader lists it. Changes since a
    /// cursor are sent as one line.
    mutating func fillNotice(
        _ index: SubscriptionIndex, after sequence: Int64?, _ store: borrowing EntityStore,
        _ renderer: inout RowRenderer
    ) {
        guard let subscription = self[index] else { return }
        let notice = PendingNotice()
        if let sequence {
            note(changesAfter: sequence, in: notice, of: subscription, store)
            noteControls(of: subscription, store, &renderer)
        }
        change(index) { subscription in
            subscription.needBacklog().notice = notice
            if let sequence { subscription.sentCursor = sequence }
            subscription.finishFilling()
        }
    }

    private func note(
        changesAfter sequence: Int64, in notice: PendingNotice, of subscription: Subscription,
        _ store: borrowing EntityStore
    ) {
        guard subscription.key != nil || !store.hasChanged(moreThan: limits.keysFilledAtOnce, after: sequence) else {
            // With so many changes, those that it follows are not searched for.
            return notice.markOthers(first: sequence + 1, last: store.sequence)
        }
        let account = subscription.terms.account
        var changed = store.changed(after: sequence, followedBy: subscription.selector).filter {
            store.mayHaveKnown($0, account: account, at: sequence)
        }
        changed += embedders(of: subscription, after: sequence, store)
        changed += store.tiles(changedAfter: sequence, followedBy: subscription.selector).filter {
            store.isListed($0) && store.isVisible($0, to: account)
        }
        for entity in changed {
            let isNew = notice.mark(
                entity, first: sequence + 1, last: max(store[entity].rev, sequence + 1),
                hasBudget: store.isWidget(entity))
            if isNew { store.retain(entity) }
        }
    }

    /// Before a restart, the reader may have read widgets whose views contain controls, so changes of these are sent too.
    private func noteControls(
        of subscription: Subscription, _ store: borrowing EntityStore, _ renderer: inout RowRenderer
    ) {
        let account = subscription.terms.account
        guard case .surface = subscription.terms.view, store.showsControls,
            store.candidateCount(for: account, followedBy: subscription.selector) <= limits.keysFilledAtOnce
        else { return }
        let digest = subscription.terms.accountDigest
        for entity in store.visible(to: account, digest: digest, followedBy: subscription.selector) {
            renderer.noteControls(in: entity, store)
        }
    }

    /// Records a change for a subscription with notices.
    ///
    /// - Parameters:
    ///   - commit: The commit that changed the key, or a control in its view.
    ///   - last: The last such commit of the same batch; `nil` = this one.
    mutating func markNotice(
        of entity: EntityIndex, commit: Int64, through last: Int64? = nil, to index: SubscriptionIndex,
        _ store: borrowing EntityStore,
        _ sessions: inout SessionTable
    ) {
        guard let subscription = self[index], let notice = subscription.backlog?.notice,
            store.mayHaveKnown(entity, account: subscription.terms.account, at: commit - 1)
        else { return }
        let isNew = notice.mark(
            entity, first: commit, last: max(commit, last ?? commit), hasBudget: store.isWidget(entity))
        if isNew { store.retain(entity) }
        guard notice.isDue else { return }
        _ = change(index) { $0.needBacklog() }
        sessions.makeReady(slot: subscription.session)
    }

    // MARK: Reading

    /// Records that a connection has read the current state of a key.
    mutating func noteRead(_ entity: EntityIndex, by session: Session, _ store: borrowing EntityStore) {
        for index in session.subscriptions {
            guard let notice = self[index]?.backlog?.notice, notice.read(entity) else { continue }
            store.release(entity)
            if notice.isDue { _ = change(index) { $0.needBacklog() } }
        }
    }

    /// Records that a connection has read all keys of a pattern.
    ///
    /// - Parameter commit: The newest commit when it began.
    mutating func noteRead(
        _ pattern: Pattern, through commit: Int64, by session: Session, _ store: borrowing EntityStore
    ) {
        for index in session.subscriptions {
            guard let subscription = self[index], let notice = subscription.backlog?.notice else { continue }
            let read = notice.read(
                through: commit,
                isEverything: store.covers(pattern, withWidgets: session.showsWidgets, subscription.selector)
            ) { store.covers(pattern, withWidgets: session.showsWidgets, .key($0)) }
            for entity in read { store.release(entity) }
            if notice.isDue { _ = change(index) { $0.needBacklog() } }
        }
    }
}

extension EntityStore {
    /// Whether a `LIST` of a pattern examines everything that a selector follows.
    fileprivate func covers(
        _ pattern: Pattern, withWidgets: Bool, _ selector: PatternIndex.Selector
    ) -> Bool {
        switch (pattern, selector) {
        case (.all, .all): true
        case (.all, .allWithWidgets): withWidgets
        case (.all, .kind(let kind)): withWidgets || isKindOfOthers(kind)
        case (.all, .key(let entity)): withWidgets || !isWidget(entity)
        case (.kind(let name), .kind(let kind)): kindNumber(of: name) == kind
        case (_, .key(let entity)): self[entity].key.map { pattern.matches($0) } ?? false
        case (.kind, .all), (.kind, .allWithWidgets), (.key, .all), (.key, .allWithWidgets), (.key, .kind): false
        }
    }

    /// Whether it is a kind of activities or controls. Boards are not kinds.
    private func isKindOfOthers(_ number: Int32) -> Bool {
        kindsInForce.contains { kind in
            if case .widget = kind.body { return false }
            return kindNumber(of: kind.name) == number
        }
    }
}
