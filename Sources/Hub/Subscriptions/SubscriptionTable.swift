internal import FanOut
internal import Surfaces

/// Every subscription of every session, in one piece of memory.
struct SubscriptionTable {
    private var places: [Subscription?] = []
    private var free: [SubscriptionIndex] = []

    var count: Int { places.count - free.count }

    /// `nil` where there is none (any more).
    subscript(index: SubscriptionIndex) -> Subscription? { places[Int(index.rawValue)] }

    /// Its terms, without touching the rest of it: they are asked for every row.
    func terms(of index: SubscriptionIndex) -> SubscriptionTerms? { places[Int(index.rawValue)]?.terms }

    /// Where its session stands in the hub's table.
    func session(of index: SubscriptionIndex) -> Int32? { places[Int(index.rawValue)]?.session }

    /// Whether a walk over a session's subscriptions may pass it by.
    func isOwedNothing(_ index: SubscriptionIndex) -> Bool { places[Int(index.rawValue)]?.isOwedNothing != false }

    /// Changes the one at `index`, if there is one.
    ///
    /// A closure and no `subscript { _modify }`: that allocates its frame, at each of several looks for every row.
    @discardableResult
    mutating func change<Result>(_ index: SubscriptionIndex, _ body: (inout Subscription) -> Result) -> Result? {
        places[Int(index.rawValue)]?.change(by: body)
    }

    /// The change that the one at `index` is owed the row of, where it is owed that alone, and at once.
    func change(owedTo index: SubscriptionIndex) -> PendingUpdate? { places[Int(index.rawValue)]?.pendingUpdate }

    /// The one at `index` has been sent it: it shows `placement` of its key, and has been told the cursor of `commit`.
    mutating func markSent(_ index: SubscriptionIndex, showing placement: Placement?, at commit: Int64) {
        var places = places.mutableSpan
        places[Int(index.rawValue)]?.markSent(showing: placement, at: commit)
    }

    /// Owes the one at `index` the row of a commit, where it needs no backlog for that.
    mutating func owe(_ commit: Int64, to index: SubscriptionIndex) -> Owing {
        var places = places.mutableSpan
        return places[Int(index.rawValue)]?.owe(commit) ?? .refused
    }

    mutating func insert(_ subscription: Subscription) -> SubscriptionIndex {
        if let index = free.popLast() {
            places[Int(index.rawValue)] = subscription
            return index
        }
        places.append(subscription)
        return SubscriptionIndex(Int32(places.count - 1))
    }

    mutating func remove(_ index: SubscriptionIndex) -> Subscription? {
        guard let subscription = self[index] else { return nil }
        places[Int(index.rawValue)] = nil
        free.append(index)
        return subscription
    }

    func forEach(_ body: (Subscription) -> Void) {
        for case let subscription? in places { body(subscription) }
    }
}

extension Subscription {
    fileprivate mutating func change<Result>(by body: (inout Subscription) -> Result) -> Result { body(&self) }
}
