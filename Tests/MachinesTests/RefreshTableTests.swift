import Kinds
import TelltaleModel
import TestSupport
import Testing

@testable import Machines

/// `Protocols/Machines/asking.table`.
struct RefreshTableTests {
    @Test("Protocols/Machines/asking.table", arguments: try TableFile("Machines/asking.table").rows)
    func row(_ row: TableFile.Row) throws {
        let table = try TableFile("Machines/asking.table")
        var script = try RefreshScript()
        try script.run(try #require(table.states[row[1]], "\(row)"))
        try script.run(row[2])
        #expect(script.refresh == row[3], "\(row)")
        #expect(script.outcome == row[4], "\(row)")
        #expect(script.shown == row[5], "\(row)")
        // A widget is what it is written as.
        var writer = BinaryWriter()
        script.widget.encode(to: &writer)
        var reader = BinaryReader(writer.bytes)
        let copy = try Widget(from: &reader, script.widget.form)
        #expect(reader.isAtEnd)
        #expect(copy.refresh == script.widget.refresh)
    }

    @Test("W-V17: asks of one date begin at different seconds of a minute, the same on every machine")
    func spread() throws {
        let now = Timestamp(milliseconds: 0)
        let spreads = try (0..<1_000).map { try Refresh(key: #require(Key("weather/\($0)")), at: now).spread }
        #expect(spreads.allSatisfy { $0 >= .zero && $0 < .seconds(60) })
        #expect(Set(spreads).count == 60)
        #expect(Refresh(key: try #require(Key("weather/main")), at: now).spread == .seconds(RefreshScript.spread))
    }
}

/// A widget of a kind with a provider, driven by the words of `asking.table`.
private struct RefreshScript {
    private static let start = Timestamp(milliseconds: 1_763_719_200_000)
    /// Of the key in seconds.
    static let spread: Int64 = 15

    var widget: Widget
    private let kind: WidgetKind
    private var now = start
    private var refreshCount: Int64 = 0
    private(set) var outcome = ""

    init() throws {
        let source: JSON = [
            "kind": "weather", "type": "widget", "version": 1, "app": "a", "families": ["systemSmall"],
            "source": ["provider": true], "views": ["systemSmall": ["title": "{{content.is}}"]],
        ]
        guard case .widget(let kind)? = Kind.read(source, file: "").kind?.body, let key = Key("weather/main") else {
            throw BadInput(text: "kind")
        }
        self.kind = kind
        widget = Widget(refresh: key, configuration: [:], at: Self.start)
    }

    struct BadInput: Error { let text: String }

    mutating func run(_ inputs: String) throws {
        for input in inputs.split(separator: ";") {
            var words = input.split(separator: " ").map { String($0) }
            guard !words.isEmpty else { continue }
            let verb = words.removeFirst()
            switch verb {
            case "serve": apply(.providerChanged(to: Int64(words[0])))
            case "leave": apply(.providerChanged(to: nil))
            case "restart": apply(.restarted)
            case "reload": apply(.reload(isFree: words == ["free"]))
            case "after": now = Self.start + .seconds(Int64(words[0]) ?? 0)
            case "due": apply(.deadlineReached(OperationID(refreshCount + 1)))
            case "fail":
                let (operation, connection) = operation(&words)
                apply(.failed(operation, by: connection))
            case "answer":
                let (operation, connection) = operation(&words)
                apply(.answered(operation, try timeline(words), by: connection))
            case "timeline":
                let at = words.first { $0.hasPrefix("at=") }.flatMap { Int64($0.dropFirst(3)) }
                words.removeAll { $0.hasPrefix("at=") }
                post(.timeline(try timeline(words)), at: at.map { Self.start + .seconds($0) })
            case "end": post(.ended)
            default: throw BadInput(text: String(input))
            }
        }
    }

    private func operation(_ words: inout [String]) -> (OperationID, ConnectionNumber) {
        var operation = OperationID(refreshCount)
        if let first = words.first, let named = OperationID(first) {
            operation = named
            words.removeFirst()
        }
        guard words.first == "by" else { return (operation, 1) }
        defer { words.removeFirst(2) }
        return (operation, Int64(words[1]) ?? 0)
    }

    private mutating func apply(_ event: Widget.RefreshEvent) {
        let result = widget.apply(event, kind: kind, floor: .minutes(5), at: now, wall: now)
        outcome = result.verdict.rawValue + (result.isChanged ? " row" : "")
        if let ask = result.refresh {
            refreshCount = ask.operation.number
            outcome += " ask \(ask.operation)"
        }
        if let ended = result.ended { outcome += " end \(ended)" }
    }

    private mutating func post(_ event: Widget.Event, at happenedAt: Timestamp? = nil) {
        let result = widget.apply(event, happenedAt: happenedAt, kind: kind, at: now)
        outcome = result.verdict.rawValue + (result.isChanged ? " row" : "")
        if let ended = result.ended { outcome += " end \(ended)" }
    }

    private func timeline(_ words: [String]) throws -> WidgetTimeline {
        var timeline = WidgetTimeline(entries: [])
        for word in words {
            let parts = word.split(separator: ":").map { String($0) }
            if word == "never" {
                timeline.policy = .never
            } else if word.hasPrefix("after="), let number = Int64(word.dropFirst(6)) {
                timeline.policy = .after(Self.start + .seconds(number))
            } else if parts.count == 2, let date = Int64(parts[0]) {
                timeline.entries.append(
                    WidgetEntry(date: Self.start + .seconds(date), content: ["is": .string(parts[1])]))
            } else {
                throw BadInput(text: word)
            }
        }
        return timeline
    }

    var refresh: String {
        guard let refresh = widget.refresh else { return "not asked" }
        var text = "-"
        if let flight = refresh.flight {
            text = "\(flight.operation) \(flight.reason) by \(flight.provider)"
        } else if let plan = refresh.plan {
            let seconds = (plan.date - Self.start).count / 1_000
            text = refresh.planDeadline == nil ? "\(plan.reason) waits" : "\(plan.reason) at \(seconds)"
        }
        return text + (refresh.behind.map { ", then \($0.reason)" } ?? "")
    }

    var shown: String {
        widget.moments(at: now, kind: kind).map { moment in
            let content: String
            switch moment.content {
            case .placeholder: content = "-"
            case .activity, .values, .nothing: content = "?"
            case .content(let json): content = json["is"]?.string ?? "?"
            }
            return "\((moment.date - Self.start).count / 1_000):\(content)"
        }.joined(separator: " ")
    }
}
