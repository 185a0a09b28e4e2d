public import TelltaleModel

/// The settings of a server's turn. Those of its hub are ``Hub/HubConfiguration``.
public struct ServerConfiguration: Sendable {
    public var pace = Pace.adaptive(upTo: .milliseconds(1))
    /// Whether the journal answers at once, as one in memory does: then a batch is not divided.
    public var isJournalImmediate = false
    /// A snapshot is due when a recovery would replay more records than this, and more than twice as many as there are
    /// keys.
    public var recordsBetweenSnapshots: Int64 = 200_000
    /// How many records the journal gets at a time; `nil` = ``BatchLimiter/partLength(waiting:room:)``.
    public var recordsPerPart: Int?
    public var batches = BatchLimiter.Settings()
    /// A flush whose rows take longer ends, and the rest waits until requests have had their turn. The span is far
    /// above what ten thousand rows of one change take: a row that waits may be folded into the next one.
    public var flushSpan = Milliseconds(100)
    public var shutdown = ShutdownLimits()
    /// The spans, in milliseconds, from which clients pick a random one before they reconnect after a stop.
    public var reconnectPause: ClosedRange<Int> = 100...5_000

    public init() {}
}

/// How long each part of a stop may take.
public struct ShutdownLimits: Hashable, Sendable {
    /// How long requests are still read after a stop is requested. Without a limit, producers that never pause would
    /// prevent it.
    public var listening = Milliseconds.seconds(1)
    /// How long requests are still decided, and deadlines with them.
    public var answering = Milliseconds.seconds(3)
    /// How long readers then have to take their last bytes.
    public var draining = Milliseconds.seconds(4)

    public init() {}
}

extension ServerConfiguration {
    /// For a server that keeps its records in memory or drops them: flushes are not paced, batches are not divided, and
    /// no snapshot is due.
    public static var withoutDisk: ServerConfiguration {
        var configuration = ServerConfiguration()
        configuration.pace = .fixed(.zero)
        configuration.isJournalImmediate = true
        configuration.recordsBetweenSnapshots = .max
        return configuration
    }
}
