internal import CTelltaleCrypto

/// SHA-256 by libcrypto (FIPS 180-4), of bytes that may come in parts.
public struct SHA256: Sendable {
    /// The length of a digest in bytes.
    public static let byteCount = 32
    /// The length of a block in bytes.
    static let blockByteCount = 64

    /// Owns libcrypto's state, which changes only where nothing else refers to it.
    @safe private final class State: @unchecked Sendable {
        let pointer: OpaquePointer

        init(_ pointer: OpaquePointer?) {
            guard let pointer = unsafe pointer else { preconditionFailure("libcrypto has no memory, or no SHA-256") }
            unsafe self.pointer = pointer
        }

        deinit { unsafe telltale_sha256_free(pointer) }
    }

    private var state: State

    public init() { state = unsafe State(telltale_sha256_begin()) }

    public mutating func update(_ bytes: some Sequence<UInt8>) {
        if !isKnownUniquelyReferenced(&state) { state = unsafe State(telltale_sha256_copy(state.pointer)) }
        let state = state
        let isDone: Int32? = bytes.withContiguousStorageIfAvailable { bytes in
            unsafe telltale_sha256_add(state.pointer, bytes.baseAddress, bytes.count)
        }
        if isDone == nil { update(Array(bytes)) }
    }

    /// The digest of all bytes up to now: 32 bytes.
    public func digest() -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: Self.byteCount) { digest, count in
            let isDone = unsafe telltale_sha256_end(state.pointer, digest.baseAddress)
            precondition(isDone == 1, "libcrypto has no memory")
            count = Self.byteCount
        }
    }

    public static func digest(of bytes: some Sequence<UInt8>) -> [UInt8] {
        var hash = SHA256()
        hash.update(bytes)
        return hash.digest()
    }
}

/// HMAC with SHA-256 (RFC 2104), of bytes that may come in parts.
public struct MessageCode: Sendable {
    private var inner: SHA256
    private let outer: SHA256

    public init(key: [UInt8]) {
        var key = key.count > SHA256.blockByteCount ? SHA256.digest(of: key) : key
        key += [UInt8](repeating: 0, count: SHA256.blockByteCount - key.count)
        var (inner, outer) = (SHA256(), SHA256())
        inner.update(key.map { $0 ^ 0x36 })
        outer.update(key.map { $0 ^ 0x5c })
        self.inner = inner
        self.outer = outer
    }

    public mutating func update(_ bytes: some Sequence<UInt8>) { inner.update(bytes) }

    /// The code of all bytes up to now: 32 bytes.
    public func code() -> [UInt8] {
        var outer = outer
        outer.update(inner.digest())
        return outer.digest()
    }

    /// Compares in a time that depends on the length of `code` alone.
    public func matches(_ code: some Collection<UInt8>) -> Bool { Self.isSame(self.code(), Array(code)) }

    public static func code(of bytes: some Sequence<UInt8>, key: [UInt8]) -> [UInt8] {
        var code = MessageCode(key: key)
        code.update(bytes)
        return code.code()
    }

    private static func isSame(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        guard one.count == other.count else { return false }
        return unsafe one.withUnsafeBufferPointer { one in
            unsafe other.withUnsafeBufferPointer { other in
                unsafe telltale_is_same(one.baseAddress, other.baseAddress, one.count) == 1
            }
        }
    }

    /// HKDF (RFC 5869).
    ///
    /// - Parameter count: Of the derived bytes, at most 8,160.
    public static func derivedKey(from input: [UInt8], salt: [UInt8], info: [UInt8], count: Int) -> [UInt8] {
        precondition(count <= 255 * SHA256.byteCount, "HKDF derives at most 8,160 bytes")
        let key = code(of: input, key: salt)
        var (block, output): ([UInt8], [UInt8]) = ([], [])
        var number: UInt8 = 1
        while output.count < count {
            block = code(of: block + info + [number], key: key)
            output += block
            number &+= 1
        }
        return Array(output.prefix(count))
    }
}
