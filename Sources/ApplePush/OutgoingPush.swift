public import TelltaleModel

/// One activity's row as a push: the request that a sender of Live Activities makes for it.
public struct OutgoingPush: Sendable {
    /// How the rows of a kind become pushes to its app.
    public struct Form: Hashable, Sendable {
        public var bundle: String
        /// The Swift type of the attributes, for starts.
        public var attributesType: String
        /// The members of the content that the app knows; `nil` = all of them.
        public var content: Set<String>?
        /// The member of the content in which the app expects the state of the machine; `nil` = none.
        public var stateName: String?

        public init(
            bundle: String, attributesType: String, content: Set<String>? = nil, stateName: String? = nil
        ) {
            self.bundle = bundle
            self.attributesType = attributesType
            self.content = content
            self.stateName = stateName
        }
    }

    public struct Alert: Hashable, Sendable {
        public var title: String
        public var body: String
        public var sound: String?

        public init(title: String, body: String, sound: String? = nil) {
            self.title = title
            self.body = body
            self.sound = sound
        }
    }

    /// The payload is larger than Apple takes, and so will every later attempt be.
    public struct TooLarge: Error, Hashable, Sendable {
        /// In bytes.
        public var count: Int

        public init(count: Int) {
            self.count = count
        }
    }

    public var path: String
    /// Without the provider token.
    public var headers: [(name: String, value: String)]
    public var body: [UInt8]

    /// How long Apple keeps an update that cannot be delivered, in seconds: as long as an activity may be active.
    public static let keeping: Int64 = 28_800

    /// - Parameters:
    ///   - row: Of the `full` view.
    ///   - alert: Goes along where the attempt alerts.
    /// - Throws: ``TooLarge`` beyond 4,096 bytes; a smaller `content` of the form helps.
    public init(
        _ attempt: PushTarget.Attempt, row: JSONObject, _ form: Form, alert: Alert?, _ cryptography: PushCryptography
    ) throws(TooLarge) {
        path = DevicePush.pathPrefix + attempt.token
        body = Self.payload(attempt, row, form, alert)
        guard body.count <= PushType.liveactivity.payloadLimit else { throw TooLarge(count: body.count) }
        let staleDate = row["staleAt"]?.integer.map { $0 / 1_000 }
        headers = [
            ("apns-push-type", PushType.liveactivity.rawValue),
            ("apns-topic", form.bundle + PushType.liveactivity.topicSuffix),
            ("apns-priority", String(attempt.priority)),
            ("apns-expiration", String(staleDate ?? attempt.timestamp + Self.keeping)),
            ("apns-id", Self.id(of: attempt, cryptography)),
        ]
    }

    /// The same for the same attempt, so that a receiver which remembers ids takes it once.
    private static func id(of attempt: PushTarget.Attempt, _ cryptography: PushCryptography) -> String {
        let digest = cryptography.sha256(Array("\(attempt.token) \(attempt.number) \(attempt.timestamp)".utf8))
        var bytes = Array(digest.prefix(16))
        while bytes.count < 16 { bytes.append(0) }
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        var text = ""
        for (index, digit) in Encodings.hex(bytes).enumerated() {
            if [8, 12, 16, 20].contains(index) { text += "-" }
            text.append(digit)
        }
        return text
    }

    private static func payload(
        _ attempt: PushTarget.Attempt, _ row: JSONObject, _ form: Form, _ alert: Alert?
    ) -> [UInt8] {
        var aps = JSONObject()
        aps["timestamp"] = .integer(attempt.timestamp)
        aps["event"] = attempt.state.isEnd ? "end" : "update"
        aps["content-state"] = content(row, form)
        if let stale = row["staleAt"]?.integer, !attempt.state.isEnd { aps["stale-date"] = .integer(stale / 1_000) }
        if let score = row["score"], !attempt.state.isEnd { aps["relevance-score"] = score }
        if attempt.state.isEnd, let removal = row["removeAt"]?.integer {
            aps["dismissal-date"] = .integer(removal / 1_000)
        }
        if attempt.alerts, let alert {
            var members: JSON = ["title": .string(alert.title), "body": .string(alert.body)]
            if let sound = alert.sound { members = members.merging(["sound": .string(sound)]) }
            aps["alert"] = members
        }
        var writer = JSONWriter()
        writer.value(["aps": .object(aps)])
        return writer.take()
    }

    private static func content(_ row: JSONObject, _ form: Form) -> JSON {
        var content = JSONObject()
        for member in row["content"]?.object ?? JSONObject() where form.content?.contains(member.name) ?? true {
            content[member.name] = member.value
        }
        if let name = form.stateName, let state = row["state"] { content[name] = state }
        return .object(content)
    }
}

/// When a sender makes its next provider token: at most every 20 minutes, and at least every hour.
public struct ProviderTokenSchedule: Hashable, Sendable {
    private var issuedAt: Timestamp?
    private var isRefused = false

    /// A token is renewed at this age, so that one that is under way is still good on arrival.
    public static let age = Milliseconds.minutes(50)

    public init() {}

    /// The service said that the token has expired.
    public mutating func refused() { isRefused = true }

    /// Whether a new token is to be made now; then it has been made.
    public mutating func renews(at now: Timestamp) -> Bool {
        if let issuedAt {
            let age = now - issuedAt
            // A clock that was set back would make a token that is good for longer than it should be.
            let isDue = age >= Self.age || age < .zero || isRefused && age >= .seconds(ProviderToken.renewal)
            guard isDue else { return false }
        }
        issuedAt = now
        isRefused = false
        return true
    }

    /// The text that is signed with ES256; behind it come a dot and the signature in base64url.
    public static func signingInput(team: String, keyID: String, at now: Timestamp) -> String {
        func part(_ json: JSON) -> String {
            var writer = JSONWriter()
            writer.value(json)
            return Base64.text(writer.take(), .url)
        }
        return part(["alg": "ES256", "kid": .string(keyID)]) + "."
            + part(["iss": .string(team), "iat": .integer(now.milliseconds / 1_000)])
    }

    /// The whole token.
    public static func token(_ signingInput: String, signature: [UInt8]) -> String {
        signingInput + "." + Base64.text(signature, .url)
    }
}
