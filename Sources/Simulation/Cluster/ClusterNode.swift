import Cluster
import Hub
import Journal
import Kinds
import Replication
import Server
import TelltaleModel

/// A daemon of a simulated cluster: it performs the actions of the same ``Cluster/Member`` and the same ``Server/Server`` as
/// `telltaled` does, on a simulated engine, disk, network and clock. It decides nothing.
final class ClusterNode {
    unowned let cluster: SimulatedCluster
    let index: Int
    /// Of its name among those of the nodes: another process may have it too.
    let slot: Int
    let name: String
    let address: String
    private let kinds: [Kind]
    var copy = LocalCopy()
    var member: Member?
    /// That of the leader, or the lobby.
    var server: Server?
    /// Counts the servers of the process.
    var serverNumber = 0
    /// The batch under way.
    var batch: [JournalRecord] = []
    var links: [SessionID: Link] = [:]
    private(set) var isUp = false
    /// `nil` = it runs, or never has.
    private(set) var endedAt: Int64?
    /// Whether it leads, as far as it knows, and when it last did.
    private var lead = (goesOn: false, end: Int64.min / 2)
    private(set) var isPaused = false
    private var missed: [() -> Void] = []
    private(set) var generation = 0
    /// Why it has stopped: the log is not the one that it knows.
    private(set) var stopReason: String?
    private var hybrid: HybridClock?
    var wakeVersion = 0
    /// When the member wants time to be told, and counts what was scheduled for it.
    var memberWake = (deadline: MonotonicTime.distantFuture, version: 0)
    private(set) var tampering: ClusterTampering
    /// When that was sent which the engine acknowledged last: told by the wires, not by the member.
    private(set) var lastProof: Int64 = 0
    var sent: [Int64: Int64] = [:]
    private(set) var takeovers = 0
    var snapshots = SnapshotTurns<TakenSnapshot>()
    /// Of the base that is being stored.
    var basePieces: [[UInt8]] = []
    /// The process is to end in order.
    var isEnding = false
    /// For the trace.
    private var role = Replica.Role.standby
    var lastSnapshot: TakenSnapshot?
    /// An operator moves the history, with the folder of this node.
    var mover: Mover?
    /// The folder is a copy of a log that was removed.
    var isOutdated = false
    /// A server of the engine has said that it does not sync, and none has said since that all do.
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

    var position: Int64? { member?.replica.reader.position }
    var isLeading: Bool { isUp && member?.isLeading == true && server != nil }
    /// For how long it has not led; `nil` = it leads, or its term is the newest of the log.
    var silence: Int64? { lead.goesOn || (isUp && !isStopped && hasTerm) ? nil : cluster.now - lead.end }
    private var hasTerm: Bool { cluster.log.reader.leader?.address == address }
    /// Of the node that leads, as this one knows.
    var leaderAddress: String? { member?.leader?.address }
    /// Another node has its name, and it runs for a while at most.
    var isNamesake: Bool { index != slot }
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
        guard !isNamesake, !cluster.isMoving else { return }
        begin()
    }

    func startAsNamesake() { begin() }

    private func begin() {
        guard !isUp, !cluster.refusesToBegin(self) else { return }
        beginProcess()
        tampering = ClusterTampering(cluster.bug, after: tampering)
        cluster.trace?(
            cluster.now, index, "starts with \(copy.chain.sequence) records, message \(copy.reader.position)")
        var settings = ReplicaSettings()
        settings.limits.byteCount = cluster.weather.messageBytes
        if cluster.bug == .neverGivenUp { settings.giveUp = .minutes(10) }
        let replica = Replica(
            node: name, address: address, release: "1",
            reader: copy.reader, newEpoch: cluster.newEpoch(), instance: cluster.newEpoch(), settings: settings,
            at: monotonic)
        var server = ServerConfiguration()
        server.pace = .fixed(.zero)
        server.recordsBetweenSnapshots = cluster.weather.recordsBetweenSnapshots
        var configuration = MemberConfiguration(hub: cluster.configuration, server: server, kinds: kinds)
        configuration.bases = cluster.weather.bases
        let member = Member(
            replica, hub: copy.epoch == nil ? nil : recoveredHub(), snapshotSequence: copy.snapshotSequence,
            configuration: configuration, at: monotonic)
        serve(with: member.lobby(at: monotonic))
        self.member = consume member
        noteHash()
        perform()
    }

    func beginProcess() {
        generation += 1
        (isUp, endedAt) = (true, nil)
        isPaused = false
        stopReason = nil
        (missed, sent, batch, basePieces) = ([], [:], [], [])
        (snapshots, hybrid) = (SnapshotTurns(), nil)
        (isEnding, lastSnapshot, isSyncRefuted) = (false, nil, false)
        (isReadingHeld, heldRead) = (false, nil)
        memberWake.deadline = .distantFuture
    }

    /// The hub of the local copy.
    func recoveredHub() -> Hub? {
        do {
            return try ClusterRecovery.hub(of: copy.contents, configuration: cluster.configuration)
        } catch {
            cluster.violated("P9", "\(name) does not recover: \(error)")
            return nil
        }
    }

    func kill(losing count: Int) {
        guard isUp else { return }
        cluster.trace?(cluster.now, index, "is killed")
        leave()
        copy.crash(losing: count)
    }

    func endLead() { if lead.goesOn || hasTerm { lead = (false, cluster.now) } }

    /// The process has ended in order.
    func ended() {
        cluster.trace?(cluster.now, index, "has ended")
        leave()
        copy.crash(losing: 0)
        cluster.startLater(self)
    }

    func leave() {
        endLead()
        (isUp, endedAt) = (false, cluster.now)
        closeAll(telling: [])
        server = nil
        member = nil
        if isNamesake { wipe() }
    }

    /// Another process has its name, and began before it.
    func giveWay() {
        cluster.trace?(cluster.now, index, "gives way to another process with its name")
        leave()
        copy.crash(losing: 0)
        cluster.gaveWay(self)
    }

    func wipe() { (copy, isOutdated) = (LocalCopy(), false) }

    /// SIGSTOP: what reaches it waits.
    func pause() { isPaused = isUp }

    func goOn() {
        guard isUp, isPaused else { return }
        isPaused = false
        cluster.trace?(cluster.now, index, "goes on")
        let waiting = missed
        missed = []
        // The look at the lease comes first, whatever has arrived.
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
        cluster.stopped(self, reason)
    }

    // MARK: What the engine says

    /// From where it is to read when its member can take more; `nil` = there was nothing to read.
    var heldRead: Int64?
    var isReadingHeld = false

    func acknowledged(token: Int64, position: Int64) {
        guard mover == nil else { return tell(.stored(token: token, position: position)) }
        if let time = sent[token] { lastProof = max(lastProof, time) }
        guard let (token, position) = tampering.acknowledged(token: token, position: position, of: self) else { return }
        tell(.stored(token: token, position: position))
    }

    func refused(token: Int64, last: Int64) {
        if mover == nil, tampering.refused(token: token, last: last, of: self) { return perform() }
        tell(.refused(token: token))
    }

    func full(token: Int64) { tell(.full(token: token)) }

    func limited(to byteCount: Int) { if cluster.bug != .limitUnheard { tell(.limited(byteCount: byteCount)) } }
    func tooLong(token: Int64) { if cluster.bug != .limitUnheard { tell(.tooLong(token: token)) } }

    func denied(_ isDenied: Bool) {
        guard cluster.bug != .denialIgnored else { return }
        tell(.denied(isDenied ? ["publish on the log"] : [], mayLead: !isDenied))
    }

    /// For how long the log has not taken the message in flight; `nil` = there is none.
    var appendSilence: Int64? {
        guard member?.replica.isAppending == true, let time = sent[tampering.token] else { return nil }
        return cluster.now - time
    }

    func read(_ messages: [[UInt8]], from: Int64, end: Int64) {
        guard mover == nil else { return tell(.read(messages, from: from, end: end)) }
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
        if !tampering.reads(messages, from: from, end: end, of: self) { tell(.read(messages, from: from, end: end)) }
    }

    func heard(_ beat: Beat) {
        if cluster.bug == .namesakesLive, beat.node == name { return }
        tell(.heard(beat))
        if cluster.bug == .keptBeatsTakenForWords { tell(.overheard(tampering.anew(beat))) }
    }

    /// Another node says this now.
    func overheard(_ beat: Beat) {
        if beat.node == name { return heard(beat) }
        guard cluster.bug != .restartsUnheard, cluster.bug != .keptBeatsTakenForWords || beat.role != .leading else {
            return
        }
        tell(.overheard(beat))
    }

    func beatAcknowledged(_ beat: Beat) {
        lastProof = max(lastProof, cluster.beatTime(of: beat))
        tell(.beatStored(number: beat.number))
    }

    /// Every beat that was stored before this own one is told.
    func beatsShown(through beat: Beat) { tell(.beatsShown(through: beat.number)) }

    /// The servers were asked whether they sync.
    func told(_ sync: EngineSync) {
        isSyncRefuted = sync == .refuted || (sync == .unknown && isSyncRefuted)
        tell(.sync(tampering.told(sync), []))
    }

    func answered(_ answer: BaseAnswer) { tell(.base(tampering.answered(answer, to: self))) }

    private func tell(_ event: LogEvent) {
        if mover != nil { return told(event) }
        member?.take(event, at: hubTime)
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
        server = consume next
        serverNumber += 1
    }

    func noteHash() {
        guard let sequence = member?.sequence, let hash = member?.stateHash else { return }
        cluster.hashed(hash, at: sequence, by: self)
    }

    func lead(term: Int64, farewell: [UInt8]) {
        takeovers += 1
        lead.goesOn = true
        cluster.trace?(cluster.now, index, "leads in term \(term)")
        cluster.mayAcknowledge(self)
        noteHash()
        closeAll(telling: farewell)
        do {
            hybrid = HybridClock(
                wall: wall, lastRecord: member?.lastTimes.record ?? .distantPast, monotonic: monotonic)
            guard let next = try member?.takeOver(at: hubTime) else { return }
            serve(with: try tampering.takenOver(next, kinds, of: self))
            cluster.leads(self)
        } catch {
            cluster.violated("P9", "\(name) does not take over: \(error)")
        }
    }
}
