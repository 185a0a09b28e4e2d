internal import TelltaleModel

/// The token that identifies a sender's team: a JSON Web Token (RFC 7519) signed with ES256.
public struct ProviderToken: Hashable, Sendable {
    public var team: String
    public var keyID: String
    /// Unix time in seconds.
    public var issuedAt: Int64

    /// How long a token is valid, and how far its `iat` may lie in the future, in seconds.
    public static let span: Int64 = 3_600
    /// The least time between two tokens of one connection, in seconds.
    public static let renewal: Int64 = 1_200

    /// How strictly tokens are checked.
    public enum Policy: String, CaseIterable, Hashable, Sendable {
        /// Checks everything, including signatures by known keys.
        case verify
        /// Checks everything but the signature.
        case shape
        /// Checks nothing; no token is needed.
        case off
    }

    /// Reads the `authorization` field of a request.
    ///
    /// - Parameters:
    ///   - teams: The team of each known key; used if the policy is `verify`.
    ///   - now: Unix time in seconds.
    /// - Throws: `MissingProviderToken`, `InvalidProviderToken`, `ExpiredProviderToken`.
    public init(
        _ field: String?, _ policy: Policy, teams: [String: String], now: Int64, _ cryptography: PushCryptography
    ) throws(PushRefusal) {
        let words = (field ?? "").split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "bearer" else {
            throw PushRefusal(.missingProviderToken, "authorization is to be: bearer TOKEN")
        }
        let token = words[1]
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard token.utf8.count <= 4_096, parts.count == 3, let header = Self.object(parts[0]),
            let claims = Self.object(parts[1]), let signature = Base64.bytes(parts[2].utf8, .url)
        else { throw PushRefusal(.invalidProviderToken, "the token is no JWT: three parts in base64url") }
        guard header["alg"]?.string == "ES256" else {
            throw PushRefusal(.invalidProviderToken, "alg is to be ES256")
        }
        guard let keyID = header["kid"]?.string, Self.isIdentifier(keyID) else {
            throw PushRefusal(.invalidProviderToken, "kid is to be the key's 10 characters")
        }
        guard let team = claims["iss"]?.string, Self.isIdentifier(team) else {
            throw PushRefusal(.invalidProviderToken, "iss is to be the team's 10 characters")
        }
        guard let issuedAt = claims["iat"]?.integer else {
            throw PushRefusal(.invalidProviderToken, "iat is to be Unix seconds")
        }
        if policy == .verify {
            guard teams[keyID] == team else {
                throw PushRefusal(.invalidProviderToken, "no key of that team has that kid")
            }
            let message = Array((parts[0] + "." + parts[1]).utf8)
            guard signature.count == 64, cryptography.verify(keyID, message, signature) else {
                throw PushRefusal(.invalidProviderToken, "the signature is not good")
            }
        }
        guard issuedAt <= now + Self.span else {
            throw PushRefusal(.invalidProviderToken, "iat lies more than an hour ahead")
        }
        guard now - issuedAt <= Self.span else {
            throw PushRefusal(.expiredProviderToken, "iat is older than an hour; make a new token")
        }
        self.team = team
        self.keyID = keyID
        self.issuedAt = issuedAt
    }

    /// The team becomes part of an event's source, so it may contain only letters and digits.
    private static func isIdentifier(_ text: String) -> Bool {
        text.utf8.count == 10
            && text.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"):
                    true
                default: false
                }
            }
    }

    private static func object(_ part: Substring) -> JSONObject? {
        guard let bytes = Base64.bytes(part.utf8, .url),
            let text = String(validating: bytes, as: UTF8.self)
        else { return nil }
        return (try? JSONParser.parse(text))?.object
    }
}

/// The provider tokens of one connection, which must all be of one team and may not be renewed often.
public struct ProviderConnection: Hashable, Sendable {
    /// The team of the first token; all later ones must be of that team.
    public private(set) var team: String?
    private var issuedAt: Int64?

    public init() {}

    /// Takes a token that is valid by itself.
    ///
    /// - Throws: `UnrelatedKeyIdInToken`, `TooManyProviderTokenUpdates`.
    public mutating func present(_ token: ProviderToken) throws(PushRefusal) {
        if let team, team != token.team {
            throw PushRefusal(
                .unrelatedKeyIDInToken, "this connection is team \(team)'s; open another for \(token.team)")
        }
        team = token.team
        // A request on another stream may still carry an older token.
        if let issuedAt, token.issuedAt > issuedAt, token.issuedAt - issuedAt < ProviderToken.renewal {
            throw PushRefusal(
                .tooManyProviderTokenUpdates,
                "a token is to be used for \(ProviderToken.renewal / 60) minutes before the next")
        }
        issuedAt = max(issuedAt ?? token.issuedAt, token.issuedAt)
    }
}
