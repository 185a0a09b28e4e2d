import Kinds
import TelltaleModel

/// The kinds of a simulated world: small, and with clocks that run out within a run.
enum SimulatedKinds {
    static let order = """
        {"kind":"order","type":"activity","version":1,"app":"com.example.shop","title":"Order",
         "supplementalFamilies":["small"],"stale":"30s","dismiss":"60s","startsOn":["confirm"],
         "machine":{"initial":"placed","on":{"cancel":"cancelled"},"states":{
           "placed":{"progress":0.1,"on":{"confirm":"queued"},"after":{"40s":"unattended"}},
           "queued":{"progress":0.2,"on":{"brew":"brewing"}},
           "brewing":{"progress":0.6,"on":{"ready":"ready"},"after":{"90s":"unattended"}},
           "ready":{"progress":1.0,"milestone":true,"alert":{"title":"{{id}} is ready","body":"{{content.n}}","private":["body"]},
                    "on":{"collect":"collected"}},
           "unattended":{"on":{"brew":"brewing"}},
           "collected":{"type":"final","milestone":true},
           "cancelled":{"type":"final","milestone":true,"dismiss":"10s"}}},
         "views":{"compact":{"leading":{"symbol":"cup"},"trailing":{"text":"{{state.title}}"}},
                  "minimal":{"symbol":"cup"},
                  "lockScreen":{"title":"{{attributes.item}}","subtitle":"{{state.title}}","buttons":["bell/1","tip/{{id}}"]},
                  "expanded":{"center":{"title":"{{state.title}}"}},
                  "small":{"title":"{{state.title}}","text":"{{content.n}}","progress":true,"private":["text"]}}}
        """
    static let ride = """
        {"kind":"ride","type":"activity","version":1,"app":"com.example.ride","title":"Ride","dismiss":"20s",
         "machine":{"initial":"called","on":{"cancel":"declined"},"states":{
           "called":{"on":{"ride":"riding"}},
           "riding":{"milestone":true,"on":{"pause":"paused","arrive":"arrived"}},
           "paused":{"on":{"ride":"riding"},"after":{"25s":"riding"}},
           "arrived":{"type":"final"},
           "declined":{"type":"final","milestone":true,"dismiss":"0s",
                       "alert":{"title":"No driver","body":"{{id}} is called off"}}}}}
        """
    static let lamp = """
        {"kind":"lamp","type":"toggle","version":1,"app":"com.example.home","title":"Lamp","timeout":"10s","settle":"1s",
         "instances":["1","2"]}
        """
    static let bell = """
        {"kind":"bell","type":"button","version":1,"app":"com.example.home","title":"Bell","timeout":"5s",
         "cooldown":"3s","instances":["1"]}
        """

    /// It belongs to an order: it exists as long as the order does.
    static let tip = """
        {"kind":"tip","type":"button","version":1,"app":"com.example.shop","title":"Tip",
         "raises":{"kind":"order","event":"cancel","id":"{{id}}"}}
        """

    /// Changes to the kind files for the seeded bugs that misread a kind.
    private static let misread: [SeededBug: (String, String)] = [
        .timerNotCancelled: (
            #"0.2,"on":{"brew":"brewing"}"#, #"0.2,"on":{"brew":"brewing"},"after":{"40s":"unattended"}"#
        ),
        .staleForgotten: (#""stale":"30s","#, ""),
        .lingerForgotten: (#""dismiss":"60s""#, #""dismiss":"5s""#),
        .milestoneUnmarked: (#""riding":{"milestone":true,"#, #""riding":{"#),
        .timeoutForgotten: (#""timeout":"10s""#, #""timeout":"2h""#),
        .cooldownForgotten: (#""cooldown":"3s","#, ""),
        .pressRepeated: (#""cooldown":"3s","#, #""cooldown":"3s","repeatable":true,"#),
        .widgetStaleMisread: (#""stale":"20s""#, #""stale":"25s""#),
        .suggestionUnwanted: (#""suggest":false"#, #""suggest":true"#),
        .askTimeoutForgotten: (#""timeout":"8s""#, #""timeout":"2h""#),
        .endedCounted: (#","where":"lifecycle != 'ended'""#, ""),
        .tallyMisread: (#""on":"collected","per""#, #""on":"ready","per""#),
        .conditionUnread: (#","where":"not in(collected)""#, ""),
        .privacyForgotten: (#","private":["text"]"#, ""),
        .attachmentForgotten: (#","tip/{{id}}""#, ""),
        .attachmentMisplaced: (#""tip/{{id}}""#, #""tip/x{{id}}""#),
    ]

    /// The simulation's kinds that a setting uses, and the setting's own.
    ///
    /// - Parameter edition: `nil` where there are no widgets.
    /// - Throws: ``KindFault`` with the first fault of a kind file.
    static func load(
        for setting: Setting, bug: SeededBug? = nil, edition: SimulatedWidgets.Edition? = nil
    ) throws(KindFault) -> [Kind] {
        var kinds: [Kind] = []
        for text in [order, ride, lamp, bell, tip] + (edition?.texts ?? []) {
            let text = bug.flatMap { misread[$0] }.map { text.replacing($0, with: $1) } ?? text
            guard let json = try? JSONParser.parse(text) else { throw KindFault(description: "no JSON: \(text)") }
            let (kind, diagnostics) = Kind.read(json, file: "simulated.json")
            guard let kind else { throw KindFault(description: "\(diagnostics)") }
            kinds.append(kind)
        }
        if setting.cast != .simulated {
            let used = Set(setting.kindNames)
            kinds.removeAll { !used.contains($0.name) }
        }
        for json in setting.kinds {
            let (kind, diagnostics) = Kind.read(json, file: "\(json["kind"]?.string ?? "kind").json")
            guard let kind else { throw KindFault(description: "\(diagnostics)") }
            kinds.append(kind)
        }
        return kinds
    }

    struct KindFault: Error, CustomStringConvertible {
        var description: String
    }
}
