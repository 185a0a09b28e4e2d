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
    var restoredEpoch: UInt64?
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
    let checks = ClusterChecks()
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
                checks.engineFailed(engineBug, before: before, self)
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
        checks.finish(self, isQuiet: isQuiet)
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
    func stored(_ records: [JournalRecord]) { checks.stored(records, self) }
    func acknowledged(_ records: [JournalRecord], by node: ClusterNode, term: Int64) {
        checks.acknowledged(records, by: node, term: term, self)
    }
    func mayAcknowledge(_ node: ClusterNode) { checks.mayAcknowledge(node, self) }
    func copied(_ records: [JournalRecord], by node: ClusterNode) { checks.copied(records, by: node, self) }
    func hashed(_ hash: UInt64, at sequence: Int64, by node: ClusterNode) {
        checks.hashed(hash, at: sequence, by: node, self)
    }
    func began(_ term: Int64, behind former: Int64) { checks.began(term, behind: former, self) }
    func stopped(_ node: ClusterNode, _ reason: String) { checks.stopped(node, reason, self) }
    func warns() { checks.tells() }
    func madeBase() { baseCount += 1 }
    func loadedBase(by node: ClusterNode) {
        joinCount += 1
        checks.loaded(by: node, self)
    }
    func wroteSnapshot() { snapshotCount += 1 }
    func diskDelay() -> Int64 { random.pick(0...weather.slowestDisk) }
    func greeted(_ bytes: [UInt8], by node: ClusterNode) { checks.greeted(bytes, by: node, self) }
    func purged(before: Int64, by index: Int) { checks.purged(before: before, by: index, self) }
    func leads(_ node: ClusterNode) { takeovers += 1 }

    // MARK: Network

    func wireDelay() -> Int64 { wires.pick(0...Int64(max(1, climate.slowestWire))) }

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
        checks.written(bytes, by: node, self)
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
}
