public import ApplePush
internal import TelltaleModel

/// The file for Apple's push requests: the accepted keys, and the kinds for the attributes types.
public struct PushFile: Hashable, Sendable {
    public struct ProviderKey: Hashable, Sendable {
        public var team: String
        /// 10 characters.
        public var id: String
        /// A PEM file.
        public var key: SecretReference
        /// The bundle ids that it is for; `nil` = all.
        public var apps: Set<String>?
    }

    public var policy = ProviderToken.Policy.shape
    public var keys: [ProviderKey] = []
    /// By bundle id and attributes type. The events that start an activity are defined by the kind and not known here.
    public var apps: [String: [String: PushDirectory.Activity]] = [:]

    public init() {}

    /// The largest file that is read, in bytes.
    public static let byteLimit = 1_048_576

    /// - Returns: The file and all its faults; do not use the file if there are any.
    public static func read(_ bytes: [UInt8]) -> (file: PushFile, faults: [String]) {
        var reader = Reader()
        guard bytes.count <= byteLimit else { return (reader.file, ["is larger than \(byteLimit) bytes"]) }
        do {
            guard case .object(let object) = try SharedJSONParser.parse(bytes.span) else {
                return (reader.file, ["holds no JSON object"])
            }
            reader.read(object)
        } catch {
            return (reader.file, ["\(error)"])
        }
        return (reader.file, reader.faults)
    }

    private struct Reader {
        var file = PushFile()
        var faults: [String] = []

        mutating func read(_ object: JSONObject) {
            check(object, "", ["auth", "keys", "apps", "$schema"])
            if let value = object["auth"] {
                if let policy = value.string.flatMap({ ProviderToken.Policy(rawValue: $0) }) {
                    file.policy = policy
                } else {
                    faults.append("auth: takes verify, shape or off")
                }
            }
            if let value = object["keys"] {
                guard let keys = value.array else { return faults.append("keys: takes an array") }
                for (index, key) in keys.enumerated() { read(key: key, "keys[\(index)]") }
            }
            if let value = object["apps"] {
                guard let apps = value.object else { return faults.append("apps: takes an object") }
                for app in apps { read(app: app.value, app.name) }
            }
            if file.policy == .verify, file.keys.isEmpty { faults.append("keys: auth verify needs one") }
        }

        private mutating func check(_ object: JSONObject, _ path: String, _ known: Set<String>) {
            for member in object where !known.contains(member.name) {
                faults.append(
                    "\(path)\(member.name): no such member; those that exist are \(known.sorted().joined(separator: ", "))"
                )
            }
        }

        private mutating func read(key: JSON, _ path: String) {
            guard let object = key.object else { return faults.append("\(path): takes an object") }
            check(object, path + ".", ["team", "kid", "key", "apps"])
            guard let team = object["team"]?.string, team.utf8.count == 10 else {
                return faults.append("\(path).team: takes the team's 10 characters")
            }
            guard let id = object["kid"]?.string, id.utf8.count == 10 else {
                return faults.append("\(path).kid: takes the key's 10 characters")
            }
            guard let reference = object["key"]?.string.flatMap({ SecretReference($0) }) else {
                return faults.append("\(path).key: takes file:PATH, credential:NAME or env:NAME")
            }
            guard !file.keys.contains(where: { $0.id == id }) else {
                return faults.append("\(path).kid: another key has it too")
            }
            var key = ProviderKey(team: team, id: id, key: reference)
            if let value = object["apps"] {
                guard let names = value.array?.compactMap(\.string), names.count == value.array?.count else {
                    return faults.append("\(path).apps: takes an array of bundle ids")
                }
                key.apps = Set(names)
            }
            file.keys.append(key)
        }

        private mutating func read(app: JSON, _ bundle: String) {
            guard let object = app.object else { return faults.append("apps.\(bundle): takes an object") }
            for member in object {
                let path = "apps.\(bundle).\(member.name)"
                guard let activity = member.value.object else {
                    faults.append("\(path): takes an object")
                    continue
                }
                check(activity, path + ".", ["kind", "id", "event"])
                guard let kind = activity["kind"]?.string, Key.isSegment(kind.utf8) else {
                    faults.append("\(path).kind: takes a kind's name")
                    continue
                }
                file.apps[bundle, default: [:]][member.name] = PushDirectory.Activity(
                    kind: kind, idPath: names(of: activity["id"], "\(path).id"),
                    eventPath: names(of: activity["event"], "\(path).event"))
            }
        }

        /// `attributes.orderNumber`, as its names.
        private mutating func names(of value: JSON?, _ place: String) -> [String]? {
            guard let value else { return nil }
            let parts = (value.string ?? "").split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            guard parts.count > 1, !parts.contains(""), ["attributes", "content-state"].contains(parts[0]) else {
                faults.append("\(place): takes attributes.NAME or content-state.NAME")
                return nil
            }
            return parts
        }
    }
}
