public import Hub
public import Journal
public import Kinds
public import TelltaleModel

/// A hub that replays what another node has decided, and decides nothing itself: no deadline fires and no session is
/// served.
///
/// A recovery that never ends. When the node is to lead, ``takeOver(beginningWith:settings:configuration:)`` gives the server
/// that a restart with the same journal would give.
public struct Standby: ~Copyable {
    private var hub: Hub
    private var snapshots: SnapshotPolicy

    /// - Parameters:
    ///   - hub: As it was recovered from the local journal.
    ///   - snapshotSequence: Of the snapshot that the local journal has; 0 = none.
    ///   - recordsBetweenSnapshots: See ``ServerConfiguration``.
    public init(
        _ hub: consuming Hub, snapshotSequence: Int64 = 0, recordsBetweenSnapshots: Int64 = .max
    ) {
        self.hub = hub
        snapshots = SnapshotPolicy(recordsBetween: recordsBetweenSnapshots, sequence: snapshotSequence)
    }

    /// The newest record that was replayed.
    public var sequence: Int64 { hub.lastRecordSequence }
    /// The time of that record.
    public var time: Timestamp { hub.lastRecordTime }
    /// The same on the real clock.
    public var wall: Timestamp { hub.lastRecordWall }
    /// The edition of the rules by which the newest record was decided.
    public var rules: Int64 { hub.rules }
    /// A hash of everything that a recovery rebuilds: the same on every node after the same record.
    public var stateHash: UInt64 { hub.stateHash }
    /// The state after the newest record, for a snapshot of the local journal.
    public var snapshot: HubSnapshot { hub.snapshot() }

    /// Begins a snapshot of ``snapshot``, if one is due.
    ///
    /// - Returns: What is to be pruned with it; `nil` = none is due.
    public mutating func beginSnapshot() -> Pruning? {
        guard snapshots.isDue(durable: sequence, entityCount: hub.entityCount) else { return nil }
        return snapshots.begin(at: sequence, through: hub.takePrunableSequence(), chains: hub.takePrunedChains())
    }

    /// The snapshot that was begun is written, or given up.
    public mutating func snapshotWritten(isWritten: Bool) { snapshots.finished(isWritten: isWritten) }

    /// Does again what the leader decided in one batch.
    ///
    /// - Throws: For a record that gives another result here than on the leader. The standby then stops; the leader
    ///   continues.
    public mutating func replay(_ batch: [JournalRecord], at now: HubTime) throws(RecoveryError) {
        try hub.replay(batch, at: now)
    }

    /// By what `kinds` and `settings` differ from those in force, which are the log's; empty where the history has none yet.
    ///
    /// - Throws: ``Hub/SettingsRefusal`` where they cannot take effect in this history.
    public func differences(from kinds: [Kind], _ settings: DecisionSettings) throws(SettingsRefusal) -> [String] {
        hub.lastRecordSequence == 0 ? [] : try hub.differences(from: kinds, settings)
    }

    /// Ends the replay and begins to decide: connections of before are gone, so pending operations end or are asked for
    /// again, as their kinds say. Kinds and settings in force stay those of the log.
    ///
    /// - Parameter kinds: The kinds of a history that has none yet. Ignored once there is a record.
    public consuming func takeOver(
        beginningWith kinds: [Kind], settings: DecisionSettings, configuration: ServerConfiguration
    ) throws -> Server {
        let snapshotSequence = snapshots.sequence
        var hub = hub
        if hub.lastRecordSequence == 0 { try hub.adopt(kinds, settings) }
        hub.restart()
        return Server(hub, configuration: configuration, snapshotSequence: snapshotSequence)
    }
}
