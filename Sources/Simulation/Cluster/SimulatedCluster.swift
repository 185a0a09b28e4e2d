import Hub
import Journal
import Kinds
import Replication
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
    private var beatTimes: [String: Int64] = [:]
    private(set) lazy var checks = ClusterChecks(self)
    private(set) var takeovers = 0
    private(set) var baseCount = 0
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
        all.addCrowd(providers: 1, &random)
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
        plan(weather.baseDamages) { [self] in
            log.sufferBases()
            if random.chance(500) { kill(aLeader(false), wiping: true) }
        }
        plan(weather.beatLies) { [self] in log.lie(to: random.below(Self.nodeCount), for: random.pick(3_000...12_000)) }
        // A stranger that fills the place of what the engine lost would make the log as long as it was.
        plan(weather.strangers) { [self] in if !checks.isForgiven { log.takeStranger() } }
        plan(weather.moves) { [self] in moveHistory() }
        if let engineBug = weather.engineBug {
            plan(1) { [self] in
                let before = log.messages
                log.suffer(engineBug)
                checks.engineFailed(engineBug, before: before)
            }
        }
        plan(weather.limits) { [self] in log.limitMessages() }
        plan(weather.refusals) { [self] in log.refuseAppends(of: aLeader(random.chance(800)).index) }
        plan(weather.syncLapses) { [self] in lapseSync() }
        plan(weather.namesakes) { [self] in beginNamesake() }
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
        endNamesake()
        for node in nodes where node.isPaused { node.goOn() }
        for client in clients { client.calmDown() }
        pass(until: now + 100_000)
        let latest = now + 300_000
        while ledger.violations.isEmpty, !isQuiet, now < latest { pass(until: now + 1_000) }
        guard ledger.violations.isEmpty else { return }
        checks.finish(isQuiet: isQuiet)
    }

    private var isQuiet: Bool {
        nodes.contains { $0.isLeading } && hasEqualCopies
            && clients.allSatisfy { client in
                guard let link = client.link else { return false }
                return link.session != nil && link.received.isEmpty && link.arrived.isEmpty && !client.isWaiting
            }
    }

    /// A record may be on its way: what is not told now is told at another moment.
    private var hasEqualCopies: Bool {
        let chains = nodes.filter { $0.isUp && !$0.isStopped }.map(\.copy.chain)
        return chains.allSatisfy { $0 == chains.first }
    }

    // MARK: Environment

    var daemonTime: Int64 { World.begin + now }
    /// The newest commit that a client may be told of: the log has it.
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
    func noteBeat(_ beat: Beat) { beatTimes["\(beat.instance) \(beat.number)"] = now }
    func beatTime(of beat: Beat) -> Int64 { beatTimes["\(beat.instance) \(beat.number)"] ?? 0 }
    func madeBase() { baseCount += 1 }
    func loadedBase(by node: ClusterNode) {
        joinCount += 1
        checks.loaded(by: node)
    }
    func wroteSnapshot() { snapshotCount += 1 }
    func diskDelay() -> Int64 { random.pick(0...weather.slowestDisk) }
    func leads(_ node: ClusterNode) { takeovers += 1 }

    // MARK: Network

    private func wireDelay() -> Int64 { wires.pick(0...Int64(max(1, climate.slowestWire))) }

    func connect(_ client: any SimulatedClient) -> Link {
        let link = Link(client: client.index, capacity: 1 << 24, generation: 0)
        // The greeting of another node names the leader; who hears of none tries the next address.
        if random.chance(700), let leader = nodes.first(where: { $0.isLeading && !$0.isPaused }) {
            addresses[client.index] = leader.index
        } else {
            addresses[client.index] = (addresses[client.index] + 1) % Self.nodeCount
        }
        let node = nodes[addresses[client.index]]
        link.number = node.index
        if !node.accept(link) {
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

    func send(_ text: String, on link: Link) {
        guard link.isOpenAtClient else { return }
        trace?(now, 100 + link.client, "> " + text)
        let bytes = Array(text.utf8)
        toServer(link) { $0.received(bytes, on: link) }
    }

    /// Happens at the node's end of a connection, behind all that was on its way there.
    private func toServer(_ link: Link, _ body: @escaping (ClusterNode) -> Void) {
        queue.insert(
            { [self] in
                let node = nodes[link.number]
                node.whenAwake { body(node) }
            }, at: link.arrivalAtServer(now + wireDelay()))
    }

    func halfClose(_ link: Link) { toServer(link) { $0.inputEnded(link) } }

    func reset(_ link: Link) {
        link.isOpenAtClient = false
        toServer(link) { $0.lost(link) }
    }

    /// A node writes.
    func send(_ bytes: [UInt8], to link: Link, by node: ClusterNode) {
        checks.written(bytes, by: node)
        link.buffered += bytes.count
        let arrival = link.arrivalAtClient(now + wireDelay())
        schedule(after: arrival - now) { [self] in
            guard link.isOpenAtClient else { return }
            link.received.append(bytes)
            read(link)
        }
    }

    func read(_ link: Link) {
        guard link.isOpenAtClient, !link.received.isEmpty else { return }
        let bytes = link.received.take(link.received.count)
        link.buffered -= bytes.count
        ledger.heard(bytes, client: link.client, at: now)
        trace?(now, 100 + link.client, "< " + String(decoding: bytes, as: UTF8.self))
        clients[link.client].received(bytes, on: link)
    }

    /// A node has closed the connection, or is gone.
    func ended(_ link: Link) {
        let arrival = link.arrivalAtClient(now + wireDelay())
        schedule(after: arrival - now) { [self] in lostAtClient(link) }
    }

    private func lostAtClient(_ link: Link) {
        guard link.isOpenAtClient else { return }
        link.isOpenAtClient = false
        clients[link.client].lost(link)
    }

    /// A connection ends with its leader: what it owed is asked for again at the next one.
    func wasHungUp(_ link: Link) -> Bool { false }

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

    /// A node has stopped because the engine lost messages. It is started again as it is, or with an empty folder, or stays ended.
    func startAgain(_ node: ClusterNode) {
        // Behind this moment the node has too little time to report the loss a second time.
        guard checks.hasEngineBug, now < weather.span + 40_000, random.chance(800) else { return }
        let wipes = random.chance(300)
        schedule(after: random.pick(weather.stops)) { [self] in
            if node.isStopped { kill(node, wiping: wipes) }
        }
    }

    // MARK: The end of all processes at once

    /// Everything is killed at once, and comes back. Where each node can lead, one does soon behind the engine's election: no lease of
    /// a process that is gone is waited for.
    func blackOut() {
        isDark = true
        trace?(now, -1, "everything is killed")
        let isLed = log.isLed
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
            guard isLed, isTrusted, !nodes.contains(where: \.isOutdated), !nodes.contains(where: \.isLeading) else {
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
        guard !checks.hasEngineBug, log.epoch != nil else { return }
        isMoving = true
        trace?(now, -1, "every node stops: the history moves")
        for node in nodes where node.isUp { node.kill(losing: random.chance(300) ? random.below(8) : 0) }
        log.mend()
        schedule(after: random.pick(500...3_000)) { [self] in beginMove() }
    }

    private var mostAdvanced: ClusterNode? {
        nodes.filter { $0.copy.epoch == log.epoch && !$0.isOutdated }.max {
            $0.copy.lastSequence < $1.copy.lastSequence
        }
    }

    private func beginMove() {
        guard let most = mostAdvanced else { return endMove() }
        guard random.chance(500), most.copy.lastSequence == log.records.count else {
            let node = nodes[random.below(nodes.count)]
            return leave(node.copy.epoch == log.epoch ? node : most)
        }
        log.beginAnew(behind: most.copy.reader.term)
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
            node.copy = LocalCopy(node.tampering.moving(node.copy.contents))
            let epoch = node.copy.contents.epoch
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
        // The engine has not answered.
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
            if random.chance(600) { other.wipe() } else { other.isOutdated = other.copy.reader.position > 0 }
        }
        endMove()
    }

    private func endMove() {
        isMoving = false
        for node in nodes { schedule(after: random.pick(0...3_000)) { node.start() } }
    }

    /// A node has stopped on a copy of the log that was removed: an operator gives it an empty folder.
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

    private var namesake: ClusterNode? { nodes.first(where: \.isNamesake) }

    /// The process begins while the node runs, or both begin at once.
    private func beginNamesake() {
        guard let namesake, !namesake.isUp else { return }
        let node = nodes[namesake.slot]
        trace?(now, namesake.index, "is given the name of \(node.name)")
        if random.chance(400) { namesake.copy = LocalCopy(node.copy.contents) }
        if random.chance(400) {
            node.kill(losing: 0)
            schedule(after: 1_000) { node.start() }
            schedule(after: 1_000 + random.pick(0...3)) { namesake.startAsNamesake() }
        } else {
            namesake.startAsNamesake()
        }
        schedule(after: random.pick(5_000...60_000)) { [self] in endNamesake() }
        watchNamesakes()
    }

    /// An operator ends the second process.
    private func endNamesake() {
        guard let namesake else { return }
        namesake.kill(losing: 0)
    }

    private func watchNamesakes(_ seconds: Int = 0, life: Int = 0) {
        schedule(after: 1_000) { [self] in
            guard let namesake, !isCalm else { return }
            let both = [namesake, nodes[namesake.slot]]
            let isHeard = both.allSatisfy { $0.isUp && !$0.isPaused && !$0.isStopped && log.links[$0.index] == .whole }
            let now = both.reduce(0) { $0 + $1.generation }
            let next = isHeard && now == life ? seconds + 1 : 0
            guard next <= Self.patience else {
                return violated("P4", "two processes run as \(namesake.name), and have for \(next) s")
            }
            watchNamesakes(next, life: now)
        }
    }

    /// Whether another process than the one of this node has run with its name just now.
    func hadNamesake(_ node: ClusterNode) -> Bool {
        guard let namesake, namesake.slot == node.slot else { return false }
        let other = node.isNamesake ? nodes[node.slot] : namesake
        return other.isUp || other.endedAt.map { now - $0 < Self.memory } ?? false
    }

    /// A process has ended for the sake of another one of its name. The service manager starts it again.
    func gaveWay(_ node: ClusterNode) {
        guard hadNamesake(node) else {
            return violated("P4", "\(node.name) gives way to a namesake, and none has run")
        }
        if !node.isNamesake { startLater(node) }
    }
}
