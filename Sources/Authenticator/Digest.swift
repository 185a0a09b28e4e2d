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

    /// Two lower-case digits for each byte.
    public static func hexadecimal(_ bytes: [UInt8]) -> String {
        var buffer = ByteBuffer()
        for byte in bytes { buffer.append(hexadecimal: UInt64(byte), digits: 2) }
        return String(decoding: buffer.array, as: UTF8.self)
    }

    /// The bytes of 64 hexadecimal digits; `nil` for anything else.
    static func bytes(hexadecimal text: String) -> [UInt8]? {
        let digits = text.utf8.map { digit(of: $0) }
        guard digits.count == 2 * byteCount else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = digits[index], let low = digits[index + 1] else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func digit(of byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        case _: nil
        }
    }
}
