import TelltaleEventLoop
import TelltaleMetrics
import TelltaleModel

/// The operator's listener: `/metrics`, `/healthz` and `/readyz`, one request a connection.
///
/// It is bounded: few connections at a time, each for ``patience`` at most.
final class OperatorListener {
    /// The address, with the port that the system chose for port 0.
    let endpoint: Endpoint
    private let listener: Listener
    private let answer: (OperatorRequest) -> OperatorResponse
    private var open: [ObjectIdentifier: Caller] = [:]
    private var timer: TimerHandle?

    private struct Caller {
        let connection: Connection
        var head: [UInt8] = []
        /// How often the timer has found it.
        var age = 0
    }

    static let connectionLimit = 16
    /// How long a connection may take, in milliseconds.
    private static let patience: Int64 = 2_000
    private static let checksPerPatience = 4

    init(
        at endpoint: Endpoint, on loop: EventLoop, answer: @escaping (OperatorRequest) -> OperatorResponse
    ) throws(UVError) {
        self.answer = answer
        let box = Box()
        listener = try Listener(at: endpoint, on: loop) { connection in box.listener?.accept(connection) }
        self.endpoint = listener.endpoint
        timer = try TimerHandle(on: loop) { _ in box.listener?.closeSlow() }
        box.listener = self
    }

    private final class Box { weak var listener: OperatorListener? }

    private func accept(_ connection: Connection) {
        connection.start(
            ConnectionHandlers(
                onData: { [weak self] connection, bytes in self?.received(bytes, from: connection) },
                onEnd: { $0.close() }, onWritable: { _ in },
                onClosed: { [weak self] connection, _ in self?.open[ObjectIdentifier(connection)] = nil }))
        guard open.count < Self.connectionLimit else {
            let text = "there are \(Self.connectionLimit) connections already; try again later\n"
            return respond(OperatorResponse(503, text: text).bytes(), to: connection)
        }
        if open.isEmpty { timer?.scheduleRepeating(everyMilliseconds: Self.patience / Int64(Self.checksPerPatience)) }
        open[ObjectIdentifier(connection)] = Caller(connection: connection)
    }

    private func received(_ bytes: Span<UInt8>, from connection: Connection) {
        let id = ObjectIdentifier(connection)
        guard var caller = open[id] else { return }
        caller.head.append(copying: bytes)
        open[id] = caller
        switch OperatorRequest.read(caller.head) {
        case .incomplete: break
        case .refused(let response): respond(response.bytes(), to: connection)
        case .request(let request): respond(answer(request).bytes(isHead: request.isHead), to: connection)
        }
    }

    /// It stays among the open ones until it is closed, and what follows its request is ignored.
    private func respond(_ bytes: [UInt8], to connection: Connection) {
        connection.pauseReading()
        _ = connection.write(bytes)
        connection.finish(lingerMilliseconds: 500)
    }

    private func closeSlow() {
        for (id, caller) in open {
            open[id]?.age += 1
            if caller.age >= Self.checksPerPatience { caller.connection.close() }
        }
        if open.isEmpty { timer?.cancel() }
    }
}
