public import TelltaleModel

/// When a widget is relevant: while one of these contexts is true, or as far as a score says. The widgets of an `each` are
/// present only then (Protocols/Widgets/rules.md, W40, W43, W44).
public struct WidgetRelevance: Sendable {
    /// A half-open range of dates, in Unix seconds, given by templates of the activity.
    struct Interval: Sendable {
        let from: Template
        let to: Template
        let urgency: Urgency
    }

    /// The meaning of a date. A watch shows earlier cases before later ones (W45).
    public enum Urgency: String, CaseIterable, Comparable, Hashable, Sendable {
        case scheduled, usual, informational

        public static func < (left: Urgency, right: Urgency) -> Bool { left.rank < right.rank }

        private var rank: Int {
            switch self {
            case .scheduled: 0
            case .usual: 1
            case .informational: 2
            }
        }
    }

    /// A half-open range of dates.
    public struct Dates: Hashable, Sendable {
        public let range: Range<Timestamp>
        public let urgency: Urgency

        public init(_ range: Range<Timestamp>, urgency: Urgency = .usual) {
            (self.range, self.urgency) = (range, urgency)
        }
    }

    /// A value of a trait, as a device reports it with `TRAIT`.
    public struct Situation: Hashable, Sendable {
        /// `place`, `fitness`, `sleep` or `headphones`.
        public let trait: String
        public let value: String
    }

    /// The relevance of the content from an entry's date on.
    struct Score: Sendable {
        let score: Template
        /// Zero: until the next entry.
        let lasts: Milliseconds
    }

    let intervals: [Interval]
    public let situations: [Situation]
    let scores: [Score]

    /// Whether relevance depends on dates.
    public var hasDates: Bool { !intervals.isEmpty }

    /// The half-open ranges of dates in which a widget is relevant, in the order of the file. A pair that does not ascend is
    /// ignored.
    public func dates(in context: TemplateContext) -> [Range<Timestamp>] { contexts(in: context).map(\.range) }

    /// The same ranges with their meanings.
    public func contexts(in context: TemplateContext) -> [Dates] {
        intervals.compactMap { interval in
            guard let from = Self.date(interval.from, context), let to = Self.date(interval.to, context), from < to
            else { return nil }
            return Dates(from..<to, urgency: interval.urgency)
        }
    }

    /// The relevance of an entry with this content, in the form of a timeline: the first score above 0.
    public func score(in context: TemplateContext) -> JSON? {
        guard !scores.isEmpty else { return nil }
        for score in scores {
            guard let number = Double(score.score.rendered(in: context)), number.isFinite, number > 0 else { continue }
            var object = JSONObject()
            object["score"] = .number(number)
            object["for"] = .number(Double(score.lasts.count) / 1_000)
            return .object(object)
        }
        return ["score": 0]
    }

    private static func date(_ template: Template, _ context: TemplateContext) -> Timestamp? {
        Double(template.rendered(in: context)).flatMap { Timestamp(seconds: $0) }
    }
}

extension KindReader {
    private static let contextLimit = 8
    private static let situations = [
        "place": ["home", "work", "school", "commute"], "fitness": ["workout", "rings"],
        "sleep": ["bedtime", "wakeup"], "headphones": ["on"],
    ]

    mutating func widgetRelevance(_ object: JSONObject, source: WidgetKind.Source?) -> WidgetRelevance? {
        guard object["relevance"] != nil else { return nil }
        let isEach = if case .each? = source { true } else { false }
        guard let contexts = array(object, "relevance", at: "", of: "contexts") else { return nil }
        if contexts.isEmpty || contexts.count > Self.contextLimit {
            error("relevance", "it has \(contexts.count) contexts", advice: "write 1 to \(Self.contextLimit)")
        }
        var intervals: [WidgetRelevance.Interval] = []
        var situations: [WidgetRelevance.Situation] = []
        var scores: [WidgetRelevance.Score] = []
        for (index, json) in contexts.enumerated() {
            let path = "relevance[\(index)]"
            guard let context = self.object(json, at: path, knows: Self.relevanceNames) else { continue }
            let named = context.filter { $0.name != "is" && $0.name != "for" }
            guard named.count == 1, let member = named.first else {
                error(path, "it names \(named.count) contexts", advice: "write one in each")
                continue
            }
            if context["is"] != nil, member.name != "date" {
                error("\(path).is", "it is said of dates alone", advice: "take it out")
            }
            if context["for"] != nil, member.name != "score" {
                error("\(path).for", "it is said of a score alone", advice: "take it out")
            }
            switch member.name {
            case "date": if let interval = interval(context, at: path) { intervals.append(interval) }
            case "score": if let score = score(context, at: path, isEach: isEach) { scores.append(score) }
            case let name:
                let values = Self.situations[name] ?? []
                guard let value = member.value.string, values.contains(value) else {
                    error(
                        "\(path).\(name)", "it is no situation",
                        advice: "write \(values.map { "\"\($0)\"" }.joined(separator: ", "))")
                    continue
                }
                situations.append(.init(trait: name, value: value))
            }
        }
        if isEach, !intervals.isEmpty, !situations.isEmpty {
            error(
                "relevance", "dates and situations stand in one kind",
                advice: "write a kind for each: a screen turns at dates by itself, and cannot know the other")
        }
        return WidgetRelevance(intervals: intervals, situations: situations, scores: scores)
    }

    private static let relevanceNames = ["date", "for", "is", "score"] + situations.keys.sorted()

    private mutating func interval(_ context: JSONObject, at path: String) -> WidgetRelevance.Interval? {
        let urgency = string(context, "is", at: path).flatMap {
            word($0, WidgetRelevance.Urgency.self, at: "\(path).is", what: "an urgency")
        }
        guard let json = context["date"], let dates = object(json, at: "\(path).date", knows: ["from", "to"]) else {
            return nil
        }
        for name in ["from", "to"] where dates[name] == nil {
            missing(name, at: "\(path).date", example: "\"{{content.\(name)}}\"")
        }
        guard let from = template(dates, "from", at: "\(path).date"), let to = template(dates, "to", at: "\(path).date")
        else { return nil }
        return WidgetRelevance.Interval(from: from, to: to, urgency: urgency ?? .usual)
    }

    private mutating func score(_ context: JSONObject, at path: String, isEach: Bool) -> WidgetRelevance.Score? {
        if isEach {
            error(
                "\(path).score", "widgets of single activities are there while a context is true, and not by a score",
                advice: "write a date or a situation")
        }
        let lasts = duration(context, "for", at: path, canBeZero: true) ?? .zero
        guard let text = string(context, "score", at: path) else { return nil }
        guard let score = template("{{\(text)}}", at: "\(path).score") else { return nil }
        return WidgetRelevance.Score(score: score, lasts: lasts)
    }
}
