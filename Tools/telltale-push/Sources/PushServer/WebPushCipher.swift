internal import ApplePush
internal import TelltaleCrypto
internal import TelltaleModel

/// The encryption of Web Push payloads (RFC 8291, `aes128gcm` of RFC 8188), and the tokens of the sender (RFC 8292).
struct WebPushCipher: Sendable {
    private let key: P256Key
    private let subject: String

    /// The length of a record; a payload is one record.
    private static let recordSize: UInt32 = 4_096
    /// How long a token is valid, in seconds; services accept at most a day.
    private static let tokenSpan: Int64 = 43_200

    /// - Parameters:
    ///   - pem: A private key of P-256: browsers subscribe with its public key.
    ///   - subject: `mailto:` or `https:`, where a service finds the operator.
    init(pem: String, subject: String) throws {
        key = try P256Key.privateKey(pem: pem)
        self.subject = subject
    }

    /// The `applicationServerKey` of browsers: 65 bytes in base64url.
    var publicKey: String { Base64.text(key.publicPoint, .url) }

    /// Encrypts one payload with a fresh key and salt.
    ///
    /// - Throws: If the subscription's key is not a point on the curve.
    func encrypted(_ payload: [UInt8], for subscription: WebSubscription) throws -> [UInt8] {
        let receiver = try P256Key.publicKey(point: subscription.publicKey)
        let own = try P256Key.generate()
        let salt = SealedBytes.random(16)
        let input = MessageCode.derivedKey(
            from: try own.sharedSecret(with: receiver), salt: subscription.secret,
            info: Array("WebPush: info\0".utf8) + subscription.publicKey + own.publicPoint, count: 32)
        func derived(_ name: String, _ count: Int) -> [UInt8] {
            MessageCode.derivedKey(
                from: input, salt: salt, info: Array("Content-Encoding: \(name)\0".utf8), count: count)
        }
        // The byte after the payload marks the last record.
        let sealed = SealedBytes.seal(payload + [2], key: derived("aes128gcm", 16), nonce: derived("nonce", 12))
        var bytes = salt
        for shift in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: Self.recordSize >> UInt32(shift))) }
        bytes.append(UInt8(own.publicPoint.count))
        return bytes + own.publicPoint + sealed
    }

    /// The `authorization` field for one service.
    func authorization(for origin: String, at now: Timestamp) throws -> String {
        func part(_ json: JSON) -> String { Base64.text(json.text, .url) }
        let claims: JSON = [
            "aud": .string(origin), "exp": .integer(now.milliseconds / 1_000 + Self.tokenSpan), "sub": .string(subject),
        ]
        let input = part(["typ": "JWT", "alg": "ES256"]) + "." + part(claims)
        let signature = try key.signature(of: Array(input.utf8))
        return "vapid t=\(input).\(Base64.text(signature, .url)), k=\(publicKey)"
    }
}
