import Kinds
import TelltaleModel
import Testing

struct LintTests {
    @Test(
        "A good kind gives no diagnostics",
        arguments: [goodKind, goodToggle, goodButton, goodWidget, goodMember, goodAggregate])
    func good(kind: JSON) {
        let (result, diagnostics) = Kind.read(kind, file: "a.json")
        #expect(diagnostics == [])
        #expect(result?.source == kind)
    }

    @Test("Each rule has a file that breaks it alone", arguments: try LintCase.all())
    func rule(_ rule: LintCase) throws {
        let (kind, diagnostics) = Kind.read(try rule.kind, file: "a.json")
        #expect(diagnostics.map(\.path) == [rule.path], "\(diagnostics)")
        #expect(diagnostics.first?.severity == (rule.found == .warning ? .warning : .error))
        #expect(diagnostics.first?.message.contains(rule.says) == true, "\(diagnostics)")
        #expect(diagnostics.allSatisfy { $0.file == "a.json" && !$0.advice.isEmpty })
        #expect((kind == nil) == (rule.found != .warning))
    }

    @Test(
        "What is passed through is counted and measured all the same",
        arguments: [
            (#"{"small":{"row":{"symbols":["a","b","c","d"]}}}"#, "views.small", "4 symbols"),
            (#"{"small":{"symbol":"a","row":{"symbols":["b","c"]},"buttons":["a/1"]}}"#, "views.small", "4 symbols"),
            (#"{"lockScreen":{"fontSize":10.5}}"#, "views.lockScreen.fontSize", "10.5 pt cannot be read"),
            (#"{"expanded":{"bottom":{"note":{"size":9}}}}"#, "views.expanded.bottom.note.size", "9 pt"),
            (#"{"small":{"notes":[{"textSize":8}]}}"#, "views.small.notes[0].textSize", "8 pt"),
        ])
    func limits(views: String, path: String, says: String) throws {
        let kind = goodKind.merging(try json(#"{"supplementalFamilies":["small"],"views":{"small":{"title":"x"}}}"#))
        let (_, diagnostics) = Kind.read(kind.merging(["views": try json(views)]), file: "a.json")
        let found = diagnostics.filter { !$0.message.contains("passed through") }
        #expect(found.map(\.path) == [path], "\(diagnostics)")
        #expect(found.first?.message.contains(says) == true)
        #expect(found.first?.severity == .warning)
    }

    @Test(
        "What just fits is no fault",
        arguments: [
            #"{"small":{"symbol":"a","buttons":["a/1","a/2"]}}"#, #"{"lockScreen":{"fontSize":11}}"#,
            #"{"compact":{"leading":{"text":"Eleven wide"},"trailing":{"text":"{{content.eta}} min"}}}"#,
            #"{"minimal":{"text":"12345678"}}"#, #"{"minimal":{"text":"커피 ☕️e\u0301"}}"#,
        ])
    func fits(views: String) throws {
        let kind = goodKind.merging(try json(#"{"supplementalFamilies":["small"],"views":{"small":{"title":"x"}}}"#))
        let (_, diagnostics) = Kind.read(kind.merging(["views": try json(views)]), file: "a.json")
        #expect(diagnostics.filter { !$0.message.contains("passed through") } == [])
    }

    @Test func `all faults are reported at once, errors first`() throws {
        let patch = """
            {"version":"one","app":null,"colour":1,"stale":"soon","machine":{"states":{"placed":{"on":{"confirm":"nowhere"}}}},
             "views":{"minimal":{"glow":1}}}
            """
        let (kind, diagnostics) = Kind.read(goodKind.merging(try json(patch)), file: "a.json")
        #expect(kind == nil)
        #expect(
            Set(diagnostics.filter { $0.severity == .error }.map(\.path)) == [
                "colour", "version", "app", "stale", "machine.states.placed.on.confirm",
            ])
        #expect(diagnostics.last?.severity == .warning)
        #expect(diagnostics.last?.path == "views.minimal.glow")
    }

    @Test func `long texts of a file are cut in messages`() throws {
        let name = String(repeating: "n", count: 100_000)
        let patches = [
            "{\"NAME\":1}", "{\"stale\":\"NAME\"}", "{\"kind\":\"NAME\"}",
            "{\"views\":{\"minimal\":{\"NAME\":\"{{\"}}}",
            "{\"machine\":{\"states\":{\"placed\":{\"on\":{\"confirm\":\"NAME\"}}}}}",
            "{\"machine\":{\"states\":{\"NAME\":{}}}}", "{\"url\":\"{{NAME..x}}\"}", "{\"url\":\"{{NAME | NAME}}\"}",
            "{\"machine\":{\"states\":{\"placed\":{\"on\":{\"x\":{\"guard\":\"NAME NAME\"}}}}}}",
        ]
        for patch in patches {
            let text = patch.replacing("NAME", with: name)
            let (_, diagnostics) = Kind.read(goodKind.merging(try json(text)), file: "a.json")
            #expect(!diagnostics.isEmpty, "\(patch)")
            #expect(diagnostics.allSatisfy { $0.description.utf8.count < 1_500 }, "\(patch)")
        }
        let twice = "{\"\(name)\":1,\"\(name)\":2}"
        let (_, faults) = KindSet.read(Array(twice.utf8), file: "a.json")
        #expect(faults.count == 1 && faults.allSatisfy { $0.description.utf8.count < 1_500 })
    }

    @Test func `a text of the limit's length is no fault, nor one that an earlier release took`() throws {
        let fits = goodKind.merging(try json("{\"title\":\"\(long(256))\",\"url\":\"\(long(1_024))\"}"))
        #expect(Kind.read(fits, file: "a.json").diagnostics == [])
        let longer = goodKind.merging(try json("{\"url\":\"\(long(1_025))\"}"))
        #expect(Kind.read(longer, file: "a.json").kind == nil)
        #expect(Kind.read(journaled: longer)?.source == longer)
    }

    @Test(
        "A private part may be one of a variant, and a variant need not have it",
        arguments: [
            (
                goodKind,
                #"{"lockScreen":{"private":["text"],"variants":[{"when":{"state":"done"},"set":{"text":"Done"}}]}}"#
            ),
            (
                goodKind,
                #"{"lockScreen":{"private":["title"],"variants":[{"when":{"state":"done"},"set":{"title":null}}]}}"#
            ),
            (
                goodWidget,
                #"{"systemSmall":{"private":["text"],"variants":[{"when":{"mode":"vibrant"},"set":{"text":"x"}}]}}"#
            ),
        ])
    func privatePartOfVariant(kind: JSON, views: String) throws {
        #expect(Kind.read(kind.merging(["views": try json(views)]), file: "a.json").diagnostics == [])
    }

    @Test func `a summary of nothing private is a part of the view in a kind of before`() throws {
        let old = goodKind.merging(try json(#"{"views":{"lockScreen":{"summary":"{{id}} waits"}}}"#))
        guard case .activity(let activity)? = Kind.read(journaled: old)?.body else {
            Issue.record("it is no kind")
            return
        }
        var writer = JSONWriter()
        activity.views.lockScreen.parts.write(to: &writer, context: context())
        #expect(try json(String(decoding: writer.bytes, as: UTF8.self))["summary"] == "1042 waits")
        // Of a kind that is private as a whole it stands in for a text, as of a view with private parts.
        for patch in [#"{"privacySensitive":true}"#, #"{"views":{"lockScreen":{"private":["title"]}}}"#] {
            guard case .activity(let activity)? = Kind.read(journaled: old.merging(try json(patch)))?.body else {
                Issue.record("it is no kind")
                return
            }
            #expect(activity.views.lockScreen.summary != nil, "\(patch)")
        }
    }

    @Test func `a misspelt private part is no fault in a kind of before`() throws {
        let old = goodKind.merging(try json(#"{"views":{"lockScreen":{"private":["titel"]}}}"#))
        #expect(Kind.read(journaled: old)?.source == old)
    }

    @Test("A value that is not an object is no kind", arguments: ["null", "[]", "3", "\"kind\"", "true"])
    func noObject(text: String) throws {
        let (kind, diagnostics) = Kind.read(try json(text), file: "a.json")
        #expect(kind == nil)
        #expect(diagnostics.map(\.severity) == [.error])
    }
}
