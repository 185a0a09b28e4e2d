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
    /// How many requests were decided, until the time that it took is measured.
    var requestCount: Int?
}

struct Flush {
    /// A flush is due, paced or not: what became durable is sent at once.
    var isPending = false
    /// A flush of this turn ended early: the rest waits until the requests that arrived meanwhile are decided.
    private(set) var wasCut = false
    private(set) var start: MonotonicTime?
    /// When the flush began to serve sessions that have only rows pending.
    private var rowsStart: MonotonicTime?
    /// How many sessions were ready when it began. One that has more to send continues in the next turn.
    private(set) var rest = 0
    private var sessionCount = 0
    /// The number of rows written since the start, when it began.
    private var rowsBefore = 0
    /// Requests that were decided since the flush before.
    var requestCount = 0
    /// When the loop began to work; `Int64.max` = it rests.
    private var workStart = Int64.max
    /// Nanoseconds of work since the flush before, without the work in progress.
    private var work: Int64 = 0

    /// A turn begins.
    mutating func turned(at now: HubTime) {
        worked(at: now)
        wasCut = false
    }

    /// Something happened: the loop is at work.
    @inline(__always)
    mutating func worked(at now: HubTime) { workStart = min(workStart, now.monotonic.nanoseconds) }

    /// The loop has nothing more to do.
    mutating func rested(at now: HubTime) {
        work += max(0, now.monotonic.nanoseconds - workStart)
        workStart = .max
    }

    mutating func begin(at now: HubTime, sessions: Int, rows: Int) {
        isPending = false
        (start, rowsStart) = (now.monotonic, nil)
        (rest, sessionCount, rowsBefore) = (sessions, sessions, rows)
    }

    /// - Parameter span: How long rows may take; `nil` = the next session has an answer pending, or there is no limit.
    ///   Each flush serves at least one session with rows, however long its answers took.
    /// - Returns: Whether there was another session to write to.
    mutating func takeSession(at now: MonotonicTime, within span: Milliseconds?) -> Bool {
        guard rest > 0 else { return false }
        if let span {
            if let rowsStart, now >= rowsStart + span {
                wasCut = true
                return false
            }
            rowsStart = rowsStart ?? now
        }
        rest -= 1
        return true
    }

    /// It is over.
    ///
    /// - Parameter rows: That were ever written.
    mutating func end(at now: HubTime, rows: Int) -> FlushWork {
        let busy = work + max(0, now.monotonic.nanoseconds - workStart)
        defer { (start, requestCount, work, workStart) = (nil, 0, 0, now.monotonic.nanoseconds) }
        return FlushWork(
            busy: busy, requestCount: requestCount, writeCount: sessionCount - rest,
            rowCount: rows - rowsBefore + requestCount)
    }
}
