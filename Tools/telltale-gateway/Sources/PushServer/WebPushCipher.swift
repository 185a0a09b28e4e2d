internal import ApplePush
internal import Crypto
internal import FoundationEssentials
internal import TelltaleModel

/// The encryption of Web Push payloads (RFC 8291, `aes128gcm` of RFC 8188), and the tokens of the sender (RFC 8292).
struct WebPushCipher: Sendable {
    private let key: P256.Signing.PrivateKey
    private let subject: String

    /// The least length of a record; a payload is one record.
    private static let recordSize: UInt32 = 4_096
    /// How long a token is good, in seconds; a service takes at most a day.
    private static let tokenSpan: Int64 = 43_200

    /// - Parameters:
    ///   - pem: A private key of P-256: the one whose public half browsers subscribe with.
    ///   - subject: `mailto:` or `https:`, where a service finds the operator.
    init(pem: String, subject: String) throws {
        key = try P256.Signing.PrivateKey(pemRepresentation: pem)
        self.subject = subject
    }

    /// The `applicationServerKey` of browsers: 65 bytes in base64url.
    var publicKey: String { Self.base64(key.publicKey.x963Representation) }

    /// Encrypts one payload with a key and a salt of its own.
    ///
    /// - Throws: Where the subscription's key is no point of the curve.
    func encrypted(_ payload: [UInt8], for subscription: WebSubscription) throws -> [UInt8] {
        let receiver = try P256.KeyAgreement.PublicKey(x963Representation: subscription.publicKey)
        let own = P256.KeyAgreement.PrivateKey()
        let ownPublic = Array(own.publicKey.x963Representation)
        let salt = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        let input = try own.sharedSecretFromKeyAgreement(with: receiver).hkdfDerivedSymmetricKey(
            using: SHA256.self, salt: subscription.secret,
            sharedInfo: Array("WebPush: info\0".utf8) + subscription.publicKey + ownPublic, outputByteCount: 32)
        func derived(_ name: String, _ count: Int) -> SymmetricKey {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: input, salt: salt, info: Array("Content-Encoding: \(name)\0".utf8),
                outputByteCount: count)
        }
        let nonce = try AES.GCM.Nonce(data: derived("nonce", 12).withUnsafeBytes { Data(unsafe $0) })
        // Behind the payload stands the mark of the last record.
        let box = try AES.GCM.seal(payload + [2], using: derived("aes128gcm", 16), nonce: nonce)
        var bytes = salt
        for shift in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: Self.recordSize >> UInt32(shift))) }
        bytes.append(UInt8(ownPublic.count))
        return bytes + ownPublic + Array(box.ciphertext) + Array(box.tag)
    }

    /// The `authorization` field for one service.
    func authorization(for origin: String, at now: Timestamp) throws -> String {
        func part(_ json: JSON) -> String {
            var writer = JSONWriter()
            writer.value(json)
            return Self.base64(Data(writer.bytes))
        }
        let claims: JSON = [
            "aud": .string(origin), "exp": .integer(now.milliseconds / 1_000 + Self.tokenSpan), "sub": .string(subject),
        ]
        let input = part(["typ": "JWT", "alg": "ES256"]) + "." + part(claims)
        let signature = try key.signature(for: Array(input.utf8))
        return "vapid t=\(input).\(Self.base64(signature.rawRepresentation)), k=\(publicKey)"
    }

    /// base64url without padding.
    private static func base64(_ data: Data) -> String {
        String(
            data.base64EncodedString().compactMap { character -> Character? in
                switch character {
                case "+": "-"
                case "/": "_"
                case "=": nil
                default: character
                }
            })
    }
}
