public import Kinds
public import TelltaleModel

/// How much happened in a period.
public struct WidgetTally: Hashable, Sendable {
    public let name: String
    /// When the period of its last growth began.
    public internal(set) var start: Timestamp
    /// In millionths.
    public internal(set) var amount: Int64
}

// Widgets that aggregate many activities.
extension Widget {
    /// Whether it aggregates many activities.
    public var isAggregate: Bool { tallies != nil }

    /// Records that a commit changed a value.
    ///
    /// - Parameter amounts: How much each tally grows, in millionths.
    public mutating func tally(
        _ amounts: [(name: String, amount: Int64)], _ aggregate: WidgetAggregate, at now: Timestamp
    ) {
        asOf = now
        for (name, tally) in aggregate.tallies {
            guard let index = tallies?.firstIndex(where: { $0.name == name }) else { continue }
            let start = tally.periodStart(at: now)
            if tallies?[index].start != start { tallies?[index] = WidgetTally(name: name, start: start, amount: 0) }
            for grown in amounts where grown.name == name {
                let (sum, overflows) = (tallies?[index].amount ?? 0).addingReportingOverflow(grown.amount)
                if !overflows { tallies?[index].amount = sum }
            }
        }
    }

    /// Keeps the tallies that the kind of `other` also has, and takes the rest from `other`.
    public mutating func keepTallies(of other: Widget) {
        tallies = tallies?.map { own in other.tallies?.first { $0.name == own.name } ?? own }
        if other.isAggregate { createdAt = other.createdAt }
    }

    /// The moment shown at `now`, and those at which a tally is reset.
    ///
    /// - Parameter values: All values without the tallies.
    public func aggregateFuture(
        at now: Timestamp, _ aggregate: WidgetAggregate, values: JSONObject
    ) -> WidgetFuture {
        var ends: [(name: String, amount: Int64, end: Timestamp)] = []
        for (name, tally) in aggregate.tallies {
            let own = tallies?.first { $0.name == name }
            // A tally of zero does not change at the end of its period.
            let end = own.map { $0.amount == 0 ? now : tally.periodEnd(from: tally.periodStart(at: $0.start)) } ?? now
            ends.append((name, own?.amount ?? 0, end))
        }
        let begin = min(asOf ?? createdAt, now)
        let dates = [begin] + Set(ends.filter { $0.amount != 0 && $0.end > begin }.map(\.end)).sorted()
        let moments = dates.map { date in
            var all = values
            for tally in ends { all[tally.name] = Millionths.json(date < tally.end ? Int128(tally.amount) : 0) }
            return WidgetMoment(date: date, content: .values(.object(all)))
        }
        return WidgetFuture(moments: moments).cut(at: now)
    }
}
