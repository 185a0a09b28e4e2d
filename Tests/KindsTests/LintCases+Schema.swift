import TelltaleModel

/// Members of a kind that are missing, unknown, too long or of another type.
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
        name: "button that is a number", patch: #"{"views":{"lockScreen":{"buttons":[1]}}}"#,
        path: "views.lockScreen.buttons[0]", says: "or a link"),
    LintCase(
        name: "link without an address", patch: #"{"views":{"lockScreen":{"buttons":[{"title":"Call"}]}}}"#,
        path: "views.lockScreen.buttons[0].link", says: ""),
    LintCase(
        name: "link of no scheme",
        patch: #"{"views":{"lockScreen":{"buttons":[{"link":"{{content.url}}","title":"Go"}]}}}"#,
        path: "views.lockScreen.buttons[0].link", says: "scheme"),
    LintCase(
        name: "unknown member of a link",
        patch: #"{"views":{"lockScreen":{"buttons":[{"link":"tel:1","titel":"Call","title":"x"}]}}}"#,
        path: "views.lockScreen.buttons[0].titel", says: "not known"),
    LintCase(
        name: "too many segments", patch: #"{"views":{"lockScreen":{"progress":{"segments":0}}}}"#,
        path: "views.lockScreen.progress.segments", says: "0 segments"),
    LintCase(
        name: "view part of another type", patch: #"{"views":{"lockScreen":{"subtitle":[]}}}"#,
        path: "views.lockScreen.subtitle", says: "a text is expected"),
]

/// The same in a kind's machine.
let machineSchemaCases: [LintCase] = [
    LintCase(
        name: "unknown state member", patch: #"{"machine":{"states":{"placed":{"onn":{}}}}}"#,
        path: "\(machinePath).placed.onn", says: "not known"),
    LintCase(
        name: "unknown state type", patch: #"{"machine":{"states":{"placed":{"type":"idle"}}}}"#,
        path: "\(machinePath).placed.type", says: "not a type"),
    LintCase(
        name: "progress over 1", patch: #"{"machine":{"states":{"placed":{"progress":60}}}}"#,
        path: "\(machinePath).placed.progress", says: "not a fraction"),
    LintCase(
        name: "alert without title", patch: #"{"machine":{"states":{"placed":{"alert":{"body":"x"}}}}}"#,
        path: "\(machinePath).placed.alert.title", says: "missing"),
    LintCase(
        name: "milestone is no boolean", patch: #"{"machine":{"states":{"placed":{"milestone":1}}}}"#,
        path: "\(machinePath).placed.milestone", says: "true or false"),
    LintCase(
        name: "rank is no integer", patch: #"{"machine":{"states":{"placed":{"rank":"1"}}}}"#,
        path: "\(machinePath).placed.rank", says: "whole number"),
    LintCase(
        name: "event outside the grammar", patch: #"{"machine":{"states":{"placed":{"on":{"a b":"brewing"}}}}}"#,
        path: "\(machinePath).placed.on.a b", says: "not an event's name"),
    LintCase(
        name: "after is no duration", patch: #"{"machine":{"states":{"placed":{"after":{"later":"brewing"}}}}}"#,
        path: "\(machinePath).placed.after.later", says: "not a duration"),
    LintCase(
        name: "unknown transition member", patch: #"{"machine":{"states":{"placed":{"on":{"x":{"to":"brewing"}}}}}}"#,
        path: "\(machinePath).placed.on.x.to", says: "not known"),
    LintCase(
        name: "transition is a number", patch: #"{"machine":{"states":{"placed":{"on":{"x":3}}}}}"#,
        path: "\(machinePath).placed.on.x", says: "a target"),
    LintCase(
        name: "no alternatives", patch: #"{"machine":{"states":{"placed":{"on":{"x":[]}}}}}"#,
        path: "\(machinePath).placed.on.x", says: "empty"),
    LintCase(
        name: "actions is an object", patch: #"{"machine":{"states":{"placed":{"entry":{"raise":"x"}}}}}"#,
        path: "\(machinePath).placed.entry", says: "an array of actions"),
    LintCase(
        name: "no such action", patch: #"{"machine":{"states":{"placed":{"entry":[{"log":"x"}]}}}}"#,
        path: "\(machinePath).placed.entry[0]", says: "no action"),
    LintCase(
        name: "two actions in one", patch: #"{"machine":{"states":{"placed":{"entry":[{"raise":"x","cancel":"y"}]}}}}"#,
        path: "\(machinePath).placed.entry[0]", says: "raise and cancel"),
    LintCase(
        name: "delay of a raise",
        patch: #"{"machine":{"states":{"placed":{"entry":[{"raise":"ready","delay":"5m"}]}}}}"#,
        path: "\(machinePath).placed.entry[0].delay", says: "not known"),
    LintCase(
        name: "assignment of a text around a path",
        patch: #"{"machine":{"states":{"placed":{"entry":[{"assign":{"a":"x{{content.b}}"}}]}}}}"#,
        path: "\(machinePath).placed.entry[0].assign.a", says: "copies a literal"),
    LintCase(
        name: "assignment from nowhere",
        patch: #"{"machine":{"states":{"placed":{"entry":[{"assign":{"a":"{{state.title}}"}}]}}}}"#,
        path: "\(machinePath).placed.entry[0].assign.a", says: "not a path"),
    LintCase(
        name: "states and regions", patch: #"{"machine":{"initial":null,"regions":[{"id":"a"}]}}"#,
        path: "machine.states", says: "either"),
    LintCase(
        name: "state's key outside the grammar", patch: #"{"machine":{"states":{"a.b":{}}}}"#,
        path: "\(machinePath).a.b",
        says: "not a state's key"),
    LintCase(
        name: "parallel without regions", patch: #"{"machine":{"states":{"placed":{"type":"parallel"}}}}"#,
        path: "\(machinePath).placed", says: "regions"),
]
