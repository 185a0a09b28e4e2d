internal import Kinds
internal import TelltaleModel

extension StageScreen {
    init(_ reader: inout ScenarioReader) throws(Scenario.Fault) {
        name = try reader.needText("name")
        view = try reader.text("surface") ?? "full"
        guard view == "full" || Surface(rawValue: view) != nil else {
            throw reader.fault(
                "surface", "is none of \(Surface.allCases.map(\.rawValue).joined(separator: ", ")), full")
        }
        account = try reader.text("account")
        traits = try Step.traits(&reader) ?? []
        try reader.finish()
    }
}

extension Sight {
    /// `screen`, `key`, and `shows` or `hidden`.
    init(_ reader: inout ScenarioReader, screens: [StageScreen]) throws(Scenario.Fault) {
        let name = try reader.needText("screen")
        guard screens.contains(where: { $0.name == name }) else {
            throw reader.fault("screen", "is \(name), and screens has no such name")
        }
        screen = name
        guard let key = try reader.key("key") else { throw reader.fault("key", "is missing") }
        self.key = key
        shows = try reader.tail("shows")
        let isHidden = try reader.flag("hidden") ?? false
        guard (shows != nil) != isHidden else {
            throw reader.fault("shows", "takes what the row holds; or write \"hidden\": true")
        }
    }
}

extension Step {
    static func traits(_ reader: inout ScenarioReader) throws(Scenario.Fault) -> [String]? {
        guard let traits = try reader.tail("traits") else { return nil }
        var words: [String] = []
        for member in traits {
            guard let value = member.value.string, !value.isEmpty, !value.contains(" ") else {
                throw reader.fault("traits.\(member.name)", "takes a text, as \"yes\" or \"hidden\"")
            }
            words.append("\(member.name)=\(value)")
        }
        return words
    }

    private static let deeds = ["post", "set", "press", "open", "dismiss", "lock", "unlock", "traits", "expect", "say"]

    init(_ reader: inout ScenarioReader, screens: [StageScreen], after previous: Int64) throws(Scenario.Fault) {
        path = reader.path
        at = try reader.span("at") ?? previous
        guard at >= previous else { throw reader.fault("at", "is before the step before it") }
        text = try reader.text("say")
        let named = Self.deeds.filter { $0 != "say" && reader.has($0) }
        guard named.count == 1 || (named.isEmpty && text != nil) else {
            throw Scenario.Fault(
                at: reader.path, "does one thing: \(Self.deeds.joined(separator: ", "))")
        }
        func screen(_ name: String, _ reader: inout ScenarioReader) throws(Scenario.Fault) -> String {
            let screen = try reader.needText(name)
            guard screens.contains(where: { $0.name == screen }) else {
                throw reader.fault(name, "is \(screen), and screens has no such name")
            }
            return screen
        }
        func key(_ name: String, _ reader: inout ScenarioReader) throws(Scenario.Fault) -> String {
            guard let key = try reader.key(name) else { throw reader.fault(name, "is missing: it takes a key") }
            return key
        }
        switch named.first {
        case "post":
            let event = try reader.needText("post")
            let postKey = try key("key", &reader)
            let accounts = try reader.texts("for") ?? []
            var tail = JSONObject()
            for name in ["attributes", "content-state", "alert"] {
                if let part = try reader.tail(name) { tail[name] = try Self.checked(.object(part), &reader, name) }
            }
            for name in ["stale-date", "dismissal-date", "start-date", "relevance-score"] {
                if let value = reader.take(name) { tail[name] = try Self.checked(value, &reader, name) }
            }
            deed = .post(key: postKey, event: event, accounts: accounts, tail: tail)
        case "set":
            let setKey = try key("set", &reader)
            guard let value = try reader.text("to"), value == "on" || value == "off" else {
                throw reader.fault("to", "takes \"on\" or \"off\"")
            }
            deed = .set(key: setKey, isOn: value == "on", screen: try screen("on", &reader))
        case "press": deed = .press(key: try key("press", &reader), screen: try screen("on", &reader))
        case "open": deed = .open(key: try key("open", &reader), screen: try screen("on", &reader))
        case "dismiss": deed = .dismiss(key: try key("dismiss", &reader), screen: try screen("on", &reader))
        case "lock": deed = .traits(["locked=yes"], screen: try screen("lock", &reader))
        case "unlock": deed = .traits(["locked=no"], screen: try screen("unlock", &reader))
        case "traits":
            let traits = try Self.traits(&reader) ?? []
            deed = .traits(traits, screen: try screen("on", &reader))
        case "expect":
            guard var sight = try reader.inner("expect") else { throw reader.fault("expect", "takes an object") }
            let seen = try Sight(&sight, screens: screens)
            let within = try sight.span("within") ?? 2_000
            try sight.finish()
            deed = .expect(seen, within: within)
        case _: deed = .say
        }
        try reader.finish()
    }

    /// A text that begins with `@+` or `@-` is a time: that much after or before the moment of the step.
    private static func checked(
        _ json: JSON, _ reader: inout ScenarioReader, _ path: String
    ) throws(Scenario.Fault) -> JSON {
        switch json {
        case .string(let text) where text.hasPrefix("@"):
            guard offset(text) != nil else {
                throw reader.fault(path, "has \(text), which is no offset such as \"@+25m\" or \"@-10s\"")
            }
            return json
        case .object(let object):
            for member in object { _ = try checked(member.value, &reader, "\(path).\(member.name)") }
            return json
        case _: return json
        }
    }

    static func offset(_ text: String) -> Int64? {
        guard text.hasPrefix("@+") || text.hasPrefix("@-"), let span = Milliseconds(duration: text.dropFirst(2)) else {
            return nil
        }
        return text.hasPrefix("@-") ? -span.count : span.count
    }

    /// `json` with its offsets as Unix seconds, the moment being `now` on the daemon's clock.
    static func dated(_ json: JSON, now: Int64) -> JSON {
        switch json {
        case .string(let text): return offset(text).map { .integer((now + $0) / 1000) } ?? json
        case .object(var object):
            for member in object { object[member.name] = dated(member.value, now: now) }
            return .object(object)
        case .null, .bool, .integer, .number, .array: return json
        }
    }
}
