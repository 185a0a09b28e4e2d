public import Kinds
public import TelltaleModel

/// The relevance of one widget over time, if nothing happens (Protocols/Widgets/rules.md, W40, W44, W45).
///
/// A list of steps, each valid from its date until the next one.
public struct Relevance: Hashable, Sendable {
    /// How relevant it is, and why.
    public struct Score: Hashable, Sendable {
        /// Above 0, up to 1: the score divided by the highest score of its timeline.
        public var weight: Double
        /// A watch shows scheduled content before usual content, and that before informative content.
        public var urgency: Urgency
        /// The start of this relevance.
        public var since: Timestamp

        public init(weight: Double, urgency: Urgency = .usual, since: Timestamp) {
            (self.weight, self.urgency, self.since) = (weight, urgency, since)
        }

        /// Whether a watch shows it before another one: by weight, by urgency, then by the earlier start.
        public func precedes(_ other: Score) -> Bool {
            if weight != other.weight { return weight > other.weight }
            if urgency != other.urgency { return urgency < other.urgency }
            return since < other.since
        }
    }

    public typealias Urgency = WidgetRelevance.Urgency

    /// The relevance from a date on, until the date of the next step.
    public struct Step: Hashable, Sendable {
        public var date: Timestamp
        /// `nil`: not relevant.
        public var score: Score?
    }

    /// In ascending order of dates, each different from the previous one. Before the first step the widget is not relevant.
    public private(set) var steps: [Step] = []

    /// Never relevant.
    public init() {}

    /// A half-open range of time in which a widget is relevant.
    struct Span {
        var dates: Range<Timestamp>
        var score: Score
    }

    /// - Complexity: O(n²) for n spans, at most 64.
    init(_ spans: [Span]) {
        let dates = Set(spans.flatMap { [$0.dates.lowerBound, $0.dates.upperBound] })
        for date in dates.sorted() where date != .distantFuture {
            var best: Score?
            for span in spans where span.dates.contains(date) {
                if best.map({ span.score.precedes($0) }) ?? true { best = span.score }
            }
            if best != steps.last?.score { steps.append(Step(date: date, score: best)) }
        }
    }

    /// The relevance given by the scores of a timeline.
    ///
    /// A score counts from its entry's date for its `for`, or without one until the next entry. The next entry with a score ends
    /// it in any case. A score of 0 or less counts as none.
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
            spans.append(Span(dates: entry.date..<end, score: Score(weight: score / highest, since: entry.date)))
        }
        return spans
    }

    /// The relevance given by dates between which a context is true.
    public init(_ contexts: [WidgetRelevance.Dates]) {
        self.init(
            contexts.map { context in
                Span(
                    dates: context.range,
                    score: Score(weight: 1, urgency: context.urgency, since: context.range.lowerBound))
            })
    }

    /// `nil`: not relevant at that moment.
    public func score(at now: Timestamp) -> Score? {
        // The number of steps that have begun.
        var (low, high) = (0, steps.count)
        while low < high {
            let middle = (low + high) / 2
            if steps[middle].date <= now { low = middle + 1 } else { high = middle }
        }
        return low > 0 ? steps[low - 1].score : nil
    }

    public func weight(at now: Timestamp) -> Double { score(at: now)?.weight ?? 0 }

    /// Whether its weight equals that of another one at every date from a moment on.
    public func isAlike(_ other: Relevance, from now: Timestamp) -> Bool {
        weights(from: now).elementsEqual(other.weights(from: now)) { $0.date == $1.date && $0.weight == $1.weight }
    }

    /// The weight at a moment, followed by its changes.
    private func weights(from now: Timestamp) -> [(date: Timestamp, weight: Double)] {
        var weights = [(date: now, weight: weight(at: now))]
        for step in steps where step.date > now {
            let weight = step.score?.weight ?? 0
            if weight != weights.last?.weight { weights.append((step.date, weight)) }
        }
        return weights
    }
}
