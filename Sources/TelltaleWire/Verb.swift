/// The requests of a client (Protocols/Line/line-protocol.md §12).
public enum Verb: String, CaseIterable, Hashable, Sendable {
    case hello = "HELLO"
    case event = "EVT"
    case subscribe = "SUB"
    case unsubscribe = "UNSUB"
    case get = "GET"
    case list = "LIST"
    case kinds = "KINDS"
    case kind = "KIND"
    case gallery = "GALLERY"
    case history = "HISTORY"
    case stats = "STATS"
    case trait = "TRAIT"
    case open = "OPEN"
    case seen = "SEEN"
    case dismiss = "DISMISS"
    case set = "SET"
    case press = "PRESS"
    case tile = "TILE"
    case serve = "SERVE"
    case done = "DONE"
    case fail = "FAIL"
    case report = "REPORT"
    case reload = "RELOAD"
    case handover = "HANDOVER"
    case drain = "DRAIN"
    case node = "NODE"
    case ping = "PING"
    case help = "HELP"
    case bye = "BYE"
}

/// The syntax and the purpose of one verb, from which the parser, `HELP` and the published specification are made.
public final class VerbDescription: Sendable {
    /// The one word without a `=` that a verb may take.
    public struct Positional: Sendable {
        public enum Kind: Sendable {
            case key, pattern, kind, verb
        }

        public let kind: Kind
        public let isRequired: Bool
    }

    public struct Attribute: Sendable {
        /// The placeholder for the value in a usage line.
        public let placeholder: String
        public let isRequired: Bool
        public let summary: String
        let name: AttributeName
        let packed: PackedName

        /// The verb's name on the wire.
        public var text: String { name.rawValue }
    }

    public let verb: Verb
    public let summary: String
    public let positional: Positional?
    /// The attributes besides `id=`, which every request takes.
    public let attributes: [Attribute]
    /// The description of the JSON tail; `nil` if the verb ignores tails.
    public let tail: String?
    /// Paragraphs for `HELP VERB`.
    public let details: [String]
    public let example: String

    let name: PackedName

    init(
        _ verb: Verb, _ summary: String, positional: Positional? = nil, attributes: [Attribute] = [],
        tail: String? = nil, details: [String] = [], example: String
    ) {
        self.verb = verb
        self.summary = summary
        self.positional = positional
        self.attributes = attributes
        self.tail = tail
        self.details = details
        self.example = example
        name = PackedName(verb.rawValue)
    }

    /// `SUB PATTERN [view=VIEW] …`, in one line.
    public var usage: String {
        var parts = [verb.rawValue]
        if let positional { parts.append(positional.isRequired ? positional.text : "[\(positional.text)]") }
        for attribute in attributes {
            let text = "\(attribute.text)=\(attribute.placeholder)"
            parts.append(attribute.isRequired ? text : "[\(text)]")
        }
        // Its attributes are not fixed; `HELP` lists the traits.
        if verb == .trait { parts.append("NAME=VALUE ...") }
        if let tail { parts.append(tail) }
        return parts.joined(separator: " ")
    }

    /// The description of the verb with this name, in any case.
    static func find(_ name: PackedName) -> VerbDescription? { all.first { $0.name == name } }
}

extension VerbDescription.Positional {
    public var text: String {
        switch kind {
        case .key: "KEY"
        case .pattern: "PATTERN"
        case .kind: "KIND"
        case .verb: "VERB"
        }
    }
}

/// Every attribute of some request, except the names of `TRAIT`.
enum AttributeName: String, CaseIterable, Sendable {
    case id, type, src, eid, at, ver, view, from, rate, placement, sub, rev, value, op, code, client, surface, account,
        device, caps, hb, token, family, mode, ahead, part, unit, widget, stack, mounting, scale, theme, pos, smart,
        suggest, deliver, node, after, over
    case action = "do"
    case accounts = "for"
    case seenRev = "if"

    static let packedID = PackedName("id")

    /// A dense number, 0 for the first case.
    var slot: Int {
        switch self {
        case .id: 0
        case .type: 1
        case .src: 2
        case .eid: 3
        case .at: 4
        case .ver: 5
        case .view: 6
        case .from: 7
        case .rate: 8
        case .placement: 9
        case .sub: 10
        case .rev: 11
        case .value: 12
        case .op: 13
        case .code: 14
        case .client: 15
        case .surface: 16
        case .account: 17
        case .device: 18
        case .caps: 19
        case .hb: 20
        case .accounts: 21
        case .seenRev: 22
        case .token: 23
        case .family: 24
        case .mode: 25
        case .ahead: 26
        case .part: 27
        case .unit: 28
        case .action: 29
        case .widget: 30
        case .stack: 31
        case .mounting: 32
        case .scale: 33
        case .theme: 34
        case .pos: 35
        case .smart: 36
        case .suggest: 37
        case .deliver: 38
        case .node: 39
        case .after: 40
        case .over: 41
        }
    }
}
