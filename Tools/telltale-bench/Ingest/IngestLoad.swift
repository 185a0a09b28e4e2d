import Histogram
import TelltaleEventLoop

/// The result of one measurement.
struct IngestResult {
    /// Acknowledged events a second.
    var rate: Double
    /// From handing an event to the socket to its acknowledgement, in microseconds.
    var latency: Histogram<UInt64>
    /// Of the server, for each acknowledged event, in microseconds.
    var cpu: ServerProcess.CPU
    var refused: Int
    /// Rows that reached the subscribers, a second.
    var rowRate = 0.0
}

/// Keeps a bounded number of events pending on each connection, and counts the acknowledgements.
///
/// One thread with one loop for every server; events leave as soon as there is room for them.
final class IngestLoad {
    struct Plan {
        var connections: Int
        /// Events without an answer, over all connections.
        var pending: Int
        var warmUpMilliseconds: Int64 = 1_000
        var milliseconds: Int64 = .max
        /// Ends when each connection has sent so many and has its answers; without it, by time.
        var eventsPerConnection = Int.max
        /// The number of each connection's first event.
        var first = 0
        /// More connections, which follow everything and read as fast as they can.
        var subscribers = 0
    }

    private final class Lane {
        let number: Int
        let isSubscriber: Bool
        var connection: Connection?
        var next: Int
        /// When the events that wait for their answer left, in the order of their answers.
        var sentAt: [UInt64]
        var oldest = 0
        var pending = 0
        /// The beginning of a line whose end has not come yet.
        var rest: [UInt8] = []
        var isGreeted = false

        init(_ number: Int, first: Int, limit: Int, isSubscriber: Bool) {
            self.number = number
            self.isSubscriber = isSubscriber
            next = first
            sentAt = Array(repeating: 0, count: limit)
        }
    }

    private let target: any IngestTarget
    private let plan: Plan
    private let loop: EventLoop
    private let lanes: [Lane]
    private var attempts: [ConnectAttempt] = []
    private var latency = Histogram<UInt64>(numberOfSignificantValueDigits: .three)
    private var acknowledged = 0
    private var refused = 0
    private var rows = 0
    private var isCounting = false
    private var failure: String?
    private var bytes: [UInt8] = []
    private let clock = ContinuousClock()
    private let origin = ContinuousClock.now

    static func run(_ plan: Plan, against target: any IngestTarget, progress: Progress) throws -> IngestResult {
        let load = try IngestLoad(plan, target)
        return try load.run(progress)
    }

    private init(_ plan: Plan, _ target: any IngestTarget) throws {
        self.plan = plan
        self.target = target
        loop = try EventLoop()
        lanes = (0..<plan.connections + plan.subscribers).map {
            Lane(
                $0, first: plan.first, limit: max(1, plan.pending / plan.connections),
                isSubscriber: $0 >= plan.connections)
        }
    }

    private func run(_ progress: Progress) throws -> IngestResult {
        defer { loop.shutDown() }
        try connect()
        var cpu = ServerProcess.CPU()
        var start = clock.now
        let second = try TimerHandle(on: loop) { [unowned self] _ in
            let done = acknowledged
            let text = isCounting ? "\(Int(Double(done) / seconds(since: start))) events/s" : "warming up"
            progress.show("\(target.name), \(plan.connections) connections: \(text)")
        }
        second.scheduleRepeating(everyMilliseconds: 500)
        let phase = try TimerHandle(on: loop) { [unowned self] timer in
            guard !isCounting else { return loop.stop() }
            isCounting = true
            (start, cpu) = (clock.now, target.process.cpu)
            timer.schedule(afterMilliseconds: plan.milliseconds)
        }
        phase.schedule(afterMilliseconds: plan.warmUpMilliseconds)
        loop.run()
        second.cancel()
        phase.cancel()
        progress.clear()
        for attempt in attempts { attempt.cancel() }
        if let failure { throw ServerProcess.StartFailure(description: "\(target.name): \(failure)") }
        let used = target.process.cpu - cpu
        let count = Double(max(1, acknowledged))
        return IngestResult(
            rate: Double(acknowledged) / seconds(since: start), latency: latency,
            cpu: .init(user: used.user / count * 1e6, system: used.system / count * 1e6), refused: refused,
            rowRate: Double(rows) / seconds(since: start))
    }

    private func seconds(since start: ContinuousClock.Instant) -> Double { (clock.now - start) / .seconds(1) }

    private func connect() throws {
        let handlers = ConnectionHandlers(
            onData: { [unowned self] connection, bytes in received(bytes, lanes[connection.tag]) },
            onEnd: { [unowned self] _ in fail("the server closed a connection") },
            onWritable: { [unowned self] connection in fill(lanes[connection.tag]) }, onClosed: { _, _ in })
        for lane in lanes {
            attempts.append(
                try ConnectAttempt(to: target.endpoint, on: loop) { [unowned self] result in
                    switch result {
                    case .success(let connection):
                        connection.tag = lane.number
                        lane.connection = connection
                        connection.start(handlers)
                    case .failure(let error): fail("\(error)")
                    }
                })
        }
    }

    private func fail(_ text: String) {
        failure = failure ?? text
        loop.stop()
    }

    private var now: UInt64 { UInt64((clock.now - origin) / .microseconds(1)) }

    private func received(_ piece: Span<UInt8>, _ lane: Lane) {
        let now = now
        var start = 0
        for index in piece.indices where piece[index] == UInt8(ascii: "\n") {
            if lane.rest.isEmpty {
                countLine(piece.extracting(start..<index), lane, at: now)
            } else {
                for position in start..<index { lane.rest.append(piece[position]) }
                countLine(lane.rest.span, lane, at: now)
                lane.rest.removeAll(keepingCapacity: true)
            }
            start = index + 1
        }
        for position in start..<piece.count { lane.rest.append(piece[position]) }
        fill(lane)
    }

    private func countLine(_ line: Span<UInt8>, _ lane: Lane, at now: UInt64) {
        guard lane.isGreeted else {
            lane.isGreeted = true
            _ = lane.connection?.write(lane.isSubscriber ? Array("SUB *\n".utf8) : target.opening(lane.number))
            return
        }
        if lane.isSubscriber {
            if isCounting, line.has("UPD ", at: 0) { rows += 1 }
            return
        }
        switch target.meaning(of: line) {
        case .nothing: return
        case .acknowledged: if isCounting { acknowledged += 1 }
        case .refused:
            refused += 1
            if refused == 1 {
                var text: [UInt8] = []
                for index in line.indices { text.append(line[index]) }
                StandardStream.error.write("\(target.name) refused: \(String(decoding: text, as: UTF8.self))\n")
            }
        }
        guard lane.pending > 0 else { return fail("an answer that nobody waits for") }
        if isCounting { latency.record(max(1, now - lane.sentAt[lane.oldest])) }
        lane.oldest = (lane.oldest + 1) % lane.sentAt.count
        lane.pending -= 1
    }

    private func fill(_ lane: Lane) {
        guard !lane.isSubscriber, lane.isGreeted, let connection = lane.connection, connection.isWritable else {
            return
        }
        let rest = plan.eventsPerConnection - (lane.next - plan.first)
        if rest == 0, lanes.allSatisfy({ $0.pending == 0 }) { loop.stop() }
        let room = min(lane.sentAt.count - lane.pending, rest)
        guard room > 0 else { return }
        let now = now
        bytes.removeAll(keepingCapacity: true)
        for _ in 0..<room {
            target.append(lane.next, connection: lane.number, to: &bytes)
            lane.sentAt[(lane.oldest + lane.pending) % lane.sentAt.count] = now
            lane.pending += 1
            lane.next += 1
        }
        _ = connection.write(bytes)
    }
}
