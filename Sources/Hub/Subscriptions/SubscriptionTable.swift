internal import FanOut
internal import Surfaces

/// Every subscription of every session, in one allocation.
struct SubscriptionTable {
    private var places: [Subscription?] = []
    private var free: [SubscriptionIndex] = []

    var count: Int { places.count - free.count }

    /// `nil` if there is none (any more).
    subscript(index: SubscriptionIndex) -> Subscription? { places[Int(index.rawValue)] }

    /// Its terms, without touching the rest of it: they are read for every row.
    func terms(of index: SubscriptionIndex) -> SubscriptionTerms? { places[Int(index.rawValue)]?.terms }

    /// Its session's slot in the hub's table.
    func session(of index: SubscriptionIndex) -> Int32? { places[Int(index.rawValue)]?.session }

    /// Whether an iteration over a session's subscriptions may skip it.
    func hasNothingPending(_ index: SubscriptionIndex) -> Bool {
        places[Int(index.rawValue)]?.hasNothingPending != false
    }

    /// Changes the one at `index`, if there is one.
    ///
    /// A closure instead of `subscript { _modify }`, which allocates its frame at each of several calls for every row.
    @discardableResult
    mutating func change<Result>(_ index: SubscriptionIndex, _ body: (inout Subscription) -> Result) -> Result? {
        places[Int(index.rawValue)]?.change(by: body)
    }

    /// The pending change of the subscription at `index`, if that is all and it may be sent at once.
    func change(pendingFor index: SubscriptionIndex) -> PendingUpdate? { places[Int(index.rawValue)]?.pendingUpdate }

    /// The pending change was sent: the subscription shows `placement` for its key, and has received the cursor of `commit`.
    mutating func markSent(_ index: SubscriptionIndex, showing placement: Placement?, at commit: Int64) {
        var places = places.mutableSpan
        places[Int(index.rawValue)]?.markSent(showing: placement, at: commit)
    }

    /// Marks the row of a commit as pending for the subscription at `index`, if that needs no backlog.
    mutating func mark(_ commit: Int64, to index: SubscriptionIndex) -> MarkResult {
        var places = places.mutableSpan
        return places[Int(index.rawValue)]?.mark(commit) ?? .refused
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
