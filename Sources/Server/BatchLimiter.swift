/// How many of the requests that wait go into the next batch: all of them, or two thirds.
///
/// While a batch is on its way to the disk nothing is decided, but what the replies of the one before brought is read.
/// If every batch took everything, a long one would leave its senders nothing to send meanwhile: from then on the hub
/// would wait for the disk, and the disk for the senders. A batch of two thirds leaves some. Wherever that starts, it
/// comes to two fifths of all that is in flight in the batch, two fifths on the way and being read, and one fifth
/// waiting.
///
/// It pays where the disk takes less time than half of what deciding all of them would: then the hub is what others
/// wait for. For a slower disk, or a few requests, a commit is to carry all that there is; and so where deciding all of
/// them takes less than a millisecond: so short a batch is not worth a sync of its own.
public struct BatchLimiter: Sendable {
    /// From which on a batch is divided.
    public struct Settings: Hashable, Sendable {
        /// Of fewer requests nothing is left over, and the time that one takes cannot be told.
        public var leastCount = 64
        /// Of deciding all of them: a batch of so little time is not worth a sync of its own.
        public var leastDuration = Duration.milliseconds(1)

        public init() {}
    }

    private let settings: Settings
    /// Of deciding one request, lately.
    private var costOfRequest = Duration.zero
    /// For how long the last batch was waited for.
    private var wait: Duration?

    public init(_ settings: Settings = Settings()) {
        self.settings = settings
    }

    /// - Parameters:
    ///   - count: Of the requests that were decided.
    ///   - duration: Of deciding all of them.
    public mutating func decided(_ count: Int, in duration: Duration) {
        if count >= settings.leastCount { costOfRequest = duration / count }
    }

    /// - Parameter wait: From the moment at which the journal had all of the batch to that at which it was durable.
    public mutating func committed(after wait: Duration) {
        self.wait = wait
    }

    /// How many requests are to be decided now at most, when `count` wait; `Int.max` for all.
    public func limit(waiting count: Int) -> Int {
        guard let wait, count >= settings.leastCount, costOfRequest * count > max(wait * 2, settings.leastDuration)
        else {
            return .max
        }
        return Self.twoThirds(of: count)
    }

    /// How many records are worth giving to the journal at once: a quarter of the requests that are still to be decided,
    /// but 32 to 256.
    ///
    /// Every client waits for the last part of a batch, so it is to be short. Each part wakes the journal's thread, so
    /// they are to be few.
    ///
    /// - Parameters:
    ///   - count: Of the requests that wait.
    ///   - room: How many of them may be decided for this batch.
    public static func partLength(waiting count: Int, room: Int) -> Int { min(max(32, min(count, room) / 4), 256) }

    /// Rounded up.
    public static func twoThirds(of count: Int) -> Int { count - count / 3 }
}
