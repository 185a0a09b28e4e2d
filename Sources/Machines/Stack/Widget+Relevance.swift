public import Kinds
public import TelltaleModel

extension Widget {
    /// Its relevance from now on, if nothing happens: the scores of its timeline, and the contexts of its kind.
    ///
    /// - Parameters:
    ///   - future: Its moments.
    ///   - isInSituation: Whether the device is in a situation that the kind names.
    ///   - needsContent: A situation counts only while there is content, because nobody placed the widget.
    public func relevance(
        key: Key, kind: WidgetKind, future: WidgetFuture, isInSituation: Bool = false, needsContent: Bool = false
    ) -> Relevance {
        guard !isGone else { return Relevance() }
        var spans = Relevance.spans(of: entries)
        guard let relevance = kind.relevance else { return Relevance(spans) }
        let situation = Relevance.Score(weight: 1, since: .distantPast)
        if isInSituation, !needsContent {
            spans.append(Relevance.Span(dates: .distantPast ..< .distantFuture, score: situation))
        }
        var scored: [WidgetEntry] = []
        let moments = future.moments
        for (index, moment) in moments.enumerated() {
            guard let context = moment.content.context(key: key, kind: kind, configuration: configuration) else {
                continue
            }
            if let score = relevance.score(in: context) {
                scored.append(WidgetEntry(date: moment.date, content: [:], relevance: score))
            }
            // The first moment is the current one, whatever its date.
            let begin = index == 0 ? Timestamp.distantPast : moment.date
            let end = index + 1 < moments.count ? moments[index + 1].date : .distantFuture
            if isInSituation, needsContent, begin < end {
                spans.append(Relevance.Span(dates: begin..<end, score: situation))
            }
            for dates in relevance.contexts(in: context) {
                let (from, to) = (max(begin, dates.range.lowerBound), min(end, dates.range.upperBound))
                guard from < to else { continue }
                let current = Relevance.Score(weight: 1, urgency: dates.urgency, since: dates.range.lowerBound)
                spans.append(Relevance.Span(dates: from..<to, score: current))
            }
        }
        return Relevance(spans + Relevance.spans(of: scored))
    }
}

extension WidgetMoment.Content {
    /// The values that templates read; `nil` if nothing is drawn.
    func context(key: Key, kind: WidgetKind, configuration: JSON) -> TemplateContext? {
        switch self {
        case .activity(let viewState): viewState.context(key: key, configuration: configuration)
        case .content(let json): kind.context(key: key, content: json, configuration: configuration)
        case .values(let values): kind.context(key: key, values: values, configuration: configuration)
        case .placeholder, .nothing: nil
        }
    }
}
