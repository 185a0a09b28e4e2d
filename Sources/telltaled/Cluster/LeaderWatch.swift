import TelltaleEventLoop

/// A silent connection to the leader's address. When the leader's process dies, the connection ends, so that a standby
/// need not wait for the lease.
///
/// Attempts are at least ``pauseMilliseconds`` apart, because a server without room closes connections immediately.
///
/// Only a refused connection proves that the leader is gone. A silent machine may just be cut off; then the lease
/// decides.
final class LeaderWatch {
    private let loop: EventLoop
    private let onRefused: () -> Void
    private var endpoint: Endpoint?
    private var attempt: ConnectAttempt?
    private var connection: Connection?
    private var timer: TimerHandle?
    /// The connection is younger than the pause, and the timer runs.
    private var isYoung = false
    /// Whether the watched address was ever reached. Without that, a refused connection proves nothing.
    private var wasConnected = false

    private static let pauseMilliseconds: Int64 = 250

    init(on loop: EventLoop, onRefused: @escaping () -> Void) throws(UVError) {
        self.loop = loop
        self.onRefused = onRefused
        timer = try TimerHandle(on: loop) { [weak self] _ in
            self?.isYoung = false
            self?.connect()
        }
    }

    /// Starts watching this address; `nil` = stop watching.
    func watch(_ address: String?) {
        let next = address.flatMap { Endpoint($0) }
        guard next != endpoint else { return }
        endpoint = next
        wasConnected = false
        timer?.cancel()
        attempt?.cancel()
        attempt = nil
        let old = connection
        connection = nil
        old?.close()
        connect()
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
                onData: { _, _ in }, onEnd: { $0.close() }, onWritable: { _ in },
                onClosed: { [weak self] closed, _ in
                    guard let self, self.connection === closed else { return }
                    self.connection = nil
                    if !isYoung { connect() }
                }))
    }

    private func failed(_ error: UVError) {
        timer?.schedule(afterMilliseconds: Self.pauseMilliseconds)
        if error.code == .connectionRefused, wasConnected { onRefused() }
    }
}
