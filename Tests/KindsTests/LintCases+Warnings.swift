import TelltaleModel

/// Kinds that are taken, with a warning.
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
        severity: .warning, path: "\(machinePath).placed.on.x.guard", says: "event.shelf is always missing"),
    LintCase(
        name: "event path without content in an assignment",
        patch: #"{"machine":{"states":{"placed":{"on":{"x":{"actions":[{"assign":{"eta":"{{event.eta}}"}}]}}}}}}"#,
        severity: .warning, path: "\(machinePath).placed.on.x.actions[0]", says: "event.eta is always missing"),
    LintCase(
        name: "member of an event's type",
        patch: #"{"machine":{"states":{"placed":{"on":{"x":{"target":"brewing","guard":"event.type.a == 'B'"}}}}}}"#,
        severity: .warning, path: "\(machinePath).placed.on.x.guard", says: "event.type.a is always missing"),
    LintCase(
        name: "event in a timer's guard",
        patch:
            #"{"machine":{"states":{"placed":{"after":{"1m":{"target":"brewing","guard":"event.content.x == 1"}}}}}}"#,
        severity: .warning, path: "\(machinePath).placed.after.1m.guard", says: "a timer brings no event"),
    LintCase(
        name: "raise of nothing",
        patch: #"{"machine":{"states":{"placed":{"on":{"x":{"actions":[{"raise":"reddy"}]}}}}}}"#, severity: .warning,
        path: "\(machinePath).placed.on.x.actions[0]", says: "nothing handles \"reddy\""),
    LintCase(
        name: "send of nothing", patch: #"{"machine":{"states":{"placed":{"exit":[{"send":"remind","delay":"5m"}]}}}}"#,
        severity: .warning, path: "\(machinePath).placed.exit[0]", says: "nothing handles \"remind\""),
    LintCase(
        name: "cancel of nothing", patch: #"{"machine":{"states":{"placed":{"exit":[{"cancel":"remindr"}]}}}}"#,
        severity: .warning, path: "\(machinePath).placed.exit[0]", says: "nothing is sent under the id"),
    LintCase(
        name: "defer of nothing", patch: #"{"machine":{"states":{"placed":{"defer":["reddy"]}}}}"#, severity: .warning,
        path: "\(machinePath).placed.defer", says: "parked for ever"),
    LintCase(
        name: "deferred in one region, handled around it",
        patch: #"""
            {"machine":{"states":{"placed":{"on":{"x":"p"}},"p":{"on":{"served":"done"},"regions":[
              {"id":"u","initial":"v","states":{"v":{"defer":["served"],"on":{"e":"w"}},"w":{}}},
              {"id":"s","initial":"t","states":{"t":{}}}]}}}}
            """#,
        severity: .warning, path: "\(machinePath).p.on.served", says: "it waits until that state is left"),
    LintCase(
        name: "a parallel state into one region",
        patch: #"""
            {"machine":{"states":{"placed":{"on":{"x":"p"}},"p":{"on":{"y":"done","again":"w"},"regions":[
              {"id":"u","initial":"v","states":{"v":{"on":{"e":"w"}},"w":{}}},
              {"id":"s","initial":"t","states":{"t":{}}}]}}}}
            """#,
        severity: .warning, path: "\(machinePath).p.on.again", says: "begins them anew"),
    LintCase(
        name: "reenter of nothing",
        patch: #"{"machine":{"states":{"placed":{"on":{"x":{"reenter":true}}}}}}"#, severity: .warning,
        path: "\(machinePath).placed.on.x.reenter", says: "without a \"target\""),
    LintCase(
        name: "skip to nothing", patch: #"{"machine":{"states":{"placed":{"on":{"x":{"skip":true}}}}}}"#,
        severity: .warning, path: "\(machinePath).placed.on.x.skip", says: "without a \"target\""),
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
        name: "link without a text", patch: #"{"views":{"lockScreen":{"buttons":[{"link":"tel:1"}]}}}"#,
        severity: .warning, path: "views.lockScreen.buttons[0]", says: "neither a text nor a symbol"),
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
        severity: .warning, path: "\(machinePath).brewing.alert.title", says: "nowhere declared"),
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
        severity: .warning, path: "\(machinePath).done.dismiss", says: "maxLinger"),
    LintCase(
        name: "stale longer than after",
        patch: #"{"machine":{"states":{"placed":{"stale":"6m","after":{"5m":"brewing"}}}}}"#, severity: .warning,
        path: "\(machinePath).placed.stale", says: "before it can go stale"),
    LintCase(
        name: "life-cycle event", patch: #"{"machine":{"states":{"placed":{"on":{"update":"brewing"}}}}}"#,
        severity: .warning, path: "\(machinePath).placed.on.update", says: "life-cycle"),
    LintCase(
        name: "three buttons in the small family",
        patch: #"{"supplementalFamilies":["small"],"views":{"small":{"symbol":"a","buttons":["a/1","a/2","a/3"]}}}"#,
        severity: .warning, path: "views.small.buttons", says: "3 buttons"),
]
