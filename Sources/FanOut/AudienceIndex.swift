/// Which keys each account's devices may be shown, without looking at those of the others.
///
/// A key that is for some accounts stands in a list of each, one that is for everybody in a list of its kind. So what a
/// device does costs what it can see, however much there is.
public struct AudienceIndex: Sendable {
    /// Of each key: where it stands in the list of everybody's of its kind, or one of the two below.
    private var places: [Int32] = []
    private var everybodys: [Int32: [Int32]] = [:]
    private var personal: [Int32: [Int32]] = [:]

    private static let absent: Int32 = -1
    private static let withAccounts: Int32 = -2

    public init() {}

    public func contains(_ entity: EntityIndex) -> Bool {
        Int(entity.rawValue) < places.count && places[entity] != Self.absent
    }

    /// Lists a key that is not listed.
    ///
    /// - Parameter accounts: Whose devices may show it; none = everybody's.
    public mutating func insert(_ entity: EntityIndex, kind: Int32, accounts: some Sequence<Int32>) {
        while places.count <= Int(entity.rawValue) { places.append(Self.absent) }
        for account in accounts {
            places[entity] = Self.withAccounts
            personal[account, default: []].append(entity.rawValue)
        }
        guard places[entity] == Self.absent else { return }
        places[entity] = Int32(everybodys[kind]?.count ?? 0)
        everybodys[kind, default: []].append(entity.rawValue)
    }

    /// Takes a key off the lists on which ``insert(_:kind:accounts:)`` put it, with the same words.
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
        if let moved = everybodys[kind]?.swapRemove(at: Int(place)) { places[EntityIndex(moved)] = place }
        if everybodys[kind]?.isEmpty == true { everybodys[kind] = nil }
    }

    /// What the devices of `account` may be shown, in the order of the table.
    ///
    /// - Parameters:
    ///   - account: `nil` = one that nothing was ever meant for.
    ///   - kind: Of everybody's keys, those of this kind alone. Personal ones are few, and come of every kind.
    public func visible(to account: Int32?, kind: Int32?) -> [EntityIndex] {
        var found: [Int32] = []
        if let kind {
            found = everybodys[kind] ?? []
        } else {
            for list in everybodys.values { found += list }
        }
        if let account, let own = personal[account] { found += own }
        found.sort()
        return found.map { EntityIndex($0) }
    }
}

extension [Int32] {
    /// Removes an element by putting the last one in its place, and returns that one where there was another.
    @discardableResult
    fileprivate mutating func swapRemove(at position: Int) -> Int32? {
        guard indices.contains(position) else { return nil }
        let last = removeLast()
        guard position < count else { return nil }
        self[position] = last
        return last
    }
}
