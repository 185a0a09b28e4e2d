internal import FanOut
internal import TelltaleModel
internal import TelltaleWire

// Lines for subscriptions with `deliver=notice`.
extension RowRenderer {
    /// Writes the pending notice, unless a budget holds it back.
    func writeNotice(
        _ index: SubscriptionIndex, of session: Session, in backlog: Backlog, _ writing: inout RowWriting,
        _ subscriptions: inout SubscriptionRegistry, _ store: borrowing EntityStore, to writer: inout LineWriter
    ) {
        guard let notice = backlog.notice, notice.isDue, let subscription = subscriptions[index] else { return }
        // The device requested the resume, so it is free (W30).
        if subscription.isLive, holds(notice, of: session, &writing, store) { return }
        let cursor = subscriptions.advanceCursor(of: index, epoch: store.epoch, durable: writing.commit)
        writer.changed(
            subscription: Int(subscription.number), rev: notice.newest, count: notice.count, cursor: cursor)
        notice.noteSent()
    }

    private func holds(
        _ notice: PendingNotice, of session: Session, _ writing: inout RowWriting, _ store: borrowing EntityStore
    ) -> Bool {
        guard session.isBudgeted, let unit = session.unit, !notice.isUrgent else { return false }
        let isOwn =
            unit.hasTaps
            && notice.keys.contains { unit.hasTapped(anyOf: store.controlKeys(in: $0.entity), since: $0.first) }
        if isOwn { return false }
        switch unit.payNotice(at: writing.now, after: notice.payment) {
        case .paid(let moment):
            notice.payment = moment
            writing.paidCount += 1
            return false
        case .waits(let until):
            if !notice.isHeld { writing.heldCount += 1 }
            (notice.isHeld, notice.heldUntil) = (true, until)
            writing.nextRelease = min(writing.nextRelease ?? .distantFuture, until)
            return true
        }
    }
}
