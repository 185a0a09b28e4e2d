package import Gateway
internal import Synchronization

/// Limits the memory of incomplete bodies over all callers, who need no token to start one.
///
/// Every byte counts, and so do the buffers of every body but a connection's first, which belong to the connection.
/// Half of the room is reserved in equal parts for all allowed connections, so that endless bodies cannot keep a small
/// body of another connection out. What exceeds a connection's part comes from the other half.
///
/// The parts belong to connections, because a connection of HTTP/2 can have any number of bodies at once.
package final class BodyRoom: Sendable {
    /// Bytes of all bodies together.
    package static let byteLimit = 256 << 20
    /// The part reserved for one connection. It is smaller if very many connections are allowed.
    package static let ownByteCount = 16_384
    /// The memory of a stream of HTTP/2 whose body is being read, beside the body.
    package static let streamByteCount = 32_768

    /// The bodies of one connection.
    package final class Connection: Sendable {
        private struct State {
            /// Bytes of bodies and of their buffers.
            var held = 0
            /// Of these, those taken from the common half.
            var borrowed = 0
        }

        private let room: BodyRoom
        private let state = Mutex(State())

        package init(in room: BodyRoom) { self.room = room }

        /// - Throws: `busy`; nothing is taken then.
        fileprivate func hold(_ count: Int) throws(Problem) {
            let problem: Problem? = state.withLock { state in
                let held = state.held + count
                let borrowed = max(0, held - room.ownByteCount - BodyRoom.streamByteCount)
                guard room.reserve(count, borrowing: borrowed - state.borrowed) else {
                    return Problem("busy", "too many bodies are under way; send this one again in a moment")
                }
                state = State(held: held, borrowed: borrowed)
                return nil
            }
            if let problem { throw problem }
        }

        /// Releasing bytes never fails.
        fileprivate func release(_ count: Int) { try? hold(-count) }
    }

    /// The part of one body.
    package struct Hold {
        private let connection: Connection
        private var count = 0

        package init(in connection: Connection) { self.connection = connection }

        /// - Parameter length: The length of the body so far.
        /// - Throws: `busy`.
        package mutating func grow(to length: Int) throws(Problem) {
            let wanted = BodyRoom.streamByteCount + length
            try connection.hold(wanted - count)
            count = wanted
        }

        package mutating func end() {
            connection.release(count)
            count = 0
        }
    }

    private let limit: Int
    private let ownByteCount: Int
    /// Bytes of all bodies and their buffers, and those of them taken from the common half.
    private let taken = Mutex((all: 0, common: 0))

    /// - Parameters:
    ///   - byteLimit: Of all bodies together.
    ///   - connections: The most connections.
    package init(byteLimit: Int = BodyRoom.byteLimit, connections: Int) {
        limit = byteLimit / 2
        ownByteCount = min(Self.ownByteCount, byteLimit / 2 / max(1, connections))
    }

    /// Bytes of the incomplete bodies, buffers included.
    package var heldByteCount: Int { taken.withLock { $0.all } }

    private func reserve(_ count: Int, borrowing: Int) -> Bool {
        taken.withLock { taken in
            guard borrowing <= 0 || taken.common + borrowing <= limit else { return false }
            taken.all += count
            taken.common += borrowing
            return true
        }
    }
}
