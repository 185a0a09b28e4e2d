internal import TelltaleModel

/// Cuts the chunks of a snapshot into pieces of one length, and reports their checksum.
public struct CheckpointCutter: Sendable {
    private var rest: [UInt8] = []
    private let length: Int

    /// - Parameter length: Of a piece, in bytes.
    public init(length: Int = CheckpointSettings().pieceBytes) {
        self.length = max(1, length)
    }

    /// - Returns: The pieces that are full now.
    public mutating func add(_ chunk: [UInt8]) -> [[UInt8]] {
        let count = UInt32(clamping: chunk.count)
        rest += (0..<4).map { UInt8(truncatingIfNeeded: count >> (8 * $0)) }
        rest += chunk
        guard rest.count >= length else { return [] }
        let end = rest.count - rest.count % length
        let pieces = stride(from: 0, to: end, by: length).map { Array(rest[$0..<$0 + length]) }
        rest.removeFirst(end)
        return pieces
    }

    /// - Returns: The last piece; `nil` where all are given.
    public mutating func end() -> [UInt8]? {
        defer { rest = [] }
        return rest.isEmpty ? nil : rest
    }

    /// The checksum of pieces.
    public static func checksum(of pieces: [[UInt8]]) -> UInt64 {
        pieces.reduce(0) { checksum(of: $1, after: $0) }
    }

    /// The checksum of pieces: that of those before, and one more.
    static func checksum(of piece: [UInt8], after checksum: UInt64) -> UInt64 {
        var hash = StableHash(seed: checksum)
        hash.combine(piece.span)
        return hash.finalize()
    }
}

/// Puts pieces together to the chunks of a snapshot.
struct CheckpointJoiner: Hashable {
    private var rest: [UInt8] = []
    private(set) var checksum: UInt64 = 0

    /// No chunk is longer; a longer one is not one of ours.
    private static let longest = 256 << 20

    var isAtEnd: Bool { rest.isEmpty }

    /// - Returns: The chunks that are whole now; `nil` for bytes that are none.
    mutating func add(_ piece: [UInt8]) -> [[UInt8]]? {
        checksum = CheckpointCutter.checksum(of: piece, after: checksum)
        rest += piece
        var chunks: [[UInt8]] = []
        var start = 0
        while rest.count - start >= 4 {
            let length = (0..<4).reduce(0) { $0 | Int(rest[start + $1]) << (8 * $1) }
            guard length <= Self.longest else { return nil }
            guard rest.count - start - 4 >= length else { break }
            chunks.append(Array(rest[start + 4..<start + 4 + length]))
            start += 4 + length
        }
        rest.removeFirst(start)
        return chunks
    }
}
