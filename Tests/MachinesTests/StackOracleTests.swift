import Kinds
import Machines
import TelltaleModel
import TestSupport
import Testing

/// A second writing of the rules, by the minute and without any list of dates, against random stacks.
struct StackOracleTests {
    @Test(
        "A screen that turns by the dates it was told shows at each minute of a day what the server shows",
        arguments: Lane.some(0..<24, atEveryChange: 8))
    func everyMinute(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let world = try StackWorld(from: &generator)
        let stack = world.stack
        var reported = stack.future(at: world.date(0))
        var shown = reported.look
        for minute in 0..<StackWorld.day {
            let now = world.date(minute)
            // The oracle walks over everything again.
            #expect(stack.viewState(at: now) == world.viewState(at: minute), "minute \(minute)")
            // A screen that heard nothing since the row that was last due to it.
            if let more = reported.continuesAt, more <= now { reported = stack.future(at: now) }
            shown = reported.turns.last { $0.date <= now }?.look ?? reported.look
            #expect(shown == world.viewState(at: minute), "minute \(minute)")
        }
        #expect(reported.turns.count <= 16)
    }

    @Test(
        "The order of a watch is that of the rules, at each minute of a day",
        arguments: Lane.some(0..<16, atEveryChange: 5))
    func everyMinuteOfAWatch(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let world = try StackWorld(from: &generator)
        var reported = world.smartStack.future(at: world.date(0))
        for minute in 0..<StackWorld.day {
            let now = world.date(minute)
            if let more = reported.continuesAt, more <= now { reported = world.smartStack.future(at: now) }
            let shown = reported.turns.last { $0.date <= now }?.look ?? reported.look
            #expect(shown == world.order(at: minute), "minute \(minute)")
        }
    }
}

/// Widgets with entries and contexts at whole minutes, and the rules over them in the plainest words.
private struct StackWorld {
    static let day = 1_440

    /// One widget: scores by the minute, or a context.
    struct Widget {
        var key: Key
        /// The minute, the score and the minutes that it counts, of each entry.
        var entries: [(minute: Int, score: Double?, lasts: Int)] = []
        /// From, to, and 0 to 2 for what it means.
        var contexts: [(from: Int, to: Int, rank: Int)] = []
        var pin: Int?

        /// Weight, rank and the minute since when; `nil` for none.
        func score(at minute: Int) -> (weight: Double, rank: Int, since: Int)? {
            if !contexts.isEmpty {
                let open = contexts.filter { $0.from <= minute && minute < $0.to }
                return open.map { (1.0, $0.rank, $0.from) }.min { ($0.1, $0.2) < ($1.1, $1.2) }
            }
            let highest = entries.compactMap(\.score).max() ?? 0
            // The newest entry with a score speaks; a score without a length falls silent with any later entry.
            guard let spoken = entries.lastIndex(where: { $0.minute <= minute && $0.score != nil }) else { return nil }
            let entry = entries[spoken]
            guard let score = entry.score, score > 0 else { return nil }
            if entry.lasts > 0 {
                guard minute < entry.minute + entry.lasts else { return nil }
            } else if entries.contains(where: { $0.minute > entry.minute && $0.minute <= minute }) {
                return nil
            }
            return (score / highest, 1, entry.minute)
        }
    }

    private let start = Timestamp(milliseconds: 1_763_719_200_000)
    private var placed: [Widget] = []
    private var suggested: [Widget] = []
    private let isSmart: Bool
    private var choice: (key: Key, until: Int)?

    func date(_ minute: Int) -> Timestamp { start + .minutes(Int64(minute)) }

    init(from generator: inout SeededGenerator) throws {
        isSmart = Int.random(in: 0..<5, using: &generator) > 0
        func widget(_ id: String) throws -> Widget {
            var widget = Widget(key: try #require(Key(kind: "@car", id: id)))
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: break
            case 1:
                for _ in 0..<Int.random(in: 1...4, using: &generator) {
                    let from = Int.random(in: -60..<Self.day, using: &generator)
                    widget.contexts.append(
                        (
                            from, from + Int.random(in: 1...300, using: &generator),
                            Int.random(in: 0..<3, using: &generator)
                        ))
                }
            default:
                var minute = Int.random(in: -30..<60, using: &generator)
                for _ in 0..<Int.random(in: 1...12, using: &generator) {
                    let score: Double? =
                        Int.random(in: 0..<4, using: &generator) == 0
                        ? nil : Double(Int.random(in: -2...6, using: &generator))
                    let lasts = Bool.random(using: &generator) ? 0 : Int.random(in: 1...200, using: &generator)
                    widget.entries.append((minute, score, lasts))
                    minute += Int.random(in: 1...150, using: &generator)
                }
            }
            if Int.random(in: 0..<6, using: &generator) == 0 { widget.pin = Int.random(in: 1...12, using: &generator) }
            return widget
        }
        for number in 0..<Int.random(in: 0...10, using: &generator) { placed.append(try widget("t\(number)")) }
        for number in 0..<Int.random(in: 0...4, using: &generator) { suggested.append(try widget("~\(number)")) }
        if Bool.random(using: &generator), let any = (placed + suggested).randomElement(using: &generator) {
            choice = (any.key, Int.random(in: 0...15, using: &generator))
        }
    }

    // MARK: By the rules

    func viewState(at minute: Int) -> Stack.ViewState {
        var suggestion: Widget?
        if placed.count < 10 {
            for widget in suggested {
                guard let weight = widget.score(at: minute)?.weight else { continue }
                if let known = suggestion?.score(at: minute)?.weight, known >= weight { continue }
                suggestion = widget
            }
        }
        let present = placed + (suggestion.map { [$0] } ?? [])
        var top = present.first?.key
        if let choice, !isSmart || minute < choice.until, present.contains(where: { $0.key == choice.key }) {
            top = choice.key
        } else if isSmart {
            var highest = 0.0
            for widget in present {
                guard let weight = widget.score(at: minute)?.weight, weight > highest else { continue }
                (top, highest) = (widget.key, weight)
            }
        }
        return Stack.ViewState(top: top, suggestion: suggestion?.key)
    }

    func order(at minute: Int) -> [Key] {
        var rest: [Widget] = []
        var places = [Key?](repeating: nil, count: 11)
        for widget in placed {
            if let pin = widget.pin, pin <= 10, places[pin] == nil {
                places[pin] = widget.key
            } else {
                rest.append(widget)
            }
        }
        rest += suggested.filter { $0.score(at: minute) != nil }
        // A selection: the first of those left that none of the others goes before.
        for place in 1...10 where places[place] == nil && !rest.isEmpty {
            var first = 0
            for index in rest.indices.dropFirst() {
                let (one, other) = (rest[index].score(at: minute), rest[first].score(at: minute))
                if let one, other.map({ (-one.weight, one.rank, one.since) < (-$0.weight, $0.rank, $0.since) }) ?? true
                {
                    first = index
                }
            }
            places[place] = rest.remove(at: first).key
        }
        return places.compactMap { $0 }
    }

    // MARK: As the machine takes it

    private func tile(_ widget: Widget) -> Stack.Tile {
        guard widget.contexts.isEmpty else {
            let urgencies: [Relevance.Urgency] = [.scheduled, .usual, .informational]
            return Stack.Tile(
                widget.key,
                Relevance(
                    widget.contexts.map {
                        WidgetRelevance.Dates(date($0.from)..<date($0.to), urgency: urgencies[$0.rank])
                    }))
        }
        return Stack.Tile(
            widget.key,
            Relevance(
                widget.entries.map { entry in
                    var relevance = JSONObject()
                    relevance["for"] = .integer(Int64(entry.lasts * 60))
                    if let score = entry.score { relevance["score"] = .number(score) }
                    return WidgetEntry(
                        date: date(entry.minute), content: [:],
                        relevance: entry.score == nil ? nil : .object(relevance))
                }))
    }

    var stack: Stack {
        var stack = Stack(placed.map { tile($0) }, isSmart: isSmart)
        stack.candidates = suggested.map { tile($0) }
        stack.choice = choice.map { Stack.Choice($0.key, until: date($0.until)) }
        return stack
    }

    var smartStack: SmartStack {
        SmartStack(
            placed.map { widget in
                let tile = tile(widget)
                return SmartStack.Member(tile.key, tile.relevance, pin: widget.pin)
            }
                + suggested.map { widget in
                    let tile = tile(widget)
                    return SmartStack.Member(tile.key, tile.relevance, isPlaced: false)
                })
    }
}
