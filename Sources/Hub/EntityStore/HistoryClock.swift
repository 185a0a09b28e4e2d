internal import TelltaleModel

/// Where a history is: its newest record, and the two clocks that decisions go by.
///
/// Invariant: ``time`` and ``wall`` never decrease.
struct HistoryClock: Sendable {
    /// The lineage of this history.
    let epoch: UInt64
    /// The newest record that was decided on.
    private(set) var sequence: Int64 = 0
    /// The kinds' clock: never before that of the newest record.
    private(set) var time: Timestamp = .distantPast
    /// Wall time, never before that of the newest record: controls, retention and event ids go by it.
    private(set) var wall: Timestamp = .distantPast
    /// ``time`` and ``wall`` of the newest kept record. A batch without records advances the clocks on this node only.
    private(set) var ofRecord = (time: Timestamp.distantPast, wall: Timestamp.distantPast)

    init(epoch: UInt64) {
        self.epoch = epoch
    }

    mutating func setSequence(_ sequence: Int64) { self.sequence = sequence }

    /// Advances the clocks to those of a record or a snapshot.
    mutating func advance(time: Timestamp, wall: Timestamp) {
        self.time = max(self.time, time)
        self.wall = max(self.wall, wall)
    }

    /// The newest record is durable.
    mutating func keepRecord() { ofRecord = (time, wall) }
}
