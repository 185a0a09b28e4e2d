import TelltaleEventLoop

/// The connection of a node that follows to the leader's address. It carries what the node's clients write. When the leader's
/// process dies it ends, so that a standby need not wait for the lease.
///
/// Attempts are at least ``pauseMilliseconds`` apart, because a server without room closes connections immediately.
///
/// Only a refused connection proves that the leader is gone. A silent machine may just be cut off; then the lease
/// decides.
final class LeaderConnection {
    /// What happens on it.
    struct Handlers {
        let onConnected: () -> Void
        let onData: (Span<UInt8>) -> Void
        let onLost: () -> Void
        let onRefused: () -> Void
    }

    private let loop: EventLoop
    private let handlers: Handlers
    private var endpoint: Endpoint?
    private var attempt: ConnectAttempt?
    private var connection: Connection?
    /// What the socket has not taken.
    private var unsent: [UInt8] = []
    private var timer: TimerHandle?
    /// The connection is younger than the pause, and the timer runs.
    private var isYoung = false
    /// Whether the address was ever reached. Without that, a refused connection proves nothing.
    private var wasConnected = false

    private static let pauseMilliseconds: Int64 = 250

    init(on loop: EventLoop, _ handlers: Handlers) throws(UVError) {
        self.loop = loop
        self.handlers = handlers
        timer = try TimerHandle(on: loop) { [weak self] _ in
            self?.isYoung = false
            self?.connect()
        }
    }

    /// Connects to this address, and again where the connection ends; `nil` = to none.
    func follow(_ address: String?) {
        let next = address.flatMap { Endpoint($0) }
        guard next != endpoint else { return }
        endpoint = next
        wasConnected = false
        timer?.cancel()
        attempt?.cancel()
        attempt = nil
        drop()
        connect()
    }

    func write(_ bytes: [UInt8]) {
        guard let connection else { return }
        unsent += bytes
        if connection.isWritable { sendUnsent() }
    }

    /// Closes the connection; another one is tried after the pause.
    func reconnect() {
        drop()
        if !isYoung { connect() }
    }

    private func drop() {
        guard let old = connection.take() else { return }
        unsent = []
        old.close()
        handlers.onLost()
    }

    private func sendUnsent() {
        guard !unsent.isEmpty else { return }
        var bytes: [UInt8] = []
        swap(&bytes, &unsent)
        _ = connection?.write(bytes)
    }

    private func connect() {
        guard let endpoint, attempt == nil, connection == nil else { return }
        do throws(UVError) {
            attempt = try ConnectAttempt(to: endpoint, on: loop) { [weak self] result in
                guard let self else {
                    if case .success(let connection) = result { connection.close() }
                    return
                }
                attempt = nil
                switch result {
                case .success(let connection): connected(connection)
                case .failure(let error): failed(error)
                }
            }
        } catch {
            failed(error)
        }
    }

    private func connected(_ connection: Connection) {
        self.connection = connection
        wasConnected = true
        isYoung = true
        timer?.schedule(afterMilliseconds: Self.pauseMilliseconds)
        connection.start(
            ConnectionHandlers(
                onData: { [weak self] one, bytes in
                    if let self, self.connection === one { handlers.onData(bytes) }
                },
                onEnd: { $0.close() },
                onWritable: { [weak self] one in
                    if let self, self.connection === one { sendUnsent() }
                },
                onClosed: { [weak self] closed, _ in
                    guard let self, self.connection === closed else { return }
                    self.connection = nil
                    unsent = []
                    handlers.onLost()
                    if !isYoung { connect() }
                }))
        handlers.onConnected()
    }

    private func failed(_ error: UVError) {
        timer?.schedule(afterMilliseconds: Self.pauseMilliseconds)
        if error.code == .connectionRefused, wasConnected { handlers.onRefused() }
    }
}
