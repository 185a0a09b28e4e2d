import Journal
import Replication
import TelltaleModel
import Testing

struct LogMessageTests {
    private static let records = (1...3).map { number in
        JournalRecord(
            sequence: Int64(number), time: Timestamp(milliseconds: 1_700_000_000_000), entity: "order/\(number)",
            previous: 0, body: [UInt8](repeating: UInt8(number), count: 100))
    }

    private static func message(_ body: LogMessage.Body) -> LogMessage {
        LogMessage(cluster: "shop", epoch: .max, term: 7, node: "n1", instance: 3, sequence: 0, link: 0, body: body)
    }

    private static let bodies: [LogMessage.Body] = [
        .batch(records), .part(number: 1, count: 2, bytes: [1, 2]), .term(address: "10.0.0.1:7878", release: "0.1.0"),
        .resign, .seal,
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
