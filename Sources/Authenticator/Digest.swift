internal import CTelltaleCrypto
internal import TelltaleModel

/// SHA-256, by libcrypto.
public enum Digest {
    /// Its length in bytes.
    public static let byteCount = 32

    /// The digest of the UTF-8 bytes of `text`; empty where libcrypto fails, which no digest equals.
    public static func sha256(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        var digest = [UInt8](repeating: 0, count: byteCount)
        let isDone = unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe digest.withUnsafeMutableBufferPointer { digest in
                unsafe telltale_sha256(bytes.baseAddress, bytes.count, digest.baseAddress)
            }
        }
        return isDone == 1 ? digest : []
    }

    /// The bytes of 64 hexadecimal digits; `nil` for anything else.
    static func bytes(hexadecimal text: String) -> [UInt8]? {
        Hexadecimal.bytes(text).flatMap { $0.count == byteCount ? $0 : nil }
    }
}
