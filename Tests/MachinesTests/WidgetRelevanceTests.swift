import Kinds
import Machines
import TelltaleModel
import Testing

/// The relevance that a widget has in a stack.
struct WidgetRelevanceTests {
    private let now = Timestamp(milliseconds: 1_763_719_200_000)

    private func kind(_ relevance: JSON) throws -> WidgetKind {
        let source: JSON = [
            "kind": "sales", "type": "widget", "version": 1, "app": "a", "families": ["systemSmall"],
            "relevance": relevance, "views": ["systemSmall": ["title": "{{content.is}}"]],
        ]
        guard case .widget(let kind)? = Kind.read(source, file: "").kind?.body else {
            throw StackWords.BadInput(text: "\(source)")
        }
        return kind
    }

    /// Posts contents at seconds from now, and gives DATE:WEIGHT of each step, in seconds from now.
    private func steps(
        _ kind: WidgetKind, _ contents: [(Int64, JSON)], isInSituation: Bool = false
    ) throws -> String {
        let key = try #require(Key("sales/main"))
        var widget = Widget(configuration: [:], at: now)
        let entries = contents.map { WidgetEntry(date: now + .seconds($0), content: $1) }
        _ = widget.apply(.timeline(WidgetTimeline(entries: entries)), kind: kind, at: now)
        let relevance = widget.relevance(
            key: key, kind: kind, future: widget.future(at: now, kind: kind), isInSituation: isInSituation)
        return relevance.steps.map { step in
            let date = step.date == .distantPast ? "ever" : "\((step.date - now).count / 1_000)"
            return "\(date):\(step.score.map { "\($0.weight)" } ?? "-")"
        }.joined(separator: " ")
    }

    private func dates(_ from: Int64, _ to: Int64) -> JSON {
        let start = now.milliseconds / 1_000
        return ["from": .integer(start + from), "to": .integer(start + to)]
    }

    @Test("W44: the dates in an entry count while it is shown")
    func contexts() throws {
        let kind = try kind([["date": ["from": "{{content.from}}", "to": "{{content.to}}"]]])
        #expect(try steps(kind, [(0, dates(-60, 300))]) == "-60:1.0 300:-")
        #expect(try steps(kind, [(0, dates(-60, 300)), (60, dates(120, 180))]) == "-60:1.0 60:- 120:1.0 180:-")
        #expect(try steps(kind, [(0, [:])]).isEmpty)
        #expect(try steps(kind, []).isEmpty)
    }

    @Test("W40: a score of the kind counts from its entry on, by the highest of them")
    func scores() throws {
        let kind = try kind([["score": "content.late", "for": "15m"]])
        #expect(try steps(kind, [(0, ["late": 2]), (60, ["late": 4])]) == "0:0.5 60:1.0 960:-")
        #expect(try steps(kind, [(0, ["late": 2]), (60, ["late": 0])]) == "0:1.0 60:-")
        #expect(try steps(kind, [(0, ["late": "many"]), (60, [:])]).isEmpty)
    }

    @Test("W44: a situation counts as 1 while the device is in it")
    func situations() throws {
        let kind = try kind([["place": "work"], ["score": "content.late"]])
        #expect(try steps(kind, [(0, ["late": 2])], isInSituation: true) == "ever:1.0")
        #expect(try steps(kind, [(0, ["late": 2])]) == "0:1.0")
    }
}
