/// An index from a key to the subscriptions that follow it. A lookup does not visit other subscriptions.
public struct PatternIndex: Sendable {
    /// The pattern of a subscription, in terms of the hub's tables.
    public enum Selector: Hashable, Sendable {
        /// Everything except widgets, which must not be sent to a client without widget support.
        case all
        /// Everything.
        case allWithWidgets
        case kind(Int32)
        case key(EntityIndex)
    }

    private var all: [SubscriptionIndex] = []
    private var allWithWidgets: [SubscriptionIndex] = []
    private var byKind: [Int32: [SubscriptionIndex]] = [:]
    private var byKey: [Int32: [SubscriptionIndex]] = [:]

    public init() {}

    public mutating func insert(_ subscription: SubscriptionIndex, _ selector: Selector) {
        switch selector {
        case .all: all.append(subscription)
        case .allWithWidgets: allWithWidgets.append(subscription)
        case .kind(let kind): byKind[kind, default: []].append(subscription)
        case .key(let entity): byKey[entity.rawValue, default: []].append(subscription)
        }
    }

    public mutating func remove(_ subscription: SubscriptionIndex, _ selector: Selector) {
        switch selector {
        case .all: all.removeFirst(subscription)
        case .allWithWidgets: allWithWidgets.removeFirst(subscription)
        case .kind(let kind):
            byKind[kind]?.removeFirst(subscription)
            if byKind[kind]?.isEmpty == true { byKind[kind] = nil }
        case .key(let entity):
            byKey[entity.rawValue]?.removeFirst(subscription)
            if byKey[entity.rawValue]?.isEmpty == true { byKey[entity.rawValue] = nil }
        }
    }

    /// Whether at least two subscriptions follow `entity`, which is of `kind`.
    public func hasSeveralFollowers(of entity: EntityIndex, _ kind: Int32) -> Bool {
        var count = all.count + allWithWidgets.count
        if count < 2 { count += byKey[entity.rawValue]?.count ?? 0 }
        if count < 2 { count += byKind[kind]?.count ?? 0 }
        return count > 1
    }

    /// Whether any subscription follows a widget, or a tile, of `kind`.
    public func hasFollowers(ofWidget entity: EntityIndex, _ kind: Int32) -> Bool {
        !allWithWidgets.isEmpty || byKind[kind] != nil || byKey[entity.rawValue] != nil
    }

    /// Whether any subscription follows all of a board, whose name has this number.
    public func hasFollowers(ofBoard number: Int32) -> Bool { !allWithWidgets.isEmpty || byKind[number] != nil }

    /// Appends every subscription that follows `entity`, which is of `kind`, to `followers`, in no particular order.
    public func appendFollowers(
        of entity: EntityIndex, _ kind: Int32, isWidget: Bool = false, to followers: inout [SubscriptionIndex]
    ) {
        if !isWidget { followers += all }
        if !allWithWidgets.isEmpty { followers += allWithWidgets }
        if let more = byKind[kind] { followers += more }
        if let more = byKey[entity.rawValue] { followers += more }
    }
}

extension [SubscriptionIndex] {
    fileprivate mutating func removeFirst(_ subscription: SubscriptionIndex) {
        guard let position = firstIndex(of: subscription) else { return }
        swapAt(position, count - 1)
        removeLast()
    }
}
