internal import CTelltaleCrypto

/// AES-GCM by libcrypto (NIST SP 800-38D), with keys of 16 or 32 bytes.
public enum SealedBytes {
    public static let nonceByteCount = 12
    public static let tagByteCount = 16

    /// The ciphertext of `bytes`, and its tag of 16 bytes.
    ///
    /// - Parameters:
    ///   - key: 16 or 32 bytes.
    ///   - nonce: 12 bytes, never the same twice with one key.
    public static func seal(_ bytes: [UInt8], key: [UInt8], nonce: [UInt8]) -> [UInt8] {
        check(key, nonce)
        var sealed = [UInt8](repeating: 0, count: bytes.count + tagByteCount)
        let isDone = unsafe sealed.withUnsafeMutableBufferPointer { sealed in
            unsafe withPointers(key, nonce, bytes) { key, nonce, bytes in
                unsafe telltale_aes_gcm_seal(
                    key.baseAddress, key.count, nonce.baseAddress, bytes.baseAddress, bytes.count, sealed.baseAddress)
            }
        }
        precondition(isDone == 1, "libcrypto has no memory, or no AES-GCM")
        return sealed
    }

    /// The bytes that ``seal(_:key:nonce:)`` was given; `nil` where `sealed` is not what it made with this key and nonce.
    public static func open(_ sealed: [UInt8], key: [UInt8], nonce: [UInt8]) -> [UInt8]? {
        check(key, nonce)
        guard sealed.count >= tagByteCount else { return nil }
        var bytes = [UInt8](repeating: 0, count: sealed.count - tagByteCount)
        let isDone = unsafe bytes.withUnsafeMutableBufferPointer { bytes in
            unsafe withPointers(key, nonce, sealed) { key, nonce, sealed in
                unsafe telltale_aes_gcm_open(
                    key.baseAddress, key.count, nonce.baseAddress, sealed.baseAddress, bytes.count, bytes.baseAddress)
            }
        }
        return isDone == 1 ? bytes : nil
    }

    /// Random bytes that are fit for keys and nonces.
    public static func random(_ count: Int) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: count) { bytes, initializedCount in
            let isDone = unsafe telltale_random(bytes.baseAddress, count)
            precondition(isDone == 1, "libcrypto has no random bytes")
            initializedCount = count
        }
    }

    private static func check(_ key: [UInt8], _ nonce: [UInt8]) {
        precondition(key.count == 16 || key.count == 32, "a key of AES-GCM has 16 or 32 bytes")
        precondition(nonce.count == nonceByteCount, "a nonce of AES-GCM has 12 bytes")
    }

    private typealias Bytes = UnsafeBufferPointer<UInt8>

    private static func withPointers(
        _ key: [UInt8], _ nonce: [UInt8], _ bytes: [UInt8], _ body: (Bytes, Bytes, Bytes) -> Int32
    ) -> Int32 {
        unsafe key.withUnsafeBufferPointer { key in
            unsafe nonce.withUnsafeBufferPointer { nonce in
                unsafe bytes.withUnsafeBufferPointer { bytes in unsafe body(key, nonce, bytes) }
            }
        }
    }
}
