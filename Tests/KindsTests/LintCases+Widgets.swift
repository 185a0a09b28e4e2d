import TelltaleModel

/// A kind of widget without a fault or a doubt.
let goodWidget: JSON = [
    "kind": "sales", "type": "widget", "version": 1, "app": "com.example", "title": "Sales",
    "description": "See what was sold", "families": ["systemSmall", "accessoryRectangular"],
    "parameters": ["shop": ["title": "Shop"]],
    "views": [
        "systemSmall": ["symbol": "cup", "title": "{{content.sold}} sold", "subtitle": "{{config.shop}}"],
        "accessoryRectangular": ["text": "{{content.sold}}"],
    ],
    "preview": ["content": ["sold": 7]],
]

/// A kind of widget of many activities, without a fault or a doubt.
let goodAggregate: JSON = goodWidget.merging([
    "source": [
        "over": "order", "by": ["shop": "attributes.shop"], "where": "lifecycle != 'ended'",
        "values": ["sold": ["tally": "attributes.price", "on": "collected", "per": "day", "zone": "+09:00"]],
    ],
    "audience": "all",
    "views": [
        "systemSmall": ["title": "{{values.sold}} sold"], "accessoryRectangular": ["text": "{{values.sold}}"],
    ],
    "preview": ["content": .null, "values": ["sold": 7]],
])

/// A kind of widget of each activity, without a fault or a doubt.
let goodMember: JSON = goodWidget.merging([
    "parameters": .null, "source": ["each": "order"],
    "views": ["systemSmall": ["title": "{{content.sold}} sold", "subtitle": "{{state.title}}"]],
])

private let controls = #"["a/1","a/2","a/3"]"#
private let glyphs =
    #"[{"link":"tel:1","symbol":"a"},{"link":"tel:2","symbol":"b"},{"link":"tel:3","symbol":"c"},{"link":"tel:4","symbol":"d"}]"#

/// Faults of a kind of widget, each of which refuses it.
let widgetCases: [LintCase] = [
    LintCase(
        name: "family without a view", base: goodWidget,
        patch: #"{"families":["systemSmall","systemLarge"],"views":{"accessoryRectangular":null}}"#,
        path: "families[1]", says: "no systemLarge view"),
    LintCase(
        name: "provider that is none", base: goodWidget, patch: #"{"source":{"provider":false}}"#,
        path: "source.provider", says: "says nothing"),
    LintCase(
        name: "score of a member", base: goodMember, patch: #"{"relevance":[{"score":"content.n"}]}"#,
        path: "relevance[0].score", says: "not by a score"),
    LintCase(
        name: "suggestion of a member", base: goodMember, patch: #"{"suggest":true}"#, path: "suggest",
        says: "not placed"),
    LintCase(
        name: "suggestion that is no flag", base: goodWidget, patch: #"{"suggest":"yes"}"#, path: "suggest",
        says: "true or false"),
    LintCase(
        name: "urgency of a situation", base: goodWidget, patch: #"{"relevance":[{"place":"work","is":"usual"}]}"#,
        path: "relevance[0].is", says: "dates alone"),
    LintCase(
        name: "unknown urgency", base: goodWidget,
        patch: #"{"relevance":[{"date":{"from":"1","to":"2"},"is":"soon"}]}"#,
        path: "relevance[0].is", says: "not an urgency"),
    LintCase(
        name: "duration of a date", base: goodWidget,
        patch: #"{"relevance":[{"date":{"from":"1","to":"2"},"for":"5m"}]}"#,
        path: "relevance[0].for", says: "a score alone"),
    LintCase(
        name: "unknown situation", base: goodMember, patch: #"{"relevance":[{"place":"moon"}]}"#,
        path: "relevance[0].place", says: "no situation"),
    LintCase(
        name: "two situations in one context", base: goodMember,
        patch: #"{"relevance":[{"place":"work","sleep":"bedtime"}]}"#, path: "relevance[0]", says: "2 contexts"),
    LintCase(
        name: "no contexts", base: goodMember, patch: #"{"relevance":[]}"#, path: "relevance", says: "0 contexts"),
    LintCase(
        name: "date without an end", base: goodMember, patch: #"{"relevance":[{"date":{"from":"{{content.a}}"}}]}"#,
        path: "relevance[0].date.to", says: "missing"),
    LintCase(
        name: "dates and situations", base: goodMember,
        patch: #"{"relevance":[{"date":{"from":"{{content.a}}","to":"{{content.b}}"}},{"place":"work"}]}"#,
        path: "relevance", says: "one kind"),
    LintCase(name: "no families", base: goodWidget, patch: #"{"families":null}"#, path: "families", says: "missing"),
    LintCase(
        name: "unknown widget family", base: goodWidget,
        patch: #"{"families":["systemSmall","accessoryRectangular","systemTiny"]}"#, path: "families[2]",
        says: "not a widget's family"),
    LintCase(
        name: "view of an unknown family", base: goodWidget, patch: #"{"views":{"systemTiny":{"text":"{{id}}"}}}"#,
        path: "views.systemTiny", says: "not a widget's family"),
    LintCase(
        name: "unknown place", base: goodWidget, patch: #"{"places":{"never":["fridge"]}}"#,
        path: "places.never[0]", says: "not a place"),
    LintCase(
        name: "unknown disfavoured place", base: goodWidget, patch: #"{"places":{"disfavoured":["car"]}}"#,
        path: "places.disfavoured[0]", says: "not a place"),
    LintCase(
        name: "unknown mode", base: goodWidget,
        patch: #"{"views":{"systemSmall":{"variants":[{"when":{"mode":"sepia"},"set":{"title":null}}]}}}"#,
        path: "views.systemSmall.variants[0].when.mode", says: "not a value"),
    LintCase(
        name: "unknown circumstance", base: goodWidget,
        patch: #"{"views":{"systemSmall":{"variants":[{"when":{"weather":"rain"},"set":{"title":null}}]}}}"#,
        path: "views.systemSmall.variants[0].when.weather", says: "not known"),
    LintCase(
        name: "variant without a change", base: goodWidget,
        patch: #"{"views":{"systemSmall":{"variants":[{"when":{"mode":"vibrant"}}]}}}"#,
        path: "views.systemSmall.variants[0].set", says: "missing"),
    LintCase(
        name: "unknown image option", base: goodWidget,
        patch: #"{"views":{"systemSmall":{"image":{"name":"cup","accented":"golden"}}}}"#,
        path: "views.systemSmall.image.accented", says: "not an image's option"),
    LintCase(
        name: "image without a name", base: goodWidget, patch: #"{"views":{"systemSmall":{"image":{"ratio":1}}}}"#,
        path: "views.systemSmall.image.name", says: "missing"),
    LintCase(
        name: "alert in a widget", base: goodWidget, patch: #"{"alert":{"title":"x"}}"#, path: "alert",
        says: "raises no alert"),
    LintCase(
        name: "kind kept for boards", base: goodWidget, patch: #"{"kind":"@x"}"#, path: "kind", says: "begins with @"),
    LintCase(
        name: "source of nothing", base: goodWidget, patch: #"{"source":{}}"#, path: "source", says: "names nothing"),
    LintCase(
        name: "unknown source", base: goodWidget,
        patch: #"{"source":{"schedule":[{"at":"07:00","set":{}}],"cloud":1}}"#,
        path: "source.cloud", says: "not known"),
    LintCase(
        name: "two sources", base: goodWidget, patch: #"{"source":{"each":"order","one":"order/1"}}"#, path: "source",
        says: "names each and one"),
    LintCase(
        name: "a member of another source", base: goodWidget,
        patch: #"{"source":{"each":"order","zone":"Z"},"parameters":null,"views":{"systemSmall":{"subtitle":null}}}"#,
        path: "source.zone", says: "not known"),
    LintCase(
        name: "each of no kind", base: goodWidget,
        patch: #"{"source":{"each":"or der"},"parameters":null,"views":{"systemSmall":{"subtitle":null}}}"#,
        path: "source.each", says: "no kind's name"),
    LintCase(
        name: "each with parameters", base: goodWidget, patch: #"{"source":{"each":"order"}}"#, path: "parameters",
        says: "nothing to choose"),
    LintCase(
        name: "where that does not parse", base: goodWidget,
        patch:
            #"{"source":{"each":"order","where":"lifecycle ="},"parameters":null,"views":{"systemSmall":{"subtitle":null}}}"#,
        path: "source.where", says: "at byte 10"),
    LintCase(
        name: "where that reads an event", base: goodWidget,
        patch:
            #"{"source":{"each":"order","where":"event.type == 'x'"},"parameters":null,"views":{"systemSmall":{"subtitle":null}}}"#,
        path: "source.where", says: "event.type has no value"),
    LintCase(
        name: "one of no parameter", base: goodWidget, patch: #"{"source":{"one":"order/{{config.shp}}"}}"#,
        path: "source.one", says: "names no activity"),
    LintCase(
        name: "one of no key", base: goodWidget, patch: #"{"source":{"one":"order"}}"#, path: "source.one",
        says: "names no activity"),
    LintCase(
        name: "over without values", base: goodAggregate, patch: #"{"source":{"values":null}}"#,
        path: "source.values", says: "missing"),
    LintCase(
        name: "over of no kind", base: goodAggregate, patch: #"{"source":{"over":"or der"}}"#, path: "source.over",
        says: "no kind's name"),
    LintCase(
        name: "by without its parameter", base: goodAggregate, patch: #"{"source":{"by":{"desk":"content.desk"}}}"#,
        path: "source.by.desk", says: "no parameter"),
    LintCase(
        name: "parameter without its by", base: goodAggregate, patch: #"{"source":{"by":null}}"#,
        path: "parameters.shop", says: "nothing says"),
    LintCase(
        name: "by of no path", base: goodAggregate, patch: #"{"source":{"by":{"shop":"shop"}}}"#,
        path: "source.by.shop", says: "no path"),
    LintCase(
        name: "tally with an own audience", base: goodAggregate, patch: #"{"audience":"own"}"#,
        path: "source.values.sold", says: "same for every account"),
    LintCase(
        name: "tally of no period", base: goodAggregate, patch: #"{"source":{"values":{"sold":{"per":"month"}}}}"#,
        path: "source.values.sold.per", says: "month"),
    LintCase(
        name: "tally without a state", base: goodAggregate, patch: #"{"source":{"values":{"sold":{"on":null}}}}"#,
        path: "source.values.sold.on", says: "missing"),
    LintCase(
        name: "value of nothing", base: goodAggregate, patch: #"{"source":{"values":{"n":{"mean":"content.n"}}}}"#,
        path: "source.values.n", says: "no value of many"),
    LintCase(
        name: "list of a thousand", base: goodAggregate,
        patch: #"{"source":{"values":{"n":{"first":1000,"show":{"id":"id"}}}},"audience":"own"}"#
            .replacing(#""audience":"own""#, with: #""audience":"all""#),
        path: "source.values.n.first", says: "no number of entries"),
    LintCase(
        name: "list of nothing", base: goodAggregate, patch: #"{"source":{"values":{"n":{"first":4}}}}"#,
        path: "source.values.n.show", says: "missing"),
    LintCase(
        name: "audience of nobody", base: goodAggregate, patch: #"{"audience":"none"}"#, path: "audience",
        says: "none"),
    LintCase(
        name: "seventeen values", base: goodAggregate,
        patch: #"{"source":{"values":{"# + (0..<16).map { #""v\#($0)":"count""# }.joined(separator: ",") + "}}}",
        path: "source.values", says: "17"),
    LintCase(
        name: "no time of day", base: goodWidget, patch: #"{"source":{"schedule":[{"at":"24:00","set":{}}]}}"#,
        path: "source.schedule[0].at", says: "no time of day"),
    LintCase(
        name: "no day", base: goodWidget,
        patch: #"{"source":{"schedule":[{"at":"07:00","days":["monday"],"set":{}}]}}"#,
        path: "source.schedule[0].days[0]", says: "no day"),
    LintCase(
        name: "no offset", base: goodWidget,
        patch: #"{"source":{"schedule":[{"at":"07:00","set":{}}],"zone":"Asia/Seoul"}}"#, path: "source.zone",
        says: "no offset"),
    LintCase(
        name: "a time of day twice", base: goodWidget,
        patch: #"{"source":{"schedule":[{"at":"07:00","days":["mon"],"set":{}},{"at":"07:00","set":{}}]}}"#,
        path: "source.schedule[1]", says: "same time"),
    LintCase(
        name: "recommended without a parameter", base: goodWidget, patch: #"{"recommended":[{}]}"#,
        path: "recommended[0].shop", says: "no value"),
    LintCase(
        name: "recommended with an unknown parameter", base: goodWidget,
        patch: #"{"recommended":[{"shop":"a","shp":"b"}]}"#, path: "recommended[0].shp", says: "no parameter"),
    LintCase(
        name: "choice without options", base: goodWidget, patch: #"{"parameters":{"shop":{"type":"choice"}}}"#,
        path: "parameters.shop.options", says: "missing"),
    LintCase(
        name: "default that is no choice", base: goodWidget,
        patch: #"{"parameters":{"shop":{"type":"choice","options":["a"],"default":"b"}}}"#,
        path: "parameters.shop.default", says: "does not take"),
    LintCase(
        name: "margins of a word", base: goodWidget, patch: #"{"margins":"wide"}"#, path: "margins", says: "points"),
    LintCase(
        name: "link without a scheme", base: goodWidget,
        patch: #"{"views":{"systemSmall":{"links":{"title":"{{content.url}}"}}}}"#,
        path: "views.systemSmall.links.title", says: "scheme"),
    LintCase(
        name: "animation of a text", base: goodWidget, patch: #"{"views":{"systemSmall":{"animation":"long"}}}"#,
        path: "views.systemSmall.animation", says: "seconds"),
]

/// Doubts about a kind of widget, which are told and refuse nothing.
let widgetWarningCases: [LintCase] = [
    LintCase(
        name: "text of 10 pt", base: goodWidget, patch: #"{"views":{"systemSmall":{"fontSize":10}}}"#,
        severity: .warning, path: "views.systemSmall.fontSize", says: "10 pt"),
    LintCase(
        name: "margin of 8", base: goodWidget, patch: #"{"margins":8}"#, severity: .warning, path: "margins",
        says: "cut off"),
    LintCase(
        name: "This widget", base: goodWidget, patch: #"{"description":"This widget shows sales"}"#,
        severity: .warning, path: "description", says: "This widget"),
    LintCase(
        name: "four symbol buttons on a watch", base: goodWidget,
        patch: #"{"views":{"accessoryRectangular":{"buttons":"# + glyphs + "}}}", severity: .warning,
        path: "views.accessoryRectangular.buttons", says: "4 buttons"),
    LintCase(
        name: "three text buttons on a watch", base: goodWidget,
        patch: #"{"views":{"accessoryRectangular":{"buttons":"# + controls + "}}}", severity: .warning,
        path: "views.accessoryRectangular.buttons", says: "3 buttons with texts"),
    LintCase(
        name: "three buttons in systemSmall on vision", base: goodWidget,
        patch: #"{"views":{"systemSmall":{"buttons":"# + controls + "}}}", severity: .warning,
        path: "views.systemSmall.buttons", says: "60 pt"),
    LintCase(
        name: "equal views", base: goodWidget,
        patch:
            #"{"families":["systemSmall","systemMedium"],"views":{"accessoryRectangular":null,"systemMedium":{"symbol":"cup","title":"{{content.sold}} sold","subtitle":"{{config.shop}}"}}}"#,
        severity: .warning, path: "views.systemMedium", says: "same as"),
    LintCase(
        name: "stale of a derived widget", base: goodWidget,
        patch: #"{"source":{"one":"order/{{config.shop}}"},"stale":"5m"}"#, severity: .warning, path: "stale",
        says: "stale when its activity is"),
    LintCase(
        name: "value that there is not", base: goodAggregate,
        patch: #"{"views":{"systemSmall":{"title":"{{values.solt}}"}}}"#, severity: .warning,
        path: "views.systemSmall.title", says: "this source has none"),
    LintCase(
        name: "single activities for all", base: goodAggregate,
        patch: #"{"source":{"values":{"n":{"first":4,"show":{"id":"id"}}}}}"#, severity: .warning,
        path: "source.values.n", says: "whoever they are for"),
    LintCase(
        name: "aggregate of one activity", base: goodWidget,
        patch:
            #"{"source":{"one":"order/{{config.shop}}"},"views":{"systemSmall":{"title":"{{values.n}} of {{state.title}}, {{lifecycle}}"}}}"#,
        severity: .warning, path: "views.systemSmall.title", says: "this source has none"),
    LintCase(
        name: "view without a template", base: goodWidget,
        patch: #"{"views":{"accessoryRectangular":{"text":"Sales"}}}"#, severity: .warning,
        path: "views.accessoryRectangular", says: "never changes"),
    LintCase(
        name: "view that is not declared", base: goodWidget,
        patch: #"{"views":{"accessoryInline":{"text":"{{content.sold}}!"}}}"#,
        severity: .warning, path: "views.accessoryInline", says: "never shown"),
    LintCase(
        name: "group of a part that is not there", base: goodWidget,
        patch: #"{"views":{"systemSmall":{"accent":["tittle"]}}}"#, severity: .warning,
        path: "views.systemSmall.accent[0]", says: "no part"),
    LintCase(
        name: "links of an accessory", base: goodWidget,
        patch: #"{"views":{"accessoryRectangular":{"links":{"text":"https://example.com"}}}}"#, severity: .warning,
        path: "views.accessoryRectangular.links", says: "one target"),
    LintCase(
        name: "parameter that is not there", base: goodWidget,
        patch: #"{"views":{"systemSmall":{"subtitle":"{{config.shp}}"}}}"#, severity: .warning,
        path: "views.systemSmall.subtitle", says: "no parameter"),
    LintCase(
        name: "suggestion that never matters", base: goodWidget,
        patch:
            #"{"suggest":true,"recommended":[{"shop":"a"}],"source":{"schedule":[{"at":"00:00","set":{"sold":1}}]}}"#,
        severity: .warning,
        path: "suggest", says: "never matters"),
    LintCase(
        name: "suggestion of no configuration", base: goodWidget, patch: #"{"suggest":true,"recommended":null}"#,
        severity: .warning, path: "suggest", says: "there are none"),
    LintCase(
        name: "timeout without a provider", base: goodWidget, patch: #"{"timeout":"10s"}"#, severity: .warning,
        path: "timeout", says: "no provider"),
    LintCase(
        name: "path that no widget has", base: goodWidget,
        patch: #"{"views":{"systemSmall":{"subtitle":"{{state.title}}"}}}"#, severity: .warning,
        path: "views.systemSmall.subtitle", says: "this source has none"),
]
