import Kinds
import Machines
import TelltaleModel
import TestSupport
import Testing

/// `Protocols/Machines/widget.table`.
struct WidgetTableTests {
    @Test("Protocols/Machines/widget.table", arguments: try TableFile("Machines/widget.table").rows)
    func row(_ row: TableFile.Row) throws {
        let table = try TableFile("Machines/widget.table")
        var script = try WidgetScript()
        try script.run(try #require(table.states[row[1]], "\(row)"))
        try script.run(row[2])
        #expect(script.widget.phase(at: script.now, kind: script.kind).rawValue == row[3], "\(row)")
        #expect(script.outcome == row[4], "\(row)")
        #expect(script.shown == row[5], "\(row)")
        // A widget is what it is written as.
        var writer = BinaryWriter()
        script.widget.encode(to: &writer)
        var reader = BinaryReader(writer.bytes)
        let copy = try Widget(from: &reader)
        #expect(reader.isAtEnd)
        #expect(
            copy.moments(at: script.now, kind: script.kind) == script.widget.moments(at: script.now, kind: script.kind))
    }

    @Test("The full row of a commit is the same whenever it is told")
    func fullRow() throws {
        var script = try WidgetScript()
        try script.run("timeline 0:a 60:b never")
        func row() throws -> String {
            var writer = JSONWriter()
            script.widget.writeFullRow(
                key: try #require(Key("sales/main")), kind: script.kind, to: &writer)
            return String(decoding: writer.bytes, as: UTF8.self)
        }
        let before = try row()
        try script.run("after 600")
        #expect(try row() == before)
        #expect(before.contains(#""phase":"fresh""#) && before.contains(#""policy":"never""#))
    }
}

/// The tail of a timeline.
struct WidgetTimelineTests {
    private func refusal(_ text: String) throws -> WidgetRejection? {
        var unknown: [String] = []
        do {
            _ = try WidgetTimeline(tail: try #require(JSONParser.parse(text).object), unknown: &unknown)
            return nil
        } catch let rejection as WidgetRejection { return rejection }
    }

    @Test("W-V5: entries of one date are bad_json at entries[1].date", arguments: [60, 59])
    func order(second: Int) throws {
        let rejection = try refusal(
            #"{"entries":[{"date":60,"content-state":{}},{"date":\#(second),"content-state":{}}]}"#)
        guard case .badTail("entries[1].date", _)? = rejection else {
            Issue.record("\(String(describing: rejection))")
            return
        }
    }

    @Test("W-V6: 65 entries, or one of 4,097 bytes, are too_large")
    func size() throws {
        func entries(_ count: Int) -> String {
            (0..<count).map { #"{"date":\#($0),"content-state":{}}"# }.joined(separator: ",")
        }
        #expect(try refusal(#"{"entries":[\#(entries(64))]}"#) == nil)
        guard case .tooLarge("entries", 65, 64, _)? = try refusal(#"{"entries":[\#(entries(65))]}"#) else {
            Issue.record("65 entries")
            return
        }
        func content(_ bytes: Int) -> String { #"{"a":"\#(String(repeating: "x", count: bytes - 8))"}"# }
        #expect(try refusal(#"{"entries":[{"date":1,"content-state":\#(content(4_096))}]}"#) == nil)
        guard
            case .tooLarge("entries[0].content-state", 4_097, 4_096, _)? = try refusal(
                #"{"entries":[{"date":1,"content-state":\#(content(4_097))}]}"#)
        else {
            Issue.record("4,097 bytes")
            return
        }
        let nine = (0..<9).map { #"{"date":\#($0),"content-state":\#(content(4_000))}"# }.joined(separator: ",")
        guard case .tooLarge("entries", 36_000, 32_768, _)? = try refusal(#"{"entries":[\#(nine)]}"#) else {
            Issue.record("36,000 bytes together")
            return
        }
    }

    @Test(
        "A member of the wrong type is told with its path",
        arguments: [
            ("{}", "entries"), (#"{"entries":[]}"#, "entries"), (#"{"entries":{}}"#, "entries"),
            (#"{"entries":[1]}"#, "entries[0]"), (#"{"entries":[{"content-state":{}}]}"#, "entries[0].date"),
            (#"{"entries":[{"date":"x","content-state":{}}]}"#, "entries[0].date"),
            (#"{"entries":[{"date":1e300,"content-state":{}}]}"#, "entries[0].date"),
            (#"{"entries":[{"date":1}]}"#, "entries[0].content-state"),
            (#"{"entries":[{"date":1,"content-state":[]}]}"#, "entries[0].content-state"),
            (#"{"entries":[{"date":1,"content-state":{},"relevance":5}]}"#, "entries[0].relevance"),
            (#"{"entries":[{"date":1,"content-state":{},"relevance":{}}]}"#, "entries[0].relevance.score"),
            (
                #"{"entries":[{"date":1,"content-state":{},"relevance":{"score":1,"for":-1}}]}"#,
                "entries[0].relevance.for"
            ),
            (#"{"entries":[{"date":1,"content-state":{}}],"policy":"soon"}"#, "policy"),
            (#"{"entries":[{"date":1,"content-state":{}}],"policy":{"after":"x"}}"#, "policy"),
        ])
    func types(tail: String, path: String) throws {
        #expect(try refusal(tail)?.path == path)
    }

    @Test("W-V12: an alert has no meaning in a timeline, nor has any other member")
    func unknown() throws {
        var unknown: [String] = []
        let tail = #"{"entries":[{"date":1,"content-state":{},"alert":{}}],"alert":{},"content-state":{}}"#
        _ = try WidgetTimeline(tail: try #require(JSONParser.parse(tail).object), unknown: &unknown)
        #expect(unknown == ["alert", "content-state"])
    }
}

/// A widget, driven by the words of `widget.table`.
struct WidgetScript {
    static let start = Timestamp(milliseconds: 1_763_719_200_000)

    var widget = Widget(configuration: [:], at: start)
    var kind: WidgetKind
    var now = start
    var outcome = ""

    init() throws { kind = try Self.kind(stale: nil) }

    private static func kind(stale: String?) throws -> WidgetKind {
        var source = JSONObject()
        for (name, value) in [("kind", "sales"), ("type", "widget"), ("app", "a")] { source[name] = .string(value) }
        source["version"] = 1
        source["families"] = ["systemSmall"]
        source["views"] = ["systemSmall": ["title": "{{content.is}}"]]
        if let stale { source["stale"] = .string("\(stale)s") }
        guard case .widget(let kind)? = Kind.read(.object(source), file: "").kind?.body else {
            throw BadInput(text: "kind")
        }
        return kind
    }

    struct BadInput: Error { let text: String }

    mutating func run(_ inputs: String) throws {
        for input in inputs.split(separator: ";") {
            let words = input.split(separator: " ").map { String($0) }
            guard let verb = words.first else { continue }
            switch verb {
            case "stale": kind = try Self.kind(stale: words[1])
            case "after": now = now + .seconds(Int64(words[1]) ?? 0)
            case "timeline": try post(words.dropFirst())
            case "end": apply(.ended)
            case "reload": apply(.reload)
            case "kind": apply(.kindChanged(configuration: [:]))
            default: throw BadInput(text: String(input))
            }
        }
    }

    private mutating func apply(_ event: Widget.Event, at: Timestamp? = nil, version: Int64? = nil) {
        let result = widget.apply(event, happenedAt: at, version: version, kind: kind, at: now)
        outcome = result.verdict.rawValue + (result.isChanged ? " row" : "")
    }

    private mutating func post(_ words: ArraySlice<String>) throws {
        var timeline = WidgetTimeline(entries: [])
        var (happenedAt, version): (Timestamp?, Int64?) = (nil, nil)
        for word in words {
            if word == "never" {
                timeline.policy = .never
            } else if let number = Self.number(word, behind: "after=") {
                timeline.policy = .after(Self.start + .seconds(number))
            } else if let number = Self.number(word, behind: "at=") {
                happenedAt = Self.start + .seconds(number)
            } else if let number = Self.number(word, behind: "ver=") {
                version = number
            } else {
                let parts = word.split(separator: ":").map { String($0) }
                guard parts.count == 2, let date = Int64(parts[0]) else { throw BadInput(text: word) }
                timeline.entries.append(
                    WidgetEntry(date: Self.start + .seconds(date), content: ["is": .string(parts[1])]))
            }
        }
        apply(.timeline(timeline), at: happenedAt, version: version)
    }

    private static func number(_ word: String, behind prefix: String) -> Int64? {
        word.hasPrefix(prefix) ? Int64(word.dropFirst(prefix.count)) : nil
    }

    var shown: String {
        widget.moments(at: now, kind: kind).map { moment in
            let content: String
            switch moment.content {
            case .placeholder: content = "-"
            case .activity, .values, .nothing: content = "?"
            case .content(let json): content = json["is"]?.string ?? "?"
            }
            return "\((moment.date - Self.start).count / 1_000):\(content)\(moment.isStale ? "!" : "")"
        }.joined(separator: " ")
    }
}
