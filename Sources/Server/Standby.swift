public import Hub
public import Journal
public import Kinds
public import TelltaleModel

/// A hub that replays what another node has decided, and decides nothing itself: no deadline fires and no session is
/// served.
///
/// A recovery that never ends. When the node is to lead, ``takeOver(beginningWith:settings:configuration:snapshotSequence:)`` gives the server
/// that a restart with the same journal would give.
public struct Standby: ~Copyable {
    private var hub: Hub

    /// - Parameter hub: As it was recovered from the local copy.
    public init(_ hub: consuming Hub) {
        self.hub = hub
    }

    /// The newest record that was replayed.
    public var sequence: Int64 { hub.lastRecordSequence }
    /// The time of that record.
    public var time: Timestamp { hub.lastRecordTime }
    /// A hash of everything that a recovery rebuilds: the same on every node behind the same record.
    public var stateHash: UInt64 { hub.stateHash }
    /// The state behind the newest record, for a snapshot of the local copy.
    public func snapshot() -> HubSnapshot { hub.snapshot() }

    /// Does again what the leader decided.
    ///
    /// - Throws: For a record that gives another result here than it gave there. The standby then stops, and the leader
    ///   goes on.
    public mutating func replay(_ records: [JournalRecord]) throws(RecoveryError) {
        for record in records { try hub.replay(record) }
    }

    /// Ends the replay and begins to decide: connections of before are gone, so pending operations end or are asked for
    /// again, as their kinds say. Kinds and settings in force stay those of the log.
    ///
    /// - Parameters:
    ///   - kinds: What begins a history that has none yet. Ignored behind the first record.
    ///   - snapshotSequence: Of the snapshot that the local copy has; 0 = none.
    public consuming func takeOver(
        beginningWith kinds: [Kind], settings: DecisionSettings, configuration: ServerConfiguration,
        snapshotSequence: Int64
    ) throws -> Server {
        var hub = hub
        if hub.lastRecordSequence == 0 {
            try hub.adopt(kinds)
            try hub.adopt(settings)
        }
        hub.restart()
        return Server(hub, configuration: configuration, snapshotSequence: snapshotSequence)
    }
}
