public import Journal
public import Kinds
internal import Machines
public import TelltaleModel

// The past: recovery, what is in force, and the snapshot.
extension Hub {
    /// The lineage of this history.
    public var epoch: UInt64 { store.epoch }
    /// Where a recovery stands: the newest record that was replayed.
    public var lastRecordSequence: Int64 { store.sequence }
    /// The kinds' clock: that of the newest record, after a recovery.
    public var lastRecordTime: Timestamp { store.time }
    /// The same on the real clock.
    public var lastRecordWall: Timestamp { store.wall }

    /// The edition of the rules by which the next commit decides.
    public var rules: Int64 { (commit.proposedSettings?.rules ?? store.rules).number }

    /// Takes the next chunk of a snapshot, into a hub without a past.
    public mutating func load(_ chunk: [UInt8]) throws(RecoveryError) {
        var decoder = store.snapshotDecoder
        try load(try decoder.decode(chunk))
    }

    /// Takes the next chunk of a snapshot, which a ``SnapshotDecoder`` has decoded.
    public mutating func load(_ part: SnapshotPart) throws(RecoveryError) {
        try store.load(part)
        commit.replayed(through: store.sequence)
    }

    /// The whole snapshot has been loaded; the records after it follow.
    public mutating func finishLoading() { store.finishLoading() }

    /// Does again what a record says, and compares.
    public mutating func replay(_ record: JournalRecord) throws(RecoveryError) {
        try store.replay(record)
        commit.replayed(through: store.sequence)
    }

    /// After a recovery: no connection of before is there any more, so no provider is, and nothing is pending.
    public mutating func restart() {
        sessions.began(after: store.sequence)
        for key in store.controlsWithProvider { commit.propose(.restarted(key)) }
    }

    /// Puts `kinds` in force with the next commit: at the start, and on a reload. Instances keep the version that they
    /// began with.
    ///
    /// - Throws: ``KindRefusal``; the old ones stay in force then.
    public mutating func adopt(_ kinds: [Kind]) throws(KindRefusal) {
        let sorted = kinds.sorted { $0.name < $1.name }
        // Kinds that are in force already take back those that still wait.
        commit.propose(try store.isChange(to: sorted) ? sorted : nil)
    }

    /// Lets what decisions depend on take effect with the next commit.
    ///
    /// - Throws: ``SettingsRefusal`` where they cannot take effect in this history.
    public mutating func adopt(_ settings: DecisionSettings) throws(SettingsRefusal) {
        if let change = try store.change(to: settings) { commit.propose(change) }
    }

    /// By what `kinds` and `settings` differ from those in force, for people.
    ///
    /// - Throws: ``SettingsRefusal`` where they cannot take effect in this history.
    public func differences(
        from kinds: [Kind], _ settings: DecisionSettings
    ) throws(SettingsRefusal) -> [String] {
        try store.differences(from: kinds, settings)
    }

    /// The state as it is durable now.
    ///
    /// - Precondition: No batch is being committed.
    public func snapshot() -> HubSnapshot {
        precondition(commit.isIdle, "what is not durable must not get into a snapshot")
        return store.snapshot
    }

    /// A hash of everything that a recovery rebuilds: the same journal gives the same one, in every process.
    ///
    /// - Precondition: No batch is being committed.
    public var stateHash: UInt64 { snapshot().stateHash }
}
