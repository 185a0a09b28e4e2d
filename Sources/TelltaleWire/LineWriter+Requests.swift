internal import TelltaleModel

extension LineWriter {
    /// Writes one request line that ``RequestParser`` parses into an equal command.
    ///
    /// - Parameters:
    ///   - id: Returned in the reply.
    ///   - cursor: For `SUB`, replaces the command's cursor: the text from the server, byte for byte.
    /// - Precondition: The command is not ``Command/refused(_:)``, which is no request.
    public mutating func request(_ command: Command, id: String? = nil, resumingFrom cursor: String? = nil) {
        switch command {
        case .hello(let hello): return write(hello, id)
        case .ping: begin(.ping)
        case .bye: begin(.bye)
        case .help(let verb):
            begin(.help)
            if let verb { word(verb) }
        case .event(let event): return write(event, id)
        case .subscribe(let subscribe): write(subscribe, cursor)
        case .unsubscribe(let number):
            begin(.unsubscribe)
            attribute("sub", number)
        case .get(let key, let view, let style):
            begin(.get, key)
            optional("view", view?.description)
            write(style)
        case .list(let pattern, let view, let style):
            begin(.list)
            word(pattern.description)
            optional("view", view?.description)
            write(style)
        case .kinds: begin(.kinds)
        case .kind(let kind):
            begin(.kind)
            word(kind)
        case .gallery(let view, let placement):
            begin(.gallery)
            optional("view", view?.description)
            optional("placement", placement)
        case .history(let key): begin(.history, key)
        case .stats: begin(.stats)
        case .traits(let traits): write(traits)
        case .dismiss(let key): begin(.dismiss, key)
        case .seen(let key, let rev):
            begin(.seen, key)
            attribute("rev", rev)
        case .open(let key, let part):
            begin(.open, key)
            optional("part", part)
        case .tap(let command): write(command)
        case .tile(let tile): return write(tile, id)
        case .serve(let kind):
            begin(.serve)
            word(kind)
        case .done(let operation, let value):
            begin(.done)
            attribute("op", operation)
            optional("value", value.map { Self.onOff($0) })
        case .supply(let operation, let timeline):
            begin(.done)
            attribute("op", operation)
            optional("id", id)
            tail(timeline)
            return end()
        case .fail(let operation, let code, let message): return write(operation, code, message, id)
        case .report(let key, let value, let time):
            begin(.report, key)
            optional("value", value.map { Self.onOff($0) })
            if let time { attribute("at", time) }
        case .reload(let pattern):
            begin(.reload)
            word(pattern.description)
        case .handover(let node):
            begin(.handover)
            optional("node", node)
        case .drain(.start(let span)):
            begin(.drain)
            attribute("over", span.count)
        case .drain(.stop):
            begin(.drain)
            attribute("do", "stop")
        case .node(let name, let token):
            begin(.node)
            attribute("node", name)
            attribute("token", token)
        case .refused: preconditionFailure("a refused command is what a server makes of a faulty line")
        }
        optional("id", id)
        end()
    }

    private mutating func write(_ hello: Hello, _ id: String?) {
        begin(.hello)
        optional("client", hello.client)
        optional("surface", hello.surface?.rawValue)
        optional("account", hello.account)
        optional("device", hello.device)
        optional("unit", hello.unit)
        optional("after", hello.after?.description)
        attribute("caps", joined: hello.capabilities)
        if let heartbeat = hello.heartbeat { attribute("hb", heartbeat) }
        optional("id", id)
        if let token = hello.token {
            if token.utf8.count <= WireLimits.valueLength, token.utf8.allSatisfy(\.isVisibleASCII) {
                attribute("token", token)
            } else {
                var object = JSONObject()
                object["token"] = .string(token)
                tail(object)
            }
        }
        end()
    }

    private mutating func write(_ tile: TileCommand, _ id: String?) {
        begin(.tile, tile.key)
        attribute("do", tile.action.rawValue)
        optional("id", id)
        optional("widget", tile.widget)
        optional("family", tile.family)
        optional("stack", tile.stack)
        optional("placement", tile.placement)
        optional("mounting", tile.mounting)
        if let scale = tile.scale { attribute("scale", scale) }
        optional("theme", tile.theme)
        if let position = tile.position { attribute("pos", position) }
        optional("smart", tile.isSmart.map { $0 ? "yes" : "no" })
        optional("suggest", tile.suggests.map { $0 ? "yes" : "no" })
        if let rev = tile.seenRev { attribute("if", rev) }
        optional("eid", tile.eid)
        if let configuration = tile.configuration { tail(["configuration": .object(configuration)]) }
        end()
    }

    private mutating func write(_ event: EventCommand, _ id: String?) {
        begin(.event, event.key)
        attribute("type", event.type)
        optional("id", id)
        optional("src", event.source)
        optional("eid", event.eid)
        if let time = event.happenedAt { attribute("at", time) }
        if let version = event.version { attribute("ver", version) }
        attribute("for", joined: event.accounts)
        if !event.tail.isEmpty { tail(event.tail) }
        end()
    }

    private mutating func write(_ subscribe: SubscribeCommand, _ cursor: String?) {
        begin(.subscribe)
        word(subscribe.pattern.description)
        optional("view", subscribe.view?.description)
        optional("for", subscribe.account)
        optional("from", cursor ?? subscribe.from?.description)
        if let rate = subscribe.rate { attribute("rate", rate) }
        optional("placement", subscribe.placement)
        write(subscribe.widgets)
        if subscribe.delivery != .rows { attribute("deliver", subscribe.delivery.rawValue) }
    }

    private mutating func write(_ style: WidgetStyle) {
        optional("placement", style.placement)
        optional("family", style.family)
        optional("mode", style.mode)
        if let ahead = style.ahead { attribute("ahead", ahead) }
    }

    /// The caller chooses the names, so they are not `StaticString`s.
    private mutating func write(_ traits: [Attribute]) {
        begin(.trait)
        for trait in traits { word("\(trait.name)=\(trait.value)") }
    }

    private mutating func write(_ command: TapCommand) {
        switch command.tap {
        case .set(let value):
            begin(.set, command.key)
            attribute("value", Self.onOff(value))
            if let rev = command.seenRev { attribute("if", rev) }
        case .press: begin(.press, command.key)
        }
        optional("eid", command.eid)
    }

    private mutating func write(_ operation: String, _ code: String?, _ message: String?, _ id: String?) {
        begin(.fail)
        attribute("op", operation)
        optional("code", code)
        optional("id", id)
        if let message {
            var object = JSONObject()
            object["message"] = .string(message)
            tail(object)
        }
        end()
    }

    private mutating func begin(_ verb: Verb, _ key: Key) {
        begin(verb)
        word(key.text)
    }

    private mutating func optional(_ name: StaticString, _ value: String?) {
        if let value { attribute(name, value) }
    }

    private static func onOff(_ value: Bool) -> String { value ? "on" : "off" }
}
