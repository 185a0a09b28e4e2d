public import TelltaleModel

/// Every error code of the protocol. Codes are stable and never reused (Protocols/Line/line-protocol.md §10).
public enum ErrorCode: String, CaseIterable, Hashable, Sendable {
    case badLine = "bad_line"
    case lineTooLong = "line_too_long"
    case badUTF8 = "bad_utf8"
    case badJSON = "bad_json"
    case badAttribute = "bad_attr"
    case badKey = "bad_key"
    case badPattern = "bad_pattern"
    case badCursor = "bad_cursor"
    case unknownVerb = "unknown_verb"
    case unknownKind = "unknown_kind"
    case unknownKey = "unknown_key"
    case unknownSubscription = "unknown_sub"
    case tooLarge = "too_large"
    case duplicateMismatch = "dup_mismatch"
    case machineError = "machine_error"
    case limitActivities = "limit_activities"
    case limitSubscriptions = "limit_subs"
    case limitConnections = "limit_conns"
    case limitSources = "limit_sources"
    case limitAccounts = "limit_accounts"
    case limitKeys = "limit_keys"
    case limitTiles = "limit_tiles"
    case limitRate = "limit_rate"
    case authenticationRequired = "auth_required"
    case authenticationFailed = "auth_failed"
    case forbidden
    case staleRev = "stale_rev"
    case unavailable
    case cooling
    case badAction = "bad_action"
    case notOffered = "not_offered"
    case storageFull = "storage_full"
    case storageFailed = "storage_failed"
    case shuttingDown = "shutting_down"
    case notLeader = "not_leader"
    case versionUnsupported = "version_unsupported"
    case `internal`

    /// Whether the server closes the connection after this line.
    public var isFatal: Bool {
        switch self {
        case .badLine, .lineTooLong, .badUTF8, .storageFailed, .versionUnsupported: true
        case .badJSON, .badAttribute, .badKey, .badPattern, .badCursor, .unknownVerb, .unknownKind, .unknownKey,
            .unknownSubscription, .tooLarge, .duplicateMismatch, .machineError, .limitActivities,
            .limitSubscriptions, .limitConnections, .limitSources, .limitAccounts, .limitKeys, .limitTiles,
            .limitRate, .authenticationRequired,
            .authenticationFailed, .forbidden,
            .staleRev, .unavailable, .cooling, .badAction, .notOffered, .storageFull, .shuttingDown, .notLeader,
            .internal:
            false
        }
    }

    /// Whether the same request can succeed later, and after which change.
    public var retry: Retry {
        switch self {
        case .badLine, .lineTooLong, .badUTF8, .badJSON, .badAttribute, .badKey, .badPattern, .badCursor,
            .unknownVerb, .unknownKind, .unknownKey, .unknownSubscription, .tooLarge, .duplicateMismatch,
            .machineError, .forbidden, .badAction, .notOffered, .versionUnsupported, .limitSubscriptions:
            .no
        case .limitActivities, .limitConnections, .limitSources, .limitAccounts, .limitKeys, .limitTiles,
            .limitRate, .unavailable, .cooling,
            .storageFull, .storageFailed,
            .shuttingDown, .internal:
            .later
        case .authenticationRequired, .authenticationFailed: .auth
        case .staleRev: .resync
        case .notLeader: .now
        }
    }
}

public enum Retry: String, Hashable, Sendable {
    case no, now, later, auth, resync
}

/// A refusal: the content of an `ERR` line.
public struct WireError: Error, Hashable, Sendable {
    public var code: ErrorCode
    /// For people: the fault, its location and the remedy.
    public var message: String
    /// Further members of the tail, besides `msg`.
    public var details: JSONObject
    /// Whether this refusal ends the connection although its code does not always.
    public var endsConnection = false

    /// Whether the server closes the connection after this line.
    public var isFatal: Bool { code.isFatal || endsConnection }

    public init(_ code: ErrorCode, _ message: String, details: JSONObject = JSONObject()) {
        self.code = code
        self.message = message
        self.details = details
    }

    /// An error for a member of the JSON tail with the wrong type.
    ///
    /// - Parameter path: The names that lead to the member, joined by dots.
    public static func wrongType(at path: String, expected: String) -> WireError {
        var details = JSONObject()
        details["path"] = .string(path)
        return WireError(.badJSON, "\(path) in the JSON tail is to be \(expected)", details: details)
    }
}
