internal import TelltaleModel

/// A request as received, before any check.
public struct PushRequest: Sendable {
    public var method: String
    /// Without the query.
    public var path: String
    /// In their order, names in lower case, without the pseudo-fields.
    public var headers: [(name: String, value: String)]
    /// Cut at one byte more than the largest accepted body.
    public var body: [UInt8]

    public init(method: String, path: String, headers: [(name: String, value: String)], body: [UInt8]) {
        self.method = method
        self.path = path
        self.headers = headers
        self.body = body
    }

    /// The first value of a field.
    public func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

    /// The first `apns-` field that occurs more than once.
    var duplicate: String? {
        var seen: Set<String> = []
        return headers.first { $0.name.hasPrefix("apns-") && !seen.insert($0.name).inserted }?.name
    }
}

/// The types of pushes that Apple's service accepts.
public enum PushType: String, CaseIterable, Hashable, Sendable {
    case alert, background, liveactivity, controls, widgets, complication, fileprovider, location, pushtotalk, voip, mdm

    /// What follows the bundle id in the topic.
    public var topicSuffix: String {
        switch self {
        case .alert, .background, .mdm: ""
        case .liveactivity: ".push-type.liveactivity"
        case .controls: ".push-type.controls"
        case .widgets: ".push-type.widgets"
        case .complication: ".complication"
        case .fileprovider: ".pushkit.fileprovider"
        case .location: ".location-query"
        case .pushtotalk: ".voip-ptt"
        case .voip: ".voip"
        }
    }

    /// In bytes.
    public var payloadLimit: Int { self == .voip ? 5_120 : 4_096 }
}

/// The settings of the endpoint that decide about requests.
public struct PushRules: Sendable {
    public var policy: ProviderToken.Policy
    /// The team of each known key.
    public var teams: [String: String]
    /// The apps of each known key that is restricted to some of its team's.
    public var apps: [String: Set<String>]

    public init(
        policy: ProviderToken.Policy = .shape, teams: [String: String] = [:], apps: [String: Set<String>] = [:]
    ) {
        self.policy = policy
        self.teams = teams
        self.apps = apps
    }

    /// Whether the key of a token may push to an app.
    func covers(_ bundle: String, by token: ProviderToken?) -> Bool {
        guard policy == .verify, let token, let own = apps[token.keyID] else { return true }
        return own.contains(bundle)
    }

    /// Checks the provider token, first by itself and then against the earlier ones.
    ///
    /// - Returns: `nil` if no token is needed.
    func token(
        of request: PushRequest, on connection: inout ProviderConnection, now: Int64, _ cryptography: PushCryptography
    ) throws(PushRefusal) -> ProviderToken? {
        guard policy != .off else { return nil }
        let token = try ProviderToken(
            request.header("authorization"), policy, teams: teams, now: now, cryptography)
        if policy == .verify { try connection.present(token) }
        return token
    }
}

/// A push to a device with a valid head and size.
public struct DevicePush: Sendable {
    public var token: DeviceToken
    /// The token as it stood in the path, in lower case.
    public var tokenText: String
    public var type: PushType
    public var bundle: String
    public var priority: Int
    /// The sender's id; `nil` if it sent none.
    public var id: String?
    /// The sender's team; `nil` if no provider token is needed.
    public var team: String?

    public static let pathPrefix = "/3/device/"

    /// Checks a request to `/3/device/{token}`, in the order of Protocols/HTTP/apns.table.
    ///
    /// - Parameter now: Unix time in seconds.
    /// - Throws: The first fault.
    public init(
        _ request: PushRequest, _ rules: PushRules, _ directory: PushDirectory,
        on connection: inout ProviderConnection, now: Int64, _ cryptography: PushCryptography
    ) throws(PushRefusal) {
        guard request.method == "POST" else { throw PushRefusal(.methodNotAllowed) }
        guard request.path.hasPrefix(Self.pathPrefix) else { throw PushRefusal(.badPath) }
        let tokenText = request.path.dropFirst(Self.pathPrefix.count)
        guard !tokenText.contains("/") else { throw PushRefusal(.badPath) }
        guard !tokenText.isEmpty else { throw PushRefusal(.missingDeviceToken) }
        let sender = try rules.token(of: request, on: &connection, now: now, cryptography)
        team = sender?.team
        let head = try PushHead(request)
        id = head.id
        type = head.type
        priority = head.priority
        bundle = head.bundle
        guard let app = directory.apps[bundle] else {
            throw PushRefusal(.topicDisallowed, "no kind is of the app \(bundle)")
        }
        guard rules.covers(bundle, by: sender) else {
            throw PushRefusal(.topicDisallowed, "the key is not for the app \(bundle)")
        }
        guard let token = DeviceToken(tokenText, cryptography) else {
            throw PushRefusal(.badDeviceToken, "this installation made no such token")
        }
        let isOfApp =
            switch token.subject {
            case .start(let owner, let kind): owner == bundle && app.kinds.contains(kind)
            case .update(let key): app.kinds.contains(String(key.kind))
            }
        guard isOfApp else { throw PushRefusal(.deviceTokenNotForTopic, "the token is another app's") }
        self.token = token
        self.tokenText = tokenText.lowercased()
        guard !request.body.isEmpty else { throw PushRefusal(.payloadEmpty) }
        guard request.body.count <= type.payloadLimit else {
            throw PushRefusal(.payloadTooLarge, "a payload is at most \(type.payloadLimit) bytes")
        }
    }
}

/// The header fields of a push to a device.
private struct PushHead {
    var id: String?
    var type: PushType
    var priority: Int
    var bundle: String

    static let collapseLimit = 64

    init(_ request: PushRequest) throws(PushRefusal) {
        if let name = request.duplicate { throw PushRefusal(.duplicateHeaders, "\(name) stands twice") }
        id = request.header("apns-id")
        if let id, !Encodings.isUUID(id) {
            throw PushRefusal(.badMessageID, "apns-id is to be a UUID in lower case")
        }
        if let expiration = request.header("apns-expiration"), (Encodings.integer(expiration) ?? -1) < 0 {
            throw PushRefusal(.badExpirationDate, "apns-expiration is to be Unix seconds, or 0")
        }
        let typeName = request.header("apns-push-type") ?? PushType.alert.rawValue
        let priorities: Set<String> = typeName == PushType.liveactivity.rawValue ? ["5", "10"] : ["1", "5", "10"]
        let priority = request.header("apns-priority") ?? "10"
        guard priorities.contains(priority) else {
            throw PushRefusal(
                .badPriority, "apns-priority is to be one of \(priorities.sorted().joined(separator: ", "))")
        }
        self.priority = Int(priority) ?? 10
        if let collapse = request.header("apns-collapse-id"), collapse.utf8.count > Self.collapseLimit {
            throw PushRefusal(.badCollapseID, "apns-collapse-id is at most \(Self.collapseLimit) bytes")
        }
        guard let type = PushType(rawValue: typeName) else { throw PushRefusal(.invalidPushType) }
        self.type = type
        guard let topic = request.header("apns-topic") else { throw PushRefusal(.missingTopic) }
        guard topic.hasSuffix(type.topicSuffix), topic.utf8.count > type.topicSuffix.utf8.count,
            topic.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else {
            throw PushRefusal(.badTopic, "apns-topic is to be a bundle id with \"\(type.topicSuffix)\" behind it")
        }
        bundle = String(topic.dropLast(type.topicSuffix.count))
    }
}
