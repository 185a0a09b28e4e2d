public import Journal
public import Kinds
internal import Machines
public import TelltaleModel

// Recovery, what is in force, and the snapshot.
extension Hub {
    /// The lineage of this history.
    public var epoch: UInt64 { store.epoch }
    /// The newest record that was decided or replayed.
    public var lastRecordSequence: Int64 { store.sequence }
    /// The kinds' clock; after a recovery, that of the newest record.
    public var lastRecordTime: Timestamp { store.time }
    /// The real clock; after a recovery, that of the newest record.
    public var lastRecordWall: Timestamp { store.wall }

    /// The edition of the rules that the next commit uses.
    public var rules: Int64 { (commit.proposedSettings?.rules ?? store.rules).number }

    /// Loads the next chunk of a snapshot into a hub without history.
    public mutating func load(_ chunk: [UInt8]) throws(RecoveryError) {
        var decoder = store.snapshotDecoder
        try load(try decoder.decode(chunk))
    }

    /// Loads the next chunk of a snapshot, decoded by a ``SnapshotDecoder``.
    public mutating func load(_ part: SnapshotPart) throws(RecoveryError) {
        try store.load(part)
        commit.replayed(through: store.sequence)
    }

    /// Finishes loading a snapshot; the records after it follow.
    public mutating func finishLoading() { store.finishLoading() }

    /// Applies a record again, and compares the result.
    public mutating func replay(_ record: JournalRecord) throws(RecoveryError) {
        try store.replay(record)
        commit.replayed(through: store.sequence)
    }

    /// Applies the records of a batch that another node has decided, and publishes them as that node did:
    /// - Followers get the same rows, milestones and alerts.
    /// - A widget that shows many activities settles once.
    /// - A key that goes keeps its index until its deletion is published.
    ///
    /// - Precondition: No batch is in progress.
    /// - Throws: For a record that gives another result here. Nothing of the batch is published then, and nothing is rendered any
    ///   more.
    public mutating func replay(_ batch: [JournalRecord], at now: HubTime) throws(RecoveryError) {
        defer { sessions.resumeAwaiting(through: commit.durableSequence) }
        guard publishes else {
            for record in batch { try replay(record) }
            return
        }
        commit.begin(limit: .max, requestLimit: 0)
        store.beginReplay()
        for record in batch {
            do throws(RecoveryError) {
                var result = try store.replay(record)
                commit.append(replayed: &result)
            } catch {
                // The batch stays open, and nothing is rendered or decided before it is settled.
                _ = commit.endPart(isLast: true)
                throw error
            }
        }
        _ = commit.endPart(isLast: true, late: store.settledChanges())
        committed(at: now)
    }

    /// Whether a change concerns anything but the store: a subscription, a cached row, a board that was read, a device's budget.
    private var publishes: Bool {
        subscriptions.count > 0 || renderer.rowCount > 0 || renderer.hasControlReferences
            || !subscriptions.presence.isEmpty
            || budgets.hasTaps || link.hasClients
    }

    /// Ends a recovery: all earlier connections are gone, so no provider is left and nothing is pending.
    public mutating func restart() {
        sessions.began(after: store.sequence)
        for key in store.controlsWithProvider { commit.propose(.restarted(key)) }
    }

    /// Puts `kinds` in force with the next commit, at the start and on a reload. Existing keys keep the version that they began
    /// with.
    ///
    /// - Throws: ``KindRefusal``; the old kinds stay in force then.
    public mutating func adopt(_ kinds: [Kind]) throws(KindRefusal) {
        let sorted = kinds.sorted { $0.name < $1.name }
        // Proposing the kinds in force withdraws a pending proposal.
        commit.propose(try store.isChange(to: sorted) ? sorted : nil)
    }

    /// The kinds as ``adopt(_:)`` takes them from files that are changed without a new version: a text that is new has the next
    /// version, and one that was in force before has its own.
    public func revised(_ kinds: [Kind]) -> [Kind] { store.revised(kinds) }

    /// Puts the settings that decisions depend on in force with the next commit. Rules older than those in force change nothing.
    ///
    /// - Throws: ``SettingsRefusal`` if they cannot take effect in this history.
    public mutating func adopt(_ settings: DecisionSettings) throws(SettingsRefusal) {
        if let change = try store.change(to: settings) { commit.propose(change) }
    }

    /// Puts `kinds` and `settings` in force with the next commit, both or neither.
    ///
    /// - Throws: ``KindRefusal`` or ``SettingsRefusal``.
    public mutating func adopt(_ kinds: [Kind], _ settings: DecisionSettings) throws {
        let change = try store.change(to: settings)
        try adopt(kinds)
        if let change { commit.propose(change) }
    }

    /// The differences between `kinds` and `settings` and those in force, for people.
    ///
    /// - Throws: ``SettingsRefusal`` if they cannot take effect in this history.
    public func differences(
        from kinds: [Kind], _ settings: DecisionSettings
    ) throws(SettingsRefusal) -> [String] {
        try store.differences(from: kinds, settings)
    }

    /// The durable state.
    ///
    /// - Precondition: No batch is being committed.
    public func snapshot() -> HubSnapshot {
        precondition(commit.isIdle, "what is not durable must not get into a snapshot")
        return store.snapshot
    }

    /// A hash of everything that a recovery rebuilds: the same journal gives the same hash in every process.
    ///
    /// - Precondition: No batch is being committed.
    public var stateHash: UInt64 { snapshot().stateHash }
}
