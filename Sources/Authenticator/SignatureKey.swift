internal import CTelltaleCrypto
public import TelltaleModel

/// A key that checks signatures, of a JSON Web Key (RFC 7517). It decides the algorithm: a token only repeats it.
public struct SignatureKey: Hashable, Sendable {
    private enum Form: Hashable {
        case es256(PublicKey)
        case ed25519(PublicKey)
        case hs256([UInt8])
    }

    /// Why a JSON Web Key cannot be used. The text holds nothing of the key.
    public struct Fault: Error, Hashable, Sendable, CustomStringConvertible {
        public let description: String
    }

    private let form: Form
    /// `kid` of the key.
    public let name: String?

    /// The shortest key of HS256, in bytes (RFC 7518 §3.2).
    private static let secretLength = 32

    /// - Throws: ``Fault`` for a key of another kind, a private key, a weak one, and one that is not on its curve.
    public init(_ json: JSON) throws(Fault) {
        guard case .object(let object) = json else { throw Fault(description: "is to be a JSON Web Key, an object") }
        name = try Self.name(object["kid"])
        guard object["d"] == nil else {
            throw Fault(description: "holds the private key, which belongs with the issuer alone; leave d out")
        }
        form = try Self.form(object)
        if let algorithm = object["alg"], algorithm.string != self.algorithm {
            throw Fault(description: "has an alg that is not that of the key, which is \(self.algorithm)")
        }
        if let use = object["use"], use.string != "sig" { throw Fault(description: "has a use that is not sig") }
        if let operations = object["key_ops"], operations.array?.contains("verify") != true {
            throw Fault(description: "has key_ops without verify")
        }
    }

    private static func name(_ json: JSON?) throws(Fault) -> String? {
        guard let json else { return nil }
        guard let name = json.string, (1...256).contains(name.utf8.count) else {
            throw Fault(description: "has a kid that is no text of 1 to 256 bytes")
        }
        return name
    }

    private static func form(_ object: JSONObject) throws(Fault) -> Form {
        switch object["kty"]?.string {
        case "EC":
            guard object["crv"]?.string == "P-256" else { throw Fault(description: "is to have crv P-256") }
            guard let x = bytes(object["x"], 32), let y = bytes(object["y"], 32) else {
                throw Fault(description: "is to have x and y, each 32 bytes in base64url without padding")
            }
            guard let key = PublicKey(point: [4] + x + y) else { throw Fault(description: "is no point on P-256") }
            return .es256(key)
        case "OKP":
            guard object["crv"]?.string == "Ed25519" else { throw Fault(description: "is to have crv Ed25519") }
            guard let x = bytes(object["x"], 32) else {
                throw Fault(description: "is to have x, 32 bytes in base64url without padding")
            }
            guard let key = PublicKey(edwards: x) else { throw Fault(description: "cannot be read for lack of memory") }
            return .ed25519(key)
        case "oct":
            guard let secret = object["k"]?.string.flatMap({ Base64.bytes($0.utf8, .url) }),
                secret.count >= secretLength
            else {
                throw Fault(description: "is to have k, 32 bytes at least (256 bits) in base64url without padding")
            }
            return .hs256(secret)
        case _: throw Fault(description: "is to have kty EC, OKP or oct")
        }
    }

    private static func bytes(_ json: JSON?, _ count: Int) -> [UInt8]? {
        json?.string.flatMap { Base64.bytes($0.utf8, .url) }.flatMap { $0.count == count ? $0 : nil }
    }

    /// The `alg` of the tokens that it checks.
    public var algorithm: String {
        switch form {
        case .es256: "ES256"
        case .ed25519: "EdDSA"
        case .hs256: "HS256"
        }
    }

    /// Whether `signature` is that of `message` by this key.
    public func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        let length = if case .hs256 = form { 32 } else { 64 }
        guard signature.count == length else { return false }
        let status = unsafe message.withUnsafeBufferPointer { message in
            unsafe signature.withUnsafeBufferPointer { signature in
                switch form {
                case .es256(let key):
                    unsafe telltale_verify_es256(
                        key.raw, message.baseAddress, message.count, signature.baseAddress)
                case .ed25519(let key):
                    unsafe telltale_verify_ed25519(
                        key.raw, message.baseAddress, message.count, signature.baseAddress)
                case .hs256(let secret):
                    unsafe secret.withUnsafeBufferPointer {
                        unsafe telltale_verify_hs256(
                            $0.baseAddress, $0.count, message.baseAddress, message.count, signature.baseAddress)
                    }
                }
            }
        }
        return status == 1
    }
}

/// A public key, parsed once: its form costs more than a check.
///
/// Sendable because libcrypto only reads it.
@safe private final class PublicKey: Hashable, @unchecked Sendable {
    let raw: OpaquePointer
    private let bytes: [UInt8]

    /// - Parameter point: 4, x, y.
    init?(point: [UInt8]) {
        guard let raw = unsafe point.withUnsafeBufferPointer({ unsafe telltale_key_p256($0.baseAddress) }) else {
            return nil
        }
        unsafe self.raw = raw
        bytes = point
    }

    init?(edwards bytes: [UInt8]) {
        guard let raw = unsafe bytes.withUnsafeBufferPointer({ unsafe telltale_key_ed25519($0.baseAddress) }) else {
            return nil
        }
        unsafe self.raw = raw
        self.bytes = bytes
    }

    deinit {
        unsafe telltale_key_free(raw)
    }

    static func == (left: PublicKey, right: PublicKey) -> Bool { left.bytes == right.bytes }
    func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}
