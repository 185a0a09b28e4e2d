import Journal
import Replication
import TelltaleModel
import Testing

/// A leader over a log store that takes no long messages.
struct MessageLengthTests {
    private var replica = Replica(
        node: "n1", address: "a:1", release: "1", reader: LogReader(cluster: "shop", epoch: nil), newEpoch: 9,
        instance: 4, at: MonotonicTime(milliseconds: 0))
    /// What the log has stored, to a reader that has read each.
    private var reader = LogReader(cluster: "shop", epoch: nil)
    private var readings: [LogReader.Reading] = []
    private var end: Int64 = 0
    private var now = MonotonicTime(milliseconds: 0)
    private var stored: [JournalRecord] = []
    private var lengths: [Int] = []

    private static func records(_ count: Int, after sequence: Int64, bodyLength: Int) -> [JournalRecord] {
        (1...count).map { number in
            JournalRecord(
                sequence: sequence + Int64(number), time: Timestamp(milliseconds: 5), entity: "tea/\(number)",
                previous: 0, body: [UInt8](repeating: 7, count: bodyLength))
        }
    }

    /// Stores what the replica appends, where it is not longer than `longest` says, which is asked with the number of stored messages.
    private mutating func run(longest: (Int) -> Int = { _ in .max }) {
        while let action = replica.nextAction() {
            switch action {
            case .append(let bytes, let after, let token):
                guard after == end else { continue }
                let longest = longest(lengths.count)
                guard bytes.count <= longest else {
                    replica.handleEvent(.limited(byteCount: longest), at: now)
                    replica.handleEvent(.tooLong(token: token), at: now)
                    continue
                }
                end += 1
                lengths.append(bytes.count)
                readings.append(reader.read(bytes))
                replica.handleEvent(.stored(token: token, position: end), at: now)
            case .stored(let records): stored += records
            case .heartbeat(let heartbeat):
                replica.heartbeatAcknowledged(number: heartbeat.number, at: now)
                replica.heartbeatsShown(through: heartbeat.number, at: now)
            case _: break
            }
        }
    }

    private mutating func lead() {
        replica.read([], from: 0, end: 0, at: now)
        for _ in 1...50 where replica.role != .leading {
            now = now + Milliseconds(100)
            replica.tick(at: now)
            run()
        }
    }

    @Test mutating func `no message is longer than the log store takes, and the batch is read whole`() throws {
        lead()
        try #require(replica.role == .leading)
        for longest in [900_000, 65_536, 16_384] {
            replica.handleEvent(.limited(byteCount: longest), at: now)
            (lengths, readings, stored) = ([], [], [])
            let records = Self.records(300, after: reader.chain.sequence, bodyLength: 3_000)
            replica.append(records, at: now)
            run { _ in longest }
            #expect(stored == records)
            #expect(readings.last == .records(records) && readings.dropLast().allSatisfy { $0 == .part })
            #expect(lengths.allSatisfy { $0 <= longest })
        }
    }

    @Test mutating func `a batch of which parts are stored is cut again when the log store takes only shorter ones`()
        throws
    {
        lead()
        try #require(replica.role == .leading)
        replica.handleEvent(.limited(byteCount: 100_000), at: now)
        let records = Self.records(100, after: reader.chain.sequence, bodyLength: 3_000)
        (lengths, readings) = ([], [])
        replica.append(records, at: now)
        // Two of four parts are stored, and the third is too long.
        run { $0 < 2 ? 100_000 : 20_000 }
        #expect(lengths.prefix(2).allSatisfy { $0 > 20_000 } && lengths.dropFirst(2).allSatisfy { $0 <= 20_000 })
        #expect(stored == records && readings.last == .records(records))
        #expect(replica.role == .leading)
    }

    @Test mutating func `a node that may not append notifies the others that it does not try to lead`() {
        func heldBack() -> Bool? {
            var isHeldBack: Bool?
            now = now + Milliseconds(1_000)
            replica.tick(at: now)
            while let action = replica.nextAction() {
                if case .heartbeat(let heartbeat) = action { isHeldBack = heartbeat.isHeldBack }
            }
            return isHeldBack
        }
        #expect(heldBack() == false)
        replica.handleEvent(.denied(["publish on tt.shop.log"], mayLead: false), at: now)
        #expect(heldBack() == true)
        replica.handleEvent(.denied([], mayLead: true), at: now)
        #expect(heldBack() == false)
    }

    @Test func `what stands in a message beside its records is shorter than its share`() {
        var head = LogMessage(
            cluster: String(repeating: "c", count: 32), epoch: .max, term: .max,
            node: String(repeating: "n", count: 32),
            instance: .max, sequence: .max, link: .max, body: .part(number: 256, count: 256, bytes: []))
        #expect(head.encoded().count < MessageLimits.headByteCount)
        head.body = .term(
            address: String(repeating: "a", count: 256) + ":65535", release: String(repeating: "1", count: 32))
        #expect(head.encoded().count < MessageLimits.headByteCount)
    }
}
