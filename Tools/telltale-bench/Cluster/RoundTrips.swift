import Histogram
import TelltaleEventLoop

/// One event after the other, at each node in turn: how long until its `OK`, and whether a `GET` right after it sees it.
final class RoundTrips {
    /// Of one node.
    struct Result {
        /// From an `EVT` to its `OK`, in microseconds.
        var latency = Histogram<UInt64>(numberOfSignificantValueDigits: .three)
        /// `GET`s that were answered with an older state than the `OK` before them.
        var unseen = 0
    }

    private let loop: EventLoop
    private let connections: [Peer]
    private var attempts: [ConnectAttempt] = []
    private var watchdog: TimerHandle?
    private(set) var results: [Result]
    private var turn = 0
    private var greeted = 0
    private var rest: Int
    private let warmUp: Int
    private var sentAt = ContinuousClock.now
    /// What the `OK` said; `nil` while it is awaited.
    private var rev: Int64?
    private var failure: ServerProcess.StartFailure?

    private final class Peer {
        let number: Int
        var connection: Connection?
        /// The beginning of a line whose end has not come yet.
        var rest: [UInt8] = []

        init(_ number: Int) {
            self.number = number
        }

        var key: String { "tally/trip-\(number)" }
    }

    private static let patience: Int64 = 10_000

    /// - Parameter count: Events at each node, after a tenth of them to warm up.
    static func run(_ nodes: [BenchDaemon], count: Int) throws -> [Result] {
        let trips = try RoundTrips(nodes, count: count)
        return try trips.run(nodes)
    }

    private init(_ nodes: [BenchDaemon], count: Int) throws {
        loop = try EventLoop()
        connections = nodes.indices.map { Peer($0) }
        results = nodes.map { _ in Result() }
        warmUp = count / 10 * nodes.count
        rest = count * nodes.count + warmUp
    }

    private func run(_ nodes: [BenchDaemon]) throws -> [Result] {
        defer { loop.shutDown() }
        let measured = rest - warmUp
        let handlers = ConnectionHandlers(
            onData: { [unowned self] connection, bytes in
                received(bytes, connections[connection.tag], measured: measured)
            },
            onEnd: { [unowned self] _ in fail("a node closed a connection") }, onWritable: { _ in },
            onClosed: { _, _ in })
        watchdog = try TimerHandle(on: loop) { [unowned self] _ in fail("no answer within 10 s") }
        watchdog?.schedule(afterMilliseconds: Self.patience)
        for (peer, node) in zip(connections, nodes) {
            attempts.append(
                try ConnectAttempt(to: node.endpoint, on: loop) { [unowned self] result in
                    switch result {
                    case .success(let connection):
                        connection.tag = peer.number
                        peer.connection = connection
                        connection.start(handlers)
                    case .failure(let error): fail("\(error)")
                    }
                })
        }
        loop.run()
        watchdog?.cancel()
        for attempt in attempts { attempt.cancel() }
        for peer in connections { peer.connection?.close() }
        if let failure { throw failure }
        return results
    }

    private func received(_ bytes: Span<UInt8>, _ peer: Peer, measured: Int) {
        for index in bytes.indices {
            let byte = bytes[index]
            guard byte == UInt8(ascii: "\n") else {
                peer.rest.append(byte)
                continue
            }
            let line = String(decoding: peer.rest, as: UTF8.self)
            peer.rest.removeAll(keepingCapacity: true)
            heard(line, from: peer, measured: measured)
        }
    }

    private func heard(_ line: String, from peer: Peer, measured: Int) {
        if line.hasPrefix("TELLTALE ") {
            greeted += 1
            if greeted == connections.count { post() }
        } else if line.hasPrefix("MARK ") {
            return
        } else if let answered = Self.rev(in: line), peer.number == turn {
            guard let rev else {
                if rest <= measured {
                    results[turn].latency.record(UInt64((ContinuousClock.now - sentAt) / .microseconds(1)))
                }
                rev = answered
                _ = peer.connection?.write(Array("GET \(peer.key)\n".utf8))
                return
            }
            if answered < rev { results[turn].unseen += 1 }
            next()
        } else {
            fail(line)
        }
    }

    private static func rev(in line: String) -> Int64? {
        guard line.hasPrefix("OK ") else { return nil }
        return line.split(separator: " ").first { $0.hasPrefix("rev=") }.flatMap { Int64($0.dropFirst(4)) }
    }

    private func next() {
        rest -= 1
        turn = (turn + 1) % connections.count
        guard rest > 0 else { return loop.stop() }
        post()
    }

    private func post() {
        watchdog?.schedule(afterMilliseconds: Self.patience)
        rev = nil
        let peer = connections[turn]
        let line = "EVT \(peer.key) type=tick {\"content-state\":{\"n\":\(rest)}}\n"
        sentAt = .now
        _ = peer.connection?.write(Array(line.utf8))
    }

    private func fail(_ text: String) {
        failure = failure ?? ServerProcess.StartFailure(description: text)
        loop.stop()
    }
}
