import Hub
import Journal
import Replication

/// Cuts a snapshot into the pieces of a checkpoint on its own thread, at most a few pieces ahead of their reader.
final class CheckpointThread: Sendable {
    private struct State {
        var pieces: [[UInt8]] = []
        var isOver = false
        var isCancelled = false
        /// Receives the next piece, or `nil` at the end.
        var asker: (@Sendable ([UInt8]?) -> Void)?
    }

    private struct Cancelled: Error {}

    private let state = Monitor(State())
    private static let capacity = 8

    /// - Parameter pieceLength: In bytes.
    init(_ snapshot: HubSnapshot, pieceLength: Int) {
        let state = state
        startThread(isBackground: true) {
            var cutter = CheckpointCutter(length: pieceLength)
            do throws(Cancelled) {
                try snapshot.forEachChunk { (chunk) throws(Cancelled) in
                    for piece in cutter.add(chunk) { try Self.put(piece, state) }
                }
                if let last = cutter.end() { try Self.put(last, state) }
                Self.end(state)
            } catch {}
        }
    }

    private static func put(_ piece: [UInt8], _ state: Monitor<State>) throws(Cancelled) {
        let asker = state.waitAndChange({ $0.isCancelled || $0.asker != nil || $0.pieces.count < capacity }) { state in
            if state.asker == nil { state.pieces.append(piece) }
            return state.asker.take()
        }
        guard !state.waitAndChange({ _ in true }, { $0.isCancelled }) else { throw Cancelled() }
        asker?(piece)
    }

    private static func end(_ state: Monitor<State>) {
        let asker = state.waitAndChange({ _ in true }) { state in
            state.isOver = true
            return state.asker.take()
        }
        asker?(nil)
    }

    /// Calls `body` once, immediately or on the thread: with the next piece, or with `nil` at the end.
    func next(_ body: @escaping @Sendable ([UInt8]?) -> Void) {
        let found: [UInt8]?? = state.waitAndChange({ _ in true }) { state in
            guard state.pieces.isEmpty else { return .some(state.pieces.removeFirst()) }
            guard !state.isOver else { return .some(nil) }
            state.asker = body
            return nil
        }
        if let found { body(found) }
    }

    func cancel() {
        state.change {
            ($0.isCancelled, $0.pieces, $0.asker) = (true, [], nil)
        }
    }
}

/// A message about checkpoints from another thread.
enum CheckpointWord: Sendable {
    /// From the thread that cuts; one from an earlier thread is ignored.
    case piece([UInt8]?, CheckpointThread)
    /// The local journal has stored the chunk.
    case loaded
    /// The local journal now holds the checkpoint.
    case installed(RecoveredHub)
}
