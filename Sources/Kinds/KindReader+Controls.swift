internal import TelltaleModel
internal import TelltaleStatechart

extension KindReader {
    static let controlNames = [
        "symbol", "actionHint", "tint", "timeout", "requiresAuthentication", "privacySensitive", "instances",
    ]
    static let toggleNames = controlNames + ["value", "settle", "restore", "optimisticEverywhere"]
    static let buttonNames = controlNames + ["cooldown", "repeatable", "raises"]

    mutating func toggle(_ object: JSONObject) -> ToggleKind {
        var toggle = ToggleKind()
        if let pair = onOff(object, "symbol", mayBeText: true) { (toggle.symbolOn, toggle.symbolOff) = pair }
        if let pair = onOff(object, "value", mayBeText: false) { (toggle.valueOn, toggle.valueOff) = pair }
        if let pair = onOff(object, "actionHint", mayBeText: false) { (toggle.hintOn, toggle.hintOff) = pair }
        toggle.tint = text(object, "tint", at: "")
        toggle.timeout = duration(object, "timeout", at: "") ?? toggle.timeout
        toggle.settle = duration(object, "settle", at: "", canBeZero: true) ?? toggle.settle
        toggle.restore = choice(object, "restore", at: "", ToggleKind.Restore.self) ?? toggle.restore
        toggle.requiresAuthentication = bool(object, "requiresAuthentication", at: "") ?? false
        toggle.privacySensitive = bool(object, "privacySensitive", at: "") ?? false
        toggle.optimisticEverywhere = bool(object, "optimisticEverywhere", at: "") ?? false
        toggle.instances = instances(object)
        return toggle
    }

    mutating func button(_ object: JSONObject) -> ButtonKind {
        var button = ButtonKind()
        button.symbol = text(object, "symbol", at: "") ?? ""
        button.actionHint = text(object, "actionHint", at: "")
        button.tint = text(object, "tint", at: "")
        button.timeout = duration(object, "timeout", at: "") ?? button.timeout
        button.cooldown = duration(object, "cooldown", at: "", canBeZero: true) ?? button.cooldown
        button.isRepeatable = bool(object, "repeatable", at: "") ?? false
        button.requiresAuthentication = bool(object, "requiresAuthentication", at: "") ?? false
        button.privacySensitive = bool(object, "privacySensitive", at: "") ?? false
        button.instances = instances(object)
        button.raises = raises(object)
        return button
    }

    private mutating func onOff(_ object: JSONObject, _ name: String, mayBeText: Bool) -> (String, String)? {
        guard let json = object[name] else { return nil }
        if mayBeText, let text = json.string {
            checkLength(of: text, limit: Self.textLimit, at: name)
            return (text, text)
        }
        guard let pair = self.object(json, at: name, knows: ["on", "off"]) else { return nil }
        let on = requiredString(pair, "on", at: name, example: "…")
        let off = requiredString(pair, "off", at: name, example: "…")
        guard let on, let off else { return nil }
        checkLength(of: on, limit: Self.textLimit, at: Self.join(name, "on"))
        checkLength(of: off, limit: Self.textLimit, at: Self.join(name, "off"))
        return (on, off)
    }

    private mutating func instances(_ object: JSONObject) -> [String] {
        (strings(object, "instances", at: "", of: "ids") ?? []).enumerated().compactMap { index, id in
            if Key.isSegment(id.utf8) { return id }
            error(
                "instances[\(index)]", "\(quoted(id)) is not an id", advice: "use 1 to 64 of A-Z a-z 0-9 . _ ~ : @ -")
            return nil
        }
    }

    /// The size limit of an activity's attributes and content, in bytes of compact JSON (Protocols/Surfaces/rules.md
    /// A2).
    private static let raisedByteLimit = 4_096

    private mutating func raises(_ parent: JSONObject) -> ButtonKind.Raises? {
        guard let json = parent["raises"] else { return nil }
        let path = "raises"
        guard let object = object(json, at: path, knows: ["kind", "event", "for", "id", "content", "attributes"]) else {
            return nil
        }
        let kind = requiredString(object, "kind", at: path, example: "coffee-order")
        let event = requiredString(object, "event", at: path, example: "start")
        if let kind, !Key.isSegment(kind.utf8) {
            error(
                "raises.kind", "\(quoted(kind)) is not a kind's name", advice: "use 1 to 64 of A-Z a-z 0-9 . _ ~ : @ -")
        }
        var values: [String: JSON] = [:]
        for name in ["content", "attributes"] {
            guard let value = object[name] else { continue }
            if value.object != nil {
                values[name] = value
            } else {
                wrongType(value, at: Self.join(path, name), expected: "an object")
            }
        }
        let byteCount = values.values.reduce(0) { $0 + $1.textByteCount }
        if byteCount > Self.raisedByteLimit {
            warn(
                path,
                "content and attributes are \(byteCount) bytes together: no activity takes more than "
                    + "\(Self.raisedByteLimit)",
                advice: "shorten them")
        }
        guard let kind, let event, eventName(event, at: "raises.event") != nil else { return nil }
        let id = template(object, "id", at: path)
        if let id { lintRaisedID(id, kind: parent["kind"]?.string) }
        var raises = ButtonKind.Raises(
            kind: kind, event: event, id: id?.text, content: values["content"] ?? [:],
            attributes: values["attributes"] ?? [:])
        if let audience = string(object, "for", at: path) {
            raises.isForEveryone = audience == "everyone"
            if !raises.isForEveryone {
                error(
                    "raises.for", "\(quoted(audience)) is nobody whom a press is for",
                    advice: "write \"everyone\", or leave it out for the person who pressed")
            }
        }
        return raises
    }

    /// Checks the rendered id for a button with an id of the shortest length.
    private mutating func lintRaisedID(_ template: Template, kind: String?) {
        guard let key = Key(kind: kind ?? "x", id: "x") ?? Key("x/x") else { return }
        let context = TemplateContext(
            key: key, attributes: .null, content: .null, stateKey: "", stateTitle: "", progress: nil)
        let id = template.rendered(in: context)
        guard !Key.isSegment(id.utf8) else { return }
        warn(
            "raises.id", "it gives \(quoted(id)), which is no id: no press will raise anything",
            advice: "use 1 to 64 of A-Z a-z 0-9 . _ ~ : @ -, and {{id}} and {{kind}} of the button itself")
    }
}
