/// The surroundings of an actor: the time, its connections and the observations of all actors.
///
/// Actors know nothing else, so the same order systems, screens, fingers and providers live in a simulated ``World`` and
/// in a ``Crowd`` at a daemon elsewhere.
protocol Environment: AnyObject {
    /// Milliseconds of the scenario's time, from its beginning.
    var now: Int64 { get }
    /// Microseconds of a clock that latencies are measured by.
    var instant: Int64 { get }
    /// Unix milliseconds of the daemon's clock, by which kinds live.
    var daemonTime: Int64 { get }
    var climate: FaultProfile { get }
    var setting: Setting { get }
    /// No fault happens any more, and nothing new is sent.
    var isCalm: Bool { get }
    var ledger: ObservationLog { get }
    /// Whether a key is of this run; others' at the same daemon are not its business.
    func isOwn(_ key: String) -> Bool
    /// The newest commit that can have been told; `Int64.max` where only the daemon knows.
    var durableSequence: Int64 { get }

    /// All that became durable; `nil` where only the daemon knows.
    var chronicle: HistoryChecker? { get }

    func scheduleLater(_ what: Int, for client: any SimulatedClient, after delay: Int64)
    func countInput()
    func violated(_ promise: String, _ what: String)
    /// How long to wait for something that takes the daemon's own time, when a scenario says `span`.
    func patience(_ span: Int64) -> Int64

    func connect(_ client: any SimulatedClient) -> Link
    func send(_ text: String, on link: Link)
    func halfClose(_ link: Link)
    /// A client goes without a word.
    func reset(_ link: Link)
    /// A client takes what has arrived.
    func read(_ link: Link)
    /// Whether the daemon ended a connection on which it owed replies: it neither crashed nor was the link stuck.
    func wasHungUp(_ link: Link) -> Bool
}

extension Environment {
    var chronicle: HistoryChecker? { nil }
}

/// An actor that posts events, with the facts that must be true of them in the end.
protocol Poster: AnyObject {
    /// Every id that was acknowledged, with its line.
    var acknowledged: [(line: String, source: String, rev: Int64)] { get }
    /// Every id that was ever sent: nothing else may have been recorded.
    var sentIDs: Set<String> { get }
    /// Its `src`.
    var source: String { get }
}
