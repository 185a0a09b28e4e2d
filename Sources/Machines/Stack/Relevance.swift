public import Kinds
public import TelltaleModel

/// How much one widget matters over time, if nothing happens (Protocols/Widgets/rules.md, W40, W44, W45).
///
/// A list of dates from each of which on the widget matters in one way, until the next one.
public struct Relevance: Hashable, Sendable {
    /// How much, and why.
    public struct Standing: Hashable, Sendable {
        /// Above 0, up to 1: the score, divided by the highest one of its timeline.
        public var weight: Double
        /// A watch shows what is scheduled before what is usual, and that before what informs.
        public var urgency: Urgency
        /// Since when.
        public var since: Timestamp

        public init(weight: Double, urgency: Urgency = .usual, since: Timestamp) {
            (self.weight, self.urgency, self.since) = (weight, urgency, since)
        }

        /// Whether a watch shows it before another one: by weight, by urgency, by the earlier start.
        public func precedes(_ other: Standing) -> Bool {
            if weight != other.weight { return weight > other.weight }
            if urgency != other.urgency { return urgency < other.urgency }
            return since < other.since
        }
    }

    public typealias Urgency = WidgetRelevance.Urgency

    /// From a date on, until the date of the next step.
    public struct Step: Hashable, Sendable {
        public var date: Timestamp
        /// `nil`: it does not matter.
        public var standing: Standing?
    }

    /// With rising dates, each different from the one before it. Before the first one the widget does not matter.
    public private(set) var steps: [Step] = []

    /// Never.
    public init() {}

    /// A time in which a widget matters, closed and open.
    struct Span {
        var dates: Range<Timestamp>
        var standing: Standing
    }

    /// - Complexity: O(n²) in the spans, of which there are at most 64.
    init(_ spans: [Span]) {
        let dates = Set(spans.flatMap { [$0.dates.lowerBound, $0.dates.upperBound] })
        for date in dates.sorted() where date != .distantFuture {
            var best: Standing?
            for span in spans where span.dates.contains(date) {
                if best.map({ span.standing.precedes($0) }) ?? true { best = span.standing }
            }
            if best != steps.last?.standing { steps.append(Step(date: date, standing: best)) }
        }
    }

    /// Of the scores in a timeline.
    ///
    /// A score counts from its entry's date on for its `for`, and without one until the next entry. The next entry that has
    /// a score ends it at the latest. A score of 0 or less counts as none.
    public init(_ entries: [WidgetEntry]) { self.init(Self.spans(of: entries)) }

    static func spans(of entries: [WidgetEntry]) -> [Span] {
        let scores = entries.map { $0.relevance?["score"]?.double }
        let highest = scores.reduce(0.0) { max($0, $1 ?? 0) }
        var spans: [Span] = []
        for (index, entry) in entries.enumerated() {
            guard let score = scores[index], score > 0 else { continue }
            let milliseconds = ((entry.relevance?["for"]?.double ?? 0) * 1_000).rounded()
            let lasts = milliseconds > 0
            let span = Int64(exactly: milliseconds).map { Milliseconds($0) } ?? Milliseconds(.max)
            let next = entries.indices.first { $0 > index && (!lasts || scores[$0] != nil) }
            let end = min(next.map { entries[$0].date } ?? .distantFuture, lasts ? entry.date + span : .distantFuture)
            guard entry.date < end else { continue }
            spans.append(Span(dates: entry.date..<end, standing: Standing(weight: score / highest, since: entry.date)))
        }
        return spans
    }

    /// Of dates between which a context is true.
    public init(_ contexts: [WidgetRelevance.Dates]) {
        self.init(
            contexts.map { context in
                Span(
                    dates: context.range,
                    standing: Standing(weight: 1, urgency: context.urgency, since: context.range.lowerBound))
            })
    }

    /// `nil`: it does not matter then.
    public func standing(at now: Timestamp) -> Standing? {
        // The number of steps whose date is not ahead.
        var (low, high) = (0, steps.count)
        while low < high {
            let middle = (low + high) / 2
            if steps[middle].date <= now { low = middle + 1 } else { high = middle }
        }
        return low > 0 ? steps[low - 1].standing : nil
    }

    public func weight(at now: Timestamp) -> Double { standing(at: now)?.weight ?? 0 }

    /// Whether it weighs from a moment on, at each date, what another one does.
    public func isAlike(_ other: Relevance, from now: Timestamp) -> Bool {
        weights(from: now).elementsEqual(other.weights(from: now)) { $0.date == $1.date && $0.weight == $1.weight }
    }

    /// The weight at a moment, and those that differ from the ones before.
    private func weights(from now: Timestamp) -> [(date: Timestamp, weight: Double)] {
        var weights = [(date: now, weight: weight(at: now))]
        for step in steps where step.date > now {
            let weight = step.standing?.weight ?? 0
            if weight != weights.last?.weight { weights.append((step.date, weight)) }
        }
        return weights
    }
}
