import Journal
import Replication
import TelltaleModel
import TestSupport
import Testing

/// Runs `Protocols/Machines/replica.table`.
struct ReplicaTableTests {
    @Test("Protocols/Machines/replica.table", arguments: try TableFile("Machines/replica.table").rows)
    func row(_ row: TableFile.Row) throws {
        let table = try TableFile("Machines/replica.table")
        var script = ReplicaScript()
        if !row[1].isEmpty { script.run(try #require(table.states[row[1]])) }
        script.run(row[2])
        #expect(script.role == row[3], "\(row)")
        #expect(script.outcome.joined(separator: ", ") == row[4], "\(row)")
    }
}

/// A replica n1, driven by the words of the table.
struct ReplicaScript {
    private(set) var replica: Replica
    private(set) var outcome: [String] = []
    private var now = MonotonicTime(milliseconds: 0)
    private var log: [[UInt8]] = []
    private var chain = RecordChain()
    private var term: Int64 = 0
    private var heartbeats: [Heartbeat] = []
    private var append: (bytes: [UInt8], after: Int64, token: Int64)?
    /// There was no room for it.
    private var refused: [UInt8]?
    /// Where the last read began.
    private var asked: Int64 = 0
    private var heartbeatCount: Int64 = 0
    private var ownHeartbeatCount: Int64 = 0
    private static let own: UInt64 = 4
    /// The instance of another process with the name n1; or of its life before.
    private static let duplicateNode: UInt64 = 7
    /// Of the processes of the other nodes.
    private static let other: UInt64 = 5

    init() {
        replica = Replica(
            node: "n1", address: "a:1", release: "1", reader: LogReader(cluster: "shop", epoch: nil), newEpoch: 9,
            instance: Self.own,
            at: MonotonicTime(milliseconds: 0))
        replica.read([], from: 0, end: 0, at: now)
        performActions()
    }

    var role: String {
        var copy = replica
        let isMute = replica.role == .leading && !copy.mayShow(at: now)
        return replica.role.rawValue + (isMute ? " limbo" : "")
    }

    mutating func run(_ inputs: String) {
        for input in inputs.split(separator: ";") {
            outcome = []
            input.split(separator: " ").map(String.init).apply(to: &self)
            performActions()
        }
    }

    fileprivate mutating func apply(_ verb: String, _ words: [String]) {
        let node = words.first ?? ""
        let number = words.last.flatMap { Int64($0) } ?? 0
        switch verb {
        case "term":
            term += 1
            write(by: node, .term(address: "", release: ""))
        case "batch":
            let records = records(Int(number), after: chain)
            write(by: node, .batch(records))
            chain.append(records)
        case "part": write(by: node, .part(number: 1, count: 2, bytes: [1]))
        case "resign": write(by: node, .resign)
        case "seal": write(by: "n2", .seal)
        case "stranger": deliver([1, 2, 3])
        case "old": write(by: node, .batch(records(1, after: chain)), term: term - 1)
        case "fork":
            let other = RecordChain(sequence: chain.sequence + 5, link: 1)
            write(by: node, .batch(records(1, after: other)), chain: other)
        case "alive", "waits":
            heartbeatCount += 1
            let role = verb == "alive" ? Replica.Role.leading : .standby
            replica.heard(
                Heartbeat(
                    node: node, role: role, term: term, position: number, address: "", release: "",
                    number: heartbeatCount),
                at: now)
        case "kept":
            replica.heard(leadersHeartbeat(of: node, number), at: now)
        case "says": replica.overheard(leadersHeartbeat(of: node, number), at: now)
        case "restarted":
            replica.overheard(
                Heartbeat(
                    node: node, role: .standby, term: term, position: 0, address: "", release: "", number: number,
                    instance: Self.duplicateNode + 1), at: now)
        case "refuted", "proven", "unknown":
            if let sync = LogStoreSync(rawValue: verb) { replica.handleEvent(.sync(sync, []), at: now) }
        case "namesake":
            replica.heard(
                Heartbeat(
                    node: "n1", role: .leading, term: term, position: 0, address: "b:1", release: "1", number: number,
                    instance: Self.duplicateNode),
                at: now)
        case "twin":
            replica.heard(
                Heartbeat(
                    node: "n1", role: .standby, term: term, position: 0, address: "b:1", release: "1",
                    number: ownHeartbeatCount, instance: UInt64(number)),
                at: now)
        case "calm", "silence", "behind": pass(number, isAnswered: verb != "silence", isShown: verb == "calm")
        case "reset": replica.leaderRefusesConnections(at: now)
        case "ack":
            guard let append else { break }
            if append.after == Int64(log.count) { log.append(append.bytes) }
            term = max(term, (try? LogMessage(decoding: append.bytes))?.term ?? 0)
            replica.acknowledged(token: append.token, position: append.after + 1, at: now)
        case "refused": replica.refused(token: append?.token ?? 0, at: now)
        case "full":
            refused = append?.bytes
            replica.full(token: append?.token ?? 0, at: now)
        case "limited": replica.handleEvent(.limited(byteCount: Int(number)), at: now)
        case "too": replica.handleEvent(.tooLong(token: append?.token ?? 0), at: now)
        case "denied": replica.handleEvent(.denied(["publish on tt.shop.log"], mayLead: false), at: now)
        case "allowed": replica.handleEvent(.denied([], mayLead: true), at: now)
        case "declined": replica.handleEvent(.declined(token: append?.token ?? 0, reason: "maximum size"), at: now)
        case "late": if let refused { deliver(refused) }
        case "decide": replica.append(records(Int(number), after: replica.reader.chain), at: now)
        case "hand": replica.resign(at: now)
        case "read": replica.read(Array(log[Int(asked)...]), from: asked, end: Int64(log.count), at: now)
        case "set": log[log.count - 1] = [9]
        case "purged":
            replica.read(
                [[1]], from: replica.reader.position + number, end: replica.reader.position + number + 1, at: now)
        case "end": replica.read([], from: 0, end: number, at: now)
        case "skew": replica.skew = Milliseconds(number)
        default: Issue.record("no input: \(verb)")
        }
    }

    private func leadersHeartbeat(of node: String, _ number: Int64) -> Heartbeat {
        Heartbeat(
            node: node, role: .leading, term: term, position: 0, address: "", release: "", number: number,
            instance: Self.other)
    }

    private func records(_ count: Int, after chain: RecordChain) -> [JournalRecord] {
        (0..<max(1, count)).map { index in
            JournalRecord(
                sequence: chain.sequence + 1 + Int64(index), time: Timestamp(milliseconds: 5), entity: "a/b",
                previous: 0, body: [7])
        }
    }

    private mutating func write(
        by node: String, _ body: LogMessage.Body, term: Int64? = nil, chain: RecordChain? = nil
    ) {
        let chain = chain ?? self.chain
        deliver(
            LogMessage(
                cluster: "shop", epoch: 9, term: term ?? self.term, node: node,
                instance: node == "n1" ? Self.duplicateNode : Self.other, sequence: chain.sequence, link: chain.link,
                body: body
            ).encoded())
    }

    private mutating func deliver(_ bytes: [UInt8]) {
        log.append(bytes)
        replica.read([bytes], from: Int64(log.count) - 1, end: Int64(log.count), at: now)
    }

    private mutating func pass(_ span: Int64, isAnswered: Bool, isShown: Bool) {
        for _ in 0..<(span / 100) {
            now = now + Milliseconds(100)
            replica.tick(at: now)
            performActions()
            for heartbeat in heartbeats {
                if isAnswered { replica.heartbeatAcknowledged(number: heartbeat.number, at: now) }
                if isShown { replica.heartbeatsShown(through: heartbeat.number, at: now) }
            }
            heartbeats = []
            performActions()
        }
    }

    private mutating func performActions() {
        while let action = replica.nextAction() {
            switch action {
            case .append(let bytes, let after, let token):
                // The same message again is no news.
                if append?.bytes != bytes || append?.after != after || append?.token != token {
                    outcome.append("append " + Self.name(bytes))
                }
                append = (bytes, after, token)
            case .read(let from): asked = from
            case .heartbeat(let heartbeat):
                ownHeartbeatCount = heartbeat.number
                heartbeats.append(heartbeat)
            case .replay(let records): outcome.append("replay \(records.count)")
            case .lead(let term): outcome.append("lead \(term)")
            case .stored(let records): outcome.append("stored \(records.count)")
            case .full: outcome.append("full")
            case .standDown: outcome.append("stand down")
            case .stop: outcome.append("stop")
            case .warn: outcome.append("warn")
            case .beginsLater: outcome.append("base")
            case .refuse: outcome.append("refuse")
            }
        }
    }

    private static func name(_ bytes: [UInt8]) -> String {
        guard let message = try? LogMessage(decoding: bytes) else { return "?" }
        return switch message.body {
        case .batch: "batch"
        case .part: "part"
        case .term: "term \(message.term)"
        case .resign, .handOver: "resign"
        case .seal: "seal"
        }
    }
}

extension [String] {
    fileprivate func apply(to script: inout ReplicaScript) { script.apply(self[0], Array(dropFirst())) }
}
