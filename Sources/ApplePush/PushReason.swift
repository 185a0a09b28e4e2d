/// Why a push is refused: the status and reason of Apple's service.
///
/// The cases are in the order of the checks: the first fault is reported.
public enum PushReason: String, CaseIterable, Hashable, Sendable {
    case methodNotAllowed = "MethodNotAllowed"
    case badPath = "BadPath"
    case missingDeviceToken = "MissingDeviceToken"
    case missingProviderToken = "MissingProviderToken"
    case invalidProviderToken = "InvalidProviderToken"
    case expiredProviderToken = "ExpiredProviderToken"
    case unrelatedKeyIDInToken = "UnrelatedKeyIdInToken"
    case tooManyProviderTokenUpdates = "TooManyProviderTokenUpdates"
    case topicMismatch = "TopicMismatch"
    case duplicateHeaders = "DuplicateHeaders"
    case badMessageID = "BadMessageId"
    case missingChannelID = "MissingChannelId"
    case badChannelID = "BadChannelId"
    case channelNotRegistered = "ChannelNotRegistered"
    case badExpirationDate = "BadExpirationDate"
    case badPriority = "BadPriority"
    case badCollapseID = "BadCollapseId"
    case missingPushType = "MissingPushType"
    case invalidPushType = "InvalidPushType"
    case missingTopic = "MissingTopic"
    case badTopic = "BadTopic"
    case topicDisallowed = "TopicDisallowed"
    case badDeviceToken = "BadDeviceToken"
    case deviceTokenNotForTopic = "DeviceTokenNotForTopic"
    case payloadEmpty = "PayloadEmpty"
    case payloadTooLarge = "PayloadTooLarge"
    case badRequestPayload = "BadRequestPayload"
    case badRequestParams = "BadRequestParams"
    case cannotCreateChannelConfig = "CannotCreateChannelConfig"
    case unregistered = "Unregistered"
    case tooManyRequests = "TooManyRequests"
    case internalServerError = "InternalServerError"
    case serviceUnavailable = "ServiceUnavailable"
    case shutdown = "Shutdown"

    public var status: Int {
        switch self {
        case .methodNotAllowed: 405
        case .badPath: 404
        case .missingProviderToken, .invalidProviderToken, .expiredProviderToken, .unrelatedKeyIDInToken,
            .topicMismatch:
            403
        case .tooManyProviderTokenUpdates, .tooManyRequests: 429
        case .payloadTooLarge: 413
        case .unregistered: 410
        case .internalServerError: 500
        case .serviceUnavailable, .shutdown: 503
        default: 400
        }
    }
}

/// A push that is refused.
public struct PushRefusal: Error, Hashable, Sendable {
    public var reason: PushReason
    /// An explanation for people, if the reason needs one; never sent to Apple's clients in the body.
    public var note: String?

    public init(_ reason: PushReason, _ note: String? = nil) {
        self.reason = reason
        self.note = note
    }
}
