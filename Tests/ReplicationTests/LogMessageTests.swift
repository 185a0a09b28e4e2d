import Journal
import TelltaleModel
import Testing

@testable import Replication

struct LogMessageTests {
    private static let records = (1...3).map { number in
        JournalRecord(
            sequence: Int64(number), time: Timestamp(milliseconds: 1_700_000_000_000), entity: "order/\(number)",
            previous: 0, body: [UInt8](repeating: UInt8(number), count: 100))
    }

    private static func message(_ body: LogMessage.Body, term: Int64 = 1) -> LogMessage {
        LogMessage(cluster: "shop", epoch: .max, term: term, node: "n1", instance: 3, sequence: 0, link: 0, body: body)
    }

    private static let bodies: [LogMessage.Body] = [
        .batch(records), .part(number: 1, count: 2, bytes: [1, 2]), .term(address: "10.0.0.1:7878", release: "0.1.0"),
        .resign, .seal, .handOver(to: "n2"),
    ]

    @Test(arguments: bodies)
    func `a message is read as it was written`(body: LogMessage.Body) throws {
        let message = Self.message(body)
        #expect(try LogMessage(decoding: message.encoded()) == message)
    }

    @Test(arguments: bodies)
    func `a message with one bit changed, or cut short, is refused`(body: LogMessage.Body) {
        let bytes = Self.message(body).encoded()
        for place in bytes.indices {
            for bit in 0..<8 {
                var changed = bytes
                changed[place] ^= 1 << UInt8(bit)
                #expect(throws: BinaryError.self) { try LogMessage(decoding: changed) }
            }
            #expect(throws: BinaryError.self) { try LogMessage(decoding: Array(bytes[..<place])) }
        }
    }

    @Test func `a batch too long for one message is whole when all its parts are read, and not before`() {
        var limits = MessageLimits()
        limits.byteCount = 64
        let messages = LogMessage.messages(
            of: Self.records, after: RecordChain(), head: Self.message(.resign), limits: limits)
        #expect(messages.count > 3)
        var reader = LogReader(cluster: "shop", epoch: nil)
        _ = reader.read(Self.message(.term(address: "", release: "")).encoded())
        let readings = messages.map { reader.read($0.encoded()) }
        #expect(readings.dropLast().allSatisfy { $0 == .part })
        #expect(readings.last == .records(Self.records))
        #expect(reader.chain.sequence == 3)
    }

    @Test func `parts of a batch that its leader gave up are void`() {
        var reader = LogReader(cluster: "shop", epoch: nil)
        _ = reader.read(Self.message(.term(address: "", release: "")).encoded())
        #expect(reader.read(Self.message(.part(number: 1, count: 3, bytes: [1])).encoded()) == .part)
        #expect(reader.read(Self.message(.part(number: 1, count: 2, bytes: [1])).encoded()) == .part)
        #expect(reader.read(Self.message(.batch(Self.records)).encoded()) == .records(Self.records))
        guard case .broken = reader.read(Self.message(.part(number: 2, count: 2, bytes: [1])).encoded()) else {
            Issue.record("a part without those before it is read")
            return
        }
    }

    @Test func `no bytes with a right checksum trap`() {
        var state: UInt64 = 41
        func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state >> 33
        }
        for round in 0..<4_000 {
            let original = Self.message(Self.bodies[round % Self.bodies.count]).encoded()
            var content = Array(original.dropLast(8))
            for _ in 0...(next() % 4) {
                content[Int(next()) % content.count] = [0, 1, 0x7F, 0x80, 0xFF][Int(next() % 5)]
            }
            if next() % 3 == 0 { content.removeLast(Int(next()) % content.count) }
            var reader = LogReader(cluster: "shop", epoch: .max)
            _ = reader.read(Self.message(.term(address: "", release: "")).encoded())
            _ = reader.read(LogMessage.withChecksum(content))
        }
    }

    /// A message with other numbers than a node of this cluster writes.
    @Test(arguments: [Int64.min, -1, 0, 1, 2, .max])
    func `no number of a message traps`(number: Int64) {
        let term = Self.message(.term(address: "", release: ""), term: 1).encoded()
        let length = Int(clamping: number)
        let bodies: [LogMessage.Body] = [
            .part(number: length, count: 2, bytes: [1]), .part(number: 1, count: length, bytes: [1]),
            .part(number: length, count: length, bytes: [1]), .resign, .seal, .term(address: "", release: ""),
            .batch([JournalRecord(sequence: number, time: .distantPast, entity: "", previous: number, body: [])]),
        ]
        for body in bodies {
            for field in 0..<2 {
                var reader = LogReader(cluster: "shop", epoch: nil)
                _ = reader.read(term)
                var message = Self.message(body, term: 1)
                if field == 0 { message.term = number } else { message.sequence = number }
                _ = reader.read(message.encoded())
                _ = reader.read(Self.message(body, term: 1).encoded())
            }
        }
    }

    @Test func `terms count by one, and a reader of a log without one of them stops`() {
        var reader = LogReader(cluster: "shop", epoch: nil)
        _ = reader.read(Self.message(.term(address: "", release: ""), term: 1).encoded())
        guard case .broken = reader.read(Self.message(.term(address: "", release: ""), term: 3).encoded()) else {
            Issue.record("a term is missing, and the reader goes on")
            return
        }
    }

    @Test func `a batch of more parts than any node writes is refused at its first`() {
        var reader = LogReader(cluster: "shop", epoch: nil)
        _ = reader.read(Self.message(.term(address: "", release: ""), term: 1).encoded())
        let part = LogMessage.Body.part(number: 1, count: MessageLimits.partCount + 1, bytes: [1])
        guard case .broken = reader.read(Self.message(part, term: 1).encoded()) else {
            Issue.record("a batch without a bound is read")
            return
        }
    }

    @Test func `a node that starts behind a seal stays stopped`() {
        let leader = LogReader.Leader(term: 1, node: "n1", instance: 3, address: "")
        let reader = LogReader(cluster: "shop", epoch: 9, position: 4, digests: [1], leader: leader, isSealed: true)
        let replica = Replica(
            node: "n1", address: "", release: "", reader: reader, newEpoch: 1, instance: 4,
            at: MonotonicTime(milliseconds: 0))
        #expect(replica.role == .stopped)
        #expect(replica.deadline == .distantFuture)
    }

    @Test func `a node that starts looks at every message that it remembers`() {
        var reader = LogReader(cluster: "shop", epoch: nil)
        let log = [
            Self.message(.term(address: "", release: ""), term: 1), Self.message(.resign, term: 1),
            Self.message(.term(address: "", release: ""), term: 2),
        ].map { $0.encoded() }
        for message in log { _ = reader.read(message) }
        let now = MonotonicTime(milliseconds: 0)
        var replica = Replica(
            node: "n2", address: "", release: "", reader: reader, newEpoch: 1, instance: 4, at: now)
        #expect(replica.nextAction() == .read(from: 0))
        replica.read([log[0], [9], log[2]], from: 0, end: 3, at: now)
        #expect(replica.role == .stopped)
    }

    /// A restart would read this record only, and lead.
    @Test func `a node keeps no term record of its own before it has read the message before it`() throws {
        let now = MonotonicTime(milliseconds: 0)
        var replica = Replica(
            node: "n2", address: "", release: "", reader: LogReader(cluster: "shop", epoch: nil), newEpoch: 1,
            instance: 4, at: now)
        let first = Self.message(.term(address: "", release: ""))
        replica.read([first.encoded()], from: 0, end: 1, at: now)
        #expect(replica.mayKeep)
        replica.leaderRefusesConnections(at: now)
        var own: [UInt8] = []
        while let action = replica.nextAction() { if case .append(let bytes, _, _) = action { own = bytes } }
        replica.acknowledged(token: 1, position: 2, at: now)
        #expect(replica.reader.position == 2)
        #expect(!replica.mayKeep)
        var other = replica
        replica.read([first.encoded(), own], from: 0, end: 2, at: now)
        #expect(replica.role == .leading && replica.mayKeep)
        other.read([[9], own], from: 0, end: 2, at: now)
        #expect(other.role == .stopped && !other.mayKeep)
    }

    @Test func `a reader stops at a record that was changed under it`() {
        let term = Self.message(.term(address: "", release: "")).encoded()
        var writer = LogReader(cluster: "shop", epoch: nil)
        var log = [term]
        _ = writer.read(term)
        for record in Self.records {
            var message = Self.message(.batch([record]))
            (message.sequence, message.link) = (writer.chain.sequence, writer.chain.link)
            log.append(message.encoded())
            #expect(writer.read(message.encoded()) == .records([record]))
        }
        log[2][30] ^= 1
        var reader = LogReader(cluster: "shop", epoch: nil)
        _ = (reader.read(log[0]), reader.read(log[1]))
        guard case .void = reader.read(log[2]), case .broken = reader.read(log[3]) else {
            Issue.record("a changed record is not noticed")
            return
        }
    }
}
