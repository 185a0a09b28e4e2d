import Hub
import Journal

/// Decodes the chunks of a snapshot on its own thread and, instead of waiting, on the caller's too, so that a start
/// uses two processors.
final class DecodingThread: Sendable {
    private struct State {
        /// Chunks that neither thread has begun, oldest first.
        var chunks: [(number: Int, bytes: [UInt8])] = []
        /// Decoded chunks, by number.
        var parts: [Int: Result<SnapshotPart, RecoveryError>] = [:]
        var submittedCount = 0
        var returnedCount = 0
        /// The decoder of all chunks but the first, which holds the kinds.
        var decoder: SnapshotDecoder?
        var isOver = false

        mutating func takePart() -> Result<SnapshotPart, RecoveryError>? {
            guard let part = parts.removeValue(forKey: returnedCount) else { return nil }
            returnedCount += 1
            return part
        }
    }

    private enum Step {
        case part(Result<SnapshotPart, RecoveryError>)
        case decode(number: Int, bytes: [UInt8], SnapshotDecoder)
        case none
    }

    // At most one thread waits at a time: the decoding thread for a chunk, or the caller for a part.
    private let state = Monitor(State())

    /// How many chunks may be under way at once, of half a megabyte each.
    static let capacity = 4

    init() {
        let state = state
        startThread {
            var decoder = SnapshotDecoder()
            func nextChunk() -> (number: Int, bytes: [UInt8])? {
                state.waitAndChange({ !$0.chunks.isEmpty || $0.isOver }) { $0.isOver ? nil : $0.chunks.removeFirst() }
            }
            while let chunk = nextChunk() {
                let part = Result { () throws(RecoveryError) in try decoder.decode(chunk.bytes) }
                state.change {
                    $0.parts[chunk.number] = part
                    if $0.decoder == nil { $0.decoder = decoder }
                }
            }
        }
    }

    deinit {
        state.change { $0.isOver = true }
    }

    func submit(_ chunk: [UInt8]) {
        state.change {
            $0.chunks.append((number: $0.submittedCount, bytes: chunk))
            $0.submittedCount += 1
        }
    }

    /// The next part, in the order of the chunks. If more than `limit` chunks are under way and the first is not
    /// decoded, the caller decodes chunks itself, or waits if none is left.
    ///
    /// - Returns: `nil` if no part is ready and at most `limit` chunks are under way.
    func next(leaving limit: Int) throws(RecoveryError) -> SnapshotPart? {
        while true {
            switch nextStep(leaving: limit) {
            case .none: return nil
            case .part(let part): return try part.get()
            case .decode(let number, let bytes, var decoder):
                let part = Result { () throws(RecoveryError) in try decoder.decode(bytes) }
                state.change { $0.parts[number] = part }
            }
        }
    }

    private func nextStep(leaving limit: Int) -> Step {
        state.waitAndChange { state in
            state.parts[state.returnedCount] != nil || state.submittedCount - state.returnedCount <= limit
                || state.decoder != nil && !state.chunks.isEmpty
        } _: { state in
            if let part = state.takePart() { return .part(part) }
            guard state.submittedCount - state.returnedCount > limit, let decoder = state.decoder else { return .none }
            let chunk = state.chunks.removeFirst()
            return .decode(number: chunk.number, bytes: chunk.bytes, decoder)
        }
    }
}
