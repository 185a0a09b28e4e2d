/// How much one widget matters over time, by the words of Protocols/Widgets/README.md. All times are in milliseconds.
struct ReferenceRelevance: Hashable {
    struct Entry: Hashable {
        var date: Int64
        var score: Double?
        /// How long the score counts; 0 = until the next entry.
        var lasts: Int64
    }

    /// Of a timeline, with rising dates.
    var entries: [Entry] = []
    /// Since when a situation in which the device is counts; `nil` = it is in none.
    var situation: Int64?

    private var highest: Double { entries.reduce(0) { max($0, $1.score ?? 0) } }

    /// The weight, above 0 and up to 1, and since when; `nil` = it does not matter.
    func currentScore(at time: Int64) -> (weight: Double, since: Int64)? {
        let score = score(at: time)
        guard let situation, situation <= time else { return score }
        guard let score, score.weight == 1, score.since < situation else { return (1, situation) }
        return score
    }

    private func score(at time: Int64) -> (weight: Double, since: Int64)? {
        // The newest entry that has a score speaks. One without a length falls silent with any later entry.
        guard let place = entries.lastIndex(where: { $0.date <= time && $0.score != nil }) else { return nil }
        let entry = entries[place]
        guard let score = entry.score, score > 0 else { return nil }
        if entry.lasts > 0 {
            guard time < entry.date + entry.lasts else { return nil }
        } else if place + 1 < entries.count, entries[place + 1].date <= time {
            return nil
        }
        return (score / highest, entry.date)
    }

    /// The moments at which ``currentScore(at:)`` may change.
    var moments: [Int64] {
        entries.flatMap { $0.lasts > 0 ? [$0.date, $0.date + $0.lasts] : [$0.date] }
            + (situation.map { [$0] } ?? [])
    }
}
