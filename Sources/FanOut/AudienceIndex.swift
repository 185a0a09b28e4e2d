/// An index from an account to the keys that its devices may show.
///
/// A key with an audience is in the list of each of its accounts; a key without one is shared and is in the list of its
/// kind. A lookup therefore costs as much as the keys that it returns, independent of how many exist.
public struct AudienceIndex: Sendable {
    /// For each key: its position in the shared list of its kind, or ``absent``, or ``withAccounts``.
    private var places: [Int32] = []
    private var shared: [Int32: [Int32]] = [:]
    private var personal: [Int32: [Int32]] = [:]

    private static let absent: Int32 = -1
    private static let withAccounts: Int32 = -2

    public init() {}

    public func contains(_ entity: EntityIndex) -> Bool {
        Int(entity.rawValue) < places.count && places[entity] != Self.absent
    }

    /// Adds a key that is not in the index.
    ///
    /// - Parameter accounts: The accounts whose devices may show the key; empty for a key that every account may see.
    public mutating func insert(_ entity: EntityIndex, kind: Int32, accounts: some Sequence<Int32>) {
        while places.count <= Int(entity.rawValue) { places.append(Self.absent) }
        for account in accounts {
            places[entity] = Self.withAccounts
            personal[account, default: []].append(entity.rawValue)
        }
        guard places[entity] == Self.absent else { return }
        places[entity] = Int32(shared[kind]?.count ?? 0)
        shared[kind, default: []].append(entity.rawValue)
    }

    /// Removes a key. `kind` and `accounts` must be those that ``insert(_:kind:accounts:)`` was given. Does nothing for
    /// an absent key.
    public mutating func remove(_ entity: EntityIndex, kind: Int32, accounts: some Sequence<Int32>) {
        guard contains(entity) else { return }
        let place = places[entity]
        places[entity] = Self.absent
        for account in accounts {
            guard let position = personal[account]?.firstIndex(of: entity.rawValue) else { continue }
            personal[account]?.swapRemove(at: position)
            if personal[account]?.isEmpty == true { personal[account] = nil }
        }
        guard place >= 0 else { return }
        if let moved = shared[kind]?.swapRemove(at: Int(place)) { places[EntityIndex(moved)] = place }
        if shared[kind]?.isEmpty == true { shared[kind] = nil }
    }

    /// How many keys ``visible(to:kind:)`` gives.
    ///
    /// - Complexity: O(kinds).
    public func visibleCount(to account: Int32?, kind: Int32?) -> Int {
        let sharedCount = kind.map { shared[$0]?.count ?? 0 } ?? shared.values.reduce(0) { $0 + $1.count }
        return sharedCount + (account.flatMap { personal[$0]?.count } ?? 0)
    }

    /// The keys that the devices of `account` may show, in the order of their indices.
    ///
    /// - Parameters:
    ///   - account: `nil` for an account that no key was ever restricted to.
    ///   - kind: Limits the shared keys to this kind. The account's own keys come whatever their kind: they are few,
    ///     and the caller filters them.
    public func visible(to account: Int32?, kind: Int32?) -> [EntityIndex] {
        var found: [Int32] = []
        if let kind {
            found = shared[kind] ?? []
        } else {
            for list in shared.values { found += list }
        }
        if let account, let own = personal[account] { found += own }
        found.sort()
        return found.map { EntityIndex($0) }
    }
}

extension [Int32] {
    /// Removes the element at `position` by moving the last one there. Returns the element that moved, if one did.
    @discardableResult
    fileprivate mutating func swapRemove(at position: Int) -> Int32? {
        guard indices.contains(position) else { return nil }
        let last = removeLast()
        guard position < count else { return nil }
        self[position] = last
        return last
    }
}
