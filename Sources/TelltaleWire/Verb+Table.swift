extension VerbDescription {
    /// Every verb, in the order of `HELP`.
    public static let all: [VerbDescription] = sessions + producers + subscribers + controls + people

    /// A verb without arguments, with which the `id=` of a line with an unknown verb is read.
    static let plain = VerbDescription(.ping, "", example: "")

    private static let sessions: [VerbDescription] = [
        VerbDescription(
            .hello, "says who is speaking; optional on a server with auth=none",
            attributes: [
                .optional(.client, "NAME", "the program, such as head-unit/2.1; the src= of its events"),
                .optional(.surface, "SURFACE", "phone pad watch carplay desktop standby vision: the default view="),
                .optional(.account, "ACCOUNT", "whose device it is; without it every activity is visible"),
                .optional(
                    .device, "DEVICE",
                    "a device of the catalogue; the OK then has device=NAME canvas=WxH, or device=unknown"),
                .optional(.unit, "NAME", "the device itself: its widgets have a budget while its screen is off"),
                .optional(.caps, "A,B", "capabilities wanted; the OK names those granted"),
                .optional(.hb, "MS", "heartbeats: MARK after so long a silence, the end after twice yours"),
                .optional(
                    .after, "EPOCH:SEQ", "the newest rev or cursor seen; a node of a cluster waits until it has it"),
                .optional(.token, "TOKEN", "proves who it is, on a server with auth=token"),
            ],
            tail: #"[{"token":"TOKEN"}]"#,
            details: ["A token longer than a value stands in the JSON."],
            example: "HELLO client=head-unit/2.1 surface=carplay account=alice")
    ]

    private static let producers: [VerbDescription] = [
        VerbDescription(
            .event, "posts an event of one activity, or a widget's timeline", positional: .key,
            attributes: [
                .required(
                    .type, "NAME",
                    "start, update, end, or an event of the kind's machine; of a widget timeline, reload, end"),
                .optional(.src, "SOURCE", "who says so; default: client= of HELLO, else -"),
                .optional(.eid, "ID", "the source's own event id: the same takes effect once"),
                .optional(.at, "MS", "when it happened, Unix ms; default: now"),
                .optional(.ver, "N", "the source's version number of this key"),
                .optional(.accounts, "A,B", "whose devices may show it, told when it starts; default: everybody's"),
            ],
            tail: "[JSON]",
            details: [
                "The JSON may hold attributes, content-state (objects), alert {title,body,sound}, stale-date, "
                    + "dismissal-date, start-date (Unix seconds), relevance-score.",
                "Answer: OK verdict=applied|noop|duplicate|stale|ignored|deferred rev=N state=STATE, after the commit "
                    + "is on disk.",
            ],
            example: #"EVT coffee-order/1042 type=start eid=e1 for=alice {"attributes":{"item":"Flat white"}}"#)
    ]

    private static let style: [Attribute] = [
        .optional(.view, "VIEW", "a surface, or full"),
        .optional(.placement, "PLACE", "where a widget is drawn"),
        .optional(.family, "FAMILY", "which family of a widget"),
        .optional(.mode, "MODE", "how a widget is drawn"),
        .optional(.ahead, "N", "how many later entries of a widget come with its row, 0 to 64; default: 4"),
    ]

    private static let subscribers: [VerbDescription] = [
        VerbDescription(
            .subscribe, "follows a key, a kind (kind/*) or everything (*)", positional: .pattern,
            attributes: [
                .optional(.view, "VIEW", "a surface, or full; default: that of HELLO, else full"),
                .optional(.accounts, "ACCOUNT", "what this person's devices see; default: account= of HELLO"),
                .optional(.from, "CURSOR", "resume: the last cur= received, as it came"),
                .optional(.rate, "N", "at most N lines a second for each key"),
                .optional(.placement, "PLACE", "where a control or a widget is drawn"),
                .optional(.family, "FAMILY", "which family of a widget, as systemSmall; default: that of the place"),
                .optional(
                    .mode, "MODE", "fullColor accented vibrant: how widgets are drawn; default: that of the place"),
                .optional(.ahead, "N", "how many later entries of a widget come with its row, 0 to 64; default: 4"),
                .optional(.deliver, "rows|notice", "notice: a CHANGED for all that changed, and no rows"),
            ],
            details: [
                "Answer: OK sub=N, then a SNAP a key, LIVE, and from then on UPD and DEL as things change.",
                "A reader that is slow gets the newest state of each key, marked skip=n; it is never cut for it.",
            ],
            example: "SUB coffee-order/* view=carplay"),
        VerbDescription(
            .unsubscribe, "ends a subscription",
            attributes: [.required(.sub, "N", "its number, as in the OK of its SUB")],
            example: "UNSUB sub=1"),
        VerbDescription(
            .get, "shows one key once", positional: .key,
            attributes: style,
            example: "GET coffee-order/1042"),
        VerbDescription(
            .list, "shows every key of a pattern once; without one, all", positional: .optionalPattern,
            attributes: style,
            details: ["Answer: a SNAP sub=0 a key, then OK count=n."],
            example: "LIST coffee-order/*"),
        VerbDescription(.kinds, "lists the kinds that are loaded", example: "KINDS"),
        VerbDescription(
            .kind, "tells the definition of one kind, as it is in force", positional: .kind,
            details: ["Answer: OK name=KIND version=N, then the kind's file as one JSON object."],
            example: "KIND coffee-order"),
        VerbDescription(
            .gallery, "lists the widgets that a person can place, with previews",
            attributes: [
                .optional(
                    .view, "VIEW", "a surface, or full for all families without previews; default: that of HELLO"),
                .optional(.placement, "PLACE", "only what is shown in this place of the surface"),
            ],
            details: ["Answer: a WIDGET name=KIND families=A,B a kind, then OK count=n."],
            example: "GALLERY view=watch"),
        VerbDescription(
            .history, "tells what happened to one key, oldest first", positional: .key,
            details: ["Answer: a HIST an event, then OK count=n."],
            example: "HISTORY coffee-order/1042"),
        VerbDescription(.stats, "tells the server's own figures", example: "STATS"),
        VerbDescription(
            .trait, "tells the situation of this device; its rows are made anew at once",
            details: TraitName.allCases.map { "\($0.rawValue)=\($0.values)" },
            example: "TRAIT dashboard=hidden focus=on"),
        VerbDescription(
            .open, "opens an activity: its Lock Screen presentation and its deep link; of a widget its link",
            positional: .key,
            attributes: [.optional(.part, "PART", "the part of a widget that was tapped")],
            example: "OPEN coffee-order/1042"),
        VerbDescription(
            .seen, "its alert was seen, and need not alert this account's other devices", positional: .key,
            attributes: [.required(.rev, "REV", "the rev of the ALERT")],
            example: "SEEN coffee-order/1042 rev=41903"),
        VerbDescription(
            .dismiss, "swipes an activity away, on all devices of this account", positional: .key,
            details: ["It needs an account: say HELLO account=NAME first."],
            example: "DISMISS coffee-order/1042"),
    ]

    private static let controls: [VerbDescription] = [
        VerbDescription(
            .set, "sets a toggle: the value that is wanted, never a flip", positional: .key,
            attributes: [
                .required(.value, "on|off", "the value wanted"),
                .optional(.seenRev, "REV", "the rev of the row that the person saw; refused when it is out of date"),
                .optional(.eid, "ID", "the same acts once for an account"),
            ],
            example: "SET porch-light/front value=on if=41650"),
        VerbDescription(
            .press, "presses a button", positional: .key,
            attributes: [.optional(.eid, "ID", "the same acts once for an account")],
            example: "PRESS log-coffee/desk eid=p1"),
        tile,
        VerbDescription(
            .serve, "this connection acts for the controls, or gives the timelines, of a kind", positional: .kind,
            details: [
                "What is to be done comes as DO op= key= action= value= deadline=; answer DONE or FAIL.",
                "A widget asks with action=timeline reason=; answer DONE with its entries, or FAIL.",
            ],
            example: "SERVE porch-light"),
        VerbDescription(
            .done, "an operation was done",
            attributes: [
                .required(.op, "OP", "the operation, as in its DO"),
                .optional(.value, "on|off", "what the toggle is now; default: what was wanted"),
            ],
            tail: #"[{"entries":[...],"policy":"atEnd"}]"#,
            details: ["The tail answers action=timeline, as the tail of EVT type=timeline."],
            example: "DONE op=o18 value=on"),
        VerbDescription(
            .fail, "an operation failed",
            attributes: [
                .required(.op, "OP", "the operation, as in its DO"),
                .optional(.code, "CODE", "why, for programs"),
            ],
            tail: #"[{"message":"for people"}]"#,
            example: #"FAIL op=o18 code=jammed {"message":"The relay does not answer"}"#),
        VerbDescription(
            .report, "the real thing changed by itself, or exists", positional: .key,
            attributes: [
                .optional(.value, "on|off", "what a toggle is now; a button has none"),
                .optional(.at, "MS", "when it was seen, Unix ms; default: now"),
            ],
            example: "REPORT porch-light/front value=on"),
        VerbDescription(
            .reload, "lets a widget, or all of a kind (kind/*), ask their provider anew", positional: .pattern,
            details: [
                "At once for whoever serves the kind, else once the floor between two asks has passed.",
                "Answer to a pattern: OK count=N applied=N deferred=N noop=N.",
            ],
            example: "RELOAD weather/*"),
    ]

    private static let tile = VerbDescription(
        .tile, "arranges a board: the widgets that a device shows", positional: .key,
        attributes: [
            .required(.action, "WHAT", "add configure stack move pin unpin show keep remove"),
            .optional(.widget, "KIND", "of add: the kind of widget, or the key of one"),
            .optional(.family, "FAMILY", "of add and stack; default: systemSmall"),
            .optional(.stack, "ID|none", "of add and move: the stack that it stands in"),
            .optional(.placement, "PLACE", "the one place that shows it; default: each that can"),
            .optional(.mounting, "WAY", "of visionOS: elevated (default) or recessed"),
            .optional(.scale, "N", "of visionOS, in percent: 75 to 125"),
            .optional(.theme, "COLOUR|none", "of visionOS: the colour of the tile"),
            .optional(.pos, "N", "its place, from 1; default: the last"),
            .optional(.smart, "yes|no", "of stack: it turns to what is relevant"),
            .optional(.suggest, "yes|no", "of stack: it takes suggestions"),
            .optional(.seenRev, "REV", "the rev of the row that the person saw"),
            .optional(.eid, "ID", "the sender's own id: the same takes effect once"),
        ],
        tail: #"[{"configuration":{...}}]"#,
        details: [
            "The key is @BOARD/ID. The board is its first tile's account's; follow it with SUB @BOARD/*.",
            "Answer: OK verdict=applied|noop|duplicate rev=N state=placed|pinned|stack|gone.",
        ],
        example: #"TILE @alice-car/t1 do=add widget=kitchen {"configuration":{"shop":"Hoegi"}}"#)

    private static let people: [VerbDescription] = [
        VerbDescription(
            .handover, "the leader of a cluster leads no more, and another node does",
            attributes: [.optional(.node, "NODE", "the node that is to lead; default: the one that has read most")],
            details: ["Connections stay; those that serve a kind are told BYE code=not_leader."],
            example: "HANDOVER node=n2"),
        VerbDescription(
            .drain, "this node of a cluster sends its clients to the other nodes, and takes no new ones",
            attributes: [
                .optional(.action, "start|stop", "stop: it takes clients again; default: start"),
                .optional(.over, "MS", "the span over which it does, evenly: 0 to 3600000; default: 20000"),
            ],
            details: [
                "Answer: OK connections=N, those that are sent away. This connection stays.",
                "Each is told BYE code=shutting_down wait=0-0 to=ADDRESS: readers first, then writers, then providers.",
            ],
            example: "DRAIN over=20000"),
        VerbDescription(
            .node, "another node of the cluster forwards what its clients write; no client says it",
            attributes: [
                .required(.node, "NODE", "the name of that node"),
                .required(.token, "TOKEN", "the instance of the leader's process, in hexadecimal"),
            ], example: "NODE node=n2 token=9f3a6c21d04e77b8"),
        VerbDescription(
            .ping, "is answered by PONG once everything before it is answered and on disk", example: "PING id=1"),
        VerbDescription(
            .help, "lists the verbs, or explains one", positional: .optionalVerb, example: "HELP SUB"),
        VerbDescription(
            .bye, "ends the session after the replies that are due, and the LIVE of each subscription", example: "BYE"),
    ]
}

extension VerbDescription.Attribute {
    fileprivate static func required(_ name: AttributeName, _ placeholder: String, _ summary: String) -> Self {
        make(name, placeholder, summary, isRequired: true)
    }

    fileprivate static func optional(_ name: AttributeName, _ placeholder: String, _ summary: String) -> Self {
        make(name, placeholder, summary, isRequired: false)
    }

    private static func make(
        _ name: AttributeName, _ placeholder: String, _ summary: String, isRequired: Bool
    ) -> Self {
        Self(
            placeholder: placeholder, isRequired: isRequired, summary: summary, name: name,
            packed: PackedName(name.rawValue))
    }
}

extension VerbDescription.Positional {
    fileprivate static let key = Self(kind: .key, isRequired: true)
    fileprivate static let pattern = Self(kind: .pattern, isRequired: true)
    fileprivate static let optionalPattern = Self(kind: .pattern, isRequired: false)
    fileprivate static let kind = Self(kind: .kind, isRequired: true)
    fileprivate static let optionalVerb = Self(kind: .verb, isRequired: false)
}
