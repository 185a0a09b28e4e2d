internal import TelltaleModel

/// A broadcast channel of an app, which many devices follow.
public struct PushChannel: Hashable, Sendable {
    /// Base64 of 16 bytes.
    public var id: String
    public var bundle: String
    /// 1 = the newest message is stored for devices that are offline; 0 = none is.
    public var storagePolicy: Int

    public init(id: String, bundle: String, storagePolicy: Int) {
        self.id = id
        self.bundle = bundle
        self.storagePolicy = storagePolicy
    }

    /// The longest id, in bytes.
    public static let idLimit = 64

    /// Whether a text is base64 of at most ``idLimit`` bytes.
    public static func isID(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= idLimit && Base64.bytes(text.utf8, .standard) != nil
    }

    /// The id in the key of a channel's one activity.
    public static func identifier(of channel: String, _ cryptography: PushCryptography) -> String {
        "ch-" + Hexadecimal.text(cryptography.sha256(Array(channel.utf8)).prefix(8))
    }

    /// As its sender reads it.
    var json: JSON {
        ["message-storage-policy": .integer(Int64(storagePolicy)), "push-type": "LiveActivity"]
    }
}

/// The channels of all apps.
public struct PushChannels: Hashable, Sendable {
    private var byID: [String: PushChannel] = [:]
    /// The most that one app may have.
    public static let limit = 10_000

    public init(_ channels: [PushChannel] = []) {
        for channel in channels { byID[channel.id] = channel }
    }

    /// In the order of their ids.
    public var all: [PushChannel] { byID.values.sorted { $0.id < $1.id } }

    public func find(_ id: String, of bundle: String) -> PushChannel? {
        byID[id].flatMap { $0.bundle == bundle ? $0 : nil }
    }

    public func count(of bundle: String) -> Int { byID.values.count { $0.bundle == bundle } }

    public mutating func insert(_ channel: PushChannel) { byID[channel.id] = channel }

    public mutating func remove(_ channel: PushChannel) { byID[channel.id] = nil }
}

/// A valid request about channels, or a valid push to one.
public enum ChannelRequest: Hashable, Sendable {
    case create(bundle: String, storagePolicy: Int)
    case read(PushChannel)
    case delete(PushChannel)
    case list(bundle: String)
    case broadcast(PushChannel, team: String?, id: String?)

    private enum Route {
        case channels, list, broadcast
    }

    /// In bytes.
    public static let payloadLimit = 5_120

    private static func route(_ path: String) -> (Route, bundle: String)? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count >= 4, parts[0].isEmpty else { return nil }
        switch parts.count {
        case 5 where parts[1] == "1" && parts[2] == "apps" && parts[4] == "channels" && !parts[3].isEmpty:
            return (.channels, parts[3])
        case 5 where parts[1] == "1" && parts[2] == "apps" && parts[4] == "all-channels" && !parts[3].isEmpty:
            return (.list, parts[3])
        case 5 where parts[1] == "4" && parts[2] == "broadcasts" && parts[3] == "apps" && !parts[4].isEmpty:
            return (.broadcast, parts[4])
        default: return nil
        }
    }

    /// Checks a request, in the order of Protocols/HTTP/apns.table.
    ///
    /// - Parameter now: Unix time in seconds.
    /// - Throws: The first fault.
    public init(
        _ request: PushRequest, _ rules: PushRules, _ directory: PushDirectory, _ channels: PushChannels,
        on connection: inout ProviderConnection, now: Int64, _ cryptography: PushCryptography
    ) throws(PushRefusal) {
        guard let (route, bundle) = Self.route(request.path) else { throw PushRefusal(.badPath) }
        let methods: Set<String>
        switch route {
        case .channels: methods = ["POST", "GET", "DELETE"]
        case .list: methods = ["GET"]
        case .broadcast: methods = ["POST"]
        }
        guard methods.contains(request.method) else { throw PushRefusal(.methodNotAllowed) }
        let sender = try rules.token(of: request, on: &connection, now: now, cryptography)
        guard rules.covers(bundle, by: sender) else {
            throw PushRefusal(.topicMismatch, "the key is not for the app \(bundle)")
        }
        let team = sender?.team
        if let name = request.duplicate { throw PushRefusal(.duplicateHeaders, "\(name) stands twice") }
        let id = request.header("apns-request-id")
        if let id, !Encodings.isUUID(id.lowercased()) {
            throw PushRefusal(.badMessageID, "apns-request-id is to be a UUID")
        }
        var channel: PushChannel?
        if route == .broadcast || route == .channels && request.method != "POST" {
            channel = try Self.channel(request, bundle, channels)
        }
        if route == .broadcast, let channel { try Self.checkBroadcast(request, channel) }
        guard directory.apps[bundle] != nil else {
            throw PushRefusal(.topicDisallowed, "no kind is of the app \(bundle); a bundle id has no suffix here")
        }
        switch (route, request.method, channel) {
        case (.broadcast, _, let channel?):
            try Self.checkBody(request)
            self = .broadcast(channel, team: team, id: id)
        case (.list, _, _): self = .list(bundle: bundle)
        case (.channels, "GET", let channel?): self = .read(channel)
        case (.channels, "DELETE", let channel?): self = .delete(channel)
        default:
            try Self.checkBody(request)
            let policy = try Self.storagePolicy(in: request.body)
            guard channels.count(of: bundle) < PushChannels.limit else {
                throw PushRefusal(
                    .cannotCreateChannelConfig, "an app has at most \(PushChannels.limit) channels; delete some")
            }
            self = .create(bundle: bundle, storagePolicy: policy)
        }
    }

    private static func checkBody(_ request: PushRequest) throws(PushRefusal) {
        guard !request.body.isEmpty else { throw PushRefusal(.payloadEmpty) }
        guard request.body.count <= payloadLimit else {
            throw PushRefusal(.payloadTooLarge, "a payload is at most \(payloadLimit) bytes")
        }
    }

    private static func channel(
        _ request: PushRequest, _ bundle: String, _ channels: PushChannels
    ) throws(PushRefusal) -> PushChannel {
        guard let id = request.header("apns-channel-id"), !id.isEmpty else { throw PushRefusal(.missingChannelID) }
        guard id.utf8.count <= PushChannel.idLimit, Base64.bytes(id.utf8, .standard) != nil else {
            throw PushRefusal(.badChannelID, "apns-channel-id is to be base64 of at most \(PushChannel.idLimit) bytes")
        }
        guard let channel = channels.find(id, of: bundle) else { throw PushRefusal(.channelNotRegistered) }
        return channel
    }

    private static func checkBroadcast(_ request: PushRequest, _ channel: PushChannel) throws(PushRefusal) {
        if let text = request.header("apns-expiration") {
            guard let expiration = Encodings.integer(text), expiration >= 0,
                expiration == 0 || channel.storagePolicy == 1
            else {
                throw PushRefusal(
                    .badExpirationDate, "apns-expiration is to be Unix seconds, and 0 where the channel keeps nothing")
            }
        }
        guard ["1", "5", "10"].contains(request.header("apns-priority") ?? "10") else {
            throw PushRefusal(.badPriority, "apns-priority is to be 1, 5 or 10")
        }
        guard let type = request.header("apns-push-type") else { throw PushRefusal(.missingPushType) }
        guard type.lowercased() == PushType.liveactivity.rawValue else { throw PushRefusal(.invalidPushType) }
    }

    private static func storagePolicy(in body: [UInt8]) throws(PushRefusal) -> Int {
        guard let text = String(validating: body, as: UTF8.self), let json = try? JSONParser.parse(text),
            let object = json.object
        else { throw PushRefusal(.badRequestPayload, "the body is to be a JSON object") }
        for member in object where !["message-storage-policy", "push-type"].contains(member.name) {
            throw PushRefusal(.badRequestParams, "\(member.name) is no member of a channel")
        }
        guard let type = object["push-type"] else { throw PushRefusal(.missingPushType) }
        guard type.string?.lowercased() == PushType.liveactivity.rawValue else { throw PushRefusal(.invalidPushType) }
        guard let policy = object["message-storage-policy"]?.integer, policy == 0 || policy == 1 else {
            throw PushRefusal(.badRequestParams, "message-storage-policy is to be 0 or 1")
        }
        return Int(policy)
    }
}

// The answers to a sender.
extension PushChannel {
    /// The body of a channel: `{"message-storage-policy":1,"push-type":"LiveActivity"}`.
    public var body: [UInt8] { json.text }

    /// `{"channels":[ID, …]}`, of one app.
    public static func list(_ channels: PushChannels, of bundle: String) -> [UInt8] {
        JSONWriter.object { writer in
            writer.array("channels", of: channels.all.filter { $0.bundle == bundle }) { $1.value($0.id) }
        }
    }
}
