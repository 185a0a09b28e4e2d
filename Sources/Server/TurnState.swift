internal import Hub
internal import TelltaleModel

/// How far a turn has come.
enum TurnStep {
    case idle, deciding, flushing, tidying, waking
}

/// A batch that is being decided.
struct Decision {
    var start = HubTime(time: .distantPast, wall: .distantPast, monotonic: MonotonicTime(nanoseconds: 0))
    var batchLimit = Int.max
    var hasRecords = false
    /// How many requests were decided, once the time that it took can be told.
    var requestCount: Int?
}

struct Flush {
    /// One follows, paced or not: what became durable is shown at once.
    var isOwed = false
    var isUnderWay = false
    var start = MonotonicTime(nanoseconds: 0)
    /// Sessions that were ready when it began: one that has more to say goes on with the next turn.
    var rest = 0
}
