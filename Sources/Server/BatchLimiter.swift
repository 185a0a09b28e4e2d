/// How many of the waiting requests go into the next batch: all of them, or two thirds.
///
/// While a batch is being synced, nothing is decided, but requests are read: those that clients send after the replies
/// of the batch before. If every batch took everything, a long one would leave its senders nothing to send meanwhile.
/// The hub would then wait for the disk, and the disk for the senders. A batch of two thirds leaves some. Wherever that
/// starts, it settles at two fifths of all requests in flight in the batch, two fifths being synced and read, and one
/// fifth waiting.
///
/// It pays where a sync takes less than half of the time that deciding everything takes: then the hub is the
/// bottleneck. With a slower disk, or few requests, a commit carries all that there is; likewise where deciding
/// everything takes less than a millisecond, which is too short a batch to be worth a sync.
public struct BatchLimiter: Sendable {
    /// Where a batch begins to be divided.
    public struct Settings: Hashable, Sendable {
        /// With fewer requests nothing is left over, and the time of one request cannot be measured.
        public var leastCount = 64
        /// The time to decide all of them: a shorter batch is not worth a sync.
        public var leastDuration = Duration.milliseconds(1)

        public init() {}
    }

    private let settings: Settings
    /// The recent time to decide one request.
    private var costOfRequest = Duration.zero
    /// How long the last batch was waited for.
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

    /// How many records the journal should get at once: a quarter of the requests still to be decided, at least 32 and
    /// at most 256.
    ///
    /// Every client waits for the last part of a batch, so that part should be short. Each part wakes the journal's
    /// thread, so there should be few.
    ///
    /// - Parameters:
    ///   - count: Of the requests that wait.
    ///   - room: How many of them may be decided for this batch.
    public static func partLength(waiting count: Int, room: Int) -> Int { min(max(32, min(count, room) / 4), 256) }

    /// Rounded up.
    public static func twoThirds(of count: Int) -> Int { count - count / 3 }
}
