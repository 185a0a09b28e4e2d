public import TelltaleModel

/// A sender's request about the broadcast channels of an app.
public enum ChannelManagement: Hashable, Sendable {
    /// 0 = store nothing for devices that are offline; 1 = store the newest message.
    case create(storagePolicy: Int)
    case read(String)
    case delete(String)
    case list

    public var method: String {
        switch self {
        case .create: "POST"
        case .read, .list: "GET"
        case .delete: "DELETE"
        }
    }

    public func path(bundle: String) -> String {
        self == .list ? "/1/apps/\(bundle)/all-channels" : "/1/apps/\(bundle)/channels"
    }

    public var headers: [(name: String, value: String)] {
        switch self {
        case .read(let id), .delete(let id): [("apns-channel-id", id)]
        case .create, .list: []
        }
    }

    public var body: [UInt8] {
        guard case .create(let policy) = self else { return [] }
        return PushChannel(id: "", bundle: "", storagePolicy: policy).body
    }

    /// The answer of the service.
    public enum Outcome: Hashable, Sendable {
        case created(String)
        case channel(storagePolicy: Int)
        case channels([String])
        case deleted
        /// There is no such channel.
        case unknownChannel
        /// The request may be repeated later.
        case busy(status: Int)
        case refused(status: Int, reason: String?)
        /// A 2xx without the requested content: the service does not behave like Apple's, or a proxy answered.
        case unreadable(status: Int)
    }

    /// - Parameters:
    ///   - channel: The header field `apns-channel-id`.
    ///   - body: `nil` = there is none, or it is not JSON.
    public func outcome(status: Int, channel: String?, body: JSON?) -> Outcome {
        let reason = body?["reason"]?.string.map { String($0.prefix(64)) }
        switch status {
        case 200..<300: return made(channel, body) ?? .unreadable(status: status)
        case 429, 500...: return .busy(status: status)
        default: break
        }
        if reason == "ChannelNotRegistered" || reason == "BadChannelId" { return .unknownChannel }
        return .refused(status: status, reason: reason)
    }

    private func made(_ channel: String?, _ body: JSON?) -> Outcome? {
        switch self {
        case .create: channel.flatMap { $0.isEmpty ? nil : .created($0) }
        case .delete: .deleted
        case .list: body?["channels"]?.array.map { .channels($0.compactMap(\.string)) }
        case .read: body?["message-storage-policy"]?.integer.map { .channel(storagePolicy: Int(clamping: $0)) }
        }
    }
}
