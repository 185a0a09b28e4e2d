public import TelltaleModel

/// A device token or a channel registered by an app, and what to send to it.
public struct PushRegistration: Hashable, Sendable {
    public enum Subject: Hashable, Sendable {
        /// The updates of one activity, to the token of its card.
        case update(Key)
        /// The updates of one activity, to all devices that follow a channel.
        case channel(Key)
        /// The starts of a kind's activities, to a push-to-start token.
        case start(kind: String)
        /// Reloads of a kind's widgets or controls.
        case reload(PushType, kind: String)
        /// Notifications about one activity, or all of a kind's, to a browser.
        case web(WebSubscription, kind: String, Key?)
    }

    /// Its name: 1 to 64 bytes, valid as a key's segment. Registering the same id again replaces the token.
    public var id: String
    public var subject: Subject
    /// The account of the device; empty = none in particular, so that it gets activities of all accounts.
    public var account: String
    /// A device token, or a channel's id.
    public var token: String
    /// Whether the person lets the app update often, which makes the budget of priority 10 larger.
    public var isFrequent: Bool
    /// For starts: the channel that the activity follows instead of getting an update token.
    public var channel: String?

    /// The longest token, in bytes. Apple gives no length; tokens of Live Activities are some hundred digits.
    public static let tokenLimit = 512

    public init(
        id: String, _ subject: Subject, account: String = "", token: String, isFrequent: Bool = false,
        channel: String? = nil
    ) {
        self.id = id
        self.subject = subject
        self.account = account
        self.token = token
        self.isFrequent = isFrequent
        self.channel = channel
    }

    public var kind: String {
        switch subject {
        case .update(let key), .channel(let key): String(key.kind)
        case .start(let kind), .reload(_, let kind), .web(_, let kind, _): kind
        }
    }

    public var web: WebSubscription? {
        if case .web(let subscription, _, _) = subject { subscription } else { nil }
    }

    /// Whether it has a lane for each activity of the kind.
    var isBroad: Bool {
        switch subject {
        case .start, .web(_, _, nil): true
        case .update, .channel, .reload, .web: false
        }
    }

    public var key: Key? {
        switch subject {
        case .update(let key), .channel(let key): key
        case .web(_, _, let key): key
        case .start, .reload: nil
        }
    }

    /// The rows that it needs.
    public var watch: PushState.Watch { .init(account: account, kind: kind) }

    /// A name for a token that is safe to show: 8 digits of its digest.
    public static func name(ofToken token: String, _ cryptography: PushCryptography) -> String {
        Hexadecimal.text(cryptography.sha256(Array(token.utf8)).prefix(4))
    }

    // MARK: JSON

    /// Why an object is not a registration: the member, and what it accepts.
    public struct Fault: Error, Hashable, Sendable, CustomStringConvertible {
        public var description: String
    }

    /// Reads `{"type","account","kind"|"key","token"|"channel","frequent"}`.
    public init(id: String, _ object: JSONObject) throws(Fault) {
        let known: Set<String> = ["type", "account", "kind", "key", "token", "channel", "frequent", "subscription"]
        for member in object where !known.contains(member.name) {
            throw Fault(
                description:
                    "\(member.name.prefix(64)): no such member; it takes \(known.sorted().joined(separator: ", "))")
        }
        guard Key.isSegment(id.utf8) else {
            throw Fault(description: "id: takes 1 to 64 of A-Z a-z 0-9 . _ ~ : @ -")
        }
        self.id = id
        account = try Self.text(object, "account") ?? ""
        guard account.utf8.count <= 256, account.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x2C }) else {
            throw Fault(description: "account: takes one account")
        }
        isFrequent = false
        if let value = object["frequent"] {
            guard let flag = value.bool else { throw Fault(description: "frequent: takes true or false") }
            isFrequent = flag
        }
        let channel = try Self.text(object, "channel")
        if let channel { try Self.check(channel: channel) }
        let deviceToken = try Self.text(object, "token")
        if let deviceToken {
            guard !deviceToken.isEmpty, deviceToken.utf8.count <= Self.tokenLimit,
                Hexadecimal.bytes(deviceToken) != nil
            else { throw Fault(description: "token: takes hexadecimal digits, at most \(Self.tokenLimit)") }
        }
        let key = try Self.text(object, "key")
        let kind = try Self.text(object, "kind")
        guard (key == nil) != (kind == nil) else {
            throw Fault(description: "key or kind: one of them says what the token is for")
        }
        let type = try Self.text(object, "type") ?? "apns"
        if type == "webpush" {
            (subject, token) = try Self.browser(
                object, hasToken: deviceToken != nil || channel != nil, key: key, kind: kind)
            return
        }
        guard object["subscription"] == nil else {
            throw Fault(description: "subscription: has no meaning for \(type)")
        }
        if let key {
            guard let key = Key(key) else { throw Fault(description: "key: takes kind/id") }
            guard type == "apns" else { throw Fault(description: "type: takes apns where there is a key") }
            guard (deviceToken == nil) != (channel == nil), let token = channel ?? deviceToken?.lowercased() else {
                throw Fault(description: "token or channel: one of them says where to")
            }
            subject = channel == nil ? .update(key) : .channel(key)
            self.token = token
            return
        }
        guard let kind, Key.isSegment(kind.utf8) else { throw Fault(description: "kind: takes the name of a kind") }
        guard let token = deviceToken else { throw Fault(description: "token: takes hexadecimal digits") }
        switch type {
        case "apns": subject = .start(kind: kind)
        case "widgets": subject = .reload(.widgets, kind: kind)
        case "controls": subject = .reload(.controls, kind: kind)
        default: throw Fault(description: "type: takes apns, widgets, controls or webpush")
        }
        guard channel == nil || type == "apns" else {
            throw Fault(description: "channel: has no meaning for \(type)")
        }
        self.token = token.lowercased()
        self.channel = channel
    }

    /// A browser's subscription to one activity, or to all of a kind.
    ///
    /// - Parameter hasToken: Whether it comes with a device token or a channel, which a browser does not have.
    private static func browser(
        _ object: JSONObject, hasToken: Bool, key: String?, kind: String?
    ) throws(Fault) -> (Subject, token: String) {
        guard let subscription = object["subscription"]?.object else {
            throw Fault(description: "subscription: takes {\"endpoint\",\"keys\"}, as a browser gives it")
        }
        guard !hasToken else { throw Fault(description: "token, channel: have no meaning for webpush") }
        let place = key.flatMap { Key($0) }
        guard key == nil || place != nil else { throw Fault(description: "key: takes kind/id") }
        let name = place.map { String($0.kind) } ?? kind ?? ""
        guard Key.isSegment(name.utf8) else { throw Fault(description: "kind: takes the name of a kind") }
        let web = try WebSubscription(subscription)
        return (.web(web, kind: name, place), web.endpoint)
    }

    private static func text(_ object: JSONObject, _ name: String) throws(Fault) -> String? {
        guard let value = object[name] else { return nil }
        guard let text = value.string else { throw Fault(description: "\(name): takes a text") }
        return text
    }

    private static func check(channel: String) throws(Fault) {
        guard PushChannel.isID(channel) else {
            throw Fault(description: "channel: takes base64 of at most \(PushChannel.idLimit) bytes")
        }
    }

    /// As it was registered, token included.
    public var json: JSON { .object(object(token: token)) }

    /// The same, with the token's name in place of the token.
    public func publicJSON(_ cryptography: PushCryptography) -> JSON {
        .object(object(token: Self.name(ofToken: token, cryptography)))
    }

    private func object(token: String) -> JSONObject {
        var object = JSONObject()
        if !account.isEmpty { object["account"] = .string(account) }
        if isFrequent { object["frequent"] = true }
        if let channel { object["channel"] = .string(channel) }
        switch subject {
        case .web(let subscription, let kind, let key):
            object["type"] = "webpush"
            if let key { object["key"] = .string(key.text) } else { object["kind"] = .string(kind) }
            if token == subscription.endpoint {
                object["subscription"] = subscription.json
            } else {
                object["host"] = .string(subscription.host)
                object["token"] = .string(token)
            }
        case .update(let key):
            object["key"] = .string(key.text)
            object["token"] = .string(token)
        case .channel(let key):
            object["key"] = .string(key.text)
            object["channel"] = .string(token)
        case .start(let kind):
            object["kind"] = .string(kind)
            object["token"] = .string(token)
        case .reload(let type, let kind):
            object["type"] = .string(type.rawValue)
            object["kind"] = .string(kind)
            object["token"] = .string(token)
        }
        return object
    }
}
