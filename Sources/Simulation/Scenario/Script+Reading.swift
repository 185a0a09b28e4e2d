internal import Kinds
internal import TelltaleModel

extension StageScreen {
    /// - Returns: `nil` after noting that it has no name. A screen with another fault keeps its name, so that the steps on
    ///   it are no faults of their own.
    init?(_ reader: inout ScenarioReader) {
        let given = reader.needText("name")
        view = reader.text("surface") ?? "full"
        if view != "full", Surface(rawValue: view) == nil {
            reader.fault("surface", "is none of \(Surface.allCases.map(\.rawValue).joined(separator: ", ")), full")
        }
        account = reader.text("account")
        traits = ScriptStep.traits(&reader) ?? []
        board = reader.text("board")
        if let board, Key(kind: board, id: "t") == nil || !board.hasPrefix("@") {
            reader.fault("board", "takes the name of a board, as \"@alice-car\"")
        }
        reader.finish()
        guard let given else { return nil }
        name = given
    }
}

extension ExpectedView {
    /// `screen`, `key`, and `shows` or `hidden`.
    ///
    /// - Returns: `nil` after noting its faults.
    init?(_ reader: inout ScenarioReader, screens: [StageScreen]) {
        let place = both(reader.screen("screen", of: screens), reader.needKey("key"))
        shows = reader.tail("shows")
        let isHidden = reader.flag("hidden") ?? false
        if !isHidden, !reader.has("shows") {
            reader.fault("shows", "takes what the row holds; or write \"hidden\": true")
        } else if isHidden, reader.has("shows") {
            reader.fault("hidden", "goes without shows: a row that is hidden shows nothing")
        }
        guard let place else { return nil }
        (screen, key) = place
    }
}

extension ScenarioReader {
    /// The name of a screen of the script.
    ///
    /// - Returns: `nil` after noting that there is none of that name.
    fileprivate mutating func screen(_ name: String, of screens: [StageScreen]) -> String? {
        guard let screen = needText(name) else { return nil }
        guard screens.contains(where: { $0.name == screen }) else {
            fault(name, "is \(screen), and screens has no such name")
            return nil
        }
        return screen
    }
}

extension ScriptStep {
    static func traits(_ reader: inout ScenarioReader) -> [String]? {
        guard let traits = reader.tail("traits") else { return nil }
        return traits.compactMap { member in
            guard let value = member.value.string, !value.isEmpty, !value.contains(" ") else {
                reader.fault("traits.\(member.name)", "takes a text, as \"yes\" or \"hidden\"")
                return nil
            }
            return "\(member.name)=\(value)"
        }
    }

    private static let actions = [
        "post", "set", "press", "open", "dismiss", "tile", "lock", "unlock", "traits", "disconnect", "connect",
        "expect",
        "say",
    ]

    /// - Returns: `nil` after noting its faults.
    init?(_ reader: inout ScenarioReader, screens: [StageScreen], after previous: Int64) {
        path = reader.path
        at = reader.span("at") ?? previous
        if at < previous { reader.fault("at", "is before the step before it") }
        text = reader.text("say")
        let named = Self.actions.filter { $0 != "say" && reader.has($0) }
        guard named.count == 1 || (named.isEmpty && text != nil) else {
            reader.fault("does one thing: \(Self.actions.joined(separator: ", "))")
            return nil
        }
        let read = Self.action(named.first ?? "say", &reader, screens: screens)
        reader.finish()
        guard let read else { return nil }
        action = read
    }

    private static func action(_ name: String, _ reader: inout ScenarioReader, screens: [StageScreen]) -> Action? {
        switch name {
        case "post": return post(&reader)
        case "set":
            let value = reader.text("to")
            if value != "on", value != "off" { reader.fault("to", "takes \"on\" or \"off\"") }
            guard let (key, screen) = both(reader.needKey("set"), reader.screen("on", of: screens)) else { return nil }
            return .set(key: key, isOn: value == "on", screen: screen)
        case "press", "open", "dismiss":
            guard let (key, screen) = both(reader.needKey(name), reader.screen("on", of: screens)) else { return nil }
            return name == "press"
                ? .press(key: key, screen: screen)
                : name == "open" ? .open(key: key, screen: screen) : .dismiss(key: key, screen: screen)
        case "tile":
            guard let (tile, screen) = both(TileStep(&reader), reader.screen("on", of: screens)) else { return nil }
            return .tile(tile, screen: screen)
        case "disconnect", "connect":
            return reader.screen(name, of: screens).map { .connection(isLost: name == "disconnect", screen: $0) }
        case "lock", "unlock":
            return reader.screen(name, of: screens).map {
                .traits(["locked=\(name == "lock" ? "yes" : "no")"], screen: $0)
            }
        case "traits":
            guard let (traits, screen) = both(Self.traits(&reader), reader.screen("on", of: screens)) else {
                return nil
            }
            return .traits(traits, screen: screen)
        case "expect":
            guard var inner = reader.inner("expect") else { return nil }
            let (expected, within) = (ExpectedView(&inner, screens: screens), inner.span("within") ?? 2_000)
            inner.finish()
            return expected.map { .expect($0, within: within) }
        case _: return .say
        }
    }

    private static func post(_ reader: inout ScenarioReader) -> Action? {
        let named = both(reader.needKey("key"), reader.needText("post"))
        let accounts = reader.texts("for") ?? []
        var tail = JSONObject()
        for name in ["attributes", "content-state", "alert"] {
            guard let part = reader.tail(name) else { continue }
            check(.object(part), reader, name)
            tail[name] = .object(part)
        }
        for name in ["stale-date", "dismissal-date", "start-date", "relevance-score"] {
            guard let value = reader.readValue(name) else { continue }
            check(value, reader, name)
            tail[name] = value
        }
        if let entries = reader.readValue("entries") {
            check(entries, reader, "entries")
            tail["entries"] = entries
        }
        guard let (key, event) = named else { return nil }
        return .post(key: key, event: event, accounts: accounts, tail: tail)
    }

    /// A text that begins with `@+` or `@-` is a time: that much after or before the moment of the step.
    private static func check(_ json: JSON, _ reader: ScenarioReader, _ path: String) {
        switch json {
        case .string(let text) where text.hasPrefix("@"):
            if offset(text) == nil {
                reader.fault(path, "has \(text), which is no offset such as \"@+25m\" or \"@-10s\"")
            }
        case .object(let object): for member in object { check(member.value, reader, "\(path).\(member.name)") }
        case .array(let array):
            for (index, element) in array.enumerated() { check(element, reader, "\(path)[\(index)]") }
        case _: break
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
        json.mappingTexts { text in offset(text).map { .integer((now + $0) / 1000) } ?? .string(text) }
    }
}

extension TileStep {
    private static let actions = ["add", "configure", "stack", "move", "pin", "unpin", "show", "keep", "remove"]

    /// - Returns: `nil` after noting its faults.
    init?(_ reader: inout ScenarioReader) {
        let (key, action) = (reader.needKey("tile"), reader.needText("do"))
        if let key, !key.hasPrefix("@") { reader.fault("tile", "takes the key of a tile, as \"@alice-car/t1\"") }
        if let action, !Self.actions.contains(action) {
            reader.fault("do", "is none of \(Self.actions.joined(separator: ", "))")
        }
        let widget = reader.text("widget")
        var words: [String] = []
        for name in ["family", "stack", "placement"] {
            if let word = reader.text(name) { words.append("\(name)=\(word)") }
        }
        if let position = reader.count("pos", 1...1_000) { words.append("pos=\(position)") }
        if let isSmart = reader.flag("smart") { words.append("smart=\(isSmart ? "yes" : "no")") }
        let configuration = reader.tail("configuration")
        guard let (key, action) = both(key, action) else { return nil }
        self.init(key: key, action: action, widget: widget, words: words, configuration: configuration)
    }
}
