package import HummingbirdCore
package import NIOCore

extension ResponseBody {
    /// Writes a large body as its reader takes it, so that only one piece is encrypted, or between the connection's
    /// handlers, at a time.
    ///
    /// - Parameter holding: Stays alive until an answer in pieces is written; a smaller answer holds nothing.
    package static func pieces(of buffer: ByteBuffer, holding: (any Sendable)? = nil) -> ResponseBody {
        guard buffer.readableBytes > RequestDeadline.pieceByteCount else { return ResponseBody(byteBuffer: buffer) }
        return ResponseBody(contentLength: buffer.readableBytes) { writer in
            try await writer.write(inPieces: buffer)
            withExtendedLifetime(holding) {}
            try await writer.finish(nil)
        }
    }
}

extension ResponseBodyWriter {
    /// Writes as the reader takes it, so that ``RequestDeadline`` sees each piece leave.
    @concurrent package mutating func write(inPieces buffer: ByteBuffer) async throws {
        var rest = buffer
        while let piece = rest.readSlice(length: min(RequestDeadline.pieceByteCount, rest.readableBytes)),
            piece.readableBytes > 0
        {
            try await write(piece)
        }
    }
}
