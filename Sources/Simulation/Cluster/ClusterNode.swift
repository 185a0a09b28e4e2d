import Hub
import Journal
import Kinds
import Replication
import Server
import TelltaleModel

/// A daemon of a simulated cluster: a replica, a standby or a server, and a local copy. It performs the actions of the same
/// ``Server/Server`` as `telltaled` does.
final class ClusterNode {
    unowned let cluster: SimulatedCluster
    let index: Int
    let name: String
    private let kinds: [Kind]
    var copy = LocalCopy()
    var replica: Replica?
    var standby: Standby?
    var server: Server?
    /// Records that were decided and are not stored: settled with the fate of its batch.
    var records: [JournalRecord] = []
    var links: [SessionID: Link] = [:]
    private(set) var isUp = false
    private(set) var isPaused = false
    private var missed: [() -> Void] = []
    private(set) var generation = 0
    /// Why it has stopped: the log is not the one that it knows.
    private(set) var stopReason: String?
    private var hybrid: HybridClock?
    private var wakeVersion = 0
    private var replicaWakeVersion = 0
    var tampering: ClusterTampering
    /// When that was sent which the engine acknowledged last: told by the wires, not by the replica.
    private(set) var lastProof: Int64 = 0
    private var sent: [Int64: Int64] = [:]
    private(set) var takeovers = 0

    init(cluster: SimulatedCluster, index: Int, kinds: [Kind]) {
        self.cluster = cluster
        self.index = index
        self.kinds = kinds
        name = "n\(index + 1)"
        tampering = ClusterTampering(cluster.bug)
    }

    var position: Int64? { replica?.reader.position }
    var isLeading: Bool { isUp && replica?.role == .leading && server != nil }
    var isStopped: Bool { stopReason != nil }
    var monotonic: MonotonicTime { MonotonicTime(milliseconds: cluster.now) }
    private var wall: Timestamp { Timestamp(milliseconds: World.begin + cluster.now + cluster.weather.skews[index]) }

    var hubTime: HubTime {
        let time = hybrid?.reading(wall: wall, monotonic: monotonic) ?? wall
        return HubTime(time: time, wall: time, monotonic: monotonic)
    }

    // MARK: Life

    func start() {
        guard !isUp else { return }
        generation += 1
        isUp = true
        isPaused = false
        stopReason = nil
        missed = []
        sent = [:]
        tampering = ClusterTampering(cluster.bug)
        cluster.trace?(
            cluster.now, index, "starts with \(copy.chain.sequence) records, message \(copy.reader.position)")
        var settings = ReplicaSettings()
        settings.limits.byteCount = cluster.weather.messageBytes
        replica = Replica(
            node: name, address: "10.0.0.\(index + 1):7878", release: "1",
            reader: copy.reader, newEpoch: cluster.newEpoch(), instance: cluster.newEpoch(), settings: settings,
            at: monotonic)
        recover()
        perform()
    }

    /// Rebuilds the standby from the local copy.
    private func recover() {
        server = nil
        standby = nil
        hybrid = nil
        guard copy.epoch != nil else { return }
        do {
            standby = Standby(try ClusterRecovery.hub(of: copy.contents, configuration: cluster.configuration))
        } catch {
            cluster.violated("P9", "\(name) does not recover: \(error)")
        }
    }

    func kill(losing count: Int) {
        guard isUp else { return }
        cluster.trace?(cluster.now, index, "is killed")
        isUp = false
        closeAll()
        server = nil
        standby = nil
        replica = nil
        records = []
        copy.lose(count)
    }

    func wipe() { copy = LocalCopy() }

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
        for body in waiting { body() }
        turn()
    }

    func whenAwake(_ body: @escaping () -> Void) {
        guard isUp, !isStopped else { return }
        if isPaused { missed.append(body) } else { body() }
    }

    // MARK: What the engine says

    func acknowledged(token: Int64, position: Int64) {
        if let time = sent[token] { lastProof = max(lastProof, time) }
        guard let (token, position) = tampering.acknowledged(token: token, position: position, of: self) else { return }
        replica?.acknowledged(token: token, position: position, at: monotonic)
        perform()
    }

    func refused(token: Int64, last: Int64) {
        if tampering.refused(token: token, last: last, of: self) { return perform() }
        replica?.refused(token: token, at: monotonic)
        perform()
    }

    func full(token: Int64) {
        replica?.full(token: token, at: monotonic)
        perform()
    }

    func read(_ messages: [[UInt8]], from: Int64, end: Int64) {
        if cluster.bug == .shorterLogAccepted, end < position ?? 0, cluster.log.end < position ?? 0 {
            kill(losing: 0)
            wipe()
            return start()
        }
        for message in messages where tampering.isInFlight(message) {
            if let time = sent[tampering.token] { lastProof = max(lastProof, time) }
        }
        // Known messages come with the first new one; then one at a time, so that the local copy has the position of each.
        let known = min(max(0, Int((position ?? 0) - from)), messages.count)
        var head = Array(messages.prefix(known + 1))
        if head.count > known { head[known] = tampering.read(head[known], of: self) }
        replica?.read(head, from: from, end: end, at: monotonic)
        takeActions()
        for place in messages.indices.dropFirst(known + 1) {
            let message = tampering.read(messages[place], of: self)
            replica?.read([message], from: from + Int64(place), end: end, at: monotonic)
            takeActions()
        }
        perform()
    }

    func heard(_ beat: Beat) { replica?.heard(beat, at: monotonic) }

    func beatAcknowledged(_ beat: Beat) {
        lastProof = max(lastProof, cluster.beatTime(of: beat))
        replica?.beatAcknowledged(number: beat.number, at: monotonic)
        perform()
    }

    func leaderRefusesConnections() {
        replica?.leaderRefusesConnections(at: monotonic)
        perform()
    }

    // MARK: Actions of the replica

    /// Everything that is due: of the replica, then of the server, then of the replica again.
    func perform() {
        guard isUp, !isPaused else { return }
        takeActions()
        turn()
        scheduleReplica()
    }

    func takeActions() {
        while isUp, let action = replica?.nextAction() { take(action) }
        if isUp, replica?.mayKeep == true, let reader = replica?.reader { copy.note(reader) }
    }

    private func take(_ action: Replica.Action) {
        switch action {
        case .append(let bytes, let after, let token):
            sent[token] = sent[token] ?? cluster.now
            tampering.append(bytes, after: after, token: token, of: self)
        case .read(let from): cluster.log.read(from: from, for: self)
        case .beat(let beat):
            cluster.noteBeat(beat)
            cluster.log.beat(beat, from: self)
        case .replay(let records): replay(tampering.replay(records))
        case .lead(let term): lead(term: term)
        case .stored(let records):
            if !tampering.holds(records) { settleStored(records) }
        case .full: settle(.full)
        case .standDown(let reason):
            cluster.trace?(cluster.now, index, "stands down: \(reason)")
            closeAll()
            records = []
            recover()
        case .stop(let reason):
            cluster.trace?(cluster.now, index, "stops: \(reason)")
            stopReason = reason
            cluster.stopped(self, reason)
        case .refuse(let namesake):
            // Each node has a name of its own here.
            cluster.violated("P4", "\(name) gives way to a namesake at \(namesake)")
        case .warn(let text):
            cluster.trace?(cluster.now, index, "warns: \(text)")
            cluster.warns()
        }
    }

    /// Adds to the local copy what the log has.
    func keep(_ more: [JournalRecord]) {
        if cluster.bug == .copiedBeforeStored, more.first?.sequence ?? 0 <= copy.chain.sequence { return }
        copy.append(more)
        cluster.copied(more, by: self)
    }

    func replay(_ more: [JournalRecord]) {
        guard !more.isEmpty else { return }
        do {
            if cluster.bug == .standbyFiresTimers, server != nil {
                for record in more { try server?.hub.replay(record) }
            } else {
                if standby == nil { standby = Standby(Hub(configuration: cluster.configuration, epoch: epoch)) }
                try standby?.replay(more)
                if cluster.bug == .standbyFiresTimers { try decideToo() }
                if more.last.map({ $0.sequence % 64 == 0 }) == true { noteHash() }
            }
            keep(more)
        } catch {
            cluster.violated("P10", "\(name) cannot replay what another node decided: \(error)")
        }
    }

    /// A standby that has a server decides.
    private func decideToo() throws {
        guard let standby = standby.take() else { return }
        server = try standby.takeOver(
            beginningWith: [], settings: cluster.configuration.decisions, configuration: ServerConfiguration())
    }

    private var epoch: UInt64 { replica?.reader.epoch ?? 0 }

    func noteHash() {
        guard let sequence = standby?.sequence, let hash = standby?.stateHash else { return }
        cluster.hashed(hash, at: sequence, by: self)
    }

    private func lead(term: Int64) {
        takeovers += 1
        cluster.trace?(cluster.now, index, "leads in term \(term)")
        if server != nil { return cluster.leads(self) }
        do {
            if cluster.bug == .epochAtTakeover {
                var contents = copy.contents
                contents.epoch = UInt64(term)
                standby = Standby(try ClusterRecovery.hub(of: contents, configuration: cluster.configuration))
            }
            noteHash()
            let standby = self.standby.take() ?? Standby(Hub(configuration: cluster.configuration, epoch: epoch))
            hybrid = HybridClock(wall: wall, lastRecord: standby.time, monotonic: monotonic)
            var configuration = ServerConfiguration()
            configuration.pace = .fixed(.zero)
            configuration.recordsBetweenSnapshots = .max
            server = try standby.takeOver(
                beginningWith: kinds, settings: cluster.configuration.decisions, configuration: configuration)
            if cluster.bug == .ownKindsAtTakeover { try server?.adopt(kinds) }
            cluster.leads(self)
        } catch {
            cluster.violated("P9", "\(name) does not take over: \(error)")
        }
    }

    /// The batch is stored: its replies and rows may leave.
    func settleStored(_ records: [JournalRecord]) {
        cluster.acknowledged(records, by: self, term: replica?.term ?? 0)
        keep(records)
        settle(.durable(duration: .milliseconds(1), wait: .milliseconds(1)))
    }

    private func settle(_ outcome: SyncOutcome) {
        records = []
        server?.synced(outcome, at: hubTime)
    }

    // MARK: Time

    private func scheduleReplica() {
        guard let deadline = replica?.deadline, deadline < .distantFuture else { return }
        replicaWakeVersion += 1
        let (version, generation) = (replicaWakeVersion, generation)
        cluster.schedule(after: max(1, deadline.milliseconds - cluster.now)) { [self] in
            guard version == replicaWakeVersion, generation == self.generation else { return }
            whenAwake { [self] in
                replica?.tick(at: monotonic)
                perform()
            }
        }
    }

    func schedule(_ wake: Wake, at now: HubTime) {
        wakeVersion += 1
        guard let time = [wake.at, wake.flush].compactMap(\.self).min() else { return }
        let (version, generation) = (wakeVersion, generation)
        let wait = Int64(min((time - now.monotonic) / .milliseconds(1), 60_000).rounded(.up))
        cluster.schedule(after: max(1, wait)) { [self] in
            guard version == wakeVersion, generation == self.generation else { return }
            whenAwake { [self] in
                // A clock that counts sleep: it looks before it does anything.
                replica?.tick(at: monotonic)
                perform()
            }
        }
    }

    /// The node is asked to end in order.
    func handOver() {
        guard isLeading, !isPaused else { return }
        replica?.resign(at: monotonic)
        perform()
    }
}
