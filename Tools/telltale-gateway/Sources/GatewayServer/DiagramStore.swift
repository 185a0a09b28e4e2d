internal import Board
internal import Gateway
internal import Synchronization
internal import TelltaleCrypto
internal import TelltaleModel

/// Diagrams of kinds' machines, made once for each definition.
///
/// A diagram is found by the definition's digest, so it is right for every daemon.
final class DiagramStore: Sendable {
    private struct Known {
        /// A refusal is kept too: a machine that is too large stays so.
        var files: [[UInt8]: Result<BoardFile, Problem>] = [:]
        /// Least recently requested first.
        var order: [[UInt8]] = []
    }

    private let known = Mutex(Known())
    private let lane: WorkLane
    private static let limit = 64

    init(_ lane: WorkLane) { self.lane = lane }

    /// - Parameter definition: As the daemon sent it to a caller that may read it.
    /// - Throws: As ``KindDiagram``, and `busy`.
    func file(of definition: JSON) async throws(Problem) -> BoardFile {
        let digest = SHA256.digest(of: definition.text)
        if let file = find(digest) { return try file.get() }
        return try await lane.run { [self] () throws(Problem) in
            // If requests came together, the first one has made it.
            if let file = find(digest) { return try file.get() }
            let file = Result { () throws(Problem) in
                BoardFile(type: "image/svg+xml", bytes: Array(try KindDiagram.svg(of: definition).utf8))
            }
            keep(file, digest)
            return try file.get()
        }
    }

    private func find(_ digest: [UInt8]) -> Result<BoardFile, Problem>? {
        known.withLock { known in
            guard let file = known.files[digest] else { return nil }
            if let place = known.order.firstIndex(of: digest) { known.order.append(known.order.remove(at: place)) }
            return file
        }
    }

    private func keep(_ file: Result<BoardFile, Problem>, _ digest: [UInt8]) {
        known.withLock { known in
            if known.files.updateValue(file, forKey: digest) == nil { known.order.append(digest) }
            while known.order.count > Self.limit { known.files[known.order.removeFirst()] = nil }
        }
    }
}
