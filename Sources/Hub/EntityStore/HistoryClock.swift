internal import TelltaleModel

/// Where a history is: its newest record, and the two clocks that decisions go by.
///
/// Invariant: ``time`` and ``wall`` are never below those of the newest record. A decision raises them, a replay sets them, and
/// a batch that is undone takes them back.
struct HistoryClock: Sendable {
    /// The lineage of this history.
    let epoch: UInt64
    /// The newest record that was decided on.
    private(set) var sequence: Int64 = 0
    /// The kinds' clock: never before that of the newest record.
    private(set) var time: Timestamp = .distantPast
    /// Wall time, never before that of the newest record: controls, retention and event ids go by it.
    private(set) var wall: Timestamp = .distantPast
    /// ``time`` and ``wall`` of the newest kept record. A batch without records raises the clocks on this node only.
    private(set) var ofRecord = (time: Timestamp.distantPast, wall: Timestamp.distantPast)

    init(epoch: UInt64) {
        self.epoch = epoch
    }

    mutating func setSequence(_ sequence: Int64) { self.sequence = sequence }

    /// Raises the clocks to those of a batch.
    mutating func raise(time: Timestamp, wall: Timestamp) {
        self.time = max(self.time, time)
        self.wall = max(self.wall, wall)
    }

    /// Sets the clocks to those of a record that is replayed, or of a snapshot. This node's own may have been ahead of them: what
    /// another node decided by an earlier clock must give the same result here.
    mutating func set(time: Timestamp, wall: Timestamp) { (self.time, self.wall) = (time, wall) }

    /// Goes back to the newest kept record.
    mutating func rollBack(to sequence: Int64) {
        self.sequence = sequence
        (time, wall) = ofRecord
    }

    /// The newest record is durable.
    mutating func keepRecord() { ofRecord = (time, wall) }
}
