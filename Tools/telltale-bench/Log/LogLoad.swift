import Histogram
import Journal
import Replication
import ReplicationNATS
import TelltaleEventLoop
import TelltaleModel

/// Appends messages to a replicated log, one in flight, or reads them back.
final class LogLoad {
    struct Result {
        var records = 0
        var messages = 0
        var seconds = 0.0
        var latency = Histogram<UInt64>(numberOfSignificantValueDigits: .three)
        var status = LogStoreStatus(name: "nats")
    }

    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    private let loop: EventLoop
    private let log: NATSLog
    private var result = Result()
    private var failure: Failure?

    private init(_ configuration: NATSLogConfiguration) throws {
        loop = try EventLoop()
        log = try NATSLog(configuration, on: loop)
    }

    /// A batch of records, as a leader writes it.
    private static func message(records count: Int, bytes: Int) -> [UInt8] {
        let records = (1...count).map { number in
            JournalRecord(
                sequence: Int64(number), time: Timestamp(milliseconds: 1_700_000_000_000),
                entity: "order/\(number % 10_000)", previous: 0, body: [UInt8](repeating: 120, count: bytes - 32))
        }
        return LogMessage(
            cluster: "bench", epoch: 1, term: 1, node: "n1", instance: 1, sequence: 0, link: 0, body: .batch(records)
        ).encoded()
    }

    /// Appends for as long, after a second to warm up.
    static func append(
        _ configuration: NATSLogConfiguration, records: Int, bytes: Int, seconds: Int
    ) throws -> Result {
        let load = try LogLoad(configuration)
        let message = message(records: records, bytes: bytes)
        var (token, sent): (Int64, Int64) = (0, 0)
        var position: Int64?
        var begin: Int64?
        func send() {
            token += 1
            sent = EventLoop.monotonicNanoseconds()
            load.log.append(message, after: position ?? 0, token: token)
        }
        load.log.onEvent = { event in
            let now = EventLoop.monotonicNanoseconds()
            switch event {
            case .connection(isUp: true, _) where position == nil: load.log.read(from: .max - 1)
            case .connection(let isUp, let text): if !isUp { load.fail(text, where: position != nil) }
            case .read(_, _, let end) where position == nil:
                position = end
                send()
            case .stored(token, let stored):
                position = stored
                if let begin {
                    load.result.latency.record(UInt64(clamping: (now - sent) / 1_000))
                    load.result.messages += 1
                    load.result.records += records
                    load.result.seconds = Double(now - begin) / 1e9
                    if load.result.seconds >= Double(seconds) { return load.loop.stop() }
                } else if token >= 50 {
                    begin = now
                }
                send()
            case .refused, .full, .tooLong, .declined: load.fail("the engine refuses a message", where: true)
            case .unusable(let faults): load.fail(faults.joined(separator: "\n"), where: true)
            case .stored, .read, .heartbeatStored, .heartbeatsShown, .heard, .overheard, .sync, .checkpoint, .limited,
                .denied:
                break
            }
        }
        return try load.run()
    }

    /// Reads all messages.
    static func read(_ configuration: NATSLogConfiguration, records: Int) throws -> Result {
        let load = try LogLoad(configuration)
        var begin: Int64 = 0
        load.log.onEvent = { event in
            switch event {
            case .connection(isUp: true, _) where begin == 0:
                begin = EventLoop.monotonicNanoseconds()
                load.log.read(from: 0)
            case .read(let messages, let from, let end):
                load.result.messages += messages.count
                load.result.records += messages.count * records
                load.result.seconds = Double(EventLoop.monotonicNanoseconds() - begin) / 1e9
                if from + Int64(messages.count) >= end { load.loop.stop() }
            case .unusable(let faults): load.fail(faults.joined(separator: "\n"), where: true)
            default: break
            }
        }
        return try load.run()
    }

    private func fail(_ text: String, where isFatal: Bool) {
        guard isFatal else { return }
        failure = Failure(description: text)
        loop.stop()
    }

    private func run() throws -> Result {
        loop.run()
        result.status = log.status
        log.close()
        loop.shutDown()
        if let failure { throw failure }
        return result
    }
}
