import Hub
import Journal
import Kinds
import Replication
import Server
import TelltaleModel
import TelltaleWire

/// Three daemons over a ``SimulatedLog``, with clients that know all addresses, and the checks of the promises.
///
/// Everything comes of the climate's seed, and nothing depends on the order of a dictionary.
final class SimulatedCluster: Environment {
    static let name = "shop"
    static let nodeCount = 3
    /// Of nodes, and of another process that has the name of one.
    static let processLimit = 4

    let weather: ClusterClimate
    var climate: FaultProfile { weather.crowd }
    let bug: ClusterBug?
    let setting = Setting()
    let ledger = ObservationLog()
    let configuration: HubConfiguration
    private(set) var now: Int64 = 0
    private(set) var isCalm = false
    /// All processes were killed just now, and nothing else happens until one leads.
    var isDark = false
    /// No node runs, and an operator moves the history.
    var isMoving = false
    var moves = 0
    /// Of the newest history that began anew; `nil` = none did.
    private var restoredEpoch: UInt64?
    private(set) var inputCount = 0
    private var queue = TimedQueue<() -> Void>()
    var random: SimulationRandom
    private var wires: SimulationRandom
    private(set) var log: SimulatedLog!
    private(set) var nodes: [ClusterNode] = []
    private(set) var clients: [any SimulatedClient] = []
    /// Where each client tries next.
    private var addresses: [Int] = []
    private var heartbeatTimes: [String: Int64] = [:]
    private(set) lazy var checks = ClusterChecks(self)
    private(set) var takeovers = 0
    private(set) var checkpointCount = 0
    private(set) var joinCount = 0
    private(set) var snapshotCount = 0
    let trace: TraceSink?

    /// Of every byte that any client was given, with its time (P10).
    private(set) var steps = 0

    init(_ climate: ClusterClimate, bug: ClusterBug?, trace: TraceSink?) throws {
        weather = climate
        self.bug = bug
        self.trace = trace
        random = SimulationRandom(seed: climate.seed)
        wires = random.fork()
        var configuration = HubConfiguration()
        configuration.decisions.retention = .seconds(Int64(climate.crowd.retention))
        configuration.limits.heartbeat = .seconds(5)
        self.configuration = configuration
        log = SimulatedLog(cluster: self, climate: climate, random: random.fork())
        for index in 0..<climate.processCount {
            nodes.append(ClusterNode(cluster: self, index: index, kinds: try Self.kinds(of: index)))
        }
        var all = Population(of: self)
        all.addCrowd(providers: climate.crowd.providers, &random)
        all.add(2, &random, MarkPoster.init)
        clients = all.clients
        addresses = clients.map { _ in 0 }
    }

    /// Each node has a folder of kinds of its own, and they differ.
    private static func kinds(of index: Int) throws -> [Kind] {
        try SimulatedKinds.load(for: Setting()).map { kind in
            guard kind.name == "bell", index > 0 else { return kind }
            let text = SimulatedKinds.bell.replacing(#""version":1"#, with: #""version":\#(1 + index)"#)
            return Kind.read(try JSONParser.parse(text), file: "bell.json").kind ?? kind
        }
    }

    // MARK: Run

    func run() {
        for node in nodes { schedule(after: random.pick(0...500)) { node.start() } }
        for client in clients { schedule(after: random.pick(0...3_000)) { [self] in move(client) } }
        planFaults()
        lookEachSecond()
        pass(until: weather.span)
        calm()
        // Events that wait hold the world.
        queue = TimedQueue()
    }

    private func pass(until end: Int64) {
        while ledger.violations.isEmpty, let (time, body) = queue.pop(by: end) {
            now = max(now, time)
            steps += 1
            body()
        }
        now = max(now, end)
    }

    private func lookEachSecond() {
        schedule(after: 1_000) { [self] in
            checks.lookAtAges()
            lookEachSecond()
        }
    }

    private func move(_ client: any SimulatedClient) {
        client.move()
        schedule(after: client.untilNextMove) { [self] in move(client) }
    }

    /// At a moment of the storm something happens, unless it is over.
    private func plan(_ count: Int, _ body: @escaping () -> Void) {
        for _ in 0..<count {
            schedule(after: random.pick(3_000...weather.span - 1_000)) { [self] in
                if !isCalm, !isDark, !isMoving { body() }
            }
        }
    }

    private func planFaults() {
        plan(weather.elections) { [self] in log.elect() }
        plan(weather.kills) { [self] in kill(aLeader(random.chance(700)), wiping: false) }
        plan(weather.blackouts) { [self] in blackOut() }
        plan(weather.wipes) { [self] in kill(aLeader(false), wiping: true) }
        plan(weather.handovers) { [self] in nodes.first { $0.isLeading }?.handOver() }
        plan(weather.terminations) { [self] in aLeader(random.chance(500)).terminate() }
        plan(weather.pauses) { [self] in
            let node = aLeader(random.chance(800))
            trace?(now, node.index, "is stopped for a while")
            node.pause()
            schedule(after: random.pick(500...15_000)) { node.goOn() }
        }
        plan(weather.cuts) { [self] in
            let index = aLeader(random.chance(700)).index
            log.cut(index, as: random.pick(of: [.withOldLeader, .cut, .deaf, .mute]))
            schedule(after: random.pick(1_000...25_000)) { [self] in log.cut(index, as: .whole) }
        }
        plan(weather.fullDisks) { [self] in
            log.isFull = true
            schedule(after: random.pick(500...8_000)) { [self] in log.isFull = false }
        }
        plan(weather.hungDisks) { [self] in aLeader(random.chance(400)).hangDisk(for: random.pick(1_000...20_000)) }
        plan(weather.checkpointDamages) { [self] in
            log.sufferCheckpoints()
            if random.chance(500) { kill(aLeader(false), wiping: true) }
        }
        plan(weather.heartbeatLies) { [self] in
            log.lie(to: random.below(Self.nodeCount), for: random.pick(3_000...12_000))
        }
        // A stranger that fills the place of what the log store lost would make the log as long as it was.
        plan(weather.strangers) { [self] in if !checks.isForgiven { log.takeStranger() } }
        plan(weather.moves) { [self] in moveHistory() }
        if let logStoreBug = weather.logStoreBug {
            plan(1) { [self] in
                let before = log.messages
                log.suffer(logStoreBug)
                checks.logStoreFailed(logStoreBug, before: before)
            }
        }
        plan(weather.limits) { [self] in log.limitMessages() }
        plan(weather.refusals) { [self] in log.refuseAppends(of: aLeader(random.chance(800)).index) }
        plan(weather.syncLapses) { [self] in lapseSync() }
        plan(weather.duplicateNodes) { [self] in beginDuplicateNode() }
        planDrains()
    }

    /// Of random numbers of their own.
    private func planDrains() {
        var operators = ClusterClimate.operators(weather.seed &+ 1)
        for _ in 0..<weather.drains {
            let node = nodes[operators.below(Self.nodeCount)]
            let (begin, span) = (operators.pick(10_000...weather.span - 30_000), operators.pick(10_000...30_000))
            let (end, isUpgraded) = (begin + span + operators.pick(1_000...15_000), operators.chance(500))
            schedule(after: begin) { [self] in
                if !isCalm, !isDark, !isMoving { node.drain(over: span) }
            }
            schedule(after: end) { [self] in
                guard !isCalm, !isDark, !isMoving, node.server?.isDraining == true else { return }
                if isUpgraded { node.terminate() } else { node.endDrain() }
            }
        }
    }

    private func aLeader(_ isWanted: Bool) -> ClusterNode {
        (isWanted ? nodes.first { $0.isLeading } : nil) ?? nodes[random.below(nodes.count)]
    }

    func startLater(_ node: ClusterNode) { schedule(after: random.pick(500...10_000)) { node.start() } }

    /// Faults and inputs stop; then every client must end on the newest state.
    private func calm() {
        guard ledger.violations.isEmpty else { return }
        isCalm = true
        trace?(now, -1, "calm")
        log.calmDown()
        mendSync()
        endDuplicateNode()
        for node in nodes where node.isPaused { node.goOn() }
        for node in nodes { node.endDrain() }
        for client in clients { client.calmDown() }
        pass(until: now + 100_000)
        let latest = now + 300_000
        while ledger.violations.isEmpty, !isQuiet, now < latest { pass(until: now + 1_000) }
        guard ledger.violations.isEmpty else { return }
        checks.finish(isQuiet: isQuiet)
    }

    private var isQuiet: Bool {
        nodes.contains { $0.isLeading } && hasEqualLocalJournals
            && clients.allSatisfy { client in
                guard let link = client.link else { return false }
                return link.session != nil && link.received.isEmpty && link.arrived.isEmpty && !client.isWaiting
            }
    }

    /// A record may be on its way: what is not reported now is reported at another moment.
    private var hasEqualLocalJournals: Bool {
        let chains = nodes.filter { $0.isUp && !$0.isStopped }.map(\.localJournal.chain)
        return chains.allSatisfy { $0 == chains.first }
    }

    // MARK: Environment

    var isCluster: Bool { true }
    var daemonTime: Int64 { World.begin + now }
    /// The newest commit that a client may be notified of: the log has it.
    var durableSequence: Int64 { Int64(log.records.count) }
    func isOfOtherHistory(_ cursor: String) -> Bool {
        restoredEpoch.map { Cursor(cursor)?.epoch != $0 } ?? false
    }
    func countInput() { inputCount += 1 }
    func scheduleLater(_ what: Int, for client: any SimulatedClient, after delay: Int64) {
        schedule(after: delay) { client.doLater(what) }
    }

    func schedule(after delay: Int64, _ body: @escaping () -> Void) { queue.insert(body, at: now + max(0, delay)) }

    func violated(_ promise: String, _ what: String) {
        guard !checks.isForgiven else { return }
        report(promise, what)
    }

    func report(_ promise: String, _ what: String) {
        ledger.violations.append(Violation(promise: promise, what: what, time: now))
    }

    // MARK: What nodes do

    func newEpoch() -> UInt64 { random.next() }
    func noteHeartbeat(_ heartbeat: Heartbeat) { heartbeatTimes["\(heartbeat.instance) \(heartbeat.number)"] = now }
    func heartbeatTime(of heartbeat: Heartbeat) -> Int64 {
        heartbeatTimes["\(heartbeat.instance) \(heartbeat.number)"] ?? 0
    }
    func madeCheckpoint() { checkpointCount += 1 }
    func loadedCheckpoint(by node: ClusterNode) {
        joinCount += 1
        checks.loaded(by: node)
    }
    func wroteSnapshot() { snapshotCount += 1 }
    func diskDelay() -> Int64 { random.pick(0...weather.slowestDisk) }
    func leads(_ node: ClusterNode) { takeovers += 1 }

    // MARK: Network

    private func wireDelay() -> Int64 { wires.pick(0...Int64(max(1, climate.slowestWire))) }

    /// Between two nodes.
    func pipeDelay() -> Int64 { 1 + wireDelay() / 4 }

    func connect(_ client: any SimulatedClient) -> SimulatedLink {
        let link = SimulatedLink(client: client.index, capacity: 1 << 24, generation: 0)
        link.openedAt = now
        // The greeting of another node names the leader; who hears of none tries the next address.
        if random.chance(300), let leader = nodes.first(where: { $0.isLeading && !$0.isPaused }) {
            addresses[client.index] = leader.index
        } else {
            addresses[client.index] = (addresses[client.index] + 1) % Self.nodeCount
        }
        let node = nodes[addresses[client.index]]
        link.number = node.index
        if !node.accept(link, of: client) {
            schedule(after: 20 + wireDelay()) { [self] in lostAtClient(link) }
            refused(by: node)
        }
        return link
    }

    /// Standbys keep a connection to the leader; one that is refused is a reason to try.
    private func refused(by node: ClusterNode) {
        guard !node.isUp else { return }
        for other in nodes where other.index != node.index && other.leaderAddress == node.address {
            other.whenAwake {
                // One that was stopped meanwhile may follow another leader now.
                if other.leaderAddress == node.address { other.leaderRefusesConnections() }
            }
        }
    }

    func send(_ text: String, on link: SimulatedLink) {
        guard link.isOpenAtClient else { return }
        trace?(now, 100 + link.client, "> " + text)
        let bytes = Array(text.utf8)
        toServer(link) { $0.received(bytes, on: link) }
    }

    /// Happens at the node's end of a connection, behind all that was on its way there.
    private func toServer(_ link: SimulatedLink, _ body: @escaping (ClusterNode) -> Void) {
        queue.insert(
            { [self] in
                let node = nodes[link.number]
                node.whenAwake { body(node) }
            }, at: link.arrivalAtServer(now + wireDelay()))
    }

    func halfClose(_ link: SimulatedLink) { toServer(link) { $0.inputEnded(link) } }

    func reset(_ link: SimulatedLink) {
        link.isOpenAtClient = false
        toServer(link) { $0.lost(link) }
    }

    /// A node writes.
    func send(_ bytes: [UInt8], to link: SimulatedLink, by node: ClusterNode) {
        checks.written(bytes, by: node)
        if let session = link.session { checks.asked(bytes, session.number, by: node) }
        checks.farewell(bytes, to: link, by: node)
        link.noteMarks(in: bytes)
        link.buffered += bytes.count
        let arrival = link.arrivalAtClient(now + wireDelay())
        schedule(after: arrival - now) { [self] in
            guard link.isOpenAtClient else { return }
            link.received.append(bytes)
            read(link)
        }
    }

    func read(_ link: SimulatedLink) {
        guard link.isOpenAtClient, !link.received.isEmpty else { return }
        let bytes = link.received.dequeue(link.received.count)
        link.buffered -= bytes.count
        ledger.heard(bytes, client: link.client, at: now)
        trace?(now, 100 + link.client, "< " + String(decoding: bytes, as: UTF8.self))
        let refusal =
            bytes.firstRange(of: Array("ERR code=not_leader".utf8))
            ?? bytes.firstRange(of: Array(" code=not_leader retry=".utf8))
        guard let refusal else { return clients[link.client].received(bytes, on: link) }
        // A client library goes to the leader, and sends again there what was not answered.
        let end = bytes[..<refusal.lowerBound].lastIndex(of: UInt8(ascii: "\n")) ?? -1
        let takesRefusals = clients[link.client] is MarkPoster
        if takesRefusals || end > 0 {
            clients[link.client].received(takesRefusals ? bytes : Array(bytes[...end]), on: link)
        }
        reset(link)
        clients[link.client].lost(link)
    }

    /// A node has closed the connection, or is gone.
    func ended(_ link: SimulatedLink) {
        let arrival = link.arrivalAtClient(now + wireDelay())
        schedule(after: arrival - now) { [self] in lostAtClient(link) }
    }

    private func lostAtClient(_ link: SimulatedLink) {
        guard link.isOpenAtClient else { return }
        link.isOpenAtClient = false
        clients[link.client].lost(link)
    }

    /// A connection ends with its leader: what was pending is asked for again at the next one.
    func wasHungUp(_ link: SimulatedLink) -> Bool { false }

    // MARK: Ends of processes

    func kill(_ node: ClusterNode, wiping: Bool) {
        guard node.isUp else { return }
        let lostCount = random.chance(300) ? random.below(8) : 0
        node.kill(losing: lostCount)
        if wiping { wipe(node) }
        checks.lost(node, isWhole: lostCount == 0 && !wiping)
        startLater(node)
    }

    private func wipe(_ node: ClusterNode) {
        trace?(now, node.index, "its folder is wiped")
        node.wipe()
    }

    /// A node has stopped because the log store lost messages. It is started again as it is, or with an empty folder, or stays ended.
    func startAgain(_ node: ClusterNode) {
        // Behind this moment the node has too little time to report the loss a second time.
        guard checks.hasLogStoreBug, now < weather.span + 40_000, random.chance(800) else { return }
        let wipes = random.chance(300)
        schedule(after: random.pick(weather.stops)) { [self] in
            if node.isStopped { kill(node, wiping: wipes) }
        }
    }

    // MARK: The end of all processes at once

    /// Everything is killed at once, and comes back. Where each node can lead, one does soon behind the log store's election: no lease of
    /// a process that is gone is waited for.
    func blackOut() {
        isDark = true
        trace?(now, -1, "everything is killed")
        let isLed = log.isLed
        // The node that led waits for the lease. Where the engine takes nothing of the others, it alone can lead. No such refusal begins
        // in the dark.
        let mayOtherAppend = nodes.contains {
            !$0.isDuplicateNode && $0.address != log.reader.leader?.address && log.rights.refusal(of: $0.index) == nil
        }
        log.blackOut()
        mendSync()
        for node in nodes {
            if node.isUp {
                node.kill(losing: 0)
                checks.lost(node, isWhole: true)
            }
            schedule(after: random.pick(200...1_500)) { node.start() }
        }
        schedule(after: log.electionEnd - now + Self.darkness) { [self] in
            isDark = false
            let isTrusted = weather.skews.allSatisfy { abs($0) < ReplicaSettings().trustedSkew.count }
            guard isLed, isTrusted, mayOtherAppend, weather.observer == nil, !nodes.contains(where: \.isOutdated),
                !nodes.contains(where: \.isLeading)
            else {
                return
            }
            violated("P4", "nobody leads \(Self.darkness) ms behind the engine's election, and all processes run")
        }
    }

    private static let darkness: Int64 = 1_500

    // MARK: An operator moves the history into another log

    /// A command of an operator: with the folder of a node, in a direction, and the step that follows.
    private struct Move {
        let node: ClusterNode
        /// Each run of a restore draws an epoch of its own.
        let direction: (_ random: inout SimulationRandom) -> HistoryMove.Direction
        let then: () -> Void
    }

    /// Every node stops, the command runs, maybe several times, and every node starts.
    private func moveHistory() {
        guard !checks.hasLogStoreBug, log.epoch != nil else { return }
        isMoving = true
        trace?(now, -1, "every node stops: the history moves")
        for node in nodes where node.isUp { node.kill(losing: random.chance(300) ? random.below(8) : 0) }
        log.mend()
        schedule(after: random.pick(500...3_000)) { [self] in beginMove() }
    }

    private var mostAdvanced: ClusterNode? {
        nodes.filter { $0.localJournal.epoch == log.epoch && !$0.isOutdated }.max {
            $0.localJournal.lastSequence < $1.localJournal.lastSequence
        }
    }

    private func beginMove() {
        guard let most = mostAdvanced else { return endMove() }
        guard random.chance(500), most.localJournal.lastSequence == log.records.count else {
            let node = nodes[random.below(nodes.count)]
            return leave(node.localJournal.epoch == log.epoch ? node : most)
        }
        log.beginAnew(behind: most.localJournal.reader.term)
        run(Move(node: most, direction: { .anew(epoch: $0.next()) }) { [self] in restored(most) })
    }

    private func leave(_ node: ClusterNode) {
        let move = Move(node: node, direction: { _ in .outOfLog }) { [self] in
            checks.left(node)
            do {
                if random.chance(500) { try node.serveAlone() }
            } catch {
                violated("P9", "the folder of \(node.name) does not recover: \(error)")
            }
            log.beginAnew(behind: log.reader.term)
            node.localJournal = LocalJournal(node.tampering.moving(node.localJournal.contents))
            let epoch = node.localJournal.contents.epoch
            run(Move(node: node, direction: { _ in .intoLog(epoch: epoch) }) { [self] in moved(node) })
        }
        run(move)
    }

    /// Runs it, kills it in the middle at times, and runs it again.
    private func run(_ move: Move, _ runs: Int = 0) {
        schedule(after: random.pick(300...1_000)) { [self] in
            let direction = move.direction(&random)
            let steps = random.chance(runs > 0 ? 300 : 600) ? random.below(8) : nil
            move.node.move(runs > 0 ? move.node.tampering.again(direction) : direction, dyingBehind: steps) {
                [self] end in
                switch end {
                case .done: move.then()
                case .killed:
                    trace?(now, move.node.index, "the move is killed")
                    run(move, runs + 1)
                case .refused(let refusal): refused(refusal, move, direction, runs)
                }
            }
        }
    }

    private func refused(
        _ refusal: HistoryMove.Refusal, _ move: Move, _ direction: HistoryMove.Direction, _ runs: Int
    ) {
        trace?(now, move.node.index, "does not move: \(refusal.reason)")
        let isBehind = refusal.kind == .failure && refusal.reason.hasPrefix("the log begins with")
        switch direction {
        case .outOfLog where isBehind || move.node.isOutdated:
            // The folder is behind the beginning of the log, or of the log before: that of another node leaves.
            if let most = mostAdvanced, most !== move.node { leave(most) } else { endMove() }
        // The log store has not answered.
        case _ where refusal.kind == .failure && runs < 8: run(move, runs + 1)
        default: violated("P4", "the move of the history is refused: \(refusal.reason)")
        }
    }

    private func restored(_ node: ClusterNode) {
        restoredEpoch = log.epoch
        moved(node)
    }

    private func moved(_ node: ClusterNode) {
        checks.moved(node)
        moves += 1
        for other in nodes where other !== node {
            if random.chance(600) { other.wipe() } else { other.isOutdated = other.localJournal.reader.position > 0 }
        }
        endMove()
    }

    private func endMove() {
        isMoving = false
        for node in nodes { schedule(after: random.pick(0...3_000)) { node.start() } }
    }

    /// A node has stopped on the local journal of the log that was removed: an operator gives it an empty folder.
    func retire(_ node: ClusterNode) {
        schedule(after: random.pick(200...3_000)) { [self] in
            guard node.isOutdated, !isMoving else { return }
            if node.isUp { node.kill(losing: 0) }
            node.wipe()
            node.start()
        }
    }

    // MARK: A second process with the name of a node

    private static let memory: Int64 = 30_000
    /// So many seconds two processes of one name may run beside each other, where both hear the other.
    private static let patience = 20

    private var duplicateNode: ClusterNode? { nodes.first(where: \.isDuplicateNode) }

    /// The process begins while the node runs, or both begin at once.
    private func beginDuplicateNode() {
        guard let duplicateNode, !duplicateNode.isUp else { return }
        let node = nodes[duplicateNode.slot]
        trace?(now, duplicateNode.index, "is given the name of \(node.name)")
        if random.chance(400) { duplicateNode.localJournal = LocalJournal(node.localJournal.contents) }
        if random.chance(400) {
            node.kill(losing: 0)
            schedule(after: 1_000) { node.start() }
            schedule(after: 1_000 + random.pick(0...3)) { duplicateNode.startAsDuplicateNode() }
        } else {
            duplicateNode.startAsDuplicateNode()
        }
        schedule(after: random.pick(5_000...60_000)) { [self] in endDuplicateNode() }
        watchDuplicateNodes()
    }

    /// An operator ends the second process.
    private func endDuplicateNode() {
        guard let duplicateNode else { return }
        duplicateNode.kill(losing: 0)
    }

    private func watchDuplicateNodes(_ seconds: Int = 0, life: Int = 0) {
        schedule(after: 1_000) { [self] in
            guard let duplicateNode, !isCalm else { return }
            let both = [duplicateNode, nodes[duplicateNode.slot]]
            let isHeard = both.allSatisfy { $0.isUp && !$0.isPaused && !$0.isStopped && log.links[$0.index] == .whole }
            let now = both.reduce(0) { $0 + $1.generation }
            let next = isHeard && now == life ? seconds + 1 : 0
            guard next <= Self.patience else {
                return violated("P4", "two processes run as \(duplicateNode.name), and have for \(next) s")
            }
            watchDuplicateNodes(next, life: now)
        }
    }

    /// Whether another process than the one of this node has run with its name just now.
    func hadDuplicateNode(_ node: ClusterNode) -> Bool {
        guard let duplicateNode, duplicateNode.slot == node.slot else { return false }
        let other = node.isDuplicateNode ? nodes[node.slot] : duplicateNode
        return other.isUp || other.endedAt.map { now - $0 < Self.memory } ?? false
    }

    /// A process has ended for the sake of another one of its name. The service manager starts it again.
    func gaveWay(_ node: ClusterNode) {
        guard hadDuplicateNode(node) else {
            return violated("P4", "\(node.name) gives way to a namesake, and none has run")
        }
        if !node.isDuplicateNode { startLater(node) }
    }
}
