import Kinds
import TelltaleModel
import Testing

struct ViewTests {
    /// Renders one lock screen view.
    private func rendered(_ view: String, _ context: TemplateContext) throws -> String {
        var views = goodKind["views"]?.object ?? JSONObject()
        views["lockScreen"] = try json(view)
        var source = goodKind.object ?? JSONObject()
        source["views"] = .object(views)
        let (kind, diagnostics) = Kind.read(.object(source), file: "order.json")
        #expect(diagnostics.filter { $0.severity == .error }.isEmpty)
        guard case .activity(let activity)? = kind?.body else { return "" }
        var writer = JSONWriter()
        activity.views.lockScreen.parts.write(to: &writer, context: context)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test(
        "A view's parts are filled in",
        arguments: [
            (#"{"title":"{{state.title}}","symbol":"cup"}"#, #"{"symbol":"cup","title":"In the queue"}"#),
            (#"{"progress":true}"#, #"{"progress":0.5}"#), (#"{"progress":false}"#, "{}"),
            (#"{"progress":{"segments":4}}"#, #"{"progress":{"segments":4,"value":0.5}}"#),
            (
                #"{"progress":{"segments":4,"points":[0.25,1]}}"#,
                #"{"progress":{"points":[0.25,1],"segments":4,"value":0.5}}"#
            ),
            (#"{"progress":"{{content.done}}"}"#, #"{"progress":1}"#),
            (#"{"progress":"{{content.missing}}"}"#, "{}"), (#"{"progress":0.25}"#, #"{"progress":0.25}"#),
            (#"{"timer":"{{content.eta}}","else":"soon"}"#, #"{"timer":1763719200000}"#),
            (#"{"timer":"{{content.millis}}"}"#, #"{"timer":1763719200123}"#),
            (#"{"timer":"{{content.iso}}"}"#, #"{"timer":1763719200000}"#),
            (#"{"timer":"{{content.zoned}}"}"#, #"{"timer":1763719200500}"#),
            (#"{"timer":"{{content.missing}}","else":"soon"}"#, #"{"text":"soon"}"#),
            (
                #"{"timer":"{{content.missing}}","text":"t","else":"soon","tint":"red"}"#,
                #"{"text":"soon","tint":"red"}"#
            ),
            (#"{"timer":"{{content.missing}}","text":"t","title":"x"}"#, #"{"text":"t","title":"x"}"#),
            (#"{"timer":"{{content.word}}","else":"soon"}"#, #"{"text":"soon"}"#),
            (#"{"timer":"{{content.eta}}","text":"t"}"#, #"{"text":"t","timer":1763719200000}"#),
            (#"{"buttons":["coffee-tip/{{id}}"]}"#, #"{"buttons":["coffee-tip/1042"]}"#),
            (
                #"{"buttons":["tip/1",{"link":"tel:{{content.phone}}","title":"Call {{content.word}}","symbol":"phone"}]}"#,
                #"{"buttons":["tip/1",{"interactive":true,"link":"tel:+49%2030%C3%A9","symbol":"phone","title":"Call later"}]}"#
            ),
            // There is no rider yet.
            (
                #"{"buttons":[{"link":"tel:{{content.missing}}","title":"Call"}]}"#,
                #"{"buttons":[{"interactive":false}]}"#
            ),
            (
                #"{"buttons":[{"link":"https://example.com/{{id}}","title":"Map","tint":"blue"}]}"#,
                #"{"buttons":[{"interactive":true,"link":"https://example.com/1042","tint":"blue","title":"Map"}]}"#
            ),
            (
                #"{"map":{"pin":"{{id}}","zoom":3,"tags":["{{kind}}",null]}}"#,
                #"{"map":{"pin":"1042","tags":["order",null],"zoom":3}}"#
            ),
            ("{}", "{}"),
        ])
    func parts(view: String, expected: String) throws {
        let content = try json(
            #"""
            {"eta":1763719200,"millis":1763719200123,"iso":"2025-11-21T10:00:00Z","zoned":"2025-11-21T12:00:00.5+02:00",
             "word":"later","done":3,"phone":"+49 30é"}
            """#)
        #expect(try rendered(view, context(content: content, progress: 0.5)) == expected)
    }

    @Test(
        "Dates are read as people write them",
        arguments: [
            ("1970-01-01", 0), ("2000-02-29", 951_782_400_000), ("1969-12-31T23:59:59Z", -1_000),
            ("2025-11-21T10:00", 1_763_719_200_000), ("2025-11-21 10:00:00.250Z", 1_763_719_200_250),
            ("2025-11-21T10:00:00-01:30", 1_763_724_600_000), ("1763719200", 1_763_719_200_000),
            ("1763719200.5", 1_763_719_200_500), ("9999-12-31", 253_402_214_400_000),
        ])
    func dates(text: String, milliseconds: Int64) throws {
        let expected = #"{"timer":\#(milliseconds)}"#
        #expect(try rendered(#"{"timer":"{{content.d}}"}"#, context(content: ["d": .string(text)])) == expected)
    }

    @Test(
        "What is no date is none",
        arguments: [
            "", "soon", "2025-02-29", "2025-13-01", "2025-1-1", "2025-11-21T", "2025-11-21T10", "2025-11-21T24:00",
            "2025-11-21T10:00:00+", "2025-11-21T10:00:00Zulu", "nan", "inf", "1e400", "+5", "0x10p3",
        ])
    func noDates(text: String) throws {
        #expect(try rendered(#"{"timer":"{{content.d}}"}"#, context(content: ["d": .string(text)])) == "{}")
    }

    @Test func `an absent view is a plain one`() throws {
        let (kind, _) = Kind.read(goodKind.merging(try json(#"{"views":null,"symbol":"cup"}"#)), file: "order.json")
        guard case .activity(let activity)? = kind?.body else {
            Issue.record("the kind is refused")
            return
        }
        let views = activity.views
        let all = [views.compact, views.minimal, views.lockScreen, views.expanded].map(\.parts)
        let texts = all.map { view in
            var writer = JSONWriter()
            view.write(to: &writer, context: context(progress: 0.5))
            return String(decoding: writer.bytes, as: UTF8.self)
        }
        #expect(
            texts == [
                #"{"leading":{"symbol":"cup"},"trailing":{"text":"In the queue"}}"#,
                #"{"progress":0.5,"symbol":"cup"}"#,
                #"{"progress":0.5,"subtitle":"In the queue","title":"Order"}"#,
                #"{"bottom":{"progress":0.5},"leading":{"title":"Order"},"trailing":{"text":"In the queue"}}"#,
            ])
        #expect(views.small == nil)
    }
}
