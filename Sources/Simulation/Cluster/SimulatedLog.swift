import Journal
import Replication

/// A replicated log whose log store fails as a real one was seen to fail: elections of seconds, leaders of the stream that are
/// cut off and refuse what they never store, acknowledgements that are lost, late or come twice, reads that are old.
///
/// A stored message stays stored; but for bugs of the log store, which a cluster must report and cannot survive.
final class SimulatedLog {
    unowned let cluster: SimulatedCluster
    private let climate: ClusterClimate
    var random: SimulationRandom
    /// All that was ever stored in this log; those before ``first`` are purged.
    var messages: [[UInt8]] = []
    var first: Int64 = 1
    /// Counts the logs: each was made anew, and empty, in the place of the one before.
    var number = 1
    /// The newest term of the logs before.
    private var formerTerm: Int64 = 0
    var checkpoints = SimulatedCheckpoints()
    var sync = SimulatedSync()
    var rights = SimulatedRights()
    /// The meaning of the messages, to a reader that has read each as it was stored.
    var reader = LogReader(cluster: SimulatedCluster.name, epoch: nil)
    /// Of the history, in whichever log it was.
    var records: [JournalRecord] = []
    var chains: [RecordChain] = [RecordChain()]
    /// No stream leader is there until then.
    var electionEnd: Int64 = 0
    private var blackouts = 0
    /// Nor one of the heartbeats.
    private var heartbeatElectionEnd: Int64 = 0
    var isFull = false
    private(set) var links: [LogStoreLink]
    /// When the newest term was stored, which may be after the end of its process.
    private(set) var lastTermAt = Int64.min / 2
    /// The newest message that a node which is cut off can read.
    private var frozenEnds: [Int64?] = Array(repeating: nil, count: SimulatedCluster.processLimit)
    private var recentAnswers: [(node: Int, generation: Int, token: Int64, position: Int64)] = []
    var heartbeats = SimulatedHeartbeats()
    /// When the newest request about checkpoints of each node arrives.
    private var lastAsked: [Int64] = Array(repeating: 0, count: SimulatedCluster.processLimit)
    /// Messages that a reader found void, and those that do not continue the history.
    private var brokenCount = 0

    /// The way between a node and the log store.
    enum LogStoreLink: CaseIterable {
        case whole
        /// With a stream leader that is cut off: it refuses, and stores nothing.
        case withOldLeader
        case cut, deaf, mute
    }

    init(cluster: SimulatedCluster, climate: ClusterClimate, random: SimulationRandom) {
        self.cluster = cluster
        self.climate = climate
        self.random = random
        links = Array(repeating: .whole, count: climate.processCount)
    }

    var end: Int64 { Int64(messages.count) }
    var epoch: UInt64? { reader.epoch }
    /// A node leads by it, and has not resigned.
    var isLed: Bool { reader.leader != nil && !reader.hasResigned }
    func has(_ message: [UInt8], at position: Int64) -> Bool {
        position <= end && messages[Int(position) - 1] == message
    }
    private func delay() -> Int64 { random.pick(0...climate.slowestLogStore) }

    // MARK: Appends

    /// - Parameter after: The condition; `nil` for none, which only a planted bug asks for.
    func append(_ bytes: [UInt8], after: Int64?, token: Int64, from node: ClusterNode) {
        let (index, generation) = (node.index, node.generation)
        heartbeats.claims(bytes, token, by: node, reader, isWhole: links[index] == .whole, cluster)
        guard isSent(bytes, token: token, by: node) else { return }
        whileItLives(after: delay()) { [self] in
            propose(bytes, after: after, token: token, node: index, generation: generation)
        }
    }

    private func propose(_ bytes: [UInt8], after: Int64?, token: Int64, node: Int, generation: Int) {
        switch links[node] {
        case .cut, .mute: return
        case .withOldLeader:
            // It refuses the second attempt, for its own log has the first, which is never stored.
            guard random.chance(600) else { return }
            return answer(node, generation) { $0.refused(token: token, last: (after ?? 0) + 1) }
        case .whole, .deaf: break
        }
        guard isTaken(bytes, of: node, life: generation) else { return }
        if cluster.now < electionEnd {
            guard random.chance(400) else { return }
            // It is stored when there is a leader again, unless something else came in between.
            return whileItLives(after: electionEnd - cluster.now + delay()) { [self] in
                propose(bytes, after: after, token: token, node: node, generation: generation)
            }
        }
        if isFull {
            if after == end, climate.storedThoughFull > 0, random.chance(climate.storedThoughFull) { store(bytes) }
            return answer(node, generation) { $0.full(token: token) }
        }
        guard after == nil || after == end else {
            let last = end
            return answer(node, generation) { $0.refused(token: token, last: last) }
        }
        store(bytes)
        let position = end
        recentAnswers.append((node, generation, token, position))
        if recentAnswers.count > 5 { recentAnswers.removeFirst() }
        guard !random.chance(climate.lostAcks) else { return }
        let wait = random.chance(climate.lateAcks) ? random.pick(300...6_000) : 0
        acknowledge(node, generation, token, position, after: wait)
        if random.chance(climate.doubleAcks) {
            acknowledge(node, generation, token, position, after: random.pick(0...6_000))
        }
    }

    /// Does it later, unless the servers are all killed before, or the log is removed: what they have in memory is gone then.
    private func whileItLives(after wait: Int64, _ body: @escaping () -> Void) {
        let life = (blackouts, number)
        cluster.schedule(after: wait) { [self] in if life == (blackouts, number) { body() } }
    }

    private func acknowledge(_ node: Int, _ generation: Int, _ token: Int64, _ position: Int64, after wait: Int64) {
        cluster.schedule(after: wait) { [self] in
            answer(node, generation) { $0.acknowledged(token: token, position: position) }
        }
    }

    func answer(_ index: Int, _ generation: Int, _ body: @escaping (ClusterNode) -> Void) {
        cluster.schedule(after: delay()) { [self] in
            guard links[index] != .cut, links[index] != .deaf else { return }
            let node = cluster.nodes[index]
            guard node.generation == generation else { return }
            node.whenAwake { body(node) }
        }
    }

    /// A stranger, or an election's aftermath, appends too.
    func store(_ bytes: [UInt8]) {
        messages.append(bytes)
        cluster.trace?(cluster.now, -2, "message \(end): \((try? LogMessage(decoding: bytes)).map(Self.text) ?? "?")")
        if end == 1, number > 1 { beginReading() }
        switch reader.read(bytes) {
        case .records(let more): storeRecords(more)
        case .broken(let what):
            brokenCount += 1
            cluster.trace?(cluster.now, -2, what)
        case .term(let leader):
            lastTermAt = cluster.now
            cluster.checks.began(leader.term, behind: formerTerm)
        case .part, .renewal, .resigned, .sealed, .void: break
        }
        for index in links.indices where links[index] == .whole || links[index] == .mute {
            cluster.schedule(after: delay()) { [self] in read(from: nil, for: index) }
        }
    }

    static func text(_ message: LogMessage) -> String {
        let body =
            switch message.body {
            case .batch(let records): "records \(records.first?.sequence ?? 0)…\(records.last?.sequence ?? 0)"
            case .part(let number, let count, _): "part \(number) of \(count)"
            case .term: "term"
            case .resign, .handOver: "resign"
            case .seal: "seal"
            }
        return "\(message.node) in term \(message.term): \(body)"
    }

    // MARK: Reads

    func read(from position: Int64, for node: ClusterNode) {
        let index = node.index
        guard links[index] != .cut, links[index] != .mute else { return }
        let life = number
        cluster.schedule(after: delay()) { [self] in if life == number { read(from: position, for: index) } }
    }

    /// - Parameter from: `nil` = where the node is: a push of the subscription.
    private func read(from: Int64?, for index: Int) {
        guard links[index] != .cut, links[index] != .deaf else { return }
        var visible = frozenEnds[index] ?? end
        if random.chance(climate.oldReads) { visible -= Int64(random.below(4)) }
        visible = max(0, min(visible, end))
        let node = cluster.nodes[index]
        node.whenAwake { [self] in
            guard let place = from ?? node.position else { return }
            // A message on its way to a node that was stopped may be lost meanwhile.
            let last = min(visible, end)
            let start = max(place, min(first - 1, last))
            node.read(start < last ? Array(messages[Int(start)..<Int(last)]) : [], from: start, end: last)
        }
    }

    // MARK: Checkpoints

    func ask(_ request: CheckpointRequest, from node: ClusterNode) {
        let (index, generation) = (node.index, node.generation)
        guard links[index] == .whole || links[index] == .deaf else { return }
        // One may be late by more than its node waits; those behind it come behind it.
        let isLate = !cluster.isCalm && random.chance(climate.lateCheckpointRequests)
        let wait = isLate ? random.pick(1_000...15_000) : delay()
        lastAsked[index] = max(lastAsked[index], cluster.now + wait)
        let life = number
        cluster.schedule(after: lastAsked[index] - cluster.now) { [self] in
            guard life == number else { return }
            if case .purge(let before) = request {
                cluster.trace?(cluster.now, index, "purges before message \(before)")
                cluster.checks.purged(before: before, by: index)
                first = max(first, min(before, end))
            }
            let byteCount = messages.dropFirst(Int(first) - 1).reduce(0) { $0 + Int64($1.count) }
            if case .message(let position) = request {
                let isThere = position >= first && position <= end && position > 0
                let message = isThere ? messages[Int(position) - 1] : nil
                return answer(index, generation) { $0.answered(.message(message, at: position)) }
            }
            guard let given = checkpoints.answer(request, LogExtent(first: first, byteCount: byteCount)),
                !random.chance(climate.lostCheckpointAnswers)
            else { return }
            answer(index, generation) { $0.answered(given) }
        }
    }

    /// A checkpoint that is damaged, or another history's.
    func sufferCheckpoints() {
        let text = checkpoints.suffer(&random, epoch: reader.epoch, messages)
        cluster.trace?(cluster.now, -2, "a base \(text)")
    }

    // MARK: Heartbeats

    func heartbeat(_ heartbeat: Heartbeat, from node: ClusterNode) {
        askForSync(heartbeat, of: node)
        noteRights(heartbeat, of: node)
        let (index, generation) = (node.index, node.generation)
        guard links[index] == .whole || links[index] == .deaf else { return }
        for other in cluster.nodes where other.index != index && links[other.index] == .whole {
            guard !random.chance(climate.lostHeartbeats) || cluster.isDark else { continue }
            cluster.schedule(after: delay()) { other.whenAwake { other.overheard(heartbeat) } }
        }
        guard cluster.now >= heartbeatElectionEnd else { return }
        heartbeats.store(heartbeat, by: node, links.map { $0 == .whole }, at: cluster.now)
        for other in cluster.nodes where other.slot != node.slot && links[other.index] == .whole {
            guard !heartbeats.isBehind(other.index, at: cluster.now), !random.chance(climate.lostHeartbeats) else {
                continue
            }
            cluster.schedule(after: delay()) { other.whenAwake { other.heard(heartbeat) } }
        }
        answer(index, generation) { $0.heartbeatAcknowledged(heartbeat) }
        guard !random.chance(climate.lostHeartbeats) else { return }
        let view = heartbeats.view(of: index)
        let own = cluster.bug == .oldBeatsTakenForSilence ? heartbeat : view[node.slot]
        // Where the newest heartbeat of its name is of another process, a node is sent nothing.
        guard let own, own.instance == heartbeat.instance else { return }
        answer(index, generation) { node in
            for (place, other) in view.enumerated() where place != node.slot { other.map { node.heard($0) } }
            node.heartbeatsShown(through: own)
        }
    }

    /// For a while a node sees the heartbeats as they are now, although its own are acknowledged.
    func lie(to index: Int, for span: Int64) {
        cluster.trace?(cluster.now, index, "sees no new beats for \(span) ms")
        heartbeats.fallBehind(index, until: cluster.now + span)
    }

    // MARK: Faults

    func elect() {
        electionEnd = cluster.now + random.pick(4_000...9_000)
        cluster.trace?(cluster.now, -2, "an election of the engine until \(electionEnd)")
        let answers = recentAnswers
        cluster.schedule(after: electionEnd - cluster.now) { [self] in
            // The new leader acknowledges again what is long acknowledged.
            for each in answers {
                answer(each.node, each.generation) { $0.acknowledged(token: each.token, position: each.position) }
            }
        }
    }

    /// All its servers are killed, and started again. A replica of the heartbeats may be behind for a while, and has those of before.
    func blackOut() {
        blackouts += 1
        elect()
        electionEnd = max(electionEnd, cluster.now + 6_000)
        (heartbeatElectionEnd, isFull) = (electionEnd, false)
        for index in links.indices { cut(index, as: .whole) }
        guard random.chance(500) else { return }
        lie(to: random.below(links.count), for: electionEnd - cluster.now + random.pick(3_000...10_000))
    }

    func cut(_ index: Int, as link: LogStoreLink) {
        cluster.trace?(cluster.now, index, "the way to the engine is \(link)")
        // Its replica of the heartbeats comes back later than the way to the log store.
        if link == .whole, links[index] != .whole, random.chance(500) {
            lie(to: index, for: random.pick(1_000...10_000))
        }
        links[index] = link
        frozenEnds[index] = link == .withOldLeader ? end : nil
    }

    func calmDown() {
        electionEnd = min(electionEnd, cluster.now)
        heartbeatElectionEnd = electionEnd
        isFull = false
        rights.mend()
        for index in links.indices { cut(index, as: .whole) }
        heartbeats.catchUp()
    }

    // MARK: Other programs, bugs of the log store, and its end

    /// A stranger writes: rubbish, or a batch of another cluster.
    func takeStranger() {
        guard !records.isEmpty, random.chance(700) else { return store([1, 2, 3]) }
        var record = records[random.below(records.count)]
        record.sequence = reader.chain.sequence + 1
        let message = LogMessage(
            cluster: "stranger", epoch: 7, term: reader.term, node: "n1", instance: 0, sequence: reader.chain.sequence,
            link: reader.chain.link, body: .batch([record]))
        store(message.encoded())
    }

    func suffer(_ bug: ClusterClimate.LogStoreBug) {
        guard !messages.isEmpty else { return }
        cluster.trace?(cluster.now, -2, "a bug of the engine: \(bug)")
        switch bug {
        case .tailLost: messages.removeLast(min(messages.count, 1 + random.below(5)))
        case .messageChanged:
            let index = random.below(messages.count)
            messages[index][random.below(messages[index].count)] ^= 0x10
        case .streamDeleted: messages = []
        }
        frozenEnds = frozenEnds.map { _ in nil }
    }

    // MARK: Another log

    /// An operator removes the log with all that belongs to it, and another one is made, which is empty. What was under way to the
    /// one before has no effect on it.
    ///
    /// - Parameter term: The newest one that the folder knows which the history goes on from.
    func beginAnew(behind term: Int64) {
        cluster.trace?(cluster.now, -2, "the log is removed, and made anew")
        number += 1
        formerTerm = term
        (messages, first, checkpoints, heartbeats) = ([], 1, SimulatedCheckpoints(), SimulatedHeartbeats())
        reader = LogReader(cluster: SimulatedCluster.name, epoch: nil)
        recentAnswers = []
        mend()
    }

    /// An operator sees that the log store is well.
    func mend() {
        for index in links.indices { cut(index, as: .whole) }
        heartbeats.catchUp()
        isFull = false
        rights.mend()
    }

    /// A log that was made anew may begin in the middle of the history, behind a checkpoint.
    private func beginReading() {
        reader = beginningReader
        if let first = try? LogMessage(decoding: messages[0]), reader.chain.sequence != first.sequence {
            cluster.violated("P9", "the log begins behind record \(first.sequence), which the history has not")
        }
    }

    /// The records with which batches end: what a node shows is the log up to one of these.
    private(set) var batchEnds: Set<Int64> = [0]

    /// Of the log from its first message on.
    var beginningReader: LogReader {
        let chain = messages.first.flatMap { try? LogMessage(decoding: $0) }.flatMap { message in
            chains.first { ($0.sequence, $0.link) == (message.sequence, message.link) }
        }
        let isLater = number > 1 && chain != nil
        return LogReader(
            cluster: SimulatedCluster.name, epoch: nil, chain: isLater ? chain ?? RecordChain() : RecordChain(),
            origin: isLater ? chain : nil)
    }

    /// Whether the history has this record. Behind a checkpoint that a folder gave the log, its time may be that of another one.
    func hasRecord(of chain: RecordChain) -> Bool {
        chain.sequence < Int64(chains.count) && chains[Int(chain.sequence)].link == chain.link
    }

    /// Records that a log made anew has of the history are those of before.
    func storeRecords(_ more: [JournalRecord]) {
        if let last = more.last { batchEnds.insert(last.sequence) }
        for record in more {
            let place = Int(clamping: record.sequence) - 1
            guard place < records.count else {
                append([record])
                continue
            }
            if records[place] != record {
                cluster.violated("P9", "record \(record.sequence) of the log is not that of the history")
            }
        }
    }

    /// The history goes on, in the log or in a folder without one.
    func goOn(with more: [JournalRecord]) {
        if let last = more.last { batchEnds.insert(last.sequence) }
        append(more)
    }

    private func append(_ more: [JournalRecord]) {
        for record in more {
            var chain = chains[chains.count - 1]
            chain.append(record)
            chains.append(chain)
        }
        records += more
        cluster.checks.stored(more)
    }
}
