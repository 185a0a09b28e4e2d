import Kinds
import TelltaleModel
import Testing

struct KindSetTests {
    private func file(_ name: String, _ kind: JSON) -> (name: String, bytes: [UInt8]) { (name, kind.text) }

    @Test func `a folder's kinds are found by name, in any order of its files`() {
        let files = [file("z.json", goodKind), file("a.json", goodToggle), file("m.json", goodButton)]
        for files in [files, files.reversed()] {
            let (set, diagnostics) = KindSet.load(files: files)
            #expect(diagnostics == [])
            #expect(set?.kinds.map(\.name) == ["light", "order", "tip"])
            #expect(set?["order"]?.source == goodKind)
            #expect(set?["other"] == nil)
        }
    }

    @Test func `a file with the content of a former reading gives the same kind, with its diagnostics`() throws {
        var former = KindReadings()
        func load(_ kinds: [(name: String, bytes: [UInt8])]) throws -> (kinds: KindSet, diagnostics: [Diagnostic]) {
            let (set, diagnostics) = KindSet.load(files: kinds, former: &former)
            return (try #require(set), diagnostics)
        }
        func machine(_ set: KindSet) throws -> ObjectIdentifier {
            guard case .activity(let activity)? = set["order"]?.body else { throw TestIssue() }
            return ObjectIdentifier(activity)
        }
        var kind = goodKind
        let first = try load([file("a.json", kind), file("b.json", goodToggle)])
        let again = try load([file("a.json", kind)])
        #expect(try machine(again.kinds) == machine(first.kinds))
        #expect(again.diagnostics == KindSet.load(files: [file("a.json", kind)]).diagnostics)
        // Another text, and the same text in another file.
        kind = kind.merging(["version": 2])
        let changed = try load([file("a.json", kind)])
        #expect(try machine(changed.kinds) != machine(first.kinds))
        #expect(try machine(load([file("c.json", kind)]).kinds) != machine(changed.kinds))
    }

    private struct TestIssue: Error {}

    @Test(
        "A folder's kind files are told by their names",
        arguments: [
            ("coffee.json", true), (".coffee.json", false), (".#coffee.json", false), ("kind.schema.json", false),
            ("coffee.json~", false), ("coffee.JSON", false), ("notes.txt", false),
        ])
    func kindFile(name: String, isOne: Bool) {
        #expect(KindSet.isKindFile(named: name) == isOne)
    }

    @Test func `one kind in two files is an error that names both`() {
        let (set, diagnostics) = KindSet.load(
            files: [file("a.json", goodToggle), file("b.json", goodToggle.merging(["version": 2]))])
        #expect(set == nil)
        #expect(diagnostics.map(\.file) == ["b.json"])
        #expect(diagnostics.first?.message.contains("a.json") == true)
    }

    @Test func `one bad file refuses the folder, and every file is reported`() {
        let (set, diagnostics) = KindSet.load(
            files: [
                file("b.json", goodToggle.merging(["timeout": 3])), ("a.json", Array("{".utf8)),
                file("c.json", goodButton),
            ])
        #expect(set == nil)
        #expect(diagnostics.map(\.file) == ["a.json:1:2", "b.json"])
    }

    @Test func `no file is no fault`() {
        let (set, diagnostics) = KindSet.load(files: [])
        #expect(set?.kinds.isEmpty == true)
        #expect(diagnostics == [])
    }

    @Test func `a button that raises an event without a handler is reported`() {
        let kinds = [file("a.json", goodKind), file("b.json", goodButton.merging(["raises": ["event": "brew"]]))]
        let (set, diagnostics) = KindSet.load(files: kinds)
        #expect(set != nil)
        #expect(diagnostics.map(\.path) == ["raises.event"])
    }

    @Test func `a button that raises an event to a kind that no file defines is reported`() {
        let files = [file("b.json", goodButton), file("t.json", goodToggle)]
        let (set, diagnostics) = KindSet.load(files: files)
        #expect(set != nil)
        #expect(diagnostics.map(\.path) == ["raises.kind"])
        #expect(diagnostics.first?.severity == .warning)
        // The event's kind may stand in a file that could not be read, or that was not given.
        #expect(KindSet.load(files: files + [("x.json", Array("{".utf8))]).diagnostics.map(\.file) == ["x.json:1:2"])
        #expect(KindSet.load(files: [files[0]]).diagnostics == [])
    }

    @Test(
        "Y13: a button is reported that is shown where nothing handles its event",
        arguments: [
            (#""tip/{{id}}""#, "tip is shown in done, making.plated and placed, where"),
            (#"{"control":"tip/{{id}}","when":{"state":"making"}}"#, "tip is shown in making.plated, where"),
            (#"{"control":"tip/{{id}}","when":{"state":["cooking"]}}"#, nil),
            (#"{"control":"tip/{{id}}","when":{"unless":"in(placed) or in(done) or in(plated)"}}"#, nil),
            (#"{"control":"tip/{{id}}","when":{"unless":"in(placed) or in(plated)"}}"#, "tip is shown in done, where"),
            // Whether it is shown depends on the content.
            (#"{"control":"tip/{{id}}","when":{"unless":"content.tipped == true"}}"#, nil),
            (#"{"control":"tip/{{id}}","when":{"guard":"lifecycle == 'ended'"}}"#, "tip is shown in done, where"),
        ] as [(String, String?)])
    func unhandled(button: String, says: String?) throws {
        let machine = try json(
            #"""
            {"initial":"placed","states":{"placed":{"on":{"make":"making"}},
              "making":{"initial":"cooking","on":{"serve":"done"},"states":{"cooking":{"on":{"tip":{"actions":[]},"plate":"plated"}},
                "plated":{}}},
              "done":{"type":"final"}}}
            """#)
        let tip = goodButton.merging(["raises": ["kind": "order", "event": "tip", "id": "{{id}}"]])
        let order = goodKind.merging([
            "machine": .null, "views": ["lockScreen": ["buttons": .array([try json(button)])]],
        ]).merging(["machine": machine])
        let (set, diagnostics) = KindSet.load(files: [file("a.json", order), file("b.json", tip)])
        #expect(set != nil)
        #expect(diagnostics.count == (says == nil ? 0 : 1), "\(diagnostics)")
        if let says { #expect(diagnostics.first?.message.contains(says) == true, "\(diagnostics)") }
    }

    @Test func `a control that no kind is, and one that is an activity, are reported with their places`() throws {
        let views = try json(
            #"""
            {"lockScreen":{"title":"x","buttons":["tip/{{id}}","tap/{{id}}","{{content.kind}}/1",{"link":"tel:1","title":"x"}]},
             "expanded":{"bottom":{"buttons":["order/{{id}}"]}}}
            """#)
        var members = goodKind["views"]?.object ?? JSONObject()
        for member in views.object ?? JSONObject() { members[member.name] = member.value }
        var kind = goodKind.object ?? JSONObject()
        kind["views"] = .object(members)
        let files = [file("a.json", .object(kind)), file("b.json", goodButton)]
        let (set, diagnostics) = KindSet.load(files: files)
        #expect(set != nil)
        #expect(diagnostics.map(\.path) == ["views.expanded.bottom.buttons[0]", "views.lockScreen.buttons[1]"])
        #expect(diagnostics.allSatisfy { $0.severity == .warning })
        #expect(diagnostics.map { $0.message.contains("live activity") } == [true, false])
        #expect(KindSet.load(files: [files[0]]).diagnostics.map(\.path) == ["views.expanded.bottom.buttons[0]"])
    }

    @Test(
        "A fault of the JSON is told with line and column",
        arguments: [
            ("", "1:1", "empty"), ("{\n  \"a\": 1,\n}", "3:1", "comma"), ("{\"a\" 1}", "1:6", ": is missing"),
            ("{\n\t\"é☕\": tru}", "2:8", "word"), ("{\"a\":1 \"b\":2}", "1:8", "comma is missing"),
            ("[1,2", "1:5", "array"),
            ("{\"a\":\"x\ny\"}", "1:8", "line ends"), ("{} {}", "1:4", "follows the end of the document"),
            ("{\"a\":01}", "1:7", "begins with 0"),
            ("{\"a\":\"\\q\"}", "1:7", "escape"), ("// no\n{}", "1:1", "comment"), ("{a:1}", "1:2", "member's name"),
            ("{\"a\":'x'}", "1:6", "single quotes"), ("{\"a\":1e999}", "1:6", "too large"),
            ("{\"a\":.5}", "1:6", "begins no JSON"),
            ("{\"a\":9007199254740992}", "1:6", "outside"), ("{\"a\":1.}", "1:8", "digit"), ("[1,]", "1:4", "comma"),
            ("{\"a\":\"x", "1:6", "never closed"), ("{\"a\":[", "1:7", "ends"),
            ("{\"a\":\"\\ud800\"}", "1:7", "surrogate"),
            ("{\"a\":{\"b\":1,\n \"b\":2}}", "2:2", "twice"), ("{\"a\":1,\"\\u0061\":2}", "1:8", "twice"),
            ("\u{FEFF}{}", "1:1", "byte order mark"),
        ])
    func jsonFaults(text: String, place: String, says: String) {
        let (kind, diagnostics) = KindSet.read(Array(text.utf8), file: "a.json")
        #expect(kind == nil)
        #expect(diagnostics.map(\.file) == ["a.json:\(place)"])
        #expect(diagnostics.first?.description.contains(says) == true, "\(diagnostics)")
    }

    @Test func `a duplicate name has its path`() {
        let text = #"{"machine":{"states":{"a":{},"b":{"on":{"x":"a","y":"b","x":"b"}}}}}"#
        #expect(KindSet.read(Array(text.utf8), file: "a.json").diagnostics.map(\.path) == ["machine.states.b.on.x"])
    }

    @Test func `bytes that are no UTF-8 are reported with their place`() {
        let bytes = Array("{\n\"é\":\"".utf8) + [0xC3, 0x28] + Array("\"}".utf8)
        #expect(KindSet.read(bytes, file: "a.json").diagnostics.map(\.file) == ["a.json:2:6"])
    }

    @Test("Nesting is bounded", arguments: [33, 100_000])
    func depth(levels: Int) {
        let text = String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
        let diagnostics = KindSet.read(Array(text.utf8), file: "a.json").diagnostics
        #expect(diagnostics.map(\.file) == ["a.json:1:33"])
    }

    @Test func `a file's members may stand in any order`() throws {
        let text = #"{"type":"toggle","kind":"light","symbol":{"on":"a","off":"b"},"version":1,"app":"x","title":"L"}"#
        let shuffled =
            #"{"title":"L","app":"x","symbol":{"off":"b","on":"a"},"version":1,"kind":"light","type":"toggle"}"#
        let kinds = [text, shuffled].map { KindSet.read(Array($0.utf8), file: "a.json").kind }
        #expect(kinds[0]?.source != nil)
        #expect(kinds[0]?.source == kinds[1]?.source)
    }
}
