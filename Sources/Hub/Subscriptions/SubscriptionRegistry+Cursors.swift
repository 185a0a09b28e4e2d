internal import FanOut
internal import Surfaces
internal import TelltaleModel
internal import TelltaleWire

// Where subscriptions may resume.
extension Subscription {
    /// Where it may resume, when `durable` is the newest commit.
    func cursor(epoch: UInt64, durable: Int64) -> Cursor {
        Cursor(epoch: epoch, sequence: cursorSequence(durable: durable), selection: selection)
    }
}

extension SubscriptionRegistry {
    /// The cursor from which a subscription may resume. It also stays below the changes of boards that have yet to be examined.
    func cursor(of subscription: Subscription, epoch: UInt64, durable: Int64) -> Cursor {
        guard let since = presence.scan.since, subscription.terms.view == .surface(.watch),
            !subscription.followsEverything
        else { return subscription.cursor(epoch: epoch, durable: durable) }
        return subscription.cursor(epoch: epoch, durable: min(durable, since - 1))
    }

    /// The cursor, if it has advanced since it was last sent; it then counts as sent.
    mutating func advanceCursor(of index: SubscriptionIndex, epoch: UInt64, durable: Int64) -> Cursor? {
        guard let subscription = self[index], subscription.isLive else { return nil }
        let cursor = cursor(of: subscription, epoch: epoch, durable: durable)
        guard cursor.sequence > subscription.sentCursor else { return nil }
        change(index) { $0.sentCursor = cursor.sequence }
        return cursor
    }
}
