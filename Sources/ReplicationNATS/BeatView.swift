internal import Replication
internal import TelltaleModel

/// The state of reading the newest beat of each node, one query at a time.
struct BeatView {
    private var asked: MonotonicTime?
    /// Another node sent a beat meanwhile, so another query follows the answer.
    private var isDue = false
    /// The number of the query. Answers to earlier ones are ignored.
    private(set) var number: Int64 = 0
    /// This node's own beat in the current answer, and the newest one in any answer.
    private var own: Int64?
    private var newestOwn = Int64.min
    /// The beats of other nodes in the current answer.
    private var others: [Beat] = []

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

    /// The answer contains this node's own beat. A replica holds a prefix of what is stored, so the answer also
    /// contains everything stored before that beat.
    mutating func shows(_ number: Int64) { own = number }

    mutating func has(_ beat: Beat) {
        guard others.count < Self.limit else { return }
        others.append(beat)
    }

    private static let limit = 64

    /// The answer has ended.
    ///
    /// - Returns: The beats of the others, the own one in the same answer, and whether another query is due. The answer
    ///   of a replica that lags behind an earlier answer is dropped: its beats may come from a process that is gone.
    mutating func ended(isWhole: Bool) -> (others: [Beat], own: Int64?, isDue: Bool) {
        defer { reset() }
        guard isWhole, let own, own >= newestOwn else { return ([], nil, isDue) }
        newestOwn = own
        return (others, own, isDue)
    }

    /// Forgets the pending query, which will not be answered any more.
    mutating func reset() { (asked, own, others) = (nil, nil, []) }

    func deadline(patience: Milliseconds) -> MonotonicTime? { asked.map { $0 + patience } }
}
