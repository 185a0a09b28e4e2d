public import TelltaleModel

/// When a sender makes its next provider token: at most every 20 minutes, and at least every hour.
public struct ProviderTokenSchedule: Hashable, Sendable {
    private var issuedAt: Timestamp?
    private var isRefused = false

    /// The age at which a token is renewed, so that it is still valid when a request arrives.
    public static let age = Milliseconds.minutes(50)

    public init() {}

    /// The service said that the token has expired.
    public mutating func refused() { isRefused = true }

    /// Whether to make a new token now. If so, it counts as made.
    public mutating func renews(at now: Timestamp) -> Bool {
        if let issuedAt {
            let age = now - issuedAt
            // After the clock was set back, the old token would seem valid for too long.
            let isDue = age >= Self.age || age < .zero || isRefused && age >= .seconds(ProviderToken.renewal)
            guard isDue else { return false }
        }
        issuedAt = now
        isRefused = false
        return true
    }

    /// The text that is signed with ES256; a dot and the signature in base64url follow it.
    public static func signingInput(team: String, keyID: String, at now: Timestamp) -> String {
        func part(_ json: JSON) -> String { Base64.text(json.text, .url) }
        return part(["alg": "ES256", "kid": .string(keyID)]) + "."
            + part(["iss": .string(team), "iat": .integer(now.milliseconds / 1_000)])
    }

    /// The whole token.
    public static func token(_ signingInput: String, signature: [UInt8]) -> String {
        signingInput + "." + Base64.text(signature, .url)
    }
}
