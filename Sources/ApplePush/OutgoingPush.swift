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
        /// The alert of a start whose activity has none. A device ignores a start without an alert.
        public var startAlert: Alert
        /// Whether a start asks the device for an update token (iOS 18).
        public var wantsToken: Bool

        public init(
            bundle: String, attributesType: String, content: Set<String>? = nil, stateName: String? = nil,
            startAlert: Alert? = nil, wantsToken: Bool = true
        ) {
            self.bundle = bundle
            self.attributesType = attributesType
            self.content = content
            self.stateName = stateName
            self.startAlert = startAlert ?? Alert(title: attributesType, body: "")
            self.wantsToken = wantsToken
        }
    }

    /// Where a push goes.
    public enum Address: Hashable, Sendable {
        /// The device of the attempt's token.
        case device
        /// Every device that follows the channel which the attempt's token names.
        case channel
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

    /// The payload is larger than Apple accepts, as every later attempt would be.
    public struct TooLarge: Error, Hashable, Sendable {
        /// In bytes.
        public var count: Int

        public init(count: Int) {
            self.count = count
        }
    }

    public var path: String
    /// The header fields, without the provider token.
    public var headers: [(name: String, value: String)]
    public var body: [UInt8]

    /// How long Apple stores an update that cannot be delivered, in seconds: the longest time that an activity may be
    /// active.
    public static let keeping: Int64 = 28_800

    /// - Parameters:
    ///   - row: Of the `full` view; `nil` = the activity is gone, and the attempt ends it.
    ///   - alert: Included if the attempt alerts.
    ///   - channel: The channel that the started activity follows, instead of getting an update token.
    /// - Throws: ``TooLarge`` above 4,096 bytes; a smaller `content` in the form helps.
    public init(
        _ attempt: PushTarget.Attempt, row: JSONObject?, _ form: Form, alert: Alert?, to address: Address = .device,
        channel: String? = nil, _ cryptography: PushCryptography
    ) throws(TooLarge) {
        body = Self.payload(attempt, row, form, alert, channel)
        // A broadcast may be larger in transit, but not on the device.
        guard body.count <= PushType.liveactivity.payloadLimit else { throw TooLarge(count: body.count) }
        let id = Self.id(of: attempt, cryptography)
        headers = [
            ("apns-push-type", PushType.liveactivity.rawValue), ("apns-priority", String(attempt.priority)),
        ]
        switch address {
        case .device:
            path = DevicePush.pathPrefix + attempt.token
            let staleDate = row?["staleAt"]?.integer.map { $0 / 1_000 }
            headers += [
                ("apns-topic", form.bundle + PushType.liveactivity.topicSuffix),
                ("apns-expiration", String(max(0, staleDate ?? attempt.timestamp + Self.keeping))), ("apns-id", id),
            ]
        case .channel:
            path = "/4/broadcasts/apps/\(form.bundle)"
            // A channel without storage accepts only 0.
            headers += [
                ("apns-channel-id", attempt.token), ("apns-expiration", "0"), ("apns-request-id", id),
            ]
        }
    }

    /// A push that makes the app reload its widgets or controls, which is all that it can do.
    init(reload type: PushType, _ attempt: PushTarget.Attempt, bundle: String, _ cryptography: PushCryptography) {
        path = DevicePush.pathPrefix + attempt.token
        body = Array(#"{"aps":{"content-changed":true}}"#.utf8)
        headers = [
            ("apns-push-type", type.rawValue), ("apns-topic", bundle + type.topicSuffix),
            ("apns-priority", String(attempt.priority)), ("apns-expiration", "0"),
            ("apns-id", Self.id(of: attempt, cryptography)),
        ]
    }

    /// The same id for the same attempt, so that a receiver which remembers ids takes it once.
    private static func id(of attempt: PushTarget.Attempt, _ cryptography: PushCryptography) -> String {
        let digest = cryptography.sha256(Array("\(attempt.token) \(attempt.number) \(attempt.timestamp)".utf8))
        var bytes = Array(digest.prefix(16))
        while bytes.count < 16 { bytes.append(0) }
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        var text = ""
        for (index, digit) in Hexadecimal.text(bytes).enumerated() {
            if [8, 12, 16, 20].contains(index) { text += "-" }
            text.append(digit)
        }
        return text
    }

    private static func payload(
        _ attempt: PushTarget.Attempt, _ row: JSONObject?, _ form: Form, _ alert: Alert?, _ channel: String?
    ) -> [UInt8] {
        let event: ActivityPayload.Event =
            attempt.role == .start ? .start : attempt.state.isEnd ? .end : .update
        var aps = JSONObject()
        aps["timestamp"] = .integer(attempt.timestamp)
        aps["event"] = .string(event.rawValue)
        if let row { aps["content-state"] = content(row, form) }
        switch event {
        case .start:
            aps["attributes-type"] = .string(form.attributesType)
            aps["attributes"] = .object(row?["attributes"]?.object ?? JSONObject())
            if let channel {
                aps["input-push-channel"] = .string(channel)
            } else if form.wantsToken {
                aps["input-push-token"] = 1
            }
            fallthrough
        case .update:
            if let stale = row?["staleAt"]?.integer { aps["stale-date"] = .integer(stale / 1_000) }
            if let score = row?["score"] { aps["relevance-score"] = score }
        case .end:
            // The card of an activity that is gone disappears immediately.
            let removal = row.map { $0["removeAt"]?.integer } ?? attempt.timestamp * 1_000
            if let removal { aps["dismissal-date"] = .integer(removal / 1_000) }
        }
        if attempt.alerts, let alert = alert ?? (event == .start ? form.startAlert : nil) {
            var members: JSON = ["title": .string(alert.title), "body": .string(alert.body)]
            if let sound = alert.sound { members = members.merging(["sound": .string(sound)]) }
            aps["alert"] = members
        }
        return JSON.object(["aps": .object(aps)]).text
    }

    static func content(_ row: JSONObject, _ form: Form) -> JSON {
        var content = JSONObject()
        for member in row["content"]?.object ?? JSONObject() where form.content?.contains(member.name) ?? true {
            content[member.name] = member.value
        }
        if let name = form.stateName, let state = row["state"] { content[name] = state }
        return .object(content)
    }
}
