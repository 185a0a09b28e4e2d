public import Model

/// The JSON tail of an `EVT`, by its known members (protocol.md §3); others are no fault, and mean nothing.
public struct EventTail: Hashable, Sendable {
    public struct Alert: Hashable, Sendable {
        public var title: String?
        public var body: String?
        public var sound: String?

        public init(title: String? = nil, body: String? = nil, sound: String? = nil) {
            self.title = title
            self.body = body
            self.sound = sound
        }
    }

    /// An object.
    public var attributes: JSON?
    /// An object.
    public var content: JSON?
    public var alert: Alert?
    public var staleDate: Timestamp?
    public var dismissalDate: Timestamp?
    public var startDate: Timestamp?
    /// Finite.
    public var relevanceScore: Double?

    public init() {}

    /// - Throws: `bad_json`, with the path, where a known member has another type.
    public init(_ tail: JSONObject) throws(WireError) {
        for member in tail {
            switch member.name {
            case "attributes": attributes = try Self.object(member)
            case "content-state": content = try Self.object(member)
            case "alert": alert = try Alert(member.value)
            case "stale-date": staleDate = try Self.date(member)
            case "dismissal-date": dismissalDate = try Self.date(member)
            case "start-date": startDate = try Self.date(member)
            case "relevance-score":
                guard let score = member.value.double else { throw .type(member.name, "a number") }
                relevanceScore = score
            case _: break
            }
        }
    }

    private static func object(_ member: JSONObject.Member) throws(WireError) -> JSON {
        guard member.value.object != nil else { throw .type(member.name, "an object") }
        return member.value
    }

    private static func date(_ member: JSONObject.Member) throws(WireError) -> Timestamp {
        guard let seconds = member.value.double, let date = Timestamp(seconds: seconds) else {
            throw .type(member.name, "a date in Unix seconds")
        }
        return date
    }
}

extension EventTail.Alert {
    fileprivate init(_ json: JSON) throws(WireError) {
        guard let object = json.object else { throw .type("alert", "an object {title,body,sound}") }
        title = try Self.text(object, "title")
        body = try Self.text(object, "body")
        sound = try Self.text(object, "sound")
    }

    private static func text(_ object: JSONObject, _ name: String) throws(WireError) -> String? {
        guard let json = object[name] else { return nil }
        guard let text = json.string else { throw .type("alert.\(name)", "a text") }
        return text
    }
}

extension WireError {
    static func type(_ path: String, _ expected: String) -> WireError {
        WireError(.badJSON, "\(path) in the JSON tail is to be \(expected)", details: JSONObject(path: path))
    }
}

extension JSONObject {
    fileprivate init(path: String) {
        self.init()
        self["path"] = .string(path)
    }
}
