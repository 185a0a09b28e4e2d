/// Every key in the order of its last change, so that a resume costs as much as the keys that changed, not as all keys.
///
/// A doubly linked list over two arrays: moving a key to the end and removing one are O(1).
public struct ChangeOrder: Sendable {
    private var next: [Int32] = []
    private var previous: [Int32] = []
    private var oldest: Int32 = none
    private var newest: Int32 = none

    private static let none: Int32 = -1
    private static let absent: Int32 = -2

    public init() {}

    /// Moves `entity` to the end, as the key that changed last.
    public mutating func touch(_ entity: EntityIndex) {
        let index = Int(entity.rawValue)
        while next.count <= index {
            next.append(Self.absent)
            previous.append(Self.absent)
        }
        guard newest != entity.rawValue else { return }
        let (before, after) = (previous[index], next[index])
        // It is not the newest, so another one follows it.
        if after != Self.absent {
            previous[Int(after)] = before
            if before == Self.none { oldest = after } else { next[Int(before)] = after }
        }
        next[index] = Self.none
        previous[index] = newest
        if newest == Self.none { oldest = entity.rawValue } else { next[Int(newest)] = entity.rawValue }
        newest = entity.rawValue
    }

    /// Removes `entity`; does nothing if it is absent.
    public mutating func remove(_ entity: EntityIndex) {
        let index = Int(entity.rawValue)
        guard index < next.count, next[index] != Self.absent else { return }
        let (before, after) = (previous[index], next[index])
        if before == Self.none { oldest = after } else { next[Int(before)] = after }
        if after == Self.none { newest = before } else { previous[Int(after)] = before }
        next[index] = Self.absent
        previous[index] = Self.absent
    }

    public func contains(_ entity: EntityIndex) -> Bool {
        let index = Int(entity.rawValue)
        return index < next.count && next[index] != Self.absent
    }

    /// Whether more than `limit` of the newest keys satisfy `isWanted`, one after another.
    ///
    /// - Complexity: O(`limit`).
    public func hasMore(than limit: Int, where isWanted: (EntityIndex) -> Bool) -> Bool {
        var count = 0
        var current = newest
        while current != Self.none, count <= limit, isWanted(EntityIndex(current)) {
            count += 1
            current = previous[Int(current)]
        }
        return count > limit
    }

    /// The longest run of newest keys that all satisfy `isWanted`, oldest first. Stops at the first key from the end
    /// that does not.
    public func suffix(while isWanted: (EntityIndex) -> Bool) -> [EntityIndex] {
        var found: [EntityIndex] = []
        var current = newest
        while current != Self.none, isWanted(EntityIndex(current)) {
            found.append(EntityIndex(current))
            current = previous[Int(current)]
        }
        found.reverse()
        return found
    }
}
