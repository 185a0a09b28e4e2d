import Hub
import Journal

/// Decodes the chunks of a snapshot on a thread of its own, while the caller reads the next chunk and puts the parts
/// before into the hub: a start uses two processors.
final class DecodingThread: Sendable {
    private struct State {
        /// Oldest first.
        var chunks: [[UInt8]] = []
        var parts: [Result<SnapshotPart, RecoveryError>] = []
        /// Submitted, and not yet returned by ``DecodingThread/next(leaving:)``.
        var count = 0
        var isOver = false
    }

    // At most one thread waits at a time: the decoder for a chunk, or the caller for a part.
    private let state = Monitor(State())

    /// Chunks under way at once, of half a megabyte each.
    static let capacity = 4

    init() {
        let state = state
        startThread {
            var decoder = SnapshotDecoder()
            func nextChunk() -> [UInt8]? {
                state.take({ !$0.chunks.isEmpty || $0.isOver }) { $0.isOver ? nil : $0.chunks.removeFirst() }
            }
            while let chunk = nextChunk() {
                let part = Result { () throws(RecoveryError) in try decoder.decode(chunk) }
                state.change { $0.parts.append(part) }
            }
        }
    }

    deinit {
        state.change { $0.isOver = true }
    }

    func submit(_ chunk: [UInt8]) {
        state.change {
            $0.chunks.append(chunk)
            $0.count += 1
        }
    }

    /// The next part, in the order of the chunks. Waits for it where more than `limit` chunks are under way.
    ///
    /// - Returns: `nil` where no part is ready and no more than `limit` chunks are under way.
    func next(leaving limit: Int) throws(RecoveryError) -> SnapshotPart? {
        let part = state.take({ !$0.parts.isEmpty || $0.count <= limit }) { state in
            guard !state.parts.isEmpty else { return nil as Result<SnapshotPart, RecoveryError>? }
            state.count -= 1
            return state.parts.removeFirst()
        }
        return try part?.get()
    }
}
