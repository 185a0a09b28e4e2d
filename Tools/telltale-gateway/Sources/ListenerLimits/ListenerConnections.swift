package import HummingbirdCore
package import Logging
package import Metrics
package import NIOCore
internal import Synchronization

/// The connections of a listener. At the limit a new one replaces an idle one; if none is idle, the new one is closed.
///
/// It examines ``checkCount`` connections, in turn, and closes the one of them that has been idle for longest. The cost
/// of a new connection therefore does not depend on the number of connections.
package final class ListenerConnections: Sendable {
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
        /// The index of a channel's member in `members`.
        var places: [ObjectIdentifier: Int] = [:]
        /// The index where the next examination starts.
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
            for _ in 0..<min(ListenerConnections.checkCount, members.count) {
                next = next + 1 < members.count ? next + 1 : 0
                if let since = members[next].idleSince, since < found?.since ?? .distantFuture { found = (next, since) }
            }
            return found?.place
        }
    }

    private let state = Mutex(State())
    package let limit: Int
    private let room: BodyRoom

    /// The number of connections examined for an idle one.
    private static let checkCount = 64

    package static let refusals = Counter(label: "telltale_gateway_connections_refused_total")

    package init(limit: Int) {
        self.limit = limit
        room = BodyRoom(connections: limit)
    }

    package var count: Int { state.withLock { $0.members.count } }
    /// Bytes of the incomplete bodies, buffers included.
    package var bodyByteCount: Int { room.heldByteCount }

    /// Adds a new connection.
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

    /// Closes an idle connection, on its own loop. If a request has arrived meanwhile, it is answered instead, and the
    /// table holds one connection too many.
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

    /// The bodies of a connection, or of the connection of an HTTP/2 stream. A connection that has just left the table
    /// has no others.
    package func bodies(_ channel: any Channel) -> BodyRoom.Connection {
        member(channel)?.bodies ?? BodyRoom.Connection(in: room)
    }

    /// The member of a connection, or of the connection of an HTTP/2 stream.
    package func member(_ channel: any Channel) -> Member? {
        state.withLock { state in
            var place = state.places[ObjectIdentifier(channel)]
            if place == nil, let parent = channel.parent { place = state.places[ObjectIdentifier(parent)] }
            guard let place else { return nil }
            return state.members[place]
        }
    }
}

/// A child channel whose connections are in a ``ListenerConnections``.
package struct CountedChannel<Base: ServerChildChannel>: ServerChildChannel {
    package typealias Value = Base.Value

    private struct Refused: Error {}

    let base: Base
    let connections: ListenerConnections

    package init(_ base: Base, in connections: ListenerConnections) {
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
    /// The configuration of every HTTP listener: it limits a request's head, and the time for its body and for the
    /// reader of its answer.
    ///
    /// - Parameter connections: Those of the listener; its channel is a ``CountedChannel`` in the same table.
    package static func bounded(_ connections: ListenerConnections) -> HTTP1Channel.Configuration {
        HTTP1Channel.Configuration(
            additionalChannelHandlers: [RequestDeadline(connections: connections)], idleTimeout: .seconds(60),
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: 16_384, maxHeaderListSize: 65_536, maxHeaderFieldCount: 100))
    }
}
