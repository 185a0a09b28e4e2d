internal import CTelltaleCrypto

/// A key on the curve P-256, by libcrypto. Threads may share one.
@safe public final class P256Key: @unchecked Sendable {
    /// No such key, or libcrypto has no memory. The text holds nothing of the key.
    public struct Fault: Error, Hashable, Sendable, CustomStringConvertible {
        public let description: String
    }

    private let pointer: OpaquePointer
    /// Whether it signs and agrees; a public key only verifies.
    public let isPrivate: Bool
    /// The public point: 4, x, y; 65 bytes.
    public let publicPoint: [UInt8]

    private init(_ pointer: OpaquePointer?, isPrivate: Bool, _ what: String) throws(Fault) {
        guard let pointer = unsafe pointer else { throw Fault(description: what) }
        var point = [UInt8](repeating: 0, count: 65)
        let isDone = unsafe point.withUnsafeMutableBufferPointer { point in
            unsafe telltale_p256_point(pointer, point.baseAddress)
        }
        guard isDone == 1 else {
            unsafe telltale_key_free(pointer)
            throw Fault(description: what)
        }
        unsafe self.pointer = pointer
        self.isPrivate = isPrivate
        publicPoint = point
    }

    deinit { unsafe telltale_key_free(pointer) }

    /// A new private key.
    public static func generate() throws(Fault) -> P256Key {
        try unsafe P256Key(telltale_p256_generate(), isPrivate: true, "libcrypto made no key")
    }

    /// - Parameter pem: `PRIVATE KEY` or `EC PRIVATE KEY`, without a passphrase.
    public static func privateKey(pem: String) throws(Fault) -> P256Key {
        try unsafe P256Key(read(pem, isPrivate: 1), isPrivate: true, "no private key of P-256 in PEM")
    }

    /// - Parameter pem: `PUBLIC KEY`.
    public static func publicKey(pem: String) throws(Fault) -> P256Key {
        try unsafe P256Key(read(pem, isPrivate: 0), isPrivate: false, "no public key of P-256 in PEM")
    }

    /// - Parameter point: 4, x, y; 65 bytes.
    public static func publicKey(point: [UInt8]) throws(Fault) -> P256Key {
        guard point.count == 65 else { throw Fault(description: "a point of P-256 has 65 bytes") }
        let pointer = unsafe point.withUnsafeBufferPointer { unsafe telltale_key_p256($0.baseAddress) }
        return try unsafe P256Key(pointer, isPrivate: false, "no point of P-256")
    }

    private static func read(_ pem: String, isPrivate: Int32) -> OpaquePointer? {
        let text = pem.utf8.map { CChar(bitPattern: $0) }
        return unsafe text.withUnsafeBufferPointer {
            unsafe telltale_p256_from_pem($0.baseAddress, $0.count, isPrivate)
        }
    }

    /// ECDSA with SHA-256: r, s, of 32 bytes each.
    public func signature(of bytes: [UInt8]) throws(Fault) -> [UInt8] {
        guard isPrivate else { throw Fault(description: "a public key signs nothing") }
        var signature = [UInt8](repeating: 0, count: 64)
        let isDone = unsafe signature.withUnsafeMutableBufferPointer { signature in
            unsafe bytes.withUnsafeBufferPointer { bytes in
                unsafe telltale_sign_es256(pointer, bytes.baseAddress, bytes.count, signature.baseAddress)
            }
        }
        guard isDone == 1 else { throw Fault(description: "libcrypto made no signature") }
        return signature
    }

    /// - Parameter signature: r, s, of 32 bytes each; anything else is not valid.
    public func isValid(_ signature: [UInt8], of bytes: [UInt8]) -> Bool {
        guard signature.count == 64 else { return false }
        return unsafe signature.withUnsafeBufferPointer { signature in
            unsafe bytes.withUnsafeBufferPointer { bytes in
                unsafe telltale_verify_es256(pointer, bytes.baseAddress, bytes.count, signature.baseAddress) == 1
            }
        }
    }

    /// The shared secret with another's public key (ECDH): 32 bytes.
    public func sharedSecret(with other: P256Key) throws(Fault) -> [UInt8] {
        guard isPrivate else { throw Fault(description: "a public key agrees on nothing") }
        var secret = [UInt8](repeating: 0, count: 32)
        let isDone = unsafe secret.withUnsafeMutableBufferPointer { secret in
            unsafe telltale_p256_agree(pointer, other.pointer, secret.baseAddress)
        }
        guard isDone == 1 else { throw Fault(description: "libcrypto found no shared secret") }
        return secret
    }
}
