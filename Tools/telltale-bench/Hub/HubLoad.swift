import Hub
import Kinds
import Server
import TelltaleModel

/// A server with subscribers and no sockets, no clock and no journal: what a delivery costs by itself, the same each time.
///
/// It is no class, whose checked accesses would count as the server's.
struct HubLoad: ~Copyable {
    private var server: Server
    private var publisher: SessionID
    private let keys: Int
    private var number = 0
    private var time = Timestamp(milliseconds: 1_763_719_200_000)
    private var output: [UInt8] = []
    private let message = FanOutMessage(
        "EVT tally/\(FanOutMessage.key) type=tick {\"content-state\":{\"n\":\"\(FanOutMessage.number)xxxxxxxxxxxxxxxx\"}}\n"
    )
    private var line: [UInt8] = []
    /// Of an order system that gives its events ids; in the place of `message`.
    private let event: IngestEvent?
    /// Bytes of rows so far.
    private(set) var byteCount = 0

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// - Parameters:
    ///   - each: Keys that each of the sessions follows.
    ///   - hasEventIDs: Whether events are those of `telltale-bench ingest`: 300 bytes, with a source and an id.
    ///   - aggregates: Kinds of widgets that count the keys, and add them up.
    init(sessions: Int, keys: Int, each: Int, hasEventIDs: Bool, aggregates: Int = 0) throws {
        server = try Self.server(
            of: [TelltaleScreens.kind] + (0..<aggregates).map(BenchAggregate.kind))
        publisher = server.connected(at: Self.clocks(time))
        self.keys = keys
        event = hasEventIDs ? IngestEvent(byteCount: 300, keyCount: keys) : nil
        line = message.bytes
        turn()
        for _ in 0..<keys { post() }
        turn()
        let shape = FanOutLoad.Shape(subscribers: sessions, keys: keys, each: each)
        for session in 0..<sessions {
            let id = server.connected(at: now)
            for key in shape.keys(of: session) {
                let line = "SUB tally/\(FanOutMessage.digits(key)) view=carplay\n"
                _ = server.received(Array(line.utf8).span, from: id, at: now)
            }
        }
        turn()
        turn()
        byteCount = 0
    }

    /// A server of these kind files, whose records go nowhere.
    static func server(of kinds: [String]) throws -> Server {
        let kinds = try kinds.map { text in
            let (kind, diagnostics) = KindSet.read(Array(text.utf8), file: "bench.json")
            guard let kind else { throw Failure(description: "\(diagnostics)") }
            return kind
        }
        var server = Server(
            Hub(configuration: HubConfiguration(), epoch: 1), configuration: .withoutDisk, snapshotSequence: 0)
        try server.adopt(kinds)
        return server
    }

    /// Rows so far.
    var deliveries: Int { server.statistics.rows }

    private var now: HubTime { Self.clocks(time) }

    static func clocks(_ time: Timestamp) -> HubTime {
        HubTime(time: time, wall: time, monotonic: MonotonicTime(milliseconds: time.milliseconds))
    }

    /// One event, that is not decided yet.
    mutating func post() {
        if let event {
            line.removeAll(keepingCapacity: true)
            event.append(number, connection: 0, to: &line)
        } else {
            line.write(number % keys, digits: FanOutMessage.key.utf8.count, at: message.keyPosition)
            line.write(number, digits: FanOutMessage.number.utf8.count - 1, at: message.numberPosition)
        }
        number += 1
        let line = line
        _ = server.received(line.span, from: publisher, at: now)
    }

    /// The daemon's turn, but for the journal and the sockets.
    mutating func turn() {
        time = Timestamp(milliseconds: time.milliseconds + 1)
        server.turn(at: now)
        while let action = server.nextAction(at: now) {
            switch action {
            case .append(_, isLast: true): server.synced(.durable(duration: .zero, wait: .zero), at: now)
            case .flush: flush()
            case _: break
            }
        }
    }

    private mutating func flush() {
        let now = now
        var (bytes, count): ([UInt8], Int) = ([], 0)
        swap(&bytes, &output)
        while let id = server.nextReady(at: now) {
            bytes.removeAll(keepingCapacity: true)
            let shared = server.output(for: id, at: now, to: &bytes).sharedRange
            if id != publisher { count += bytes.count + shared.count }
        }
        swap(&bytes, &output)
        byteCount += count
        server.flushed(at: now)
    }
}
