public import TelltaleModel
public import TelltaleWire

/// The parts of a CloudEvent 1.0 that Telltale uses.
public struct CloudEvent: Sendable {
    public var id: String
    public var source: String
    public var type: String
    var subject: String?
    var time: String?
    var sequence: String?
    var accounts: String?
    var data: JSONObject

    /// Parses the structured mode: one JSON object.
    ///
    /// - Throws: `bad_request` if it is not a CloudEvent, `media_type` if its data is not a JSON object.
    public init(_ json: JSON) throws(Problem) {
        guard case .object(let object) = json else { throw Self.fault("a CloudEvent is one JSON object") }
        var attributes: [String: String] = [:]
        for member in object where member.name != "data" && member.name != "data_base64" {
            switch member.value {
            case .string(let text): attributes[member.name] = text
            case .integer, .bool: attributes[member.name] = member.value.description
            case .null: break
            case .number, .array, .object: throw Self.fault("the attribute \(member.name) is to be a text")
            }
        }
        guard object["data_base64"] == nil else { throw Self.noObject }
        switch object["data"] {
        case nil, .null?: try self.init(attributes, data: JSONObject())
        case .object(let data)?: try self.init(attributes, data: data)
        case .bool?, .integer?, .number?, .string?, .array?: throw Self.noObject
        }
    }

    /// Parses the binary mode: `ce-` header fields, by their names in lower case, quoted or not, and percent-encoded;
    /// the body is the data.
    ///
    /// - Throws: As the other; `bad_json` too.
    public init(headers: [String: String], body: [UInt8]) throws(Problem) {
        var attributes: [String: String] = [:]
        for (name, value) in headers where name.hasPrefix("ce-") {
            // First the quotes, then the percent-encoding (CloudEvents' HTTP binding §3.1.3.2).
            guard let plain = value.hasPrefix("\"") ? QuotedText.decode(value[...]) : value,
                let text = PercentCoding.decode(plain)
            else { throw Self.fault("\(name) is no percent-encoded UTF-8, or no quoted string") }
            attributes[String(name.dropFirst(3))] = text
        }
        if !body.isEmpty, let type = mediaType(headers["content-type"]), !type.isEmpty {
            guard type == "application/json" || type.hasSuffix("+json") else { throw Self.noObject }
        }
        let json: JSON? = body.isEmpty ? nil : try EventRequest.json(body.span)
        switch json {
        case nil, .null?: try self.init(attributes, data: JSONObject())
        case .object(let data)?: try self.init(attributes, data: data)
        case .bool?, .integer?, .number?, .string?, .array?: throw Self.noObject
        }
    }

    private init(_ attributes: [String: String], data: JSONObject) throws(Problem) {
        func required(_ name: String) throws(Problem) -> String {
            guard let value = attributes[name], !value.isEmpty else {
                throw Self.fault("the attribute \(name) is missing")
            }
            return value
        }
        let version = try required("specversion")
        guard version == "1.0" else { throw Self.fault("specversion is to be 1.0, not \(version.prefix(20))") }
        id = try required("id")
        source = try required("source")
        type = try required("type")
        subject = attributes["subject"]
        time = attributes["time"]
        sequence = attributes["sequence"]
        accounts = attributes["telltalefor"]
        self.data = data
    }

    private static func fault(_ reason: String) -> Problem { Problem("bad_request", "CloudEvent: \(reason)") }

    private static var noObject: Problem {
        Problem("media_type", "CloudEvent: data is to be a JSON object, or absent; data_base64 is not taken")
    }

    /// The kind of its subject; `nil` if its subject is not a key.
    public var kind: String? { (subject.flatMap { Key($0) }).map { String($0.kind) } }

    /// - Parameter app: The owner of its kind, which its type may begin with.
    /// - Throws: `bad_key`, `bad_attr`, `bad_request`.
    public func event(app: String?) throws(Problem) -> EventCommand {
        guard let subject else { throw Problem("bad_key", "CloudEvent: subject is missing; it is the key, kind/id") }
        guard let key = Key(subject) else { throw EventRequest.badKey(subject) }
        var name = type
        if let app, name.hasPrefix(app + ".") { name = String(name.dropFirst(app.count + 1)) }
        var event = EventCommand(key: key, type: try EventRequest.type(name))
        event.source = try Query.word(source, "source")
        // A CloudEvent's id is any text, but the daemon's `eid` is a word.
        event.eid = (try? Query.word(id, "id")) ?? HashedID.make(Array(id.utf8))
        if let time {
            guard let time = Timestamp(internetDate: time), time.milliseconds >= 0 else {
                throw Self.fault("time is to be a date of RFC 3339, since 1970")
            }
            event.happenedAt = time
        }
        event.version = sequence.flatMap { Query.decimal($0) }
        event.accounts = try EventRequest.accounts(
            accounts.map { (text) throws(Problem) in try Query.word(text, "telltalefor") })
        event.tail = data
        return event
    }
}
