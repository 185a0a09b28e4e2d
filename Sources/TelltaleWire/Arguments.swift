import TelltaleModel

/// The words after a verb, parsed as the verb's arguments.
struct Arguments {
    let words: LineWords
    /// The JSON tail, once it is parsed.
    var tail: JSONObject?

    private var verb: VerbDescription { words.verb }

    init(_ line: Span<UInt8>, behind verbEnd: Int, of verb: VerbDescription) {
        words = LineWords(line, behind: verbEnd, of: verb)
    }

    func command(_ line: Span<UInt8>) throws(WireError) -> Command {
        switch verb.verb {
        case .hello: .hello(try hello(line))
        case .event: .event(try event(line))
        case .subscribe: .subscribe(try subscribe(line))
        case .unsubscribe: .unsubscribe(number: try subscriptionNumber(line))
        case .get:
            .get(try key(line), view: try view(line), widgets: try style(line, placement: text(.placement, line)))
        case .list:
            .list(
                try optionalPattern(line), view: try view(line),
                widgets: try style(line, placement: text(.placement, line)))
        case .kinds: .kinds
        case .kind: .kind(try kind(line))
        case .gallery: .gallery(view: try view(line), placement: text(.placement, line))
        case .history: .history(try key(line))
        case .stats: .stats
        case .trait: .traits(try traits())
        case .open: .open(try key(line), part: text(.part, line))
        case .seen: .seen(try key(line), rev: try required(.rev, try integer(.rev, line)))
        case .dismiss: .dismiss(try key(line))
        case .set: .tap(try set(line))
        case .press: .tap(TapCommand(try key(line), .press, eid: text(.eid, line)))
        case .tile: .tile(try tile(line))
        case .serve: .serve(kind: try kind(line))
        case .done:
            // Any other tail is ignored, as in earlier releases.
            if let tail, tail["entries"] != nil, words[.value] == nil {
                .supply(op: try required(.op, text(.op, line)), timeline: tail)
            } else {
                .done(op: try required(.op, text(.op, line)), value: try onOff(line))
            }
        case .fail: .fail(op: try required(.op, text(.op, line)), code: text(.code, line), message: try message())
        case .report: .report(try key(line), value: try onOff(line), at: try timestamp(.at, line))
        case .reload: .reload(try pattern(line))
        case .handover: .handover(node: text(.node, line))
        case .drain: .drain(try drain(line))
        case .node:
            .node(
                name: try required(.node, text(.node, line)), token: try required(.token, text(.token, line)))
        case .ping: .ping
        case .help: .help(verb: words.positional.map { line.text($0) })
        case .bye: .bye
        }
    }

    private func drain(_ line: Span<UInt8>) throws(WireError) -> DrainCommand {
        let span = try integer(.over, line)
        switch text(.action, line) ?? "start" {
        case "start": break
        case "stop" where span == nil: return .stop
        case "stop": throw .attribute(verb, "over= is for do=start; leave it out")
        case _: throw .attribute(verb, "do= is start or stop")
        }
        let longest = DrainCommand.longestSpan.count
        guard let span else { return .start(over: DrainCommand.usualSpan) }
        guard (0...longest).contains(span) else { throw .attribute(verb, "over= is to be 0 to \(longest) ms") }
        return .start(over: Milliseconds(span))
    }

    private func hello(_ line: Span<UInt8>) throws(WireError) -> Hello {
        var hello = Hello()
        hello.client = text(.client, line)
        if let range = words[.surface] {
            guard let surface = Surface(rawValue: line.text(range)) else {
                throw value(.surface, range, line, Surface.allCases.map(\.rawValue).joined(separator: "|"))
            }
            hello.surface = surface
        }
        hello.account = try account(.account, line)
        hello.device = text(.device, line)
        hello.capabilities = try list(.caps, line)
        if let heartbeat = try integer(.hb, line) {
            guard (1...Self.heartbeatLimit).contains(heartbeat) else {
                throw .attribute(verb, "hb= is to be 1 to \(Self.heartbeatLimit) ms; leave it out for none")
            }
            hello.heartbeat = Int(heartbeat)
        }
        hello.unit = text(.unit, line)
        if let range = words[.after] {
            guard let position = HistoryPosition(line, range) else {
                throw value(
                    .after, range, line, "EPOCH:SEQ: the epoch= of the greeting, and the newest rev that you have seen")
            }
            hello.after = position
        }
        hello.token = try token(line)
        return hello
    }

    private func token(_ line: Span<UInt8>) throws(WireError) -> String? {
        let token = text(.token, line)
        guard let json = tail?["token"] else { return token }
        guard token == nil else { throw .attribute(verb, "the token stands twice; say it once") }
        guard let text = json.string else { throw .wrongType(at: "token", expected: "a text") }
        return text
    }

    private func event(_ line: Span<UInt8>) throws(WireError) -> EventCommand {
        let type = try required(.type, words[.type])
        guard type.count <= WireLimits.eventNameLength, line.allSatisfy(type, \.isEventNameByte) else {
            throw value(.type, type, line, "a name of [A-Za-z0-9_.:-], at most \(WireLimits.eventNameLength) bytes")
        }
        let name = line.text(type)
        guard !line.extracting(type).begins(with: Self.internalEventPrefix) else {
            throw .attribute(
                verb, "type=\(name) is raised by the machine itself when a state is done; post what happened instead")
        }
        return EventCommand(
            key: try key(line), type: name, source: text(.src, line), eid: text(.eid, line),
            happenedAt: try timestamp(.at, line), version: try integer(.ver, line), accounts: try list(.accounts, line),
            tail: tail ?? JSONObject())
    }

    private func subscribe(_ line: Span<UInt8>) throws(WireError) -> SubscribeCommand {
        var subscribe = SubscribeCommand(pattern: try pattern(line))
        subscribe.view = try view(line)
        subscribe.account = try account(.accounts, line)
        if let range = words[.from] {
            guard let cursor = Cursor(line, range) else {
                throw WireError(
                    .badCursor,
                    "SUB: from=\(line.quoted(range)) is no cursor; send back the last cur= as it came, or leave it out")
            }
            subscribe.from = cursor
        }
        if let rate = try integer(.rate, line) {
            guard (1...Self.rateLimit).contains(rate) else {
                throw .attribute(verb, "rate= is to be 1 to \(Self.rateLimit) lines a second; leave it out for all")
            }
            subscribe.rate = Int(rate)
        }
        subscribe.placement = text(.placement, line)
        subscribe.widgets = try style(line)
        if let range = words[.deliver] {
            guard let delivery = SubscribeCommand.Delivery(rawValue: line.text(range)) else {
                throw value(.deliver, range, line, "rows or notice")
            }
            subscribe.delivery = delivery
            guard delivery == .rows else {
                let ofRows = [AttributeName.rate, .placement, .family, .mode, .ahead].first { words[$0] != nil }
                guard let name = ofRows else { return subscribe }
                throw .attribute(
                    verb, "\(name.rawValue)= is for rows, and deliver=notice brings none; leave one of them out")
            }
        }
        return subscribe
    }

    private func style(_ line: Span<UInt8>, placement: String? = nil) throws(WireError) -> WidgetStyle {
        var style = WidgetStyle()
        style.placement = placement
        style.family = text(.family, line)
        style.mode = text(.mode, line)
        if let ahead = try integer(.ahead, line) {
            guard (0...WidgetStyle.aheadLimit).contains(ahead) else {
                throw .attribute(verb, "ahead= is to be 0 to \(WidgetStyle.aheadLimit) entries; leave it out for 4")
            }
            style.ahead = Int(ahead)
        }
        return style
    }

    private func set(_ line: Span<UInt8>) throws(WireError) -> TapCommand {
        let key = try key(line)
        var set = TapCommand(key, .set(try required(.value, try onOff(line))))
        set.seenRev = try integer(.seenRev, line)
        set.eid = text(.eid, line)
        return set
    }

    private func traits() throws(WireError) -> [Attribute] {
        guard !words.traits.isEmpty || !words.ignored.isEmpty else {
            throw .attribute(verb, "name a situation, such as TRAIT dashboard=hidden; HELP TRAIT lists them")
        }
        return words.traits
    }

    private func message() throws(WireError) -> String? {
        guard let json = tail?["message"] else { return nil }
        guard let message = json.string else { throw .wrongType(at: "message", expected: "a text") }
        return message
    }
}

// MARK: - Single arguments

extension Arguments {
    /// The prefix of events that a client may not send, because only machines raise them
    /// (Protocols/Line/line-protocol.md §4).
    private static let internalEventPrefix: StaticString = "done."
    /// The longest heartbeat interval: a day, in milliseconds.
    private static let heartbeatLimit: Int64 = 86_400_000
    /// The largest number of lines a second for each key. A higher limit would have no effect.
    private static let rateLimit: Int64 = 1_000_000

    func required<Value>(_ name: AttributeName, _ value: Value?) throws(WireError) -> Value {
        guard let value else {
            throw .attribute(verb, "\(name.rawValue)= is missing; write \(verb.usage)")
        }
        return value
    }

    func value(
        _ name: AttributeName, _ range: Range<Int>, _ line: Span<UInt8>, _ expected: String
    ) -> WireError {
        .value(verb, name.rawValue, line.quoted(range), expected)
    }

    func text(_ name: AttributeName, _ line: Span<UInt8>) -> String? { words[name].map { line.text($0) } }

    func integer(_ name: AttributeName, _ line: Span<UInt8>) throws(WireError) -> Int64? {
        guard let range = words[name] else { return nil }
        // Limited, because rows, errors and histories write the number in JSON.
        guard let integer = line.decimal(range), integer <= JSON.integerLimit else {
            throw value(name, range, line, "a whole number: digits alone, at most \(JSON.integerLimit)")
        }
        return integer
    }

    private func timestamp(_ name: AttributeName, _ line: Span<UInt8>) throws(WireError) -> Timestamp? {
        try integer(name, line).map { Timestamp(milliseconds: $0) }
    }

    private func onOff(_ line: Span<UInt8>) throws(WireError) -> Bool? {
        guard let range = words[.value] else { return nil }
        switch line.text(range) {
        case "on": return true
        case "off": return false
        case _: throw value(.value, range, line, "on|off")
        }
    }

    private func view(_ line: Span<UInt8>) throws(WireError) -> ViewName? {
        guard let range = words[.view] else { return nil }
        guard let view = ViewName(line.text(range)) else {
            throw value(.view, range, line, (["full"] + Surface.allCases.map(\.rawValue)).joined(separator: "|"))
        }
        return view
    }

    private func subscriptionNumber(_ line: Span<UInt8>) throws(WireError) -> Int {
        let number = try required(.sub, try integer(.sub, line))
        guard let number = Int(exactly: number) else { throw .attribute(verb, "sub= is too large") }
        return number
    }

    /// Parses texts joined by commas: none empty, none twice. The length of a value limits their number.
    private func list(_ name: AttributeName, _ line: Span<UInt8>) throws(WireError) -> [String] {
        guard let range = words[name] else { return [] }
        var texts: [String] = []
        var start = range.lowerBound
        while start <= range.upperBound {
            var end = start
            while end < range.upperBound, line[end] != UInt8(ascii: ",") { end += 1 }
            let text = line.text(start..<end)
            guard !text.isEmpty, !texts.contains(text) else {
                throw .attribute(
                    verb,
                    "\(name.rawValue)=\(line.quoted(range)) has an empty or a repeated part; write each once, "
                        + "with single commas")
            }
            texts.append(text)
            start = end + 1
        }
        return texts
    }

    private func account(_ name: AttributeName, _ line: Span<UInt8>) throws(WireError) -> String? {
        let accounts = try list(name, line)
        guard accounts.count <= 1 else {
            throw .attribute(verb, "\(name.rawValue)= takes one account here, so it has no comma in it")
        }
        return accounts.first
    }

    func key(_ line: Span<UInt8>) throws(WireError) -> Key {
        guard let word = words.positional else {
            throw WireError(.badKey, "\(verb.verb.rawValue): a key is missing; write \(verb.usage)")
        }
        guard let key = Key(line.extracting(word)) else {
            throw WireError(
                .badKey,
                "\(verb.verb.rawValue): \(line.quoted(word)) is no key; write kind/id, each 1 to 64 of "
                    + "[A-Za-z0-9._~:@-]")
        }
        return key
    }

    private func optionalPattern(_ line: Span<UInt8>) throws(WireError) -> Pattern {
        words.positional == nil ? .all : try pattern(line)
    }

    private func pattern(_ line: Span<UInt8>) throws(WireError) -> Pattern {
        guard let word = words.positional else {
            throw WireError(.badPattern, "\(verb.verb.rawValue): a pattern is missing; write kind/id, kind/* or *")
        }
        guard let pattern = Pattern(line.text(word)) else {
            throw WireError(
                .badPattern,
                "\(verb.verb.rawValue): \(line.quoted(word)) is no pattern; write kind/id, kind/* or *")
        }
        return pattern
    }

    private func kind(_ line: Span<UInt8>) throws(WireError) -> String {
        guard let word = words.positional else {
            throw WireError(.badKey, "\(verb.verb.rawValue): a kind is missing; write \(verb.usage)")
        }
        let kind = line.text(word)
        guard Key.isSegment(kind.utf8) else {
            throw WireError(
                .badKey, "\(verb.verb.rawValue): \(line.quoted(word)) is no kind; write 1 to 64 of [A-Za-z0-9._~:@-]")
        }
        return kind
    }
}

extension WireError {
    static func unknownVerb(_ given: String) -> WireError {
        WireError(.unknownVerb, "\(given) is no verb of this server; HELP lists them")
    }
}
