import Cluster
import Hub
import Journal
import Kinds
import Replication
import Server
import TelltaleModel

/// A daemon of a simulated cluster: it performs the actions of the same ``Cluster/Member`` and the same ``Server/Server`` as
/// `telltaled` does, on a simulated log store, disk, network and clock. It decides nothing.
final class ClusterNode {
    unowned let cluster: SimulatedCluster
    let index: Int
    /// Of its name among those of the nodes: another process may have it too.
    let slot: Int
    let name: String
    let address: String
    private let kinds: [Kind]
    var localJournal = LocalJournal()
    var member: Member?
    var server: Server?
    /// Counts the servers of the process.
    private var serverNumber = 0
    /// The batch under way.
    var batch: [JournalRecord] = []
    var links: [SessionID: SimulatedLink] = [:]
    /// Operators that wait for a reply.
    var operators: [SessionID: (String) -> Void] = [:]
    /// To the leader, while this node follows.
    var pipe: LeaderPipe?
    /// When it may be tried again.
    var nextPipe: Int64 = 0
    /// Those of other nodes, while this one leads.
    var followers: [SessionID: LeaderPipe] = [:]
    private(set) var isUp = false
    /// `nil` = it runs, or never has.
    private(set) var endedAt: Int64?
    /// Whether it leads, as far as it knows, and when it last did.
    private var lead = (goesOn: false, end: Int64.min / 2)
    private var ledSince: Int64 = 0
    private(set) var isPaused = false
    /// When the process began, or was resumed.
    private var wokeAt = Int64.min / 2
    private var missed: [() -> Void] = []
    private(set) var generation = 0
    /// Why it has stopped: the log is not the one that it knows.
    private var stopReason: String?
    private var hybrid: HybridClock?
    /// The status that the server received last, and when.
    private var told: (status: ClusterStatus, server: Int, time: Int64)?
    private var wakeVersion = 0
    /// When the member wants time to be reported, and counts what was scheduled for it.
    private var memberWake = (deadline: MonotonicTime.distantFuture, version: 0)
    private(set) var tampering: ClusterTampering
    /// When that was sent which the log store acknowledged last: reported by the wires, not by the member.
    private(set) var lastProof: Int64 = 0
    var sent: [Int64: Int64] = [:]
    private(set) var takeovers = 0
    var snapshots = SnapshotTurns<TakenSnapshot>()
    /// Of the checkpoint that is being stored.
    private var checkpointPieces: [[UInt8]] = []
    /// The process is to end in order.
    var isEnding = false
    /// For the trace.
    private var role = Replica.Role.standby
    /// An operator moves the history, with the folder of this node.
    private var mover: Mover?
    /// The folder is the local journal of a log that was removed.
    var isOutdated = false
    /// A server of the log store has said that it does not sync, and none has said since that all do.
    private(set) var isSyncRefuted = false

    init(cluster: SimulatedCluster, index: Int, kinds: [Kind]) {
        self.cluster = cluster
        self.index = index
        self.kinds = kinds
        slot = index < SimulatedCluster.nodeCount ? index : cluster.weather.sharedName
        name = "n\(slot + 1)"
        address = "10.0.0.\(index + 1):7878"
        tampering = ClusterTampering(cluster.bug)
    }

    private var isObserver: Bool { slot == cluster.weather.observer }
    var position: Int64? { member?.replica.reader.position }
    /// Whether it has led since then, and leads, or was linked to the leader.
    func isAtLeader(since time: Int64) -> Bool {
        guard isUp, !isStopped, hasBeenAwake(since: time) else { return false }
        if isLeading { return hasTerm && ledSince < time }
        guard let pipe, pipe.isOpen else { return false }
        return pipe.begunAt < time && pipe.leader.isAtLeader(since: time)
    }
    var isLeading: Bool { isUp && member?.isLeading == true && server != nil }
    /// For how long it has not led; `nil` = it leads, or its term is the newest of the log.
    var silence: Int64? {
        guard !lead.goesOn, !(isUp && !isStopped && hasTerm) else { return nil }
        return cluster.now - (hasTerm ? max(lead.end, cluster.log.lastTermAt) : lead.end)
    }
    private var hasTerm: Bool { cluster.log.reader.leader?.address == address }
    /// Of the node that leads, as this one knows.
    var leaderAddress: String? { member?.leader?.address }
    /// Another node has its name, and it runs for a while at most.
    var isDuplicateNode: Bool { index != slot }
    /// Of the process.
    var instance: UInt64? { member?.replica.instance }
    var isStopped: Bool { stopReason != nil }
    var monotonic: MonotonicTime { MonotonicTime(milliseconds: cluster.now) }
    var wall: Timestamp { Timestamp(milliseconds: World.begin + cluster.now + cluster.weather.skews[slot]) }

    var hubTime: HubTime {
        let time = hybrid?.reading(wall: wall, monotonic: monotonic) ?? wall
        return HubTime(time: time, wall: time, monotonic: monotonic)
    }

    // MARK: Life

    func start() {
        guard !isDuplicateNode, !cluster.isMoving else { return }
        begin()
    }

    func startAsDuplicateNode() { begin() }

    private func begin() {
        guard !isUp, !cluster.refusesToBegin(self) else { return }
        beginProcess()
        tampering = ClusterTampering(cluster.bug, after: tampering)
        cluster.trace?(
            cluster.now, index,
            "starts with \(localJournal.chain.sequence) records, message \(localJournal.reader.position)")
        var settings = ReplicaSettings()
        settings.limits.byteCount = cluster.weather.messageBytes
        settings.isObserver = isObserver && cluster.bug != .observerVolunteers
        if cluster.bug == .neverGivenUp { settings.giveUp = .minutes(10) }
        let replica = Replica(
            node: name, address: address, release: "1",
            reader: localJournal.reader, newEpoch: cluster.newEpoch(), instance: cluster.newEpoch(), settings: settings,
            at: monotonic)
        var server = ServerConfiguration()
        server.pace = .fixed(.zero)
        server.recordsBetweenSnapshots = cluster.weather.recordsBetweenSnapshots
        var configuration = MemberConfiguration(hub: cluster.configuration, server: server, kinds: kinds)
        configuration.checkpoints = cluster.weather.checkpoints
        var member = Member(replica, configuration: configuration, at: monotonic)
        hybrid = HybridClock(wall: wall, lastRecord: .distantPast, monotonic: monotonic)
        let hub = localJournal.epoch == nil ? nil : recoveredHub()
        serve(with: member.server(over: hub, snapshotSequence: localJournal.snapshotSequence, at: hubTime))
        goOnByClock()
        self.member = consume member
        noteHash()
        perform()
        tick()
    }

    /// A daemon notifies its server each second.
    private func tick() {
        schedule(after: 1_000) { [self] in
            turn()
            tick()
        }
    }

    private func beginProcess() {
        generation += 1
        (isUp, endedAt, wokeAt) = (true, nil, cluster.now)
        isPaused = false
        stopReason = nil
        (missed, sent, batch, checkpointPieces) = ([], [:], [], [])
        (snapshots, hybrid) = (SnapshotTurns(), nil)
        (isEnding, isSyncRefuted) = (false, false)
        (isReadingHeld, heldRead) = (false, nil)
        memberWake.deadline = .distantFuture
    }

    /// The hub of the local journal.
    func recoveredHub() -> Hub? {
        do {
            return try .recovered(from: InMemoryJournal(localJournal.contents), cluster.configuration)
        } catch {
            cluster.violated("P9", "\(name) does not recover: \(error)")
            return nil
        }
    }

    func kill(losing count: Int) {
        guard isUp else { return }
        cluster.trace?(cluster.now, index, "is killed")
        leave()
        localJournal.crash(losing: count)
    }

    /// Its term may still be on its way to the log.
    private func endLead() {
        if lead.goesOn || hasTerm || member?.replica.role == .campaigning { lead = (false, cluster.now) }
    }

    /// The process has ended in order.
    func ended() {
        cluster.trace?(cluster.now, index, "has ended")
        leave()
        localJournal.crash(losing: 0)
        cluster.startLater(self)
    }

    func leave() {
        endLead()
        (isUp, endedAt) = (false, cluster.now)
        closeAll(telling: [])
        endPipes()
        server = nil
        member = nil
        operators = [:]
        if isDuplicateNode { wipe() }
    }

    /// Another process has its name, and began before it.
    private func giveWay() {
        cluster.trace?(cluster.now, index, "gives way to another process with its name")
        leave()
        localJournal.crash(losing: 0)
        cluster.gaveWay(self)
    }

    func wipe() { (localJournal, isOutdated) = (LocalJournal(), false) }

    /// SIGSTOP: what reaches it waits.
    func pause() { isPaused = isUp }

    func goOn() {
        guard isUp, isPaused else { return }
        (isPaused, wokeAt) = (false, cluster.now)
        cluster.trace?(cluster.now, index, "goes on")
        let waiting = missed
        missed = []
        // The check at the lease comes first, whatever has arrived.
        turn()
        // One of them may end the process, or stop it again.
        for body in waiting { whenAwake(body) }
        turn()
    }

    func whenAwake(_ body: @escaping () -> Void) {
        guard isUp, !isStopped else { return }
        if isPaused { missed.append(body) } else { body() }
    }

    /// Does it later, unless the process has ended by then.
    func schedule(after delay: Int64, _ body: @escaping () -> Void) {
        let generation = generation
        cluster.schedule(after: delay) { [self] in
            guard generation == self.generation else { return }
            whenAwake(body)
        }
    }

    func stop(_ reason: String) {
        cluster.trace?(cluster.now, index, "stops: \(reason)")
        stopReason = reason
        endLead()
        closeAll(telling: [])
        endPipes()
        cluster.checks.stopped(self, reason)
    }

    // MARK: What the log store says

    /// From where it is to read when its member can take more; `nil` = there was nothing to read.
    private var heldRead: Int64?
    private var isReadingHeld = false

    func acknowledged(token: Int64, position: Int64) {
        guard mover == nil else { return deliver(.stored(token: token, position: position)) }
        if let time = sent[token] { lastProof = max(lastProof, time) }
        guard let (token, position) = tampering.acknowledged(token: token, position: position, of: self) else { return }
        deliver(.stored(token: token, position: position))
    }

    func refused(token: Int64, last: Int64) {
        if mover == nil, tampering.refused(token: token, last: last, of: self) { return perform() }
        deliver(.refused(token: token))
    }

    func full(token: Int64) { deliver(.full(token: token)) }

    func limited(to byteCount: Int) { if cluster.bug != .limitUnheard { deliver(.limited(byteCount: byteCount)) } }
    func tooLong(token: Int64) { if cluster.bug != .limitUnheard { deliver(.tooLong(token: token)) } }

    func denied(_ isDenied: Bool) {
        guard cluster.bug != .denialIgnored else { return }
        deliver(.denied(isDenied ? ["publish on the log"] : [], mayLead: !isDenied))
    }

    /// For how long the log has not taken the message in flight; `nil` = there is none, or the process was stopped and has just been
    /// resumed: it may have slept through the moment to give up, and sends a heartbeat before it looks.
    var appendSilence: Int64? {
        guard cluster.now - wokeAt > Self.wakeTime, member?.replica.isAppending == true,
            let time = sent[tampering.token]
        else { return nil }
        return cluster.now - time
    }

    private static let wakeTime: Int64 = 1_000

    /// Whether it answers reads, as it says itself.
    var isShowing: Bool { isUp && !isPaused && !isStopped && server?.hub.status?.serves == true }
    func hasBeenAwake(since time: Int64) -> Bool { !isPaused && wokeAt < time }

    func read(_ messages: [[UInt8]], from: Int64, end: Int64) {
        guard mover == nil else { return deliver(.read(messages, from: from, end: end)) }
        if isReadingHeld {
            heldRead = min(heldRead ?? from, from)
            return
        }
        if cluster.bug == .shorterLogAccepted, end < position ?? 0, cluster.log.end < position ?? 0 {
            kill(losing: 0)
            wipe()
            return start()
        }
        for message in messages where tampering.isInFlight(message) {
            if let time = sent[tampering.token] { lastProof = max(lastProof, time) }
        }
        if !tampering.reads(messages, from: from, end: end, of: self) { deliver(.read(messages, from: from, end: end)) }
    }

    func heard(_ heartbeat: Heartbeat) {
        if cluster.bug == .namesakesLive, heartbeat.node == name { return }
        deliver(.heard(heartbeat))
        if cluster.bug == .keptBeatsTakenForWords { deliver(.overheard(tampering.anew(heartbeat))) }
    }

    /// Another node says this now.
    func overheard(_ heartbeat: Heartbeat) {
        if heartbeat.node == name { return heard(heartbeat) }
        guard cluster.bug != .restartsUnheard, cluster.bug != .keptBeatsTakenForWords || heartbeat.role != .leading
        else {
            return
        }
        deliver(.overheard(heartbeat))
    }

    func heartbeatAcknowledged(_ heartbeat: Heartbeat) {
        lastProof = max(lastProof, cluster.heartbeatTime(of: heartbeat))
        deliver(.heartbeatStored(number: heartbeat.number))
    }

    /// Every heartbeat that was stored before this own one is reported.
    func heartbeatsShown(through heartbeat: Heartbeat) { deliver(.heartbeatsShown(through: heartbeat.number)) }

    /// The servers were asked whether they sync.
    func learned(_ sync: LogStoreSync) {
        isSyncRefuted = sync == .refuted || (sync == .unknown && isSyncRefuted)
        deliver(.sync(tampering.altered(sync), []))
    }

    func answered(_ answer: CheckpointAnswer) { deliver(.checkpoint(tampering.answered(answer, to: self))) }

    private func deliver(_ event: LogEvent) {
        if mover != nil { return learned(event) }
        member?.handleEvent(event, at: hubTime)
        perform()
    }

    func leaderRefusesConnections() {
        member?.leaderRefusesConnections(at: hubTime)
        perform()
    }

    // MARK: What is to be done

    /// Everything that is due: of the member, then of the server.
    func perform() {
        guard isUp, !isPaused, mover == nil else { return }
        takeActions()
        turn()
        scheduleMember()
    }

    func takeActions() {
        while isUp, let action = member?.nextAction() { perform(action) }
        guard let next = member?.replica.role, next != role else { return }
        role = next
        cluster.trace?(cluster.now, index, "is \(next.rawValue)")
    }

    /// The process has another server from now on.
    func serve(with next: consuming Server) {
        losePipe()
        operators = [:]
        server = consume next
        serverNumber += 1
    }

    func noteHash() {
        guard server?.isCommitting == false, let sequence = server?.sequence, sequence > 0,
            let hash = server?.stateHash
        else { return }
        cluster.checks.hashed(hash, at: sequence, by: self)
    }

    /// The clock goes on from the newest record.
    private func goOnByClock() { hybrid?.goOn(after: server?.lastTimes.record ?? .distantPast) }

    private func takeLead() throws {
        guard var next = server.take() else { return }
        var failure: (any Error)?
        do { try member?.lead(&next, at: hubTime) } catch { failure = error }
        server = consume next
        if let failure { throw failure }
    }

    private func lead(term: Int64) {
        takeovers += 1
        (lead.goesOn, ledSince) = (true, cluster.now)
        if isObserver { cluster.violated("P4", "\(name) leads, and is an observer") }
        cluster.trace?(cluster.now, index, "leads in term \(term)")
        cluster.checks.mayAcknowledge(self)
        noteHash()
        do {
            if let other = try tampering.otherServer(of: self) {
                closeAll(telling: [])
                serve(with: other)
            }
            goOnByClock()
            try takeLead()
            if cluster.bug == .ownKindsAtTakeover { try server?.adopt(kinds) }
            cluster.leads(self)
        } catch {
            cluster.violated("P9", "\(name) does not take over: \(error)")
        }
    }

    // MARK: Timers

    private func scheduleMember() {
        guard !isStopped, let deadline = member?.deadline, deadline < .distantFuture else { return }
        // The one that waits comes early enough, and looks again.
        guard deadline < memberWake.deadline else { return }
        memberWake = (deadline, memberWake.version + 1)
        let version = memberWake.version
        schedule(after: max(1, deadline.milliseconds(since: monotonic).count)) { [self] in
            guard version == memberWake.version else { return }
            memberWake.deadline = .distantFuture
            member?.tick(at: hubTime)
            perform()
        }
    }

    func schedule(_ wake: Wake, at now: HubTime) {
        wakeVersion += 1
        guard let time = [wake.at, wake.flush].compactMap(\.self).min() else { return }
        let version = wakeVersion
        let wait = Int64(min((time - now.monotonic) / .milliseconds(1), 60_000).rounded(.up))
        schedule(after: max(1, wait)) { [self] in
            guard version == wakeVersion else { return }
            // A clock that counts sleep: the member looks before anything is done.
            member?.tick(at: hubTime)
            perform()
        }
    }

    /// The node is asked to let another one lead.
    func handOver() {
        guard isLeading, !isPaused else { return }
        member?.handOver(at: hubTime)
        perform()
    }

    // MARK: The turn of a leader

    /// The check at the lease comes first: a leader in limbo neither decides nor writes.
    func turn() {
        guard isUp, !isPaused, !isStopped, server != nil else { return }
        if !isLeading { tampering.standbyTurn(of: self) }
        guard mayServe(), member?.mayDecide == true else { return }
        reportStatus()
        followLeader()
        server?.turn(at: hubTime)
        performServer()
        takeActions()
    }

    private func mayServe() -> Bool {
        // As the edge of `telltaled`: a node that does not lead shows what it has read, and its member is not asked.
        guard member?.isLeading == true else { return isUp && !isStopped }
        let isAllowed = member?.mayServe(at: hubTime) == true
        takeActions()
        let isLeadingStill = isAllowed && member?.isLeading == true
        return isUp && !isStopped && (isLeadingStill || tampering.showsAnyway(isLeading: isLeading))
    }

    /// Performs what the server wants, where this node may write.
    private func performWhereServing() {
        guard isUp, !isStopped, server != nil, mayServe() else { return }
        performServer()
    }

    /// The server may be another one behind each action: what is left of the one before is nobody's.
    private func performServer() {
        let number = serverNumber
        while isUp, !isPaused, !isStopped, number == serverNumber, let action = server?.nextAction(at: hubTime) {
            perform(action)
        }
    }

    private func perform(_ action: Action) {
        switch action {
        case .append(let part, let isLast):
            if !isLeading { cluster.violated("P3", "\(name) decides, and does not lead") }
            batch += part
            if isLast { tampering.decided(batch, by: self) }
            if !tampering.appendBatch(batch, isLast: isLast, of: self) {
                member?.append(part, isLast: isLast, at: hubTime)
            }
            // A batch that comes too late is settled by what deposed its leader.
            takeActions()
        case .flush: flush()
        case .resumeReading(let id): if let link = links[id] { resume(link) }
        case .pauseReading, .stopListening, .report: break
        case .close(let id):
            if let link = links[id] { close(link) }
            if let pipe = followers[id] { close(pipe) }
        case .writeToLeader(let bytes): writeToLeader(bytes)
        case .closeLeaderLink: losePipe()
        case .closeConnections: closeAll(telling: [])
        case .readHistory(let request):
            flushLocalJournal()
            let journal = InMemoryJournal(localJournal.contents)
            server?.historyRead(
                Result { () throws(JournalError) in
                    try journal.readChain(endingAt: request.lastSequence, limit: request.limit)
                }, for: request)
        case .writeSnapshot(let pruning):
            guard member?.mayTakeSnapshot == true, let snapshot = server?.snapshot() else {
                return server?.snapshotWritten(isWritten: false) ?? ()
            }
            flushLocalJournal()
            writeSnapshot(tampering.taken(snapshot, by: self), pruning, for: serverNumber)
        case .closeJournal: server?.journalClosed(isInOrder: true)
        case .checkTokens(let checks): for check in checks { server?.tokenChecked(check.verdict()) }
        case .wake(let wake): schedule(wake, at: hubTime)
        case .handOver(let handover): member?.handOver(to: handover.successor, at: hubTime)
        case .exit(let status): cluster.violated("turn", "\(name) exits with \(status)")
        }
    }

    private func flush() {
        if !isLeading, let sequence = server?.sequence { cluster.checks.shows(through: sequence, by: self) }
        while let id = server?.nextReady(at: hubTime) {
            if let pipe = followers[id] {
                flush(to: pipe, id)
                continue
            }
            if let onReply = operators[id] {
                flush(toOperator: id, onReply)
                continue
            }
            guard let link = links[id] else { continue }
            var bytes: [UInt8] = []
            guard let output = server?.output(for: id, at: hubTime, to: &bytes) else { continue }
            if !output.sharedRange.isEmpty { bytes += (server?.sharedRows ?? [])[output.sharedRange] }
            bytes = tampering.written(bytes, to: id, of: self)
            if !bytes.isEmpty { cluster.send(bytes, to: link, by: self) }
            if output.disposition == .finish { close(link) }
        }
        server?.flushed(at: hubTime)
    }

    private func flush(to pipe: LeaderPipe, _ id: SessionID) {
        var bytes: [UInt8] = []
        guard let output = server?.output(for: id, at: hubTime, to: &bytes) else { return }
        if !bytes.isEmpty { write(bytes, to: pipe) }
        if output.disposition == .finish { close(pipe) }
    }

    // MARK: Connections

    /// - Returns: `false` where the client goes on to another node, because this one does not listen, or does not do what the
    ///   client is there for and says so.
    func accept(_ link: SimulatedLink, of client: any SimulatedClient) -> Bool {
        guard isUp, !isPaused, !isStopped else { return false }
        reportStatus()
        guard let id = server?.connected(at: hubTime) else { return false }
        link.session = id
        links[id] = link
        guard !isLeading else {
            turn()
            return true
        }
        // Its greeting says so.
        greet(id)
        // Reads are answered here; writes where they are forwarded.
        let stays = client is Screen || server?.hub.status?.forwards == true
        if stays, member?.isServing == true { return true }
        if link.session != nil { server?.disconnected(id) }
        link.session = nil
        links[id] = nil
        return false
    }

    /// A standby sends its greeting to a new connection, before anything else is due there.
    private func greet(_ id: SessionID) {
        guard let link = links[id] else { return }
        var bytes: [UInt8] = []
        guard server?.output(for: id, at: hubTime, to: &bytes) != nil, !bytes.isEmpty else { return }
        cluster.checks.greeted(bytes, by: self)
        cluster.send(bytes, to: link, by: self)
    }

    private func reportStatus() {
        member?.noteClients(server?.clientCount ?? 0, isDraining: server?.isDraining == true)
        guard var status = member?.status(at: monotonic) else { return }
        if cluster.bug == .silentLeaderNamed, !isLeading {
            status.leader = member?.leader.map { ($0.node, $0.address) } ?? nil
        }
        tampering.stands(&status, of: self)
        // At each change of what matters, and each second, as the edge of `telltaled` does.
        if let told, told.server == serverNumber, cluster.now < told.time + 1_000 {
            var known = told.status
            (known.lag, known.position, known.peers) = (status.lag, status.position, status.peers)
            (known.staleSince, known.forwards) = (status.staleSince, status.forwards)
            if known == status { return }
        }
        told = (status, serverNumber, cluster.now)
        server?.stands(status, at: hubTime)
    }

    func received(_ bytes: [UInt8], on link: SimulatedLink) {
        guard link.session != nil else { return }
        link.arrived.append(tampering.received(bytes, by: self))
        readArrived(on: link)
        perform()
    }

    private func readArrived(on link: SimulatedLink) {
        guard let id = link.session, !link.isPaused, !link.arrived.isEmpty else { return }
        let bytes = link.arrived.dequeue(link.arrived.count)
        if server?.received(bytes.span, from: id, at: hubTime) == false { link.isPaused = true }
    }

    private func resume(_ link: SimulatedLink) {
        link.isPaused = false
        readArrived(on: link)
        if link.arrived.isEmpty, link.hasEndArrived, let id = link.session {
            link.hasEndArrived = false
            server?.inputEnded(id)
        }
    }

    func inputEnded(_ link: SimulatedLink) {
        guard let id = link.session else { return }
        if link.arrived.isEmpty { server?.inputEnded(id) } else { link.hasEndArrived = true }
        perform()
    }

    func lost(_ link: SimulatedLink) {
        guard let id = link.session else { return }
        link.session = nil
        links[id] = nil
        server?.disconnected(id)
        perform()
    }

    private func close(_ link: SimulatedLink) {
        if let id = link.session {
            links[id] = nil
            server?.disconnected(id)
        }
        link.session = nil
        cluster.ended(link)
    }

    /// - Parameter farewell: The last line to each.
    func closeAll(telling farewell: [UInt8]) {
        for link in links.inOrder {
            if !farewell.isEmpty, isUp { cluster.send(farewell, to: link, by: self) }
            if let id = link.session { server?.disconnected(id) }
            link.session = nil
            cluster.ended(link)
        }
        links = [:]
        tampering.connectionsEnded()
    }

    // MARK: The actions of the member, as `telltaled` performs them

    func perform(_ action: Member.Action) {
        guard !tampering.holds(action) else { return }
        switch action {
        case .append(let bytes, let after, let token):
            sent[token] = sent[token] ?? cluster.now
            tampering.append(bytes, after: after, token: token, of: self)
        case .read(let from): cluster.log.read(from: from, for: self)
        case .holdReading(let isHeld): hold(isHeld)
        case .heartbeat(let heartbeat):
            cluster.noteHeartbeat(heartbeat)
            cluster.log.heartbeat(heartbeat, from: self)
        case .keep(let records, let mark, let epoch): keep(records, mark, epoch)
        case .replay(let records): replay(records)
        case .lead(let term, _): lead(term: term)
        case .settle(let outcome): settle(outcome)
        case .standDown(let reason, let isEnding): standDown(reason, isEnding: isEnding)
        case .abandon: cluster.trace?(cluster.now, index, "ends without the log")
        case .follow: break
        case .begin(let farewell):
            closeAll(telling: farewell)
            if let next = member?.server(at: hubTime) { serve(with: next) }
        case .sendAway(let farewell): closeAll(telling: farewell)
        case .askOfCheckpoints(let request): cluster.log.ask(tampering.asked(request, of: self), from: self)
        case .beginCheckpoint: beginCheckpoint()
        case .giveCheckpointPiece:
            member?.checkpointPiece(checkpointPieces.isEmpty ? nil : checkpointPieces.removeFirst(), at: hubTime)
        case .endCheckpoint(let id, let isWhole):
            checkpointPieces = []
            cluster.trace?(cluster.now, index, "base \(id) is \(isWhole ? "made" : "given up")")
            if isWhole { cluster.madeCheckpoint() }
        case .loadCheckpoint(let sequence): performCheckpointStep { try localJournal.beginCheckpoint(at: sequence) }
        case .loadCheckpointChunk(let bytes): performCheckpointStep { try localJournal.appendToCheckpoint(bytes) }
        case .abandonCheckpoint: performCheckpointStep { try localJournal.abandonCheckpoint() }
        case .installCheckpoint(_, let link, let mark, let epoch): install(link, mark, epoch)
        case .warn(let text):
            cluster.trace?(cluster.now, index, "warns: \(text)")
            cluster.checks.reports()
        case .differs(let texts):
            cluster.trace?(cluster.now, index, "differs: \(texts.joined(separator: "; "))")
        case .stop(let reason): stop(reason)
        case .refuse: giveWay()
        }
    }

    /// A disk that refuses ends the process, and this one has room.
    private func onDisk(_ body: () throws -> Void) {
        do {
            try body()
        } catch {
            cluster.violated("P9", "the disk of \(name) refuses: \(error)")
        }
    }

    private func flushLocalJournal() {
        member?.flushLocalJournal()
        takeActions()
    }

    private func keep(_ records: [JournalRecord], _ mark: [UInt8], _ epoch: UInt64) {
        if cluster.bug == .lossForgotten, (try? LogReader(mark: mark))?.loss != nil { return }
        let records = tampering.kept(records, in: localJournal)
        let before = localJournal.lastSequence
        onDisk { try localJournal.keep(records, mark: mark, epoch: epoch) }
        cluster.checks.copied(records, by: self)
        if before / 16 < localJournal.lastSequence / 16 { noteHash() }
    }

    /// For a while everything that its disk is given waits.
    func hangDisk(for span: Int64) {
        guard isUp, !isPaused, !isStopped, mover == nil else { return }
        cluster.trace?(cluster.now, index, "has a disk that hangs for \(span) ms")
        member?.localJournalIsBehind(true, at: hubTime)
        perform()
        schedule(after: span) { [self] in
            member?.localJournalIsBehind(false, at: hubTime)
            perform()
        }
    }

    private func hold(_ isHeld: Bool) {
        guard isHeld || cluster.bug != .readingNeverGoesOn else { return }
        cluster.trace?(cluster.now, index, isHeld ? "reads no further" : "reads on")
        isReadingHeld = isHeld
        guard !isHeld, let from = heldRead.take() else { return }
        cluster.log.read(from: from, for: self)
    }

    private func replay(_ records: [JournalRecord]) {
        do throws(RecoveryError) {
            switch cluster.bug {
            case .publishedByRecord:
                for record in records {
                    try server?.replay([record], at: hubTime)
                    performWhereServing()
                }
            case .replayedUnpublished: for record in records { try server?.hub.replay(record) }
            default: try server?.replay(tampering.replayed(records, by: self), at: hubTime)
            }
            cluster.checks.hasClocksOfRecord(self)
        } catch {
            member?.diverged(error)
        }
    }

    private func settle(_ outcome: SyncOutcome) {
        if case .durable = outcome {
            cluster.checks.mayAcknowledge(self)
            cluster.checks.acknowledged(batch, by: self, term: member?.replica.term ?? 0)
        }
        batch = []
        server?.synced(outcome, at: hubTime)
        if case .full = outcome { undone() }
        // As `telltaled` does: what the batch shows leaves before the next action of the member.
        performWhereServing()
    }

    private func standDown(_ reason: String, isEnding: Bool) {
        cluster.trace?(cluster.now, index, "stands down: \(reason)")
        if cluster.bug == .settledThoughAbsent, !batch.isEmpty {
            server?.synced(.durable(duration: .zero, wait: .zero), at: hubTime)
            performWhereServing()
        }
        batch = []
        endLead()
        tampering.stoodDown()
        reportStatus()
        server?.follow(at: hubTime)
        undone()
        if isEnding { endInOrder() }
    }

    /// The hub has undone its batch.
    private func undone() {
        if cluster.bug == .clocksKeptAtRollBack { server?.hub.raiseClocks(to: hubTime) }
        cluster.checks.hasClocksOfRecord(self)
    }

    // MARK: The end

    /// SIGTERM.
    func terminate() {
        guard isUp, !isPaused, !isStopped, !isEnding else { return }
        cluster.trace?(cluster.now, index, "is to end")
        isEnding = true
        let waits = member?.end(at: hubTime) == true
        perform()
        if !waits { endInOrder() }
    }

    /// Writes the last snapshot behind what the disk was given, and ends.
    private func endInOrder() {
        closeAll(telling: [])
        guard member?.mayTakeSnapshot == true, let snapshot = server?.snapshot() else { return ended() }
        writeSnapshot(tampering.taken(snapshot, by: self), Pruning(), for: serverNumber)
    }

    // MARK: Snapshots

    func writeSnapshot(_ snapshot: TakenSnapshot, _ pruning: Pruning, for asker: SnapshotTurns<TakenSnapshot>.Asker) {
        let (begins, refused) = snapshots.ask(.init(snapshot, for: asker, pruning: pruning))
        member?.isWritingSnapshot = snapshots.isWriting
        if let begins { begin(begins) }
        if let refused { replyToAsker(refused, isWritten: false) }
    }

    private func begin(_ request: SnapshotTurns<TakenSnapshot>.Request) {
        let sequence = request.content.sequence
        schedule(after: cluster.diskDelay()) { [self] in
            var isBegun = false
            onDisk {
                isBegun = try localJournal.beginSnapshot(
                    at: sequence, request.pruning, prunesEarly: tampering.prunesEarly)
            }
            guard isBegun else { return snapshotEnded(isWritten: false) }
            cluster.trace?(cluster.now, index, "writes a snapshot of record \(sequence)")
            schedule(after: cluster.diskDelay()) { [self] in
                onDisk { try localJournal.finishSnapshot(request.content.chunks, of: sequence) }
                cluster.wroteSnapshot()
                snapshotEnded(isWritten: true)
            }
        }
    }

    private func snapshotEnded(isWritten: Bool) {
        let (asker, next) = snapshots.ended()
        member?.isWritingSnapshot = snapshots.isWriting
        if let next { begin(next) }
        if let asker { replyToAsker(asker, isWritten: isWritten) }
        perform()
    }

    private func replyToAsker(_ asker: SnapshotTurns<TakenSnapshot>.Asker, isWritten: Bool) {
        guard asker == serverNumber else { return }
        if isEnding { ended() } else { server?.snapshotWritten(isWritten: isWritten) }
    }

    // MARK: Checkpoints

    private func beginCheckpoint() {
        // A batch under way is nothing that the log has.
        let mayTake = server?.isCommitting == false && member?.mayTakeSnapshot == true
        let snapshot = mayTake ? server?.snapshot() : nil
        cluster.trace?(cluster.now, index, "makes a checkpoint with record \(snapshot?.sequence ?? 0)")
        checkpointPieces = []
        if let snapshot {
            var cutter = CheckpointCutter(length: member?.pieceLength ?? cluster.weather.checkpoints.pieceBytes)
            let taken = tampering.checkpoint(tampering.taken(snapshot, by: self))
            for chunk in taken.chunks { checkpointPieces += cutter.add(chunk) }
            if let last = cutter.end() { checkpointPieces.append(last) }
        }
        member?.checkpointBegan(at: snapshot?.sequence, now: hubTime)
        noteHash()
    }

    private func performCheckpointStep(_ body: () throws -> Void) {
        onDisk(body)
        schedule(after: cluster.diskDelay()) { [self] in
            member?.checkpointStepTaken(at: hubTime)
            perform()
        }
    }

    private func install(_ link: UInt64, _ mark: [UInt8], _ epoch: UInt64) {
        performCheckpointStep { try localJournal.finishCheckpoint(link: link, mark: mark, epoch: epoch) }
        cluster.trace?(
            cluster.now, index,
            "has a base: record \(localJournal.chain.sequence), message \(localJournal.reader.position)")
        cluster.loadedCheckpoint(by: self)
        schedule(after: cluster.diskDelay()) { [self] in
            guard let hub = recoveredHub() else { return }
            cluster.checks.hashed(hub.stateHash, at: hub.lastRecordSequence, by: self)
            if let next = member?.checkpointInstalled(hub, at: hubTime) {
                closeAll(telling: member?.farewell() ?? [])
                serve(with: next)
            }
            perform()
        }
    }

    // MARK: An operator moves the history, with the folder of this node

    private struct Mover {
        var move: HistoryMove
        let journal: InMemoryJournal
        /// The folder as it was, for a command that dies before it is changed.
        let before: InMemoryJournal.Contents
        /// It dies in the place of one more message or question than this; `nil` = it lives to its end.
        var stepsLeft: Int?
        var wake = 0
        let ended: (End) -> Void
    }

    enum End {
        case done, killed
        case refused(HistoryMove.Refusal)
    }

    /// - Parameter steps: It dies in the place of its next message or question, or of its last write.
    func move(_ direction: HistoryMove.Direction, dyingBehind steps: Int?, ended: @escaping (End) -> Void) {
        beginProcess()
        cluster.trace?(cluster.now, index, "moves \(localJournal.lastSequence) records: \(direction)")
        let journal = InMemoryJournal(localJournal.contents)
        do throws(HistoryMove.Refusal) {
            let move = try HistoryMove(
                direction, of: journal, cluster: SimulatedCluster.name, node: name, release: "1",
                instance: cluster.newEpoch(), wall: wall, at: monotonic)
            mover = Mover(move: move, journal: journal, before: localJournal.contents, stepsLeft: steps, ended: ended)
            performMove()
        } catch {
            leave()
            ended(.refused(error))
        }
    }

    func learned(_ event: LogEvent) {
        mover?.move.performAction(event, at: monotonic)
        performMove()
    }

    private func performMove() {
        while let action = mover?.move.nextAction() {
            switch action {
            case .append(let bytes, let after, let token):
                guard lives() else { return }
                cluster.log.append(bytes, after: after, token: token, from: self)
            case .read(let from): cluster.log.read(from: from, for: self)
            case .heartbeat(let heartbeat):
                cluster.noteHeartbeat(heartbeat)
                cluster.log.heartbeat(heartbeat, from: self)
            case .ask(let request):
                guard lives() else { return }
                cluster.log.ask(request, from: self)
            case .progress: break
            case .warn(let text): cluster.trace?(cluster.now, index, "warns: \(text)")
            case .done: endMove(mover?.stepsLeft == nil ? .done : .killed)
            case .refuse(let refusal): endMove(.refused(refusal))
            }
        }
        guard let deadline = mover?.move.deadline, deadline < .distantFuture else { return }
        mover?.wake += 1
        let wake = mover?.wake
        schedule(after: max(1, deadline.milliseconds(since: monotonic).count)) { [self] in
            guard wake == mover?.wake else { return }
            mover?.move.tick(at: monotonic)
            performMove()
        }
    }

    private func lives() -> Bool {
        guard let left = mover?.stepsLeft else { return true }
        mover?.stepsLeft = left - 1
        if left == 0 { endMove(.killed) }
        return left > 0
    }

    private func endMove(_ end: End) {
        guard let mover = mover.take() else { return }
        var contents = mover.journal.contents
        if case .killed = end, mover.stepsLeft ?? -1 >= 0 { contents = mover.before }
        if case .done = end { contents = tampering.moved(contents, from: mover.before) }
        localJournal = LocalJournal(contents)
        leave()
        mover.ended(end)
    }

    /// A folder that left its log is served by one daemon for a while, which decides what is due.
    func serveAlone() throws {
        let configuration = cluster.configuration
        let hub = try Hub.recovered(from: InMemoryJournal(localJournal.contents), configuration)
        var clock = HybridClock(wall: wall, lastRecord: hub.lastRecordTime, monotonic: monotonic)
        let time = clock.reading(wall: wall, monotonic: monotonic)
        let now = HubTime(time: time, wall: wall, monotonic: monotonic)
        var server = Server(hub, configuration: ServerConfiguration(), snapshotSequence: 0)
        try server.lead(beginningWith: [], configuration.decisions)
        server.turn(at: now)
        var records: [JournalRecord] = []
        while let action = server.nextAction(at: now) { if case .append(let part, _) = action { records += part } }
        guard !records.isEmpty else { return }
        cluster.trace?(cluster.now, index, "decides \(records.count) records by itself")
        let journal = InMemoryJournal(localJournal.contents)
        try journal.append(records)
        localJournal = LocalJournal(journal.contents)
        cluster.log.goOn(with: records)
    }
}
