import Journal
import Replication
import TelltaleModel
import Testing

struct InMemoryLogTests {
    /// A replica and its way to the log, as a performer has them.
    private final class Node {
        var replica: Replica
        let log: InMemoryLogNode
        var now = MonotonicTime(milliseconds: 0)
        private(set) var replayed: [JournalRecord] = []
        private(set) var stored: [JournalRecord] = []
        private(set) var isFull = false
        private(set) var standDown: String?

        init(_ name: String, _ log: InMemoryLog) {
            replica = Replica(
                node: name, address: "\(name):1", release: "1", reader: LogReader(cluster: "shop", epoch: nil),
                newEpoch: 9, instance: UInt64(name.utf8.count), at: MonotonicTime(milliseconds: 0))
            self.log = log.node()
            self.log.onEvent = { [unowned self] in
                replica.handleEvent($0, at: now)
                perform()
            }
        }

        func perform() {
            while let action = replica.nextAction() {
                switch action {
                case .append(let bytes, let after, let token): log.append(bytes, after: after, token: token)
                case .read(let from): log.read(from: from)
                case .heartbeat(let heartbeat): log.heartbeat(heartbeat)
                case .replay(let records): replayed += records
                case .stored(let records): stored += records
                case .full: isFull = true
                case .standDown(let reason): standDown = reason
                case .lead, .stop, .warn, .refuse, .beginsLater: break
                }
            }
        }

        func tick(at now: MonotonicTime) {
            self.now = now
            replica.tick(at: now)
            perform()
        }
    }

    /// Lets time go by, in steps of 100 ms.
    private static func pass(_ milliseconds: Int64, _ nodes: [Node]) {
        let start = nodes[0].now.milliseconds
        for time in stride(from: start + 100, through: start + milliseconds, by: 100) {
            for node in nodes { node.tick(at: MonotonicTime(milliseconds: time)) }
            for _ in 0..<4 { for node in nodes { node.log.deliver() } }
        }
    }

    private static func record(_ sequence: Int64) -> JournalRecord {
        JournalRecord(
            sequence: sequence, time: Timestamp(milliseconds: 1_700_000_000_000), entity: "order/1", previous: 0,
            body: [1, 2, 3])
    }

    @Test func `of two nodes one leads, the other replays, and takes over when the first is cut off`() {
        let log = InMemoryLog()
        let (first, second) = (Node("n1", log), Node("n-2", log))
        Self.pass(5_000, [first, second])
        let leader = first.replica.role == .leading ? first : second
        let standby = leader === first ? second : first
        #expect(leader.replica.role == .leading)
        #expect(standby.replica.role == .standby)

        leader.replica.append([Self.record(1)], at: leader.now)
        leader.perform()
        Self.pass(100, [first, second])
        #expect(leader.stored == [Self.record(1)])
        #expect(standby.replayed == [Self.record(1)])

        leader.log.isCutOff = true
        Self.pass(14_000, [first, second])
        #expect(standby.replica.role == .leading)
        #expect(standby.replica.term == 2)
        #expect(leader.standDown != nil)
        let mayShow = leader.replica.mayShow(at: leader.now)
        #expect(!mayShow)
    }

    @Test func `a full log is reported, and takes the batch that comes when there is room`() {
        let log = InMemoryLog()
        let node = Node("n1", log)
        Self.pass(5_000, [node])
        #expect(node.replica.role == .leading)
        log.isFull = true
        node.replica.append([Self.record(1)], at: node.now)
        node.perform()
        node.log.deliver()
        #expect(node.isFull)
        log.isFull = false
        node.replica.append([Self.record(1)], at: node.now)
        node.perform()
        node.log.deliver()
        #expect(node.stored == [Self.record(1)])
    }

    @Test func `a heartbeat is read as it was written, with fields of a later release behind it, and nothing else`()
        throws
    {
        var heartbeat = Heartbeat(
            node: "n1", role: .leading, term: 7, position: 1 << 40, address: "10.0.0.1:7878", release: "0.1.0",
            number: 3, instance: 5)
        heartbeat.service = NodeService(connections: 10_000, isServing: true, isDraining: true)
        let bytes = heartbeat.encoded()
        #expect(try Heartbeat(decoding: bytes) == heartbeat)
        #expect(try Heartbeat(decoding: bytes + [1, 2, 3]) == heartbeat)
        for place in bytes.indices {
            #expect(throws: BinaryError.self) { try Heartbeat(decoding: Array(bytes[..<place])) }
        }
        #expect(throws: BinaryError.self) { try Heartbeat(decoding: [0] + bytes.dropFirst()) }
        // That of a release which reports no process.
        var older = heartbeat
        (older.instance, older.service) = (0, nil)
        // A number that no machine has.
        heartbeat.service?.connections = .max
        #expect(try Heartbeat(decoding: heartbeat.encoded()).service?.connections == 1 << 31)
        #expect(try Heartbeat(decoding: [1] + bytes.dropFirst().dropLast()) == older)
    }
}
