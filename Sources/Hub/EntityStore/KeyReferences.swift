internal import FanOut

/// How many subscriptions, pending rows and boards refer to each index, so that no other key gets it.
///
/// References are not part of the replayed state: no decision reads them, and readers change them. They are a class, so that a
/// borrowed ``EntityStore`` can retain and release. The store frees an index that nothing refers to before it assigns another one.
final class KeyReferences {
    private var counts: [Int32] = []
    /// The indices whose last reference was released, in that order. Some may be referred to again.
    private var released: [EntityIndex] = []

    var hasReleased: Bool { !released.isEmpty }

    func isReferred(_ entity: EntityIndex) -> Bool {
        let position = Int(entity.rawValue)
        return position < counts.count && counts[position] > 0
    }

    func retain(_ entity: EntityIndex) {
        let position = Int(entity.rawValue)
        if position >= counts.count { counts.append(contentsOf: repeatElement(0, count: position + 1 - counts.count)) }
        counts[position] += 1
    }

    /// - Precondition: It is retained.
    func release(_ entity: EntityIndex) {
        counts[Int(entity.rawValue)] -= 1
        if counts[Int(entity.rawValue)] == 0 { released.append(entity) }
    }

    func takeReleased() -> [EntityIndex] {
        defer { released.removeAll(keepingCapacity: true) }
        return released
    }
}
