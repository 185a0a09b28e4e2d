internal import Kinds
internal import TelltaleModel

extension WidgetFuture {
    /// The same future, with nothing drawn while the widget is not relevant, so that a screen without a connection turns at these
    /// dates too.
    ///
    /// - Parameter key: The activity's key.
    func kept(while relevance: WidgetRelevance, of key: Key, at now: Timestamp) -> WidgetFuture {
        guard relevance.hasDates else { return self }
        var kept: [WidgetMoment] = []
        for (index, moment) in moments.enumerated() {
            guard case .activity(let viewState) = moment.content else {
                kept.append(moment)
                continue
            }
            let end = index + 1 < moments.count ? moments[index + 1].date : .distantFuture
            let dates = relevance.dates(in: viewState.context(key: key, configuration: .null))
            let turns = Set(dates.flatMap { [$0.lowerBound, $0.upperBound] }).filter { moment.date < $0 && $0 < end }
            for date in [moment.date] + turns.sorted() {
                var next = moment
                next.date = date
                if !dates.contains(where: { $0.contains(date) }) { next.content = .nothing }
                // Two consecutive spans of nothing become one.
                if case .nothing = next.content, case .nothing? = kept.last?.content { continue }
                kept.append(next)
            }
        }
        // At most 17 moments with 16 turns each.
        return WidgetFuture(moments: kept.cut(at: now), continuesAt: continuesAt)
    }
}
