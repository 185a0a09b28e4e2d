internal import FanOut
internal import Surfaces
internal import TelltaleModel

// Rows of widgets to a device whose screen is off (Protocols/Widgets/rules.md, W27–W32).
extension RowRenderer {
    /// Holds back the row of a widget if its device has no credit for it. Otherwise the row is charged or free.
    func holdForBudget(
        _ entity: EntityIndex, _ entry: DirtyQueue.Entry, of index: SubscriptionIndex, of session: Session,
        in backlog: Backlog, _ writing: inout RowWriting, _ subscriptions: borrowing SubscriptionRegistry,
        _ store: borrowing EntityStore
    ) -> Bool {
        guard session.isBudgeted, let unit = session.unit, store.isWidget(entity), let key = store[entity].key,
            let subscription = subscriptions[index]
        else { return false }
        if isFree(entity, entry, for: subscription, of: session, unit, store) { return false }
        let time: MonotonicTime
        switch unit.pay(key, at: writing.now, after: backlog.payments[entity.rawValue]) {
        case .paid(let moment):
            backlog.payments[entity.rawValue] = moment
            writing.paidCount += 1
            return false
        case .waits(let until): time = until
        }
        var entry = entry
        if entry.cause != .budget { writing.heldCount += 1 }
        entry.cause = .budget
        backlog.queue.delay(entity, entry, until: time)
        backlog.isHeldForBudget = true
        writing.nextRelease = min(writing.nextRelease ?? .distantFuture, time)
        return true
    }

    /// W30: free are a snapshot and a resume, which the device requested; a deletion; a change of situation, which the device
    /// reported; and the effects of its own tap.
    private func isFree(
        _ entity: EntityIndex, _ entry: DirtyQueue.Entry, for subscription: Subscription, of session: Session,
        _ unit: BudgetUnit, _ store: borrowing EntityStore
    ) -> Bool {
        if entry.isSnapshot || entry.cause == .resume { return true }
        guard let form = form(of: entity, for: subscription, of: session, store) else { return true }
        if let sent = subscription.backlog?.widgets[entity.rawValue], sent.scene?.scene != widgetForm(form)?.scene {
            return true
        }
        return unit.hasTaps && unit.hasTapped(anyOf: store.controlKeys(in: entity), since: entry.firstCommit)
    }

    /// Releases the rows held back by a budget that may now be free; the others are held again when they come up.
    ///
    /// - Returns: `false` if the turn has no room for that.
    func releaseHeld(
        of index: SubscriptionIndex, of session: Session, _ writing: inout RowWriting,
        _ subscriptions: borrowing SubscriptionRegistry
    ) -> Bool {
        guard let backlog = subscriptions[index]?.backlog, backlog.isHeldForBudget,
            backlog.reconsidersHeld || !session.isBudgeted
        else { return true }
        guard writing.spendChecks(backlog.queue.count) else { return false }
        backlog.queue.release(at: .distantFuture)
        (backlog.isHeldForBudget, backlog.reconsidersHeld) = (false, false)
        return true
    }
}
