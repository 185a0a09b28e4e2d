import Kinds
import TelltaleModel
import Testing

/// Where a finding stands in the text.
struct KindLintTests {
    private static let text = """
        {
          "kind": "order", "type": "activity", "version": 1, "app": "com.example", "title": "Ordér 👩‍👩‍👧",
          "machine": {
            "initial": "placed",
            "states": {
              "placed": { "on": { "go": "nowhere" } },
              "busy": { "on": { "go": [ { "target": "placed", "guard": "content.x ==" } ] } },
              "done": { "type": "final" }
            }
          },
          "title ": "x", "colour": 3
        }
        """

    @Test func `findings have the line and the column of their member`() throws {
        let lint = KindLint(Array(Self.text.utf8))
        #expect(lint.kind == nil && lint.errorCount > 2)
        let places = lint.findings.map { "\($0.line):\($0.column) \($0.path)" }
        #expect(places.contains("6:27 machine.states.placed.on.go"))
        #expect(places.contains { $0.hasPrefix("7:55 machine.states.busy.on.go[0].guard") })
        #expect(places.contains("11:3 title ") && places.contains("11:18 colour"))
    }

    @Test func `a finding about what is missing stands where it is missing`() {
        let lint = KindLint(Array("{\n \"kind\": \"a\",\n \"type\": \"activity\",\n \"machine\": {}\n}".utf8))
        #expect(lint.findings.contains { $0.path == "version" && $0.line == 1 && $0.column == 1 })
        #expect(lint.findings.contains { $0.path == "machine" && $0.line == 4 })
    }

    @Test func `members of a member with a long name are found among many that nothing is said about`() {
        let long = String(repeating: "\u{1D400}", count: 230)
        let bad = (0..<199).map { "\"a\($0)\": \"{{\"" }.joined(separator: ",\n")
        let text =
            "{\"kind\":\"a\",\"type\":\"activity\",\"version\":1,\"app\":\"a.b\",\"title\":\"A\",\"machine\":{\"initial\":\"a\",\"states\":{\"a\":{}}},\"views\":{\"lockScreen\":{\"\(long)\":{\n\(bad),\n\"z\":[\(String(repeating: "0,", count: 20_000))0]}}}}"
        let lint = KindLint(Array(text.utf8))
        let places = lint.findings.filter { $0.path.contains(".a") }
        #expect(places.count == 199)
        // Line 2 has a0, and each line has one more. Paths are in the order of their texts.
        #expect(places.first?.line == 2 && places.last { $0.path.hasSuffix(".a198") }?.line == 200)
        #expect(places.allSatisfy { $0.column == 1 })
    }

    @Test func `no JSON is one finding with its place`() {
        let lint = KindLint(Array("{\n  \"kind\": \"order\",\n  \"type\" \"x\"\n}".utf8))
        #expect(lint.findings.map(\.line) == [3] && lint.errorCount == 1 && lint.kind == nil)
        #expect(KindLint([]).findings.count == 1 && KindLint([0xFF, 0xFE]).findings.count == 1)
    }

    @Test func `it says what the daemon's lint says`() throws {
        for file in try Shipped.files() {
            let lint = KindLint(file.bytes)
            let (kind, diagnostics) = KindSet.read(file.bytes, file: "")
            #expect((lint.kind == nil) == (kind == nil))
            #expect(lint.findings.map(\.message) == diagnostics.map(\.message), "\(file.name)")
        }
    }

    @Test func `thousands of findings are reported as so many, and shown in part`() {
        let members = (0..<3_000).map { "\"x\($0)\": 1" }.joined(separator: ",")
        let head = #""kind":"a","type":"toggle","version":1,"app":"a.b","symbol":{"on":"a","off":"b"}"#
        let lint = KindLint(Array("{\(head),\(members)}".utf8))
        #expect(lint.errorCount >= 3_000 && lint.findings.count == KindLint.findingLimit)
    }
}
