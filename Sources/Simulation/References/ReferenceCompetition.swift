import TelltaleModel

/// Which activities a watch or a dashboard of an account shows, and in which order, as the reference knows it (Protocols/Surfaces/rules.md
/// C7 and C10).
enum ReferenceCompetition {
    private struct Entry {
        var key: String
        var isLive: Bool
        var score: Double
        var startedAt: Int64

        func precedes(_ other: Entry, liveFirst: Bool) -> Bool {
            if liveFirst, isLive != other.isLive { return isLive }
            if score != other.score { return score > other.score }
            if startedAt != other.startedAt { return startedAt < other.startedAt }
            if isLive != other.isLive { return isLive }
            return key < other.key
        }
    }

    /// - Parameters:
    ///   - rows: The full rows of what the surface would show of them if each were alone.
    ///   - limit: Of each kind the first ones take part, and so many are shown.
    static func order(of rows: [String: ShownRow], limit: Int) -> [String] {
        let entries = rows.compactMap { key, row -> Entry? in
            guard let body = row.body, let lifecycle = body["lifecycle"]?.string else { return nil }
            return Entry(
                key: key, isLive: lifecycle != "ended", score: body["score"]?.double ?? 0,
                startedAt: body["startedAt"]?.integer ?? 0)
        }
        let kinds = Dictionary(grouping: entries) { String($0.key.prefix { $0 != "/" }) }
        let partakers = kinds.values.flatMap {
            $0.sorted { $0.precedes($1, liveFirst: true) }.prefix(limit)
        }
        return partakers.sorted { $0.precedes($1, liveFirst: false) }.prefix(limit).map(\.key)
    }

    /// The activities that a screen shows, by their places.
    static func shown(in table: [String: ShownRow]) -> [String] {
        let placed = table.compactMap { key, row -> (key: String, order: Int64)? in
            guard let body = row.body, body["lifecycle"] != nil, let order = body["order"]?.integer else { return nil }
            return (key, order)
        }
        return placed.sorted { $0.order < $1.order }.map(\.key)
    }
}
