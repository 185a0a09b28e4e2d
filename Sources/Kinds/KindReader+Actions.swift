internal import TelltaleModel
internal import TelltaleStatechart

/// Reads `entry`, `exit` and `actions`.
extension KindReader {
    mutating func actions(_ object: JSONObject, _ name: String, at path: String) -> [ActionDescription] {
        guard let elements = array(object, name, at: path, of: "actions") else { return [] }
        return elements.enumerated().compactMap { index, element in
            action(element, at: "\(Self.join(path, name))[\(index)]")
        }
    }

    private mutating func action(_ json: JSON, at path: String) -> ActionDescription? {
        let verbs = ["assign", "raise", "send", "cancel"]
        guard let members = json.object else {
            wrongType(json, at: path, expected: "an action")
            return nil
        }
        let given = verbs.filter { members[$0] != nil }
        guard let verb = given.first, given.count == 1 else {
            error(
                path, given.isEmpty ? "no action is named" : "\(given.joined(separator: " and ")) in one action",
                advice: given.isEmpty
                    ? "write one of {\"assign\": {…}}, {\"raise\": …}, {\"send\": …}, {\"cancel\": …}"
                    : "make an action of its own of each, in this order")
            return nil
        }
        guard let object = object(json, at: path, knows: verb == "send" ? ["send", "delay", "id"] : [verb]) else {
            return nil
        }
        switch verb {
        case "assign":
            return assignments(object, at: path).map { ActionDescription(.assign($0), location: path) }
        case "cancel":
            return requiredString(object, "cancel", at: path, example: "reminder")
                .map { ActionDescription(.cancel(id: $0), location: path) }
        case "raise":
            guard let name = requiredString(object, "raise", at: path, example: "retry") else { return nil }
            return eventName(name, at: Self.join(path, "raise"))
                .map { ActionDescription(.raise($0), location: path) }
        default:
            guard let name = requiredString(object, "send", at: path, example: "remind"),
                let event = eventName(name, at: Self.join(path, "send"))
            else { return nil }
            let delay = duration(object, "delay", at: path, canBeZero: true) ?? .zero
            let id = string(object, "id", at: path)
            return ActionDescription(.send(event: event, delay: delay, id: id), location: path)
        }
    }

    private mutating func assignments(_ action: JSONObject, at path: String) -> [ActionDescription.Assignment]? {
        let path = Self.join(path, "assign")
        guard let members = action["assign"]?.object else {
            wrongType(action["assign"] ?? .null, at: path, expected: "an object of members to set")
            return nil
        }
        return members.compactMap { member in
            let place = Self.join(path, member.name)
            if let text = member.value.string, let inner = Self.inside(text) {
                if let source = ValuePath(inner) { return .init(name: member.name, source: .path(source)) }
                error(
                    place, "\(quoted(inner)) is not a path that an assignment can read",
                    advice: "start it with content., attributes. or event., as in {{event.content.eta}}")
                return nil
            }
            if Self.holdsBraces(member.value) {
                error(
                    place, "an assignment copies a literal, or the whole value at one path",
                    advice: "write \"{{event.content.eta}}\" and nothing around it; build texts in the views")
                return nil
            }
            return .init(name: member.name, source: .literal(member.value))
        }
    }

    /// The text between `{{` and `}}` if they enclose the whole text.
    private static func inside(_ text: String) -> String? {
        guard text.hasPrefix("{{"), text.hasSuffix("}}"), text.utf8.count >= 4 else { return nil }
        var inner = text.dropFirst(2).dropLast(2)
        guard !inner.utf8.contains(UInt8(ascii: "{")), !inner.utf8.contains(UInt8(ascii: "}")) else { return nil }
        while inner.utf8.first == UInt8(ascii: " ") { inner.removeFirst() }
        while inner.utf8.last == UInt8(ascii: " ") { inner.removeLast() }
        return String(inner)
    }

    private static func holdsBraces(_ json: JSON) -> Bool {
        switch json {
        case .string(let text): text.contains("{{")
        case .array(let elements): elements.contains { holdsBraces($0) }
        case .object(let object): object.contains { holdsBraces($0.value) }
        case .null, .bool, .integer, .number: false
        }
    }
}
