internal import TelltaleModel

/// Reads hook files, and reports all their faults at once.
public struct HookReader {
    /// `FILE: PLACE: what is wrong (what to do)`, without the file.
    public private(set) var faults: [String] = []

    public init() {}

    /// - Returns: `nil` where there is a fault.
    public mutating func read(_ bytes: [UInt8]) -> Hook? {
        let json: JSON
        do {
            json = try SharedJSONParser.parse(bytes.span)
        } catch {
            faults.append("\(error)")
            return nil
        }
        guard case .object(let file) = json else {
            faults.append("a hook file holds one JSON object")
            return nil
        }
        check(file, "", ["$schema", "hook", "verify", "rules"])
        let name = text(file, "hook", "") ?? ""
        if !name.isEmpty, !Self.isName(name) {
            fault("hook", "\"\(name.prefix(70))\" is no name: 1 to 64 bytes of a-z 0-9 - and letters first")
        }
        let verification = verification(file["verify"])
        var rules: [Hook.Rule] = []
        if let list = file["rules"]?.array {
            if list.isEmpty { fault("rules", "no rule: nothing could become of a delivery") }
            for (index, rule) in list.enumerated() {
                if let rule = self.rule(rule, "rules.\(index)") { rules.append(rule) }
            }
        } else {
            fault("rules", "is to be an array of rules")
        }
        guard faults.isEmpty, let verification else { return nil }
        return Hook(name: name, verification: verification, rules: rules)
    }

    static func isName(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D }
            && name.utf8.first.map { (0x61...0x7A).contains($0) } == true
    }

    // MARK: verify

    private mutating func verification(_ json: JSON?) -> Verification? {
        guard let object = json?.object else {
            fault("verify", "is to be an object with a scheme and secrets")
            return nil
        }
        guard let name = text(object, "scheme", "verify.") else { return nil }
        guard let scheme = WebhookScheme(rawValue: name) else {
            let names = WebhookScheme.allCases.map(\.rawValue).joined(separator: ", ")
            fault("verify.scheme", "there is no scheme \"\(name.prefix(40))\" (there are \(names))")
            return nil
        }
        var verification = Verification(scheme: scheme)
        var members: Set<String> = ["scheme", "secrets"]
        switch scheme {
        case .square:
            members.insert("url")
            verification.url = text(object, "url", "verify.") ?? ""
        case .hmac:
            members.formUnion(["header", "encoding", "prefix", "topic", "eid"])
            verification.header = (text(object, "header", "verify.") ?? "").lowercased()
            verification.prefix = object["prefix"]?.string ?? ""
            if let text = object["encoding"]?.string {
                if let encoding = Verification.Encoding(rawValue: text) {
                    verification.encoding = encoding
                } else {
                    fault("verify.encoding", "is to be hex or base64")
                }
            }
            verification.topic = template(object["topic"], "verify.topic")
            verification.eid = template(object["eid"], "verify.eid")
        case .standard, .shopify, .stripe, .github, .woocommerce: break
        }
        check(object, "verify.", members)
        let secrets = object["secrets"]?.array ?? []
        if secrets.isEmpty { fault("verify.secrets", "is to be an array of credential:NAME, file:PATH or env:NAME") }
        for (index, secret) in secrets.enumerated() {
            if let reference = secret.string.flatMap({ SecretReference($0) }) {
                verification.secrets.append(reference)
            } else {
                // The value may be the secret itself, so no message repeats it.
                fault(
                    "verify.secrets.\(index)",
                    "is to be credential:NAME, file:PATH or env:NAME, never the secret itself")
            }
        }
        return verification
    }

    // MARK: rules

    private mutating func rule(_ json: JSON, _ place: String) -> Hook.Rule? {
        guard let object = json.object else {
            fault(place, "is to be an object")
            return nil
        }
        check(object, place + ".", ["on", "guard", "key", "type", "at", "ver", "for", "data"])
        let topics = (object["on"]?.array ?? []).compactMap(\.string)
        if topics.isEmpty || topics.count != object["on"]?.array?.count {
            fault("\(place).on", "is to be an array of topics, such as [\"orders/create\"], or [\"*\"]")
        }
        var condition: DeliveryGuard?
        if let text = object["guard"] {
            do throws(HookFault) {
                guard let text = text.string else { throw HookFault("is to be a text") }
                condition = try DeliveryGuard(text)
            } catch {
                fault("\(place).guard", error.reason)
            }
        }
        let key = required(object, "key", place)
        let type = required(object, "type", place)
        let at = template(object["at"], "\(place).at")
        let version = template(object["ver"], "\(place).ver")
        let accounts = template(object["for"], "\(place).for")
        var data: DataTemplate?
        if let json = object["data"] {
            if json.object == nil { fault("\(place).data", "is to be an object: the tail of the event") }
            data = self.data(json, "\(place).data")
        }
        guard let key, let type else { return nil }
        return Hook.Rule(
            topics: topics, condition: condition, key: key, type: type, at: at, version: version, accounts: accounts,
            data: data)
    }

    private mutating func data(_ json: JSON, _ place: String) -> DataTemplate? {
        switch json {
        case .string(let text) where text.contains("{{"): return template(json, place).map { .template($0) }
        case .null, .bool, .integer, .number, .string: return .literal(json)
        case .array(let elements):
            return .array(elements.enumerated().compactMap { data($1, "\(place).\($0)") })
        case .object(let object):
            var members: [(name: String, value: DataTemplate)] = []
            for member in object {
                if let value = data(member.value, "\(place).\(member.name)") { members.append((member.name, value)) }
            }
            return .object(members)
        }
    }

    // MARK: Parts

    private mutating func required(_ object: JSONObject, _ name: String, _ place: String) -> DeliveryTemplate? {
        guard object[name] != nil else {
            fault("\(place).\(name)", "is missing")
            return nil
        }
        return template(object[name], "\(place).\(name)")
    }

    private mutating func template(_ json: JSON?, _ place: String) -> DeliveryTemplate? {
        guard let json else { return nil }
        do throws(HookFault) {
            guard let text = json.string else { throw HookFault("is to be a text, with {{…}} or without") }
            return try DeliveryTemplate(text)
        } catch {
            fault(place, error.reason)
            return nil
        }
    }

    private mutating func text(_ object: JSONObject, _ name: String, _ prefix: String) -> String? {
        guard let text = object[name]?.string, !text.isEmpty else {
            fault(prefix + name, "is to be a text")
            return nil
        }
        return text
    }

    private mutating func check(_ object: JSONObject, _ prefix: String, _ known: Set<String>) {
        for member in object where !known.contains(member.name) {
            fault(prefix + member.name, "there is no such member (there are \(known.sorted().joined(separator: ", ")))")
        }
    }

    private mutating func fault(_ place: String, _ reason: String) { faults.append("\(place): \(reason)") }
}
