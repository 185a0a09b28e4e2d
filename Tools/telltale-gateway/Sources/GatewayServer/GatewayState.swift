internal import Gateway
internal import ListenerLimits
internal import Logging
internal import NIOCore
internal import Synchronization

/// The state that all requests share. It contains none of the daemon's state.
final class GatewayState: Sendable {
    let link: DaemonLink
    let origins: OriginPolicy
    let log: Logger
    let openAPI: NIOCore.ByteBuffer
    let sessions: Sessions
    let figures = RequestFigures()
    let streams: StreamTable
    let slots = AnswerSlots()
    let listings = ListingTable()
    /// The connections of the public listener.
    let connections: ListenerConnections
    let hooks: HookTable
    /// `nil` if Apple's push requests are not accepted.
    let pushes: PushEndpoint?
    /// `nil` if no `telltale-push` is configured.
    let forwarder: PushProxy?
    /// Whether `/examples` is served.
    let hasExamples: Bool
    let owners = KindOwners()
    let lane: WorkLane
    let diagrams: DiagramStore
    private let expiry = Mutex<Int?>(nil)

    /// When the certificate of the https listener expires, Unix time in seconds; `nil` if there is none.
    var certificateExpiry: Int? {
        get { expiry.withLock { $0 } }
        set { expiry.withLock { $0 = newValue } }
    }

    init(
        link: DaemonLink, origins: OriginPolicy, log: Logger, openAPI: [UInt8], sessions: Sessions, hooks: HookTable,
        pushes: PushEndpoint?, forwarder: PushProxy?, hasExamples: Bool, connections: ListenerConnections
    ) {
        self.connections = connections
        streams = StreamTable(limit: connections.limit)
        self.link = link
        self.origins = origins
        self.log = log
        self.openAPI = NIOCore.ByteBuffer(bytes: openAPI)
        self.sessions = sessions
        self.hooks = hooks
        self.pushes = pushes
        self.forwarder = forwarder
        self.hasExamples = hasExamples
        lane = WorkLane()
        diagrams = DiagramStore(lane)
    }
}

/// The open streams, and the reads that wait.
final class StreamTable: Sendable {
    private struct State {
        var bridges: [ObjectIdentifier: StreamBridge] = [:]
        var isClosed = false
    }

    private let state = Mutex(State())
    private let limit: Int

    /// - Parameter limit: Each has a connection to the daemon, and one is reserved for each connection of a caller. One
    ///   of HTTP/2 may have many streams.
    init(limit: Int) { self.limit = limit }

    var count: Int { state.withLock { $0.bridges.count } }

    /// - Throws: `busy` at the limit; `shutting_down` once the gateway shuts down. The bridge is ended then.
    func insert(_ bridge: StreamBridge) throws(Problem) {
        let problem: Problem? = state.withLock { state in
            if state.isClosed { return Problem("shutting_down", "the gateway goes down; ask again in a moment") }
            guard state.bridges.count < limit else {
                return Problem("busy", "\(limit) streams and reads are open, as many as there may be; ask again later")
            }
            state.bridges[ObjectIdentifier(bridge)] = bridge
            return nil
        }
        guard let problem else { return }
        bridge.discard()
        throw problem
    }

    func remove(_ bridge: StreamBridge) { state.withLock { $0.bridges[ObjectIdentifier(bridge)] = nil } }

    /// Sends `bye` to all of them, with different times to reconnect.
    func endAll() {
        let bridges = state.withLock { state in
            state.isClosed = true
            return Array(state.bridges.values)
        }
        for bridge in bridges { bridge.end(code: "shutting_down", wait: .random(in: 500...3_000)) }
    }
}
