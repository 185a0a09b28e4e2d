import Synchronization
import TelltaleKit

/// Connections to a real daemon that a test cuts, and whose bytes it sees.
final class CuttingTransport: Transport {
    private let base: SocketTransport
    private let state = Mutex(State())

    private struct State {
        var connections: [CuttingConnection] = []
        var cutBefore: [UInt8]?
        var isAway = false
    }

    private struct Away: Error {}

    init(port: UInt16, receiveBuffer: Int? = nil) {
        base = SocketTransport(to: .tcp(host: "127.0.0.1", port: port), receiveBuffer: receiveBuffer)
    }

    var connections: [CuttingConnection] { state.withLock { $0.connections } }

    func connect() async throws -> any TransportConnection {
        guard !state.withLock({ $0.isAway }) else { throw Away() }
        let connection = CuttingConnection(try await base.connect(), self)
        let isAway = state.withLock { state in
            if !state.isAway { state.connections.append(connection) }
            return state.isAway
        }
        // It was being made when `cut(during:)` began.
        guard !isAway else {
            connection.close()
            throw Away()
        }
        return connection
    }

    /// Ends all connections.
    func cut() { for connection in connections { connection.close() } }

    /// Ends all connections, and allows new ones when `body` has ended.
    func cut<Value>(during body: () async throws -> Value) async rethrows -> Value {
        state.withLock { $0.isAway = true }
        defer { state.withLock { $0.isAway = false } }
        cut()
        return try await body()
    }

    /// The next time that the server says this, the connection ends within that line.
    func cut(before text: String) { state.withLock { $0.cutBefore = Array(text.utf8) } }

    /// How many of the bytes to pass on before a cut; `nil` = all of them, and no cut.
    fileprivate func place(in bytes: [UInt8]) -> Int? {
        state.withLock { state in
            guard let text = state.cutBefore else { return nil }
            guard let start = bytes.indices.first(where: { bytes[$0...].starts(with: text) }) else { return nil }
            state.cutBefore = nil
            return start + 2
        }
    }
}

final class CuttingConnection: TransportConnection {
    private let base: any TransportConnection
    private let transport: CuttingTransport
    private let state = Mutex<(said: [UInt8], isCut: Bool)>(([], false))

    init(_ base: any TransportConnection, _ transport: CuttingTransport) {
        self.base = base
        self.transport = transport
    }

    /// The bytes of the client so far.
    var said: String { state.withLock { String(decoding: $0.said, as: UTF8.self) } }

    func receive() async throws -> [UInt8] {
        if state.withLock({ $0.isCut }) { return [] }
        let bytes = try await base.receive()
        guard let place = transport.place(in: bytes) else { return bytes }
        state.withLock { $0.isCut = true }
        base.close()
        return Array(bytes[..<place])
    }

    func send(_ bytes: [UInt8]) async throws {
        state.withLock { $0.said += bytes }
        try await base.send(bytes)
    }

    func close() { base.close() }
}
