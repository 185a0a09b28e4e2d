/// The surroundings of an actor: the time, its connections, and the log of everything that any client has seen.
///
/// Actors use nothing else. The same actors therefore run in a simulated ``World`` and in a ``Crowd`` at a daemon in
/// another process.
protocol Environment: AnyObject {
    /// Milliseconds of the scenario's time, from its beginning.
    var now: Int64 { get }
    /// Microseconds of the clock that latencies are measured with.
    var instant: Int64 { get }
    /// Unix milliseconds of the daemon's clock, which drives the deadlines of activities.
    var daemonTime: Int64 { get }
    var climate: FaultProfile { get }
    var setting: Setting { get }
    /// Whether faults and new inputs have ended, so that everything can converge.
    var isCalm: Bool { get }
    var ledger: ObservationLog { get }
    /// Whether a key belongs to this run. Other runs may use the same daemon.
    func isOwn(_ key: String) -> Bool
    /// Whether the history of a cursor was given up for another one, with another epoch.
    func isOfOtherHistory(_ cursor: String) -> Bool
    /// The newest durable commit, which is the newest that a client may be notified of. `Int64.max` where only the daemon knows
    /// it.
    var durableSequence: Int64 { get }

    /// Every record that became durable; `nil` where only the daemon knows them.
    var chronicle: HistoryChecker? { get }

    /// Whether several nodes serve one history, so that a client says what it has seen when it connects.
    var isCluster: Bool { get }

    /// Whether a connection has to begin with `HELLO`. The environment adds the token.
    var needsHello: Bool { get }

    func scheduleLater(_ what: Int, for client: any SimulatedClient, after delay: Int64)
    func countInput()
    func violated(_ promise: String, _ what: String)
    /// The time to wait, in milliseconds of the scenario, for an effect that a scenario allows `span` milliseconds and that
    /// takes the daemon's own time.
    func patience(_ span: Int64) -> Int64

    func connect(_ client: any SimulatedClient) -> SimulatedLink
    func send(_ text: String, on link: SimulatedLink)
    func halfClose(_ link: SimulatedLink)
    /// The client resets the connection.
    func reset(_ link: SimulatedLink)
    /// The client reads the bytes that have arrived.
    func read(_ link: SimulatedLink)
    /// Whether the daemon closed a connection on which replies were pending, although it did not crash and the client was not
    /// cut as a stuck reader.
    func wasHungUp(_ link: SimulatedLink) -> Bool
}

extension Environment {
    var chronicle: HistoryChecker? { nil }
    var needsHello: Bool { false }
    var isCluster: Bool { false }
    var instant: Int64 { now * 1_000 }
    func isOwn(_ key: String) -> Bool { true }
    func isOfOtherHistory(_ cursor: String) -> Bool { false }
    func patience(_ span: Int64) -> Int64 { span }
}

/// A client that posts events and knows the facts that must hold about them in the end.
protocol Poster: AnyObject {
    /// Every event that was acknowledged.
    var acknowledged: [Acknowledgement] { get }
    /// The ids (`source/eid`) of all events that were ever sent. The daemon may have recorded no others.
    var sentIDs: Set<String> { get }
    /// The `src` of its events.
    var source: String { get }
}

/// An event that the daemon has acknowledged.
struct Acknowledgement {
    /// The line that was posted.
    var line: String
    /// The rev in the reply.
    var rev: Int64
}
