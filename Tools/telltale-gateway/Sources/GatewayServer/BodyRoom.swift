internal import Gateway
internal import Synchronization

/// The memory of bodies that have not come whole: bounded over all callers, who need no token to begin one.
///
/// The first bytes of each are free: they are bounded by the number of connections, and large bodies that never end keep no small one
/// out.
final class BodyRoom: Sendable {
    /// The part of one body.
    struct Hold {
        private let room: BodyRoom
        private var count = 0

        init(in room: BodyRoom) { self.room = room }

        /// - Throws: `busy`.
        mutating func grow(to length: Int) throws(Problem) {
            let wanted = max(0, length - BodyRoom.freeByteCount)
            try room.take(wanted - count)
            count = wanted
        }

        mutating func end() {
            room.giveBack(count)
            count = 0
        }
    }

    static let freeByteCount = 16_384
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
