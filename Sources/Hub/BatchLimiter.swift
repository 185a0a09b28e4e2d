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
    /// Of fewer requests nothing is left over, and the time that one takes cannot be told.
    private static let leastCount = 64
    /// Of deciding all of them. Measured: without it one producer with 100 requests in flight gets a tenth less, four a
    /// twentieth more (`telltale-bench ingest --connections 1 --connections 4 --pending 100`).
    private static let leastDuration = Duration.milliseconds(1)

    /// Of deciding one request, lately.
    private var costOfRequest = Duration.zero
    /// For how long the last batch was waited for.
    private var wait: Duration?

    public init() {}

    /// - Parameters:
    ///   - count: Of the requests that were decided.
    ///   - duration: Of deciding all of them.
    public mutating func decided(_ count: Int, in duration: Duration) {
        if count >= Self.leastCount { costOfRequest = duration / count }
    }

    /// - Parameter wait: From the moment at which the journal had all of the batch to that at which it was durable.
    public mutating func committed(after wait: Duration) {
        self.wait = wait
    }

    /// How many requests are to be decided now at most, when `count` wait; `Int.max` for all.
    public func limit(waiting count: Int) -> Int {
        guard let wait, count >= Self.leastCount, costOfRequest * count > max(wait * 2, Self.leastDuration) else {
            return .max
        }
        return Self.twoThirds(of: count)
    }

    /// Rounded up.
    public static func twoThirds(of count: Int) -> Int { count - count / 3 }
}
