public import TelltaleModel

/// Chooses which of many activities a small display draws.
///
/// A card keeps its place, so that the eye can follow it, until it is gone or has not changed for long. Then the newest
/// card without a place takes it.
public struct Shelf: Sendable {
    private struct Entry {
        var beganAt: Milliseconds
        var changedAt: Milliseconds
        var isOver: Bool
    }

    private var entries: [String: Entry] = [:]
    private var places: [String?]
    private let patience: Milliseconds
    private let patienceWhenOver: Milliseconds

    /// - Parameters:
    ///   - patience: How long a card without changes keeps its place.
    ///   - patienceWhenOver: The same for one that has ended.
    public init(places: Int, patience: Milliseconds, patienceWhenOver: Milliseconds) {
        self.places = Array(repeating: nil, count: places)
        self.patience = patience
        self.patienceWhenOver = patienceWhenOver
    }

    public mutating func changed(_ key: String, isOver: Bool, at now: Milliseconds) {
        entries[key] = Entry(beganAt: entries[key]?.beganAt ?? now, changedAt: now, isOver: isOver)
    }

    public mutating func removed(_ key: String) {
        entries[key] = nil
    }

    /// The keys to draw now, from the first place to the last; `nil` for an empty one.
    public mutating func arranged(at now: Milliseconds) -> [String?] {
        // An entry that has not changed for long and has no place gets none.
        entries = entries.filter { now.count - $0.value.changedAt.count <= patience.count }
        for index in places.indices {
            guard let key = places[index] else { continue }
            let isKept = entries[key].map {
                now.count - $0.changedAt.count <= ($0.isOver ? patienceWhenOver : patience).count
            }
            if isKept != true { places[index] = nil }
        }
        let shown = Set(places.compactMap { $0 })
        var candidates = entries.filter { !shown.contains($0.key) && !$0.value.isOver }
            .sorted { ($1.value.beganAt, $0.key) < ($0.value.beganAt, $1.key) }[...]
        for index in places.indices where places[index] == nil { places[index] = candidates.popFirst()?.key }
        return places
    }
}
