import Gateway
import TelltaleModel
import Testing

/// Plays and reports, without a socket.
struct PlaygroundTests {
    private static let now = Timestamp(milliseconds: 1_763_719_200_000)
    private static let kind = """
        {"kind":"order","type":"activity","version":1,"app":"com.example","title":"Order",
         "machine":{"initial":"a","states":{"a":{"on":{"go":"b"},"after":{"1m":"b"}},"b":{"type":"final"}}},
         "views":{"lockScreen":{"title":"TITLE"}}}
        """

    private func play(_ rest: String, kind: String = kind, budget: Int = .max) throws -> JSON {
        let request = try PlayRequest(Array("{\"kind\":\(kind)\(rest)}".utf8), now: Self.now)
        var left = budget
        let answer = try request.play {
            left -= 1
            return left >= 0
        }
        return try JSONParser().parse(answer.span)
    }

    @Test func `a play without steps has not begun`() throws {
        let played = try play("")
        #expect(played["log"] == [] && played["rows"] == [:] && played["next"] == .null && played["opened"] == .null)
        #expect(played["now"]?.integer == Self.now.milliseconds && played["key"] == "order/1042")
    }

    @Test func `its time is the one that it is given`() throws {
        let played = try play(#","at":1000,"id":"x","steps":[{"event":"start"},{"after":"90s"}]"#)
        #expect(played["now"] == 91_000 && played["log"]?.array?.last?["at"] == 61_000)
    }

    @Test func `a play that may not go on is refused`() throws {
        #expect(throws: Problem.self) { try play(#","steps":[{"event":"start"},{"after":"90s"}]"#, budget: 1) }
        let problem = #expect(throws: Problem.self) { try play(#","steps":[{"event":"start"}]"#, budget: 0) }
        #expect(problem?.code == "too_complex" && problem?.status == 422)
    }

    @Test(
        "a step that says something else than it must is refused",
        arguments: [#"{"press":false}"#, #"{"fail":7}"#, #"{"set":"up"}"#, #"{"done":"yes"}"#])
    func badStep(step: String) {
        let problem = #expect(throws: Problem.self) { try play(",\"steps\":[\(step)]") }
        #expect(problem?.code == "bad_json", "\(problem?.title ?? "no problem")")
    }

    @Test func `a widget is not played, and a kind larger than a file of the lint is not read`() throws {
        let widget = """
            {"kind":"board","type":"widget","version":1,"app":"com.example","title":"Board","families":["systemSmall"],
             "views":{"systemSmall":{"title":"{{content.n}}"}}}
            """
        #expect(#expect(throws: Problem.self) { try play("", kind: widget) }?.code == "bad_kind")
        let large = Self.kind.replacing("\"TITLE\"", with: "\"\(String(repeating: "x", count: 64_000))\"")
        #expect(#expect(throws: Problem.self) { try play("", kind: large) }?.code == "too_large")
    }

    @Test func `a log that is too long is refused`() throws {
        let text = String(repeating: "x", count: 2_000)
        let loud = """
            {"kind":"order","type":"activity","version":1,"app":"com.example","title":"Order",
             "machine":{"initial":"a","states":{"a":{"after":{"1s":"b"},"alert":{"title":"{{attributes.a}}","body":"{{attributes.a}}"}},
               "b":{"after":{"1s":"a"},"alert":{"title":"{{attributes.a}}","body":"{{attributes.a}}"}}}},
             "views":{"lockScreen":{"title":"t"},"expanded":{"center":{"title":"t"}},
               "compact":{"leading":{"symbol":"a"},"trailing":{"text":"b"}},"minimal":{"symbol":"a"}}}
            """
        let steps =
            ",\"steps\":[{\"event\":\"start\",\"data\":{\"attributes\":{\"a\":\"\(text)\"}}},{\"after\":\"10m\"}]"
        let problem = #expect(throws: Problem.self) { try play(steps, kind: loud) }
        #expect(problem?.code == "too_complex" && problem?.title.contains("a log of more than") == true)
    }

    @Test func `rows that are too long are refused`() throws {
        let parts = (0..<60).map { "\"p\($0)\":\"{{attributes.a}}\"" }.joined(separator: ",")
        let views =
            #""lockScreen":{PARTS},"expanded":{"bottom":{PARTS}},"compact":{"trailing":{PARTS}},"small":{PARTS}"#
        let large = Self.kind.replacing(#""lockScreen":{"title":"TITLE"}"#, with: views.replacing("PARTS", with: parts))
            .replacing(#""title":"Order""#, with: #""title":"Order","supplementalFamilies":["small"]"#)
        let text = String(repeating: "x", count: 3_000)
        let steps = ",\"steps\":[{\"event\":\"start\",\"data\":{\"attributes\":{\"a\":\"\(text)\"}}}]"
        let problem = #expect(throws: Problem.self) { try play(steps, kind: large) }
        #expect(problem?.code == "too_complex", "\(problem?.title ?? "no problem")")
    }

    @Test func `a report is JSON whatever the file holds`() throws {
        for file in ["", "{", "\u{0}", "{\"kind\":\"<script>\"}", Self.kind] {
            let report = try JSONParser().parse(LintReport.make(of: Array(file.utf8), hasDiagram: true).span)
            #expect(report["findings"]?.array != nil && report["errors"]?.integer != nil)
        }
    }

    @Test func `a control has no picture, and a large machine none either`() {
        let light = """
            {"kind":"light","type":"toggle","version":1,"app":"com.example","symbol":{"on":"a","off":"b"}}
            """
        #expect(code(of: light) == "not_found")
        let states = (0..<300).map { "\"s\($0)\":{\"on\":{\"go\":\"s\(($0 + 1) % 300)\"}}" }.joined(separator: ",")
        let large = Self.kind.replacing(/"machine":.*\}\}\}/) { _ in
            "\"machine\":{\"initial\":\"s0\",\"states\":{\(states)}}"
        }
        #expect(code(of: large) == "too_complex")
        #expect(code(of: Self.kind) == nil && code(of: "{}") == "version_unsupported")
    }

    private func code(of kind: String) -> String? {
        do {
            _ = try KindDiagram.svg(of: try JSONParser.parse(kind))
            return nil
        } catch {
            return (error as? Problem)?.code ?? "\(error)"
        }
    }
}
