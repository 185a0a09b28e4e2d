public import Hub
public import Journal
public import Kinds
public import Replication
public import Server
public import TelltaleModel

/// One daemon of a cluster: its ``Replication/Replica``, what it replays, and which server its clients meet.
///
/// A performer passes it the events of the log (``take(_:at:)``) and the time (``tick(at:)``), then carries out what
/// ``nextAction()`` returns until that is `nil`. It owns the server, ``server(over:snapshotSequence:at:)``, which follows the
/// log until it is to lead; connections outlive a change of roles. It asks ``mayServe(at:)`` before it performs an action of
/// that server, and ``mayDecide`` before it begins a turn.
///
/// Invariants:
/// - A standby decides nothing and fires nothing: its server follows.
/// - A batch of the leader is settled by the log alone. A leader in limbo, and one that hands over, has no turn.
/// - The local journal gets records after the log has them, together with the log position that they reach. Those of a standby
///   may wait for it: ``flushLocalJournal()``.
public struct Member: ~Copyable {
    /// The next thing to do.
    public enum Action: Sendable {
        /// Append the bytes if the newest message of the log is number `after`.
        case append([UInt8], after: Int64, token: Int64)
        case read(from: Int64)
        /// The log store should stop delivering messages, or resume.
        case holdReading(Bool)
        case heartbeat(Heartbeat)
        /// Append these records to the local journal together with the log position that they reach; both or neither.
        case keep([JournalRecord], mark: [UInt8], epoch: UInt64)
        /// Let the server replay this batch, with ``Server/Server/replay(_:at:)``; where that fails, ``Member/diverged(_:)``.
        case replay([JournalRecord])
        /// Let the server lead, with ``Member/lead(_:at:)``.
        ///
        /// - Parameter wait: The time since this node saw the previous leader's last sign of life.
        case lead(term: Int64, wait: Milliseconds)
        /// Report the outcome of its batch to the leader's server.
        case settle(SyncOutcome)
        /// Let the server follow, with ``Server/Server/follow(at:)``; connections stay. A process that is ending ends now.
        case standDown(reason: String, isEnding: Bool)
        /// Send this to every connection and close it, then serve with the server that ``Member/server(over:snapshotSequence:at:)``
        /// gives without a hub: the history of the log begins, and its epoch was not known.
        case begin(farewell: [UInt8])
        /// Send this to every connection and close it: a checkpoint takes the place of what they follow.
        case sendAway(farewell: [UInt8])
        /// The process ends although the log has not stored the leader's resignation in time.
        case abandon
        /// Another node leads.
        case follow(term: Int64, node: String)
        /// Ask the log store about checkpoints.
        case askOfCheckpoints(CheckpointRequest)
        /// Take the server's snapshot as a checkpoint, where ``Member/mayTakeSnapshot`` and no batch is in progress:
        /// ``Member/checkpointBegan(at:now:)``.
        case beginCheckpoint
        /// Give the next piece of it, as a ``Replication/CheckpointCutter`` cuts its chunks: ``Member/checkpointPiece(_:at:)``.
        case giveCheckpointPiece
        /// The checkpoint is stored, or given up.
        case endCheckpoint(position: String, isWhole: Bool)
        /// Make a checkpoint of another node the local journal: its chunks follow. This, each chunk and the end are steps, and
        /// each is answered by ``Member/checkpointStepTaken(at:)``.
        case loadCheckpoint(sequence: Int64)
        case loadCheckpointChunk([UInt8])
        /// The begun checkpoint is given up, and none follows. A step, too.
        case abandonCheckpoint
        /// The checkpoint is complete: make it the local journal, recover a hub from it, and answer with
        /// ``Member/checkpointInstalled(_:at:)``.
        case installCheckpoint(sequence: Int64, link: UInt64, mark: [UInt8], epoch: UInt64)
        /// An operator should know.
        case warn(String)
        /// It leads, and its own kinds or settings are not those in force, which are the log's: one text for each.
        case differs([String])
        /// End the process: the log, or what is decided here, is not that of the other nodes.
        case stop(String)
        /// End the process: another one, at this address, has the name of this node, and began before it.
        case refuse(duplicateNode: String)
    }

    public internal(set) var replica: Replica
    var configuration: MemberConfiguration
    /// The server has the epoch of the log.
    var hasHistory: Bool
    /// The log was read to its end, and no checkpoint takes the place of what is here.
    public internal(set) var isServing = false
    /// It has been so at some time: there may be screens, whose rows grow old meanwhile.
    var hasServed = false
    /// A snapshot is being written to the local journal. Set by the performer.
    public var isWritingSnapshot = false
    var hasStopped = false
    public internal(set) var isLeading = false
    var actions: [Action] = []
    var localJournal: LocalJournalQueue
    var hold = (isReading: false, since: MonotonicTime.distantFuture)
    var peers: [String: Heartbeat] = [:]
    /// When each was heard last.
    var heardAt: [String: MonotonicTime] = [:]
    /// The newest message that is known to be in the log.
    var newest: Int64 = 0
    var lastSign: MonotonicTime
    var leaderDetector: LeaderDetector
    /// The leader's newest sign of life, and before it the one that this node has yet to reach: when each came, and the messages that
    /// the log had then. A node that lags all the time reaches one after the other.
    var leadersWords: (next: LeadersWord, newest: LeadersWord)
    /// When this node was last known to have all that the leader had.
    var currentAt: MonotonicTime
    private var processPart: ProcessPart
    /// When the batch that is being appended was given to the log.
    var appendedAt: MonotonicTime?
    /// The records of the batch that is being decided.
    var decided: [JournalRecord] = []
    var handover = Handover.none
    var successor: String?
    /// The newest term that was reported.
    var notifiedTerm: Int64
    var keeper: CheckpointKeeper
    var loader: CheckpointLoader
    /// The checkpoint that is to become the local journal.
    var installing: (manifest: CheckpointManifest, reader: LogReader)?
    /// The checkpoint of which the first chunk comes next.
    var beginning: CheckpointManifest?
    /// The search for a checkpoint is over, but the local journal still has steps to take.
    var waitsToReadOn = false
    /// No message of the log is taken meanwhile.
    var isLoading: Bool { loader.isLoading || waitsToReadOn }
    /// The local journal has the beginning of a checkpoint.
    var isCheckpointBegun = false
    /// Steps of a checkpoint that wait for the local journal, and the request that is held until there are fewer.
    var checkpointSteps = 0
    var heldRequest: CheckpointRequest?
    /// The process is to end, and waits for the log until then.
    var end: MonotonicTime?

    struct LeadersWord {
        let time: MonotonicTime
        let position: Int64
    }

    enum Handover {
        case none, wanted, underWay, done
    }

    private static let peerLimit = 16
    /// - Parameter replica: With the reader of the local journal's mark.
    public init(_ replica: consuming Replica, configuration: MemberConfiguration, at now: MonotonicTime) {
        localJournal = LocalJournalQueue(replica.reader)
        self.configuration = configuration
        self.replica = replica
        (lastSign, currentAt) = (now, now)
        leadersWords = (LeadersWord(time: now, position: 0), LeadersWord(time: now, position: 0))
        hasHistory = self.replica.reader.epoch != nil
        leaderDetector = LeaderDetector(lease: self.replica.lease)
        processPart = ProcessPart(instance: self.replica.instance)
        notifiedTerm = self.replica.reader.term
        keeper = CheckpointKeeper(
            node: self.replica.node, instance: self.replica.instance, settings: configuration.checkpoints, at: now)
        loader = CheckpointLoader(settings: configuration.checkpoints)
        // An empty folder takes a checkpoint where there is one.
        if self.replica.reader.position == 0 { loader.begin(at: now) }
    }

    /// A history begins with its first term, which reports its epoch.
    mutating func beginHistory() {
        guard !hasHistory, replica.reader.epoch != nil else { return }
        hasHistory = true
        actions.append(.begin(farewell: farewell()))
    }

    /// The last line to connections that this node ends.
    public func farewell(to leader: String? = nil) -> [UInt8] {
        Farewell.bytes(wait: configuration.reconnectPause, leader: leader ?? self.leader?.address)
    }

    // MARK: Inputs
    /// A word of the log store.
    public mutating func handleEvent(_ event: LogEvent, at now: HubTime) {
        guard !hasStopped else { return }
        switch event {
        case .read where isLoading: break
        case .read(let messages, let from, let end): read(messages, from: from, end: end, at: now)
        case .checkpoint(let answer): handleEvent(answer, at: now)
        case .heard(let heartbeat):
            note(heartbeat, at: now.monotonic)
            replica.heard(heartbeat, at: now.monotonic)
        case _: replica.handleEvent(event, at: now.monotonic)
        }
        settle(at: now)
    }

    /// Known messages come with the first new one; then one at a time, so that the local journal has the place of each.
    private mutating func read(_ messages: [[UInt8]], from: Int64, end: Int64, at now: HubTime) {
        newest = max(newest, end)
        let known = Int(clamping: min(max(0, replica.reader.position - from), Int64(messages.count)))
        let isNew = messages.count > known
        let wasCurrent = leaderDetector.noteRead(at: now.monotonic) && replica.hasReadToEnd
        let (term, sequence) = (replica.reader.term, replica.reader.chain.sequence)
        keeper.noteLog(messages.dropFirst(known).reduce(0) { $0 + $1.count })
        replica.read(Array(messages.prefix(known + 1)), from: from, end: end, at: now.monotonic)
        takeActions(at: now)
        for place in messages.indices.dropFirst(known + 1) {
            replica.read([messages[place]], from: from + Int64(place), end: end, at: now.monotonic)
            takeActions(at: now)
        }
        guard isNew, !isLeading else { return }
        lastSign = now.monotonic
        guard wasCurrent, replica.reader.position >= end else { return }
        let hasRecords = replica.reader.chain.sequence > sequence
        // A message of another program is no sign of life.
        guard hasRecords || replica.reader.term > term else { return }
        // Only records that were appended just now count: a term has no record, and a node that joins or returns reads
        // old ones.
        if hasRecords, leaderDetector.isSteady(at: now.monotonic), replica.reader.position >= leadersPosition,
            configuration.hub.decisions.clockSpeed == 1
        {
            replica.skew = now.wall - replica.reader.chain.time
        }
        leaderDetector.heard(at: now.monotonic)
        leadersWords.newest = LeadersWord(time: now.monotonic, position: end)
    }

    /// The newest message at the leader's last heartbeat; 0 where none was heard.
    private var leadersPosition: Int64 { replica.reader.leader.flatMap { peers[$0.node]?.position } ?? 0 }

    private mutating func note(_ heartbeat: Heartbeat, at now: MonotonicTime) {
        guard heartbeat.node != replica.node, peers[heartbeat.node] != heartbeat else { return }
        let former = peers[heartbeat.node]
        // Behind a gap the first one may be kept from before it.
        let isSteady = heardAt[heartbeat.node].map { now.milliseconds(since: $0) <= replica.lease } ?? false
        // The log store keeps the last heartbeat of every name that there ever was.
        if peers[heartbeat.node] == nil, peers.count >= Self.peerLimit, let oldest = longestUnheardPeer {
            (peers[oldest], heardAt[oldest]) = (nil, nil)
        }
        peers[heartbeat.node] = heartbeat
        heardAt[heartbeat.node] = now
        guard heartbeat.role == .leading, let leader = replica.reader.leader, heartbeat.node == leader.node else {
            return
        }
        (newest, lastSign) = (max(newest, heartbeat.position), now)
        // The first heartbeat of a process may be kept from before its end.
        guard heartbeat.instance == leader.instance || heartbeat.instance == 0, former?.instance == heartbeat.instance,
            former?.number ?? .max < heartbeat.number, isSteady
        else { return }
        leaderDetector.heard(at: now)
        leadersWords.newest = LeadersWord(time: now, position: heartbeat.position)
    }

    /// The connection to the leader was reset, and another one is refused.
    public mutating func leaderRefusesConnections(at now: HubTime) {
        guard !hasStopped else { return }
        leaderDetector.forget()
        replica.leaderRefusesConnections(at: now.monotonic)
        settle(at: now)
    }

    /// Time has passed; call this at ``deadline``.
    public mutating func tick(at now: HubTime) {
        guard !hasStopped else { return }
        replica.tick(at: now.monotonic)
        if handover == .wanted { resign(at: now) }
        yieldBehindLocalJournal(at: now)
        if let end, isLeading, now.monotonic >= end { abandon(at: now) }
        tickCheckpoints(at: now)
        settle(at: now)
    }

    /// When ``tick(at:)`` has something to do; ``TelltaleModel/MonotonicTime/distantFuture`` for never.
    public var deadline: MonotonicTime {
        if hasStopped { return .distantFuture }
        guard handover != .wanted || appendedAt != nil else { return .distantPast }
        let end = isLeading ? end ?? .distantFuture : .distantFuture
        let checkpoint = isLoading || handover != .none ? loader.deadline : keeper.deadline
        return min(end, replica.deadline, checkpoint, localJournalDeadline)
    }

    /// The server of the leader has decided a part of a batch. The log gets it with the last part, whole.
    public mutating func append(_ part: [JournalRecord], isLast: Bool, at now: HubTime) {
        guard isLeading else { return }
        decided += part
        guard isLast else { return }
        let records = decided
        decided = []
        appendedAt = now.monotonic
        keeper.noteLog(LocalJournalBacklog.byteCount(of: records))
        replica.append(records, at: now.monotonic)
        settle(at: now)
    }

    /// Whether actions of the server may be performed: ask first in each turn, and after each wait.
    public mutating func mayServe(at now: HubTime) -> Bool {
        guard isLeading else { return true }
        let isAllowed = replica.mayShow(at: now.monotonic)
        settle(at: now)
        return isAllowed && handover != .underWay && isLeading
    }

    /// Whether a turn of the server may begin, where it may serve.
    public var mayDecide: Bool { !isLeading || handover == .none }

    /// The server has replayed a batch with another result than the leader's.
    public mutating func diverged(_ error: RecoveryError) {
        // What it has read with that batch is not kept.
        actions = []
        stop("what another node has decided gives another result here: \(error)")
    }

    // MARK: Outputs
    public mutating func nextAction() -> Action? { actions.isEmpty ? nil : actions.removeFirst() }

    /// A server that follows the log.
    ///
    /// - Parameters:
    ///   - hub: As it was recovered from the local journal; `nil` where that has nothing of the log.
    ///   - snapshotSequence: Of the snapshot that the local journal has; 0 = none.
    public mutating func server(
        over hub: consuming Hub? = nil, snapshotSequence: Int64 = 0, at now: HubTime
    ) -> Server {
        let hub = hub.take() ?? Hub(configuration: configuration.hub, epoch: replica.reader.epoch ?? 0)
        var server = Server(hub, configuration: configuration.server, snapshotSequence: snapshotSequence)
        server.numberConnections(asOf: processPart.next())
        server.follow(at: now)
        server.stands(status(at: now.monotonic), at: now)
        if replica.service.isDraining { server.resumeDraining(at: now) }
        return server
    }

    /// Lets the server lead. Call it once for each ``Action/lead(term:wait:)``.
    ///
    /// Kinds and settings in force are those of the log, and not its own.
    ///
    /// - Throws: What a start throws where the settings of the log cannot be those of this process.
    public mutating func lead(_ server: inout Server, at now: HubTime) throws {
        // It may have stood down again before its performer came here.
        guard isLeading else { return }
        let differences = try server.differences(from: configuration.kinds, configuration.hub.decisions)
        if !differences.isEmpty { actions.append(.differs(differences)) }
        try server.lead(beginningWith: configuration.kinds, configuration.hub.decisions)
        server.stands(status(at: now.monotonic), at: now)
    }

    /// The kinds of this node's folder were read again. Those in force are the log's.
    public mutating func kindsRead(_ kinds: [Kind]) { configuration.kinds = kinds }

    /// Whether the server has a state for a snapshot of the local journal, and no checkpoint takes its place there.
    public var mayTakeSnapshot: Bool { hasHistory && !isLoading && installing == nil }

    /// The newest record that was replayed, or decided and stored.
    public var sequence: Int64 { replica.reader.chain.sequence }
}
