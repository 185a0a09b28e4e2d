public import Hub
public import Journal
public import Kinds
public import TelltaleModel

// Inputs and questions that pass through to the hub as they are.
extension Server {
    /// Numbers the connections from now on as those of one process of a cluster: ``Hub/Hub/numberConnections(asOf:)``.
    public mutating func numberConnections(asOf process: UInt32) { hub.numberConnections(asOf: process) }

    /// A connection was accepted.
    public mutating func connected(at now: HubTime) -> SessionID { hub.connected(at: now) }

    /// There was no room for a connection.
    ///
    /// - Returns: What to send before it is closed.
    public mutating func refusedConnection() -> [UInt8] { hub.refusedConnection() }

    /// The client has shut its side. That is no disconnect: what is due is still sent.
    public mutating func inputEnded(_ id: SessionID) { hub.inputEnded(id) }

    /// The socket took not all of what it was given: nothing is rendered for it until ``becameWritable(_:)``.
    public mutating func becameBlocked(_ id: SessionID, at now: HubTime) { hub.becameBlocked(id, at: now) }
    /// A blocked socket took some bytes: slow, not stuck.
    public mutating func progressed(_ id: SessionID, at now: HubTime) { hub.progressed(id, at: now) }
    public mutating func becameWritable(_ id: SessionID) { hub.becameWritable(id) }

    /// Renders what a writable session is due, at the end of `bytes`: ``Hub/Hub/output(for:at:to:)``.
    public mutating func output(for id: SessionID, at now: HubTime, to bytes: inout [UInt8]) -> SessionOutput {
        hub.output(for: id, at: now, to: &bytes)
    }

    /// Bytes of every ``Hub/Output/sharedRange`` of the same flush.
    public var sharedRows: [UInt8] { hub.sharedRows }

    public mutating func historyRead(_ records: Result<[JournalRecord], JournalError>, for request: HistoryRequest) {
        hub.historyRead(records, for: request)
    }

    /// The object in the answer to `STATS`.
    public mutating func figures(at now: HubTime) -> [UInt8] { hub.figures(at: now) }

    /// This server's role and view of its cluster; `nil` = it is in none.
    public var clusterStatus: ClusterStatus? { hub.status }

    /// Why clients are not served now, for people; `nil` = they are.
    public var reasonNotToServe: String? {
        if isStopping { return "it is stopping" }
        guard let status = hub.status, status.role != .leader, !status.serves else { return nil }
        return "it has yet to read the log to its end"
    }

    /// Whether a batch waits for its fate: there is no ``snapshot()`` then.
    public var isCommitting: Bool { hub.isCommitting }

    /// The state as it is durable now.
    public func snapshot() -> HubSnapshot { hub.snapshot() }

    /// Lets kinds take effect with the next commit: at the start, and on a reload.
    public mutating func adopt(_ kinds: [Kind]) throws(KindRefusal) { try hub.adopt(kinds) }

    /// See ``Hub/Hub/revised(_:)``.
    public func revised(_ kinds: [Kind]) -> [Kind] { hub.revised(kinds) }

    /// What became of the folder of kinds, which `STATS` reports: of a daemon that follows it.
    public mutating func kindsRead(_ report: KindFolderReport) { hub.statistics.kindFolder = report }

    /// The edition of the rules by which the next commit decides.
    public var rules: Int64 { hub.rules }

    /// Lets kinds, and the settings that decisions depend on, take effect with the next commit: both or neither.
    ///
    /// - Throws: What says why they cannot take effect in this history.
    public mutating func adopt(_ kinds: [Kind], _ settings: DecisionSettings) throws { try hub.adopt(kinds, settings) }

    /// The principals and their rights are these from now on: at the start, before anybody is served, and on a change.
    /// Without it no connection needs a token.
    public mutating func principalsLoaded(_ directory: PrincipalDirectory) { hub.principalsLoaded(directory) }

    /// The connections of clients, without those of other nodes of the cluster.
    public var clientCount: Int { hub.clientCount }
    /// Whether an operator has taken this node out of service: its clients are sent to other nodes.
    public var isDraining: Bool { hub.isDraining }
    /// This server takes the place of one that drained: ``Hub/Hub/resumeDraining(at:)``.
    public mutating func resumeDraining(at now: HubTime) { hub.resumeDraining(at: now) }

    /// Whether another node decides.
    public var isFollowing: Bool { hub.isFollowing }

    /// This node decides from now on: ``Hub/Hub/lead(beginningWith:_:)``.
    public mutating func lead(beginningWith kinds: [Kind], _ settings: DecisionSettings) throws {
        try hub.lead(beginningWith: kinds, settings)
    }

    /// By what `kinds` and `settings` differ from those in force, which are the log's; empty where the history has none yet.
    ///
    /// - Throws: ``Hub/SettingsRefusal`` where they cannot take effect in this history.
    public func differences(from kinds: [Kind], _ settings: DecisionSettings) throws(SettingsRefusal) -> [String] {
        hub.lastRecordSequence == 0 ? [] : try hub.differences(from: kinds, settings)
    }

    /// The newest record that was decided or replayed.
    public var sequence: Int64 { hub.lastRecordSequence }
    /// The times of the newest record, on the kinds' clock and on the real one.
    public var lastTimes: (record: Timestamp, wall: Timestamp) { (hub.lastRecordTime, hub.lastRecordWall) }
    /// A hash of everything that a recovery rebuilds: the same on every node after the same record.
    public var stateHash: UInt64 { hub.stateHash }

    /// Whether a connection has yet to send a good `HELLO`, so that little of it may wait.
    public func isRestricted(_ id: SessionID) -> Bool { hub.isRestricted(id) }

    /// The certificate of the encrypted listeners ends then, which `STATS` reports.
    public mutating func certificateLoaded(expiry: Timestamp) { hub.statistics.certificateExpiry = expiry }

    /// The lineage of this history.
    public var epoch: UInt64 { hub.epoch }
    /// How many activities and controls there are, dismissed ones that can still be asked for included.
    public var entityCount: Int { hub.entityCount }
    public var statistics: Statistics { hub.statistics }

    /// Whether the next turn inspects sessions. Report before it which blocked sockets took bytes, so that a reader
    /// that made progress a moment ago is not cut.
    public func isSessionDeadlineDue(at now: HubTime) -> Bool {
        hub.nextSessionDeadline.map { $0 <= now.monotonic } ?? false
    }

    /// The earliest deadline on the kinds' clock.
    public var nextDeadline: Timestamp? { hub.nextDeadline }
    /// The same on the real clock.
    public var nextWallDeadline: Timestamp? { hub.nextWallDeadline }
    /// When a session must be looked at.
    public var nextSessionDeadline: MonotonicTime? { hub.nextSessionDeadline }

    /// Reports when the hub has something to do on its own.
    func considerDeadlines(at now: HubTime, _ consider: (MonotonicTime) -> Void) {
        // Deadlines that are due wait with the rest after a full disk.
        guard now.monotonic >= hub.decisionsPausedUntil else { return consider(hub.decisionsPausedUntil) }
        if let time = hub.nextDeadline {
            let span = Double(max(0, (time - now.time).count)) / hub.clockSpeed
            consider(now.monotonic + Milliseconds(Int64(exactly: span.rounded(.up)) ?? .max))
        }
        if let time = hub.nextWallDeadline { consider(now.monotonic + max(.zero, time - now.wall)) }
    }
}
