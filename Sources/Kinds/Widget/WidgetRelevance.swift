public import TelltaleModel

/// When the widgets of an `each` are there: while one of these contexts is true (Protocols/Widgets/rules.md, W43, W44).
public struct WidgetRelevance: Sendable {
    /// From a date on, until before another: Unix seconds, by templates of the activity.
    struct Interval: Sendable {
        let from: Template
        let to: Template
    }

    /// A value of a trait, as a device tells it with `TRAIT`.
    public struct Situation: Hashable, Sendable {
        /// `place`, `fitness`, `sleep` or `headphones`.
        public let trait: String
        public let value: String
    }

    let intervals: [Interval]
    public let situations: [Situation]

    /// Whether widgets turn at dates.
    public var hasDates: Bool { !intervals.isEmpty }

    /// The dates between which a widget is relevant, closed and open, in the order of the file. What is no pair of rising
    /// dates is never.
    public func dates(in context: TemplateContext) -> [Range<Timestamp>] {
        intervals.compactMap { interval in
            guard let from = Self.date(interval.from, context), let to = Self.date(interval.to, context), from < to
            else { return nil }
            return from..<to
        }
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
        guard case .each? = source else {
            error(
                "relevance", "only widgets of single activities come and go by themselves",
                advice: "write \"source\": {\"each\": …}, or take it out")
            return nil
        }
        guard let contexts = array(object, "relevance", at: "", of: "contexts") else { return nil }
        if contexts.isEmpty || contexts.count > Self.contextLimit {
            error("relevance", "it has \(contexts.count) contexts", advice: "write 1 to \(Self.contextLimit)")
        }
        var intervals: [WidgetRelevance.Interval] = []
        var situations: [WidgetRelevance.Situation] = []
        for (index, json) in contexts.enumerated() {
            let path = "relevance[\(index)]"
            guard let context = self.object(json, at: path, knows: ["date"] + Self.situations.keys.sorted()) else {
                continue
            }
            guard context.count == 1, let member = context.first(where: { _ in true }) else {
                error(path, "it names \(context.count) contexts", advice: "write one in each")
                continue
            }
            if member.name == "date" {
                guard let dates = self.object(member.value, at: "\(path).date", knows: ["from", "to"]) else { continue }
                for name in ["from", "to"] where dates[name] == nil {
                    missing(name, at: "\(path).date", example: "\"{{content.\(name)}}\"")
                }
                guard let from = template(dates, "from", at: "\(path).date"),
                    let to = template(dates, "to", at: "\(path).date")
                else { continue }
                intervals.append(.init(from: from, to: to))
            } else if let values = Self.situations[member.name] {
                guard let value = member.value.string, values.contains(value) else {
                    error(
                        "\(path).\(member.name)", "it is no situation",
                        advice: "write \(values.map { "\"\($0)\"" }.joined(separator: ", "))")
                    continue
                }
                situations.append(.init(trait: member.name, value: value))
            }
        }
        if !intervals.isEmpty, !situations.isEmpty {
            error(
                "relevance", "dates and situations stand in one kind",
                advice: "write a kind for each: a screen turns at dates by itself, and cannot know the other")
        }
        return WidgetRelevance(intervals: intervals, situations: situations)
    }
}
