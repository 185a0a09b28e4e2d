internal import Replication
internal import TelltaleModel

/// How a node that does not lead hears the leader: by its beats, and by terms and records that come while the node is at the end of the
/// log.
///
/// A message of the past is no word of the leader, however new it is to a node.
struct LeaderHearing {
    private var last: MonotonicTime?
    /// No pause since then was longer than a lease.
    private var since: MonotonicTime?
    private var lastRead: MonotonicTime?
    private let lease: Milliseconds

    init(lease: Milliseconds) { self.lease = lease }

    mutating func heard(at now: MonotonicTime) {
        if !isFresh(at: now) { since = now }
        last = now
    }

    /// The log is read. What comes behind a gap may be of the gap: a node that was cut off was at the end of the log before.
    ///
    /// - Returns: Whether the read before this one is no longer ago than a lease.
    mutating func noteRead(at now: MonotonicTime) -> Bool {
        defer { lastRead = now }
        return lastRead.map { now.milliseconds(since: $0) <= lease } ?? false
    }

    mutating func forget() { (last, since) = (nil, nil) }

    /// The leader was heard within a lease.
    func isFresh(at now: MonotonicTime) -> Bool { last.map { now.milliseconds(since: $0) <= lease } ?? false }

    /// The leader has been heard for longer than a lease: what comes now was appended now. A node that was away, and is back, reads first
    /// what it missed.
    func isSteady(at now: MonotonicTime) -> Bool {
        isFresh(at: now) && since.map { now.milliseconds(since: $0) > lease } == true
    }
}
