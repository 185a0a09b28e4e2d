import Kinds
import TelltaleModel
import Testing

/// One change to a good kind, and the one diagnostic that it gives.
struct LintCase: CustomTestStringConvertible, Sendable {
    var name: String
    var base: JSON = goodKind
    /// A merge patch.
    var patch: String
    var severity: Diagnostic.Severity = .error
    var path: String
    /// A part of the message.
    var says: String

    var testDescription: String { name }

    var kind: JSON { get throws { base.merging(try json(patch)) } }
}

struct LintTests {
    @Test("A good kind gives no diagnostics", arguments: [goodKind, goodToggle, goodButton])
    func good(kind: JSON) {
        let (result, diagnostics) = Kind.read(kind, file: "a.json")
        #expect(diagnostics == [])
        #expect(result?.source == kind)
    }

    @Test(
        "Each rule has a file that breaks it alone", arguments: schemaCases + machineCases + warningCases + controlCases
    )
    func rule(_ rule: LintCase) throws {
        let (kind, diagnostics) = Kind.read(try rule.kind, file: "a.json")
        #expect(diagnostics.map(\.path) == [rule.path], "\(diagnostics)")
        #expect(diagnostics.first?.severity == rule.severity)
        #expect(diagnostics.first?.message.contains(rule.says) == true, "\(diagnostics)")
        #expect(diagnostics.allSatisfy { $0.file == "a.json" && !$0.advice.isEmpty })
        #expect((kind == nil) == (rule.severity == .error))
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

    @Test func `all faults are told at once, errors first`() throws {
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

    @Test func `what a file says is cut where it is told`() throws {
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

    @Test("What is not an object is no kind", arguments: ["null", "[]", "3", "\"kind\"", "true"])
    func noObject(text: String) throws {
        let (kind, diagnostics) = Kind.read(try json(text), file: "a.json")
        #expect(kind == nil)
        #expect(diagnostics.map(\.severity) == [.error])
    }
}

private let machine = "machine.states"

/// Of 64 bytes.
private func key(_ letter: String) -> String { letter + String(repeating: "k", count: 63) }
private func long(_ count: Int) -> String { String(repeating: "é", count: count) }

let schemaCases: [LintCase] = [
    LintCase(
        name: "app too long", patch: "{\"app\":\"\(String(repeating: "a", count: 257))\"}", path: "app",
        says: "257 characters"),
    LintCase(name: "title too long", patch: "{\"title\":\"\(long(257))\"}", path: "title", says: "257 characters"),
    LintCase(name: "symbol too long", patch: "{\"symbol\":\"\(long(257))\"}", path: "symbol", says: "257"),
    LintCase(
        name: "state's title too long", patch: "{\"machine\":{\"states\":{\"placed\":{\"title\":\"\(long(257))\"}}}}",
        path: "machine.states.placed.title", says: "257 characters"),
    LintCase(name: "url too long", patch: "{\"url\":\"\(long(1025))\"}", path: "url", says: "1025 characters, 1024"),
    LintCase(
        name: "alert too long",
        patch: "{\"machine\":{\"states\":{\"placed\":{\"alert\":{\"title\":\"x\",\"body\":\"\(long(1025))\"}}}}}",
        path: "machine.states.placed.alert.body", says: "1025 characters"),
    LintCase(
        name: "text of a view too long", patch: "{\"views\":{\"lockScreen\":{\"subtitle\":\"\(long(1025))\"}}}",
        path: "views.lockScreen.subtitle", says: "1025 characters"),
    LintCase(
        name: "control's title too long", base: goodButton, patch: "{\"title\":\"\(long(257))\"}", path: "title",
        says: "257 characters"),
    LintCase(
        name: "symbols too long", base: goodToggle, patch: "{\"symbol\":{\"on\":\"x\",\"off\":\"\(long(257))\"}}",
        path: "symbol.off", says: "257 characters"),
    LintCase(
        name: "hint too long", base: goodButton, patch: "{\"actionHint\":\"\(long(257))\"}", path: "actionHint",
        says: "257 characters"),
    LintCase(name: "unknown member", patch: #"{"colour":"red"}"#, path: "colour", says: "not known"),
    LintCase(name: "no kind", patch: #"{"kind":null}"#, path: "kind", says: "missing"),
    LintCase(name: "kind outside the grammar", patch: #"{"kind":"a b"}"#, path: "kind", says: "not a kind's name"),
    LintCase(
        name: "kind too long", patch: "{\"kind\":\"\(String(repeating: "k", count: 65))\"}", path: "kind", says: "name"),
    LintCase(name: "no type", patch: #"{"type":null}"#, path: "type", says: "missing"),
    LintCase(name: "no version", patch: #"{"version":null}"#, path: "version", says: "missing"),
    LintCase(name: "version 0", patch: #"{"version":0}"#, path: "version", says: "version 0"),
    LintCase(name: "version with a fraction", patch: #"{"version":1.5}"#, path: "version", says: "whole number"),
    LintCase(name: "no app", patch: #"{"app":null}"#, path: "app", says: "missing"),
    LintCase(name: "empty app", patch: #"{"app":""}"#, path: "app", says: "empty"),
    LintCase(name: "title is no text", patch: #"{"title":3}"#, path: "title", says: "a text is expected"),
    LintCase(name: "no machine", patch: #"{"machine":null}"#, path: "machine", says: "missing"),
    LintCase(name: "stale is no duration", patch: #"{"stale":"4 minutes"}"#, path: "stale", says: "not a duration"),
    LintCase(name: "maxActive of 0", patch: #"{"maxActive":"0s"}"#, path: "maxActive", says: "no time"),
    LintCase(name: "dismiss is a number", patch: #"{"dismiss":60}"#, path: "dismiss", says: "a text is expected"),
    LintCase(
        name: "small without its view", patch: #"{"supplementalFamilies":["small"]}"#, path: "supplementalFamilies",
        says: "no small view"),
    LintCase(
        name: "unknown family", patch: #"{"supplementalFamilies":["large"]}"#, path: "supplementalFamilies[0]",
        says: "not a supplemental family"),
    LintCase(
        name: "accept to a text that is no event", patch: #"{"accept":{"A":"b c"}}"#, path: "accept.A",
        says: "not an event's name"),
    LintCase(
        name: "accept to a number", patch: #"{"accept":{"A":1}}"#, path: "accept.A", says: "an event's name is expected"
    ),
    LintCase(name: "startsOn twice", patch: #"{"startsOn":["confirm","confirm"]}"#, path: "startsOn[1]", says: "twice"),
    LintCase(
        name: "attributes is no array", patch: #"{"attributes":{}}"#, path: "attributes", says: "an array of names"),
    LintCase(name: "unknown presentation", patch: #"{"views":{"banner":{}}}"#, path: "views.banner", says: "not known"),
    LintCase(
        name: "unknown region", patch: #"{"views":{"expanded":{"top":{}}}}"#, path: "views.expanded.top",
        says: "not known"),
    LintCase(
        name: "broken template", patch: #"{"views":{"lockScreen":{"title":"{{id"}}}"#, path: "views.lockScreen.title",
        says: "never closed"),
    LintCase(name: "broken template in url", patch: #"{"url":"{{}}"}"#, path: "url", says: "a path is expected"),
    LintCase(
        name: "timer that is no date", patch: #"{"views":{"lockScreen":{"timer":"soon"}}}"#,
        path: "views.lockScreen.timer", says: "not a date"),
    LintCase(
        name: "button that is no key", patch: #"{"views":{"lockScreen":{"buttons":["tip"]}}}"#,
        path: "views.lockScreen.buttons[0]", says: "not a control's key"),
    LintCase(
        name: "too many segments", patch: #"{"views":{"lockScreen":{"progress":{"segments":0}}}}"#,
        path: "views.lockScreen.progress.segments", says: "0 segments"),
    LintCase(
        name: "view part of another type", patch: #"{"views":{"lockScreen":{"subtitle":[]}}}"#,
        path: "views.lockScreen.subtitle", says: "a text is expected"),

    LintCase(
        name: "unknown state member", patch: #"{"machine":{"states":{"placed":{"onn":{}}}}}"#,
        path: "\(machine).placed.onn", says: "not known"),
    LintCase(
        name: "unknown state type", patch: #"{"machine":{"states":{"placed":{"type":"idle"}}}}"#,
        path: "\(machine).placed.type", says: "not a type"),
    LintCase(
        name: "progress over 1", patch: #"{"machine":{"states":{"placed":{"progress":60}}}}"#,
        path: "\(machine).placed.progress", says: "not a fraction"),
    LintCase(
        name: "alert without title", patch: #"{"machine":{"states":{"placed":{"alert":{"body":"x"}}}}}"#,
        path: "\(machine).placed.alert.title", says: "missing"),
    LintCase(
        name: "milestone is no boolean", patch: #"{"machine":{"states":{"placed":{"milestone":1}}}}"#,
        path: "\(machine).placed.milestone", says: "true or false"),
    LintCase(
        name: "rank is no integer", patch: #"{"machine":{"states":{"placed":{"rank":"1"}}}}"#,
        path: "\(machine).placed.rank", says: "whole number"),
    LintCase(
        name: "event outside the grammar", patch: #"{"machine":{"states":{"placed":{"on":{"a b":"brewing"}}}}}"#,
        path: "\(machine).placed.on.a b", says: "not an event's name"),
    LintCase(
        name: "after is no duration", patch: #"{"machine":{"states":{"placed":{"after":{"later":"brewing"}}}}}"#,
        path: "\(machine).placed.after.later", says: "not a duration"),
    LintCase(
        name: "unknown transition member", patch: #"{"machine":{"states":{"placed":{"on":{"x":{"to":"brewing"}}}}}}"#,
        path: "\(machine).placed.on.x.to", says: "not known"),
    LintCase(
        name: "transition is a number", patch: #"{"machine":{"states":{"placed":{"on":{"x":3}}}}}"#,
        path: "\(machine).placed.on.x", says: "a target"),
    LintCase(
        name: "no alternatives", patch: #"{"machine":{"states":{"placed":{"on":{"x":[]}}}}}"#,
        path: "\(machine).placed.on.x", says: "empty"),
    LintCase(
        name: "actions is an object", patch: #"{"machine":{"states":{"placed":{"entry":{"raise":"x"}}}}}"#,
        path: "\(machine).placed.entry", says: "an array of actions"),
    LintCase(
        name: "no such action", patch: #"{"machine":{"states":{"placed":{"entry":[{"log":"x"}]}}}}"#,
        path: "\(machine).placed.entry[0]", says: "no action"),
    LintCase(
        name: "two actions in one", patch: #"{"machine":{"states":{"placed":{"entry":[{"raise":"x","cancel":"y"}]}}}}"#,
        path: "\(machine).placed.entry[0]", says: "raise and cancel"),
    LintCase(
        name: "delay of a raise",
        patch: #"{"machine":{"states":{"placed":{"entry":[{"raise":"ready","delay":"5m"}]}}}}"#,
        path: "\(machine).placed.entry[0].delay", says: "not known"),
    LintCase(
        name: "assignment of a text around a path",
        patch: #"{"machine":{"states":{"placed":{"entry":[{"assign":{"a":"x{{content.b}}"}}]}}}}"#,
        path: "\(machine).placed.entry[0].assign.a", says: "copies a literal"),
    LintCase(
        name: "assignment from nowhere",
        patch: #"{"machine":{"states":{"placed":{"entry":[{"assign":{"a":"{{state.title}}"}}]}}}}"#,
        path: "\(machine).placed.entry[0].assign.a", says: "not a path"),
    LintCase(
        name: "states and regions", patch: #"{"machine":{"initial":null,"regions":[{"id":"a"}]}}"#,
        path: "machine.states", says: "either"),
    LintCase(
        name: "state's key outside the grammar", patch: #"{"machine":{"states":{"a.b":{}}}}"#, path: "\(machine).a.b",
        says: "not a state's key"),
    LintCase(
        name: "parallel without regions", patch: #"{"machine":{"states":{"placed":{"type":"parallel"}}}}"#,
        path: "\(machine).placed", says: "regions"),
]

/// Faults that the engine finds, and what only the whole of a machine or a view can be.
let machineCases: [LintCase] = [
    LintCase(
        name: "a title that is no template",
        patch: #"{"machine":{"states":{"placed":{"title":"At {{content.shelf"}}}}"#,
        path: "machine.states.placed.title", says: "is broken"),
    LintCase(
        name: "a title that reads itself", patch: #"{"machine":{"states":{"placed":{"title":"{{state.title}}!"}}}}"#,
        path: "machine.states.placed.title", says: "cannot read {{state.title}}"),
    LintCase(
        name: "path too long",
        patch: """
            {"machine":{"states":{"placed":{"on":{"x":"\(key("a"))"}},"\(key("a"))":{"initial":"\(key("b"))","states":{
              "\(key("b"))":{"initial":"\(key("c"))","states":{"\(key("c"))":{"initial":"\(key("d"))","states":{
                "\(key("d"))":{"on":{"y":"done"}}}}}}}}}}}
            """,
        path: ("machine" + ["a", "b", "c", "d"].map { ".states.\(key($0))" }.joined()).prefix(255) + "\u{2026}",
        says: "path is 259 bytes, 256 are the limit"),
    LintCase(
        name: "paths of regions too long",
        patch: """
            {"machine":{"states":{"placed":{"on":{"x":"p"}},"p":{"on":{"y":"done"},"regions":[
              {"id":"\(key("r"))"},{"id":"\(key("s"))"},{"id":"\(key("t"))"},
              {"id":"u","initial":"v","states":{"v":{"on":{"e":"\(key("w"))"}},"\(key("w"))":{}}}]}}}}
            """,
        path: "machine.states.p", says: "may be 269 bytes together"),
    LintCase(
        name: "view with too many texts",
        patch: #"{"views":{"lockScreen":{"progress":true,"buttons":[KEYS]}}}"#
            .replacing("KEYS", with: (0..<65).map { "\"tip/\($0)\"" }.joined(separator: ",")),
        path: "views.lockScreen", says: "texts, 64 are the limit"),
    LintCase(
        name: "progress that is no fraction", patch: #"{"views":{"lockScreen":{"progress":"half"}}}"#,
        path: "views.lockScreen.progress", says: "not a fraction"),
    LintCase(
        name: "progress of more than all", patch: #"{"views":{"minimal":{"progress":{"segments":4,"value":"4"}}}}"#,
        path: "views.minimal.progress.value", says: "not a fraction"),
    LintCase(
        name: "unknown target", patch: #"{"machine":{"states":{"placed":{"on":{"confirm":"nowhere"}}}}}"#,
        path: "machine.states.placed.on.confirm", says: "nowhere"),
    LintCase(
        name: "ambiguous target",
        patch:
            #"{"machine":{"states":{"placed":{"on":{"x":"brewing","y":"inner"}},"brewing":{"initial":"inner","states":{"inner":{}}},"shaking":{"initial":"inner","states":{"inner":{}}}},"on":{"shake":"shaking"}}}"#,
        path: "machine.states.placed.on.y", says: "inner"),
    LintCase(
        name: "no regions", patch: #"{"machine":{"states":{"placed":{"regions":[]}}}}"#, path: "machine.states.placed",
        says: "regions"),
    LintCase(name: "no initial", patch: #"{"machine":{"initial":null}}"#, path: "machine", says: "initial"),
    LintCase(
        name: "initial that is no state", patch: #"{"machine":{"initial":"nowhere"}}"#, path: "machine.initial",
        says: "nowhere"),
    LintCase(
        name: "guard that does not parse",
        patch: #"{"machine":{"states":{"placed":{"on":{"x":{"target":"brewing","guard":"content.a = 1"}}}}}}"#,
        path: "machine.states.placed.on.x.guard", says: "does not parse"),
    LintCase(
        name: "always cycle",
        patch: #"{"machine":{"states":{"placed":{"always":"brewing"},"brewing":{"always":"placed"}}}}"#,
        path: "machine.states.brewing.always", says: "always"),
]

let warningCases: [LintCase] = [
    LintCase(
        name: "a region that is not there",
        patch: #"{"views":{"lockScreen":{"title":"{{states.kitchen.title}}"}}}"#, severity: .warning,
        path: "views.lockScreen.title", says: #"the machine has no region "kitchen""#),
    LintCase(
        name: "raises to what is no id", base: goodButton, patch: #"{"raises":{"id":"a b/c"}}"#, severity: .warning,
        path: "raises.id", says: "which is no id"),
    LintCase(
        name: "raises to what a button knows nothing of", base: goodButton,
        patch: #"{"raises":{"id":"{{content.x}}"}}"#,
        severity: .warning, path: "raises.id", says: "which is no id"),
    LintCase(
        name: "raises to an id that is too long", base: goodButton,
        patch: "{\"raises\":{\"id\":\"{{id}}\(String(repeating: "x", count: 64))\"}}", severity: .warning,
        path: "raises.id", says: "which is no id"),
    LintCase(
        name: "accept to the activity's own end", patch: #"{"accept":{"DELIVERED":"end","UPD":"confirm"}}"#,
        severity: .warning, path: "accept.DELIVERED", says: "the machine hears of a renamed event"),

    LintCase(
        name: "accept of the activity's own end", patch: #"{"accept":{"end":"ready"}}"#, severity: .warning,
        path: "accept.end", says: "is taken before anything is renamed"),
    LintCase(
        name: "accept of what no client may send", patch: #"{"accept":{"done.placed":"ready"}}"#, severity: .warning,
        path: "accept.done.placed", says: "no client may send"),
    LintCase(
        name: "startsOn the activity's own update", patch: #"{"startsOn":["start","update"]}"#, severity: .warning,
        path: "startsOn[1]", says: "starts nothing"),
    LintCase(
        name: "app that no device can name", patch: #"{"app":"com.example.커피"}"#, severity: .warning, path: "app",
        says: "no device can say"),
    LintCase(
        name: "app of the name of no app", base: goodToggle, patch: #"{"app":"none"}"#, severity: .warning,
        path: "app", says: "no device can say"),
    LintCase(
        name: "raises more than an activity takes", base: goodButton,
        patch: "{\"raises\":{\"content\":{\"x\":\"\(long(4_000))\"},\"attributes\":{\"y\":\"\(long(100))\"}}}",
        severity: .warning, path: "raises", says: "8216 bytes together"),

    LintCase(
        name: "event path without content in a guard",
        patch: #"{"machine":{"states":{"placed":{"on":{"x":{"target":"brewing","guard":"event.shelf == 'B'"}}}}}}"#,
        severity: .warning, path: "\(machine).placed.on.x.guard", says: "event.shelf is always missing"),
    LintCase(
        name: "event path without content in an assignment",
        patch: #"{"machine":{"states":{"placed":{"on":{"x":{"actions":[{"assign":{"eta":"{{event.eta}}"}}]}}}}}}"#,
        severity: .warning, path: "\(machine).placed.on.x.actions[0]", says: "event.eta is always missing"),
    LintCase(
        name: "member of an event's type",
        patch: #"{"machine":{"states":{"placed":{"on":{"x":{"target":"brewing","guard":"event.type.a == 'B'"}}}}}}"#,
        severity: .warning, path: "\(machine).placed.on.x.guard", says: "event.type.a is always missing"),
    LintCase(
        name: "event in a timer's guard",
        patch:
            #"{"machine":{"states":{"placed":{"after":{"1m":{"target":"brewing","guard":"event.content.x == 1"}}}}}}"#,
        severity: .warning, path: "\(machine).placed.after.1m.guard", says: "a timer brings no event"),
    LintCase(
        name: "raise of nothing",
        patch: #"{"machine":{"states":{"placed":{"on":{"x":{"actions":[{"raise":"reddy"}]}}}}}}"#, severity: .warning,
        path: "\(machine).placed.on.x.actions[0]", says: "nothing handles \"reddy\""),
    LintCase(
        name: "send of nothing", patch: #"{"machine":{"states":{"placed":{"exit":[{"send":"remind","delay":"5m"}]}}}}"#,
        severity: .warning, path: "\(machine).placed.exit[0]", says: "nothing handles \"remind\""),
    LintCase(
        name: "cancel of nothing", patch: #"{"machine":{"states":{"placed":{"exit":[{"cancel":"remindr"}]}}}}"#,
        severity: .warning, path: "\(machine).placed.exit[0]", says: "nothing is sent under the id"),
    LintCase(
        name: "defer of nothing", patch: #"{"machine":{"states":{"placed":{"defer":["reddy"]}}}}"#, severity: .warning,
        path: "\(machine).placed.defer", says: "parked for ever"),
    LintCase(
        name: "reenter of nothing",
        patch: #"{"machine":{"states":{"placed":{"on":{"x":{"reenter":true}}}}}}"#, severity: .warning,
        path: "\(machine).placed.on.x.reenter", says: "without a \"target\""),
    LintCase(
        name: "skip to nothing", patch: #"{"machine":{"states":{"placed":{"on":{"x":{"skip":true}}}}}}"#,
        severity: .warning, path: "\(machine).placed.on.x.skip", says: "without a \"target\""),
    LintCase(
        name: "undeclared content in a guard",
        patch:
            ##"{"content":["eta"],"machine":{"states":{"placed":{"on":{"x":{"target":"brewing","guard":"content.etta > 3"}}}}}}"##,
        severity: .warning, path: "machine.states.placed.on.x.guard", says: "content.etta is nowhere declared"),
    LintCase(
        name: "undeclared attribute in an assignment",
        patch: ##"{"attributes":[],"machine":{"states":{"placed":{"entry":[{"assign":{"a":"{{attributes.b}}"}}]}}}}"##,
        severity: .warning, path: "machine.states.placed.entry[0]", says: "attributes.b is nowhere declared"),
    LintCase(
        name: "unreachable state", patch: #"{"machine":{"states":{"lost":{"on":{"ready":"done"}}}}}"#,
        severity: .warning, path: "machine.states.lost", says: "lost"),
    LintCase(
        name: "dead end",
        patch: #"{"stale":null,"machine":{"states":{"placed":{"on":{"park":"parked"}},"parked":{}}}}"#,
        severity: .warning, path: "machine.states.parked", says: "nothing ever leaves"),
    LintCase(
        name: "two unguarded alternatives",
        patch: #"{"machine":{"states":{"placed":{"on":{"x":["brewing","done"]}}}}}"#, severity: .warning,
        path: "machine.states.placed.on.x[1]", says: "alternative"),
    LintCase(
        name: "edge of a final state", patch: #"{"machine":{"states":{"done":{"on":{"again":"placed"}}}}}"#,
        severity: .warning, path: "machine.states.done.on.again", says: "final"),
    LintCase(
        name: "falling rank",
        patch: #"{"machine":{"states":{"placed":{"rank":1},"brewing":{"rank":2,"on":{"back":"placed"}}}}}"#,
        severity: .warning, path: "machine.states.brewing.on.back", says: "rank"),

    LintCase(name: "no views", patch: #"{"views":null}"#, severity: .warning, path: "views", says: "plain"),
    LintCase(
        name: "no minimal view", patch: #"{"views":{"minimal":null}}"#, severity: .warning, path: "views.minimal",
        says: "plain"),
    LintCase(
        name: "half a compact view", patch: #"{"views":{"compact":{"trailing":null}}}"#, severity: .warning,
        path: "views.compact.trailing", says: "plain"),
    LintCase(
        name: "unknown part", patch: #"{"views":{"lockScreen":{"subtitel":"x"}}}"#, severity: .warning,
        path: "views.lockScreen.subtitel", says: "passed through"),
    LintCase(
        name: "else of no timer", patch: #"{"views":{"lockScreen":{"text":"On its way","else":"Soon"}}}"#,
        severity: .warning, path: "views.lockScreen.else", says: "without a \"timer\""),
    LintCase(
        name: "small view of no family", patch: #"{"views":{"small":{"title":"x"}}}"#, severity: .warning,
        path: "views.small", says: "never shown"),
    LintCase(
        name: "buttons in the island", patch: #"{"views":{"minimal":{"buttons":["tip/{{id}}"]}}}"#, severity: .warning,
        path: "views.minimal.buttons", says: "no buttons"),
    LintCase(
        name: "long text in a half", patch: #"{"views":{"compact":{"leading":{"text":"Your coffee order"}}}}"#,
        severity: .warning, path: "views.compact.leading.text", says: "17 letters"),
    LintCase(
        name: "wide text in a half", patch: #"{"views":{"compact":{"leading":{"text":"커피 준비중이요"}}}}"#,
        severity: .warning, path: "views.compact.leading.text", says: "as wide as 15 letters"),
    LintCase(
        name: "wide text in a minimal view", patch: #"{"views":{"minimal":{"text":"☕️コーヒー"}}}"#,
        severity: .warning, path: "views.minimal.text", says: "as wide as 10 letters"),
    LintCase(
        name: "template path that is nothing", patch: #"{"views":{"lockScreen":{"title":"{{order.id}}"}}}"#,
        severity: .warning, path: "views.lockScreen.title", says: "always empty"),
    LintCase(
        name: "unknown filter", patch: #"{"views":{"lockScreen":{"title":"{{id | shout}}"}}}"#, severity: .warning,
        path: "views.lockScreen.title", says: "no filter"),
    LintCase(
        name: "undeclared attribute", patch: #"{"attributes":["shop"],"url":"x/{{attributes.shpo}}"}"#,
        severity: .warning, path: "url", says: "nowhere declared"),
    LintCase(
        name: "undeclared content in an alert",
        patch: #"{"content":["eta"],"machine":{"states":{"brewing":{"alert":{"title":"{{content.shelf}}"}}}}}"#,
        severity: .warning, path: "\(machine).brewing.alert.title", says: "nowhere declared"),
    LintCase(
        name: "accept of nothing", patch: #"{"accept":{"GO":"going"}}"#, severity: .warning, path: "accept.GO",
        says: "nothing handles"),
    LintCase(
        name: "startsOn of nothing", patch: #"{"startsOn":["going"]}"#, severity: .warning, path: "startsOn[0]",
        says: "nothing handles"),
    LintCase(
        name: "dismiss over maxLinger", patch: #"{"dismiss":"5h"}"#, severity: .warning, path: "dismiss",
        says: "maxLinger"),
    LintCase(
        name: "a state's dismiss over maxLinger", patch: #"{"machine":{"states":{"done":{"dismiss":"5h"}}}}"#,
        severity: .warning, path: "\(machine).done.dismiss", says: "maxLinger"),
    LintCase(
        name: "stale longer than after",
        patch: #"{"machine":{"states":{"placed":{"stale":"6m","after":{"5m":"brewing"}}}}}"#, severity: .warning,
        path: "\(machine).placed.stale", says: "before it can go stale"),
    LintCase(
        name: "life-cycle event", patch: #"{"machine":{"states":{"placed":{"on":{"update":"brewing"}}}}}"#,
        severity: .warning, path: "\(machine).placed.on.update", says: "life-cycle"),
    LintCase(
        name: "three buttons in the small family",
        patch: #"{"supplementalFamilies":["small"],"views":{"small":{"symbol":"a","buttons":["a/1","a/2","a/3"]}}}"#,
        severity: .warning, path: "views.small.buttons", says: "3 buttons"),
]

let controlCases: [LintCase] = [
    LintCase(
        name: "a toggle with a machine", base: goodToggle, patch: #"{"machine":{}}"#, path: "machine", says: "not known"
    ),
    LintCase(
        name: "a symbol without off", base: goodToggle, patch: #"{"symbol":{"off":null}}"#, path: "symbol.off",
        says: "missing"),
    LintCase(
        name: "an unknown restore", base: goodToggle, patch: #"{"restore":"guess"}"#, path: "restore",
        says: "not a restore"),
    LintCase(
        name: "a cooldown of a toggle", base: goodToggle, patch: #"{"cooldown":"1s"}"#, path: "cooldown",
        says: "not known"),
    LintCase(
        name: "an instance outside the grammar", base: goodToggle, patch: #"{"instances":["front door"]}"#,
        path: "instances[0]", says: "not an id"),
    LintCase(name: "a timeout of 0", base: goodToggle, patch: #"{"timeout":"0s"}"#, path: "timeout", says: "no time"),
    LintCase(
        name: "a value that is a text", base: goodToggle, patch: #"{"value":"On"}"#, path: "value", says: "an object"),
    LintCase(
        name: "a button that raises nothing", base: goodButton, patch: #"{"raises":{"event":null}}"#,
        path: "raises.event", says: "missing"),
    LintCase(
        name: "a settle of a button", base: goodButton, patch: #"{"settle":"1s"}"#, path: "settle", says: "not known"),
]
