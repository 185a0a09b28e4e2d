import TelltaleModel

/// Faults that the engine finds, and faults of a machine or a view as a whole.
let machineCases: [LintCase] = [
    LintCase(
        name: "a title that is no template",
        patch: #"{"machine":{"states":{"placed":{"title":"At {{content.shelf"}}}}"#,
        path: "machine.states.placed.title", says: "is broken"),
    LintCase(
        name: "a title that reads itself", patch: #"{"machine":{"states":{"placed":{"title":"{{state.title}}!"}}}}"#,
        path: "machine.states.placed.title", says: "cannot read {{state.title}}"),
    LintCase(
        name: "one state twice in an initial", patch: #"{"machine":{"initial":["placed","placed"]}}"#,
        path: "machine.initial[1]", says: "\"placed\" stands twice"),
    LintCase(
        name: "an initial of too many states",
        patch: #"{"machine":{"initial":[STATES]}}"#
            .replacing(
                "STATES", with: (["placed"] + (0..<15_000).map { "s\($0)" }).map { "\"\($0)\"" }.joined(separator: ",")),
        path: "machine.initial", says: "names 15001 states"),
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

/// Members of controls.
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
        name: "a button that raises for somebody", base: goodButton, patch: #"{"raises":{"for":"alice"}}"#,
        path: "raises.for", says: "nobody whom a press is for"),
    LintCase(
        name: "a button that raises nothing", base: goodButton, patch: #"{"raises":{"event":null}}"#,
        path: "raises.event", says: "missing"),
    LintCase(
        name: "a settle of a button", base: goodButton, patch: #"{"settle":"1s"}"#, path: "settle", says: "not known"),
]
