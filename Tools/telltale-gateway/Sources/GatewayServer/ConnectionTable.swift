internal import HummingbirdCore
internal import Logging
internal import Metrics
internal import NIOCore
internal import Synchronization

/// The connections of a listener. At the limit a new one takes the place of that which has asked nothing for longest; where every
/// one has a request under way, the new one is closed.
final class ConnectionTable: Sendable {
    /// One connection in the table, for the handlers of its requests.
    final class Member: Sendable {
        private struct State {
            var requestCount = 0
            var idleSince = NIODeadline.now()
        }

        fileprivate let channel: any Channel
        private let state = Mutex(State())

        fileprivate init(_ channel: any Channel) { self.channel = channel }

        func asked() { state.withLock { $0.requestCount += 1 } }

        func answered() {
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

    private let members = Mutex<[ObjectIdentifier: Member]>([:])
    private let limit: Int

    static let refusals = Counter(label: "telltale_gateway_connections_refused_total")

    init(limit: Int) { self.limit = limit }

    var count: Int { members.withLock { $0.count } }

    /// Takes a connection that was made just now.
    ///
    /// - Returns: Whether there is room for it.
    func insert(_ channel: any Channel) -> Bool {
        let id = ObjectIdentifier(channel)
        let (isTaken, idle): (Bool, Member?) = members.withLock { members in
            var idle: Member?
            if members.count >= limit {
                let oldest = members.compactMap { id, member in member.idleSince.map { (id, $0) } }.min { $0.1 < $1.1 }
                guard let oldest else { return (false, nil) }
                idle = members.removeValue(forKey: oldest.0)
            }
            members[id] = Member(channel)
            return (true, idle)
        }
        idle?.channel.close(promise: nil)
        if !isTaken || idle != nil { Self.refusals.increment() }
        if isTaken {
            channel.closeFuture.whenComplete { [weak self] _ in
                self?.members.withLock { members in
                    if members[id]?.channel === channel { members[id] = nil }
                }
            }
        }
        return isTaken
    }

    /// That of a connection, or of the connection of a stream of HTTP/2.
    func member(_ channel: any Channel) -> Member? {
        members.withLock { members in
            members[ObjectIdentifier(channel)] ?? channel.parent.flatMap { members[ObjectIdentifier($0)] }
        }
    }
}

/// A child channel whose connections stand in a ``ConnectionTable``.
struct CountedChannel<Base: ServerChildChannel>: ServerChildChannel {
    typealias Value = Base.Value

    private struct Refused: Error {}

    let base: Base
    let connections: ConnectionTable

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        guard connections.insert(channel) else {
            return channel.close().flatMapThrowing { throw Refused() }
        }
        return base.setup(channel: channel, logger: logger)
    }

    func handle(value: Value, logger: Logger) async { await base.handle(value: value, logger: logger) }
}
