public import TelltaleModel

/// When a sender makes its next provider token: at most every 20 minutes, and at least every hour.
public struct ProviderTokenSchedule: Hashable, Sendable {
    private var issuedAt: Timestamp?
    private var isRefused = false

    /// A token is renewed at this age, so that one that is under way is still good on arrival.
    public static let age = Milliseconds.minutes(50)

    public init() {}

    /// The service said that the token has expired.
    public mutating func refused() { isRefused = true }

    /// Whether a new token is to be made now; then it has been made.
    public mutating func renews(at now: Timestamp) -> Bool {
        if let issuedAt {
            let age = now - issuedAt
            // A clock that was set back would make a token that is good for longer than it should be.
            let isDue = age >= Self.age || age < .zero || isRefused && age >= .seconds(ProviderToken.renewal)
            guard isDue else { return false }
        }
        issuedAt = now
        isRefused = false
        return true
    }

    /// The text that is signed with ES256; behind it come a dot and the signature in base64url.
    public static func signingInput(team: String, keyID: String, at now: Timestamp) -> String {
        func part(_ json: JSON) -> String {
            var writer = JSONWriter()
            writer.value(json)
            return Base64.text(writer.take(), .url)
        }
        return part(["alg": "ES256", "kid": .string(keyID)]) + "."
            + part(["iss": .string(team), "iat": .integer(now.milliseconds / 1_000)])
    }

    /// The whole token.
    public static func token(_ signingInput: String, signature: [UInt8]) -> String {
        signingInput + "." + Base64.text(signature, .url)
    }
}
