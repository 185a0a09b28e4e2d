internal import CGzip
internal import TelltaleCrypto

/// One file of the board, as it is sent.
public struct BoardFile: Sendable {
    /// For `Content-Type`.
    public let type: String
    public let bytes: [UInt8]
    /// The same bytes in gzip; `nil` if that is not smaller.
    public let compressed: [UInt8]?
    /// For `ETag` of the plain bytes: 32 hexadecimal digits of the file's SHA-256, in quotes.
    public let tag: String
    /// For `ETag` of the compressed bytes: a strong tag names one sequence of bytes (RFC 9110 §8.8.1).
    public let compressedTag: String

    /// - Parameter type: For `Content-Type`.
    public init(type: String, bytes: [UInt8]) {
        self.type = type
        self.bytes = bytes
        let packed = Self.gzip(bytes)
        compressed = packed.count < bytes.count && !packed.isEmpty ? packed : nil
        let digest = Self.hex(SHA256.digest(of: bytes).prefix(16))
        tag = "\"\(digest)\""
        compressedTag = "\"\(digest)-gzip\""
    }

    static func hex(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    static func gzip(_ bytes: [UInt8]) -> [UInt8] {
        let capacity = telltale_gzip_bound(bytes.count)
        return [UInt8](unsafeUninitializedCapacity: capacity) { output, count in
            count = bytes.withUnsafeBufferPointer { input in
                telltale_gzip(input.baseAddress, input.count, output.baseAddress, capacity)
            }
        }
    }
}
