/// The cryptographic operations that the caller provides to these pure rules.
public struct PushCryptography: Sendable {
    /// A digest of 32 bytes.
    public var sha256: @Sendable ([UInt8]) -> [UInt8]
    /// A keyed digest of at least 8 bytes, by a secret of this installation.
    public var tag: @Sendable ([UInt8]) -> [UInt8]
    /// Whether a raw signature of 64 bytes is that of the message by the key (PEM) of the given name.
    public var verify: @Sendable (_ keyID: String, _ message: [UInt8], _ signature: [UInt8]) -> Bool

    public init(
        sha256: @escaping @Sendable ([UInt8]) -> [UInt8], tag: @escaping @Sendable ([UInt8]) -> [UInt8],
        verify: @escaping @Sendable (String, [UInt8], [UInt8]) -> Bool
    ) {
        self.sha256 = sha256
        self.tag = tag
        self.verify = verify
    }
}
