import Cluster
import Hub
import Journal
import Kinds
import Logging
import Replication
import Server
import TelltaleEventLoop
import TelltaleModel

/// Performs the actions of a ``Cluster/Member`` on the log store, the local journal and the loop. It decides nothing.
final class ClusterEdge {
    unowned let daemon: Daemon
    var member: Member
    /// It leads, and cannot prove it at the moment.
    var isInLimbo: Bool { member.replica.isInLimbo }
    let log: any ReplicatedLog
    let logger: Logger
    private var timer: TimerHandle?
    private var statusTimer: TimerHandle?
    private var leader: LeaderConnection?
    private var isPerforming = false
    private var reportedSync: LogStoreSync?
    /// What the server was reported last: whether it answers reads.
    private var isToldServing = false
    private let backlog = LocalJournalBacklog()

    /// The checkpoint that is being stored.
    var checkpointThread: CheckpointThread?

    init(_ member: consuming Member, over log: any ReplicatedLog, of daemon: Daemon, _ logger: Logger) throws(UVError) {
        self.daemon = daemon
        self.member = member
        self.log = log
        self.logger = logger
        timer = try TimerHandle(on: daemon.loop) { [unowned self] _ in tick() }
        statusTimer = try TimerHandle(on: daemon.loop) { [unowned self] _ in reportStatus() }
        statusTimer?.scheduleRepeating(everyMilliseconds: 1_000)
        leader = try LeaderConnection(
            on: daemon.loop,
            LeaderConnection.Handlers(
                onConnected: { [unowned self] in self.daemon.server.linkConnected(at: self.daemon.clock.now) },
                onData: { [unowned self] bytes in self.daemon.server.linkReceived(bytes, at: self.daemon.clock.now) },
                onLost: { [unowned self] in self.daemon.server.linkLost(at: self.daemon.clock.now) },
                onRefused: { [unowned self] in
                    self.member.leaderRefusesConnections(at: self.daemon.clock.now)
                    perform()
                }))
    }

    /// Starts following the log.
    func start() {
        log.onEvent = { [unowned self] event in
            switch event {
            case .connection(let isUp, let text): logChange(isUp: isUp, text)
            case .sync(let sync, let reasons): logChange(sync, reasons)
            case .denied(let what, let mayLead): logChange(denied: what, mayLead: mayLead)
            case .unusable(let faults): return failAppend(faults)
            case _: break
            }
            member.handleEvent(event, at: daemon.clock.now)
            perform()
        }
        perform()
    }

    var isLeading: Bool { member.isLeading }
    var status: ClusterStatus { withLogStore(member.status(at: daemon.clock.now.monotonic)) }

    /// Reports that the disk falls behind the log, or has caught up.
    func localJournalIsBehind(_ isBehind: Bool) {
        guard isBehind != member.replica.isHeldBack else { return }
        if isBehind {
            logger.warning("the disk does not keep up with the log, and this node reads no further until it does")
        } else {
            logger.notice("the disk keeps up with the log again")
        }
        member.localJournalIsBehind(isBehind, at: daemon.clock.now)
        perform()
    }

    // MARK: The server's turn

    /// Asked first in each turn: a leader writes nothing while it cannot be sure that it still leads.
    func mayServe() -> Bool {
        guard member.isLeading else { return true }
        let isAllowed = member.mayServe(at: daemon.clock.now)
        perform()
        return isAllowed && member.isLeading
    }

    var mayDecide: Bool { member.mayDecide }

    func kindsRead(_ kinds: [Kind]) { member.kindsRead(kinds) }

    /// Appends a decided part of a batch.
    func append(_ part: [JournalRecord], isLast: Bool) {
        member.append(part, isLast: isLast, at: daemon.clock.now)
        if isLast { perform() }
    }

    /// Ends this leadership, after which the process ends. A node that does not lead leaves the cluster at once.
    ///
    /// - Returns: `false` where there is no leadership to wait for.
    func end() -> Bool {
        let waits = member.end(at: daemon.clock.now)
        perform()
        return waits
    }

    /// Hands leadership over at an operator's request. This node continues as a standby.
    func handOver(to successor: String?) {
        guard member.isLeading else { return }
        logger.notice("an operator lets this node hand over", metadata: ["to": "\(successor ?? "any node")"])
        member.handOver(to: successor, at: daemon.clock.now)
        perform()
    }

    /// Submits everything that the server has replayed to the local journal.
    func flushLocalJournal() {
        member.flushLocalJournal()
        perform()
    }

    func leaveLog() {
        checkpointThread?.cancel()
        (timer, statusTimer, leader) = (nil, nil, nil)
        log.close()
    }

    // MARK: Actions

    private func tick() {
        member.tick(at: daemon.clock.now)
        perform()
    }

    func perform() {
        guard !isPerforming else { return }
        isPerforming = true
        while let action = member.nextAction() { perform(action) }
        isPerforming = false
        if member.isServing != isToldServing { reportStatus() }
        let deadline = member.deadline
        guard deadline < .distantFuture else { return timer?.cancel() ?? () }
        timer?.schedule(afterMilliseconds: max(0, deadline.milliseconds(since: daemon.clock.now.monotonic).count) + 1)
    }

    private func perform(_ action: Member.Action) {
        switch action {
        case .append(let bytes, let after, let token): log.append(bytes, after: after, token: token)
        case .read(let from): log.read(from: from)
        case .holdReading(let isHeld): log.hold(isHeld)
        case .heartbeat(let heartbeat): log.heartbeat(heartbeat)
        case .keep(let records, let mark, let epoch):
            if daemon.keep(records, mark: mark, epoch: epoch, backlog) { localJournalIsBehind(true) }
        case .replay(let records): replay(records)
        case .lead(let term, let wait): lead(term, after: wait)
        case .settle(let outcome): daemon.settleAppend(outcome)
        case .standDown(let reason, let isEnding): standDown(reason, isEnding: isEnding)
        case .abandon:
            logger.warning("the log has not taken the word that this node leads no more; it ends without")
        case .follow(let term, let node):
            StandardStream.output.write("standby term=\(term)\n")
            logger.notice("another node leads", metadata: ["node": "\(node)", "term": "\(term)"])
            reportStatus()
        case .begin(let farewell): daemon.serve(with: member.server(at: daemon.clock.now), farewell)
        case .sendAway(let farewell): daemon.sendAway(farewell)
        case .askOfCheckpoints(let request): ask(request)
        case .beginCheckpoint: beginCheckpoint()
        case .giveCheckpointPiece: giveCheckpointPiece()
        case .endCheckpoint(let id, let isWhole): endCheckpoint(id, isWhole: isWhole)
        case .loadCheckpoint(let sequence): load(.begin(at: sequence))
        case .loadCheckpointChunk(let bytes): load(.chunk(bytes))
        case .abandonCheckpoint: load(.abandon)
        case .installCheckpoint(_, let link, let mark, let epoch): install(link: link, mark: mark, epoch: epoch)
        case .warn(let text): logger.warning("\(text)")
        case .stop(let reason):
            logger.critical("this node stops, because the log is not the one that it knows: \(reason)")
            daemon.stopBehindLocalJournal()
        case .differs(let texts):
            logger.warning(
                "kinds or settings of this node are not those in force; SIGHUP to it brings them into force, but never older rules",
                metadata: ["differ": "\(texts.joined(separator: "; "))"])
        case .refuse(let duplicateNode):
            Telltaled.complain(
                "--node \(member.replica.node): another process, at \(duplicateNode), has this name, and began before; each node has a name of its own"
            )
            daemon.stopAtOnce()
        }
    }

    private func replay(_ records: [JournalRecord]) {
        do throws(RecoveryError) {
            try daemon.server.replay(records, at: daemon.clock.now)
        } catch {
            member.diverged(error)
        }
    }

    private func lead(_ term: Int64, after wait: Milliseconds) {
        do {
            daemon.clock.goOn(after: daemon.server.lastTimes)
            try member.lead(&daemon.server, at: daemon.clock.now)
            StandardStream.output.write("leading term=\(term) after_ms=\(wait.count)\n")
            logger.notice("this node leads", metadata: ["term": "\(term)", "after_ms": "\(wait.count)"])
            daemon.reportRules()
            reportStatus()
        } catch {
            logger.critical("this node cannot lead: \(error)")
            daemon.stopAtOnce()
        }
    }

    private func standDown(_ reason: String, isEnding: Bool) {
        logger.notice("this node leads no more", metadata: ["because": "\(reason)"])
        reportStatus()
        daemon.server.follow(at: daemon.clock.now)
        if isEnding { daemon.endServing() }
    }

    // MARK: The link to the leader

    func writeToLeader(_ bytes: [UInt8]) { leader?.write(bytes) }
    func closeLeaderLink() { leader?.reconnect() }

    // MARK: Reports

    private func reportStatus() {
        noteClients()
        let clusterStatus = status
        isToldServing = clusterStatus.serves
        daemon.reportStatus(clusterStatus)
        leader?.follow(member.isLeading ? nil : member.leader?.address)
    }

    private func noteClients() {
        let isDraining = daemon.server.isDraining
        if isDraining != member.replica.service.isDraining {
            logger.notice(
                isDraining
                    ? "an operator sends the clients of this node to the others" : "this node takes clients again")
        }
        member.noteClients(daemon.server.clientCount, isDraining: isDraining)
    }

    private func withLogStore(_ clusterStatus: ClusterStatus) -> ClusterStatus {
        let status = log.status
        var logStore = JSONObject()
        logStore["name"] = .string(status.name)
        logStore["version"] = .string(status.version)
        logStore["connected"] = .bool(status.isConnected)
        logStore["sync"] = .string(status.sync.rawValue)
        logStore["rttMicroseconds"] = .integer(Int64(status.roundTrip / .microseconds(1)))
        logStore["stalls"] = .integer(Int64(status.stalls))
        logStore["longestStallMilliseconds"] = .integer(Int64(status.longestStall / .milliseconds(1)))
        if !status.denials.isEmpty { logStore["denied"] = .array(status.denials.map { .string($0) }) }
        var clusterStatus = clusterStatus
        clusterStatus.logStore = logStore
        return clusterStatus
    }

    /// Stops because the log store's configuration and this node's do not fit together.
    private func failAppend(_ faults: [String]) {
        for fault in faults { Telltaled.complain("--engine: \(fault)") }
        daemon.stopAtOnce(78)
    }

    private func logChange(_ sync: LogStoreSync, _ reasons: [String]) {
        let because: Logger.Metadata = ["because": "\(reasons.joined(separator: "; "))"]
        switch sync {
        case .proven:
            guard let old = reportedSync, old != .proven else { break }
            logger.notice("each server of the engine syncs before it acknowledges")
        case .trusted:
            if !reasons.isEmpty {
                logger.warning("the engine is trusted to sync before it acknowledges", metadata: because)
            }
        case .unknown: logger.warning("whether the engine syncs before it acknowledges is not known", metadata: because)
        case .refuted:
            logger.error(
                "the engine does not sync before it acknowledges, so this node does not lead", metadata: because)
        }
        reportedSync = sync
        reportStatus()
    }

    private func logChange(denied what: [String], mayLead: Bool) {
        let subjects: Logger.Metadata = ["denied": "\(what.joined(separator: "; "))"]
        if what.isEmpty {
            logger.notice("the engine lets this node do everything again")
        } else if mayLead {
            logger.error("the engine does not let this node do what it needs to", metadata: subjects)
        } else {
            logger.error("the engine does not let this node publish, so it does not lead", metadata: subjects)
        }
        reportStatus()
    }

    private func logChange(isUp: Bool, _ text: String) {
        if isUp {
            logger.info("the engine: \(text)")
        } else {
            logger.warning("the engine cannot be reached: \(text)")
        }
    }
}

/// Carries a recovered hub over from the journal's thread.
final class RecoveredHub: @unchecked Sendable {
    private var hub: Hub?
    let snapshotSequence: Int64

    init(_ hub: consuming Hub, snapshotSequence: Int64) {
        self.hub = consume hub
        self.snapshotSequence = snapshotSequence
    }

    /// Returns the hub once, then `nil`.
    func take() -> Hub? { hub.take() }
}
