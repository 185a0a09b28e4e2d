internal import Replication
internal import TelltaleModel

/// The state of reading the newest heartbeat of each node, one query at a time.
struct HeartbeatView {
    private var asked: MonotonicTime?
    /// Another node sent a heartbeat meanwhile, so another query follows the answer.
    private var isDue = false
    /// The number of the query. Answers to earlier ones are ignored.
    private(set) var number: Int64 = 0
    /// This node's own heartbeat in the current answer, and the newest one in any answer.
    private var own: Int64?
    private var newestOwn = Int64.min
    /// The heartbeats of other nodes in the current answer.
    private var others: [Heartbeat] = []

    /// Starts a query, or remembers that one is due.
    ///
    /// - Returns: Whether to send the query now.
    mutating func begin(at now: MonotonicTime) -> Bool {
        guard asked == nil else {
            isDue = true
            return false
        }
        (asked, isDue, own, others) = (now, false, nil, [])
        number += 1
        return true
    }

    /// The answer contains this node's own heartbeat. A replica holds a prefix of what is stored, so the answer also
    /// contains everything stored before that heartbeat.
    mutating func shows(_ number: Int64) { own = number }

    mutating func has(_ heartbeat: Heartbeat) {
        guard others.count < Self.limit else { return }
        others.append(heartbeat)
    }

    private static let limit = 64

    /// The answer has ended.
    ///
    /// - Returns: The heartbeats of the others, the own one in the same answer, and whether another query is due. The answer
    ///   of a replica that lags behind an earlier answer is dropped: its heartbeats may come from a process that is gone.
    mutating func ended(isWhole: Bool) -> (others: [Heartbeat], own: Int64?, isDue: Bool) {
        defer { reset() }
        guard isWhole, let own, own >= newestOwn else { return ([], nil, isDue) }
        newestOwn = own
        return (others, own, isDue)
    }

    /// Forgets the pending query, which will not be answered any more.
    mutating func reset() { (asked, own, others) = (nil, nil, []) }

    func deadline(patience: Milliseconds) -> MonotonicTime? { asked.map { $0 + patience } }
}
