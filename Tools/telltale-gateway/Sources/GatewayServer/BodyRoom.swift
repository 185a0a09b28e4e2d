internal import Gateway
internal import Synchronization

/// The memory of bodies that have not come whole: bounded over all callers, who need no token to begin one.
final class BodyRoom: Sendable {
    static let shared = BodyRoom(limit: 256 << 20)

    private let limit: Int
    private let taken = Mutex(0)

    /// - Parameter limit: Bytes.
    init(limit: Int) { self.limit = limit }

    /// - Throws: `busy`.
    func take(_ count: Int) throws(Problem) {
        let fits = taken.withLock { taken in
            guard taken + count <= limit else { return false }
            taken += count
            return true
        }
        if !fits { throw Problem("busy", "too many bodies are under way; send this one again in a moment") }
    }

    func giveBack(_ count: Int) { taken.withLock { $0 -= count } }
}
