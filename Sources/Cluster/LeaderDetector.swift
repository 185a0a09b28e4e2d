internal import Replication
internal import TelltaleModel

/// Whether a node that does not lead still hears from the leader: by its heartbeats, and by terms and records
/// that arrive while the node is at the end of the log.
///
/// An old message is no sign of life, even if this node reads it only now.
struct LeaderDetector {
    private var last: MonotonicTime?
    /// The beginning of the present period without a pause longer than a lease.
    private var since: MonotonicTime?
    private var lastRead: MonotonicTime?
    /// The beginning of the present period of reads without a gap longer than a lease.
    private var readingSince = MonotonicTime.distantFuture
    private let lease: Milliseconds

    init(lease: Milliseconds) { self.lease = lease }

    mutating func heard(at now: MonotonicTime) {
        if !isFresh(at: now) { since = now }
        last = now
    }

    /// Notes a read of the log. A message that arrives after a gap may be from the gap: a node that was cut off was at
    /// the end of the log before. A replica that lags may even answer first that nothing is new.
    ///
    /// - Returns: Whether there was no gap for a lease: a message that arrives now was appended now.
    mutating func noteRead(at now: MonotonicTime) -> Bool {
        let goesOn = lastRead.map { now.milliseconds(since: $0) <= lease } ?? false
        if !goesOn { readingSince = now }
        lastRead = now
        return now.milliseconds(since: readingSince) > lease
    }

    mutating func forget() { (last, since) = (nil, nil) }

    /// The leader was heard within a lease.
    func isFresh(at now: MonotonicTime) -> Bool { last.map { now.milliseconds(since: $0) <= lease } ?? false }

    /// Whether the leader has been heard for longer than a lease: what arrives now was appended now. A node that was
    /// away reads first what it missed.
    func isSteady(at now: MonotonicTime) -> Bool {
        isFresh(at: now) && since.map { now.milliseconds(since: $0) > lease } == true
    }
}
