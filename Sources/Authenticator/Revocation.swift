internal import Hub
public import TelltaleModel

/// A revocation of signed tokens that have not expired yet.
public enum Revocation: Hashable, Sendable {
    /// The token of a `jti`.
    case token(String)
    /// The tokens of a `sub` that were issued before; `nil` = all of them.
    case subject(String, issuedBefore: Timestamp?)

    /// An element of `revoked` in a file of principals; `nil` for anything else.
    public init?(_ json: JSON) {
        guard case .object(let object) = json else { return nil }
        switch (object["jti"], object["sub"], object["issuedBefore"]) {
        case (.string(let id)?, nil, nil): self = .token(id)
        case (nil, .string(let subject)?, nil): self = .subject(subject, issuedBefore: nil)
        case (nil, .string(let subject)?, let before?):
            guard let date = SignedClaims.date(before) else { return nil }
            self = .subject(subject, issuedBefore: date)
        case _: return nil
        }
    }

    /// For the file. `issuedBefore` is in seconds, as `iat` of a token, and is rounded up.
    public var json: JSON {
        var object = JSONObject()
        switch self {
        case .token(let id): object["jti"] = .string(id)
        case .subject(let subject, let before):
            object["sub"] = .string(subject)
            object["issuedBefore"] = before.map { .integer(($0.milliseconds + 999) / 1_000) }
        }
        return .object(object)
    }

    /// Whether it refuses every token that `other` refuses.
    func contains(_ other: Revocation) -> Bool {
        switch (self, other) {
        case (.token(let id), .token(let otherID)): id == otherID
        case (.subject(let subject, let before), .subject(let otherSubject, let otherBefore)):
            subject == otherSubject
                && (before == nil || otherBefore.map { $0 <= (before ?? .distantPast) } == true)
        case _: false
        }
    }
}
