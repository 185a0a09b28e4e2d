package import HummingbirdCore
package import Logging
package import Metrics
package import NIOCore
internal import Synchronization

/// The connections of a listener. At the limit a new one takes the place of an idle one; where none is idle, it is closed.
///
/// ``lookCount`` connections are looked at, in turn, and of these the one that has been idle for longest gives way: a flood of
/// connections costs the same however many there are.
package final class ConnectionTable: Sendable {
    /// One connection in the table, for the handlers of its requests.
    package final class Member: Sendable {
        private struct State {
            var requestCount = 0
            var idleSince = NIODeadline.now()
        }

        fileprivate let channel: any Channel
        package let bodies: BodyRoom.Connection
        private let state = Mutex(State())

        fileprivate init(_ channel: any Channel, _ room: BodyRoom) {
            self.channel = channel
            bodies = BodyRoom.Connection(in: room)
        }

        package func asked() { state.withLock { $0.requestCount += 1 } }

        package func answered() {
            state.withLock { state in
                state.requestCount -= 1
                state.idleSince = .now()
            }
        }

        /// `nil` while a request is under way.
        fileprivate var idleSince: NIODeadline? {
            state.withLock { $0.requestCount == 0 ? $0.idleSince : nil }
        }
    }

    private struct State {
        var members: [Member] = []
        /// Where a channel's member stands in `members`.
        var places: [ObjectIdentifier: Int] = [:]
        /// Where the next look begins.
        var next = 0

        mutating func add(_ member: Member) {
            places[ObjectIdentifier(member.channel)] = members.count
            members.append(member)
        }

        mutating func remove(at place: Int) {
            places[ObjectIdentifier(members[place].channel)] = nil
            let last = members.removeLast()
            guard place < members.count else { return }
            members[place] = last
            places[ObjectIdentifier(last.channel)] = place
        }

        mutating func longestIdle() -> Int? {
            var found: (place: Int, since: NIODeadline)?
            for _ in 0..<min(ConnectionTable.lookCount, members.count) {
                next = next + 1 < members.count ? next + 1 : 0
                if let since = members[next].idleSince, since < found?.since ?? .distantFuture { found = (next, since) }
            }
            return found?.place
        }
    }

    private let state = Mutex(State())
    private let limit: Int
    private let room: BodyRoom

    /// Connections that are looked at for one that may give way.
    private static let lookCount = 64

    package static let refusals = Counter(label: "telltale_gateway_connections_refused_total")

    package init(limit: Int) {
        self.limit = limit
        room = BodyRoom(connections: limit)
    }

    package var count: Int { state.withLock { $0.members.count } }
    /// Bytes of the requests' bodies under way, those of their buffers included.
    package var bodyByteCount: Int { room.heldByteCount }

    /// Takes a connection that was made just now.
    ///
    /// - Returns: Whether there is room for it.
    package func insert(_ channel: any Channel) -> Bool {
        let (isTaken, idle): (Bool, Member?) = state.withLock { state in
            var idle: Member?
            if state.members.count >= limit {
                guard let place = state.longestIdle() else { return (false, nil) }
                idle = state.members[place]
                state.remove(at: place)
            }
            state.add(Member(channel, room))
            return (true, idle)
        }
        if !isTaken || idle != nil { Self.refusals.increment() }
        if let idle { giveWay(idle) }
        if isTaken {
            channel.closeFuture.whenComplete { [weak self] _ in self?.remove(channel) }
        }
        return isTaken
    }

    /// Closes a connection, on its own loop: a request that came in the meantime is answered, and there is one connection too many
    /// then.
    private func giveWay(_ idle: Member) {
        idle.channel.eventLoop.execute { [self] in
            if idle.idleSince != nil {
                idle.channel.close(promise: nil)
            } else if idle.channel.isActive {
                state.withLock { $0.add(idle) }
            }
        }
    }

    private func remove(_ channel: any Channel) {
        state.withLock { state in
            guard let place = state.places[ObjectIdentifier(channel)], state.members[place].channel === channel else {
                return
            }
            state.remove(at: place)
        }
    }

    /// The bodies of a connection, or of the connection of a stream of HTTP/2. One that has just left the table has no others.
    package func bodies(_ channel: any Channel) -> BodyRoom.Connection {
        member(channel)?.bodies ?? BodyRoom.Connection(in: room)
    }

    /// That of a connection, or of the connection of a stream of HTTP/2.
    package func member(_ channel: any Channel) -> Member? {
        state.withLock { state in
            var place = state.places[ObjectIdentifier(channel)]
            if place == nil, let parent = channel.parent { place = state.places[ObjectIdentifier(parent)] }
            guard let place else { return nil }
            return state.members[place]
        }
    }
}

/// A child channel whose connections stand in a ``ConnectionTable``.
package struct CountedChannel<Base: ServerChildChannel>: ServerChildChannel {
    package typealias Value = Base.Value

    private struct Refused: Error {}

    let base: Base
    let connections: ConnectionTable

    package init(_ base: Base, in connections: ConnectionTable) {
        self.base = base
        self.connections = connections
    }

    package func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        guard connections.insert(channel) else {
            return channel.close().flatMapThrowing { throw Refused() }
        }
        return base.setup(channel: channel, logger: logger)
    }

    package func handle(value: Value, logger: Logger) async { await base.handle(value: value, logger: logger) }
}

extension HTTP1Channel.Configuration {
    /// That of every HTTP listener: the bounds of a request's head, of the time of its body and of its answer's reader.
    ///
    /// - Parameter connections: Those of the listener; its channel is a ``CountedChannel`` in the same table.
    package static func bounded(_ connections: ConnectionTable) -> HTTP1Channel.Configuration {
        HTTP1Channel.Configuration(
            additionalChannelHandlers: [RequestDeadline(connections: connections)], idleTimeout: .seconds(60),
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: 16_384, maxHeaderListSize: 65_536, maxHeaderFieldCount: 100))
    }
}
