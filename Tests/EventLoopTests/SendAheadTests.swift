import Glibc
import TestSupport
import Testing

@testable import TelltaleEventLoop

/// The bytes that the system holds for the peer of an accepted connection.
struct SendAheadTests {
    private struct Seen: Sendable {
        var byteCount: UInt64 = 0
        var largestBuffer: CInt = 0
        var options: [CInt] = []
    }

    /// Writes rows until the system takes no more.
    private static func fill(_ connection: Connection) -> UInt64 {
        let row = [UInt8](repeating: 0x61, count: 250)
        for _ in 0..<100_000 where connection.write(row) != .written { break }
        return connection.sentByteCount
    }

    @Test("A peer that reads nothing is sent little ahead", arguments: [false, true])
    func bounded(isUnix: Bool) async throws {
        let path = "/tmp/telltale-ahead-\(getpid())"
        let seen = try await onLoop { loop in
            let state = Box(Seen())
            let endpoint: Endpoint = isUnix ? .unix(path: path) : .tcp(host: "127.0.0.1", port: 0)
            let listener = try Listener(at: endpoint, on: loop) { connection in
                connection.start(
                    ConnectionHandlers(
                        onData: { _, _ in }, onEnd: { _ in }, onWritable: { _ in }, onClosed: { _, _ in loop.stop() }))
                state.value.byteCount = Self.fill(connection)
                connection.close()
            }
            let client = try ConnectAttempt(to: listener.endpoint, on: loop) { result in
                guard case .success(let connection) = result else { return }
                connection.start(
                    ConnectionHandlers(
                        onData: { _, _ in }, onEnd: { _ in }, onWritable: { _ in }, onClosed: { _, _ in }))
                connection.pauseReading()
            }
            return { withExtendedLifetime((listener, client)) { state.value } }
        }
        // The peer's system takes up to 64 KiB by default.
        #expect(seen.byteCount > 16_384)
        #expect(seen.byteCount < 262_144)
    }

    @Test func `a quick reader is not held up by a small buffer, and keep-alive is set`() async throws {
        let size = 16 << 20
        let seen = try await onLoop { loop in
            let state = Box(Seen())
            let listener = try Listener(at: .tcp(host: "127.0.0.1", port: 0), on: loop) { connection in
                state.value.options = [
                    option(SOL_SOCKET, SO_KEEPALIVE, of: connection),
                    option(CInt(IPPROTO_TCP), TCP_KEEPIDLE, of: connection),
                    option(CInt(IPPROTO_TCP), TCP_KEEPINTVL, of: connection),
                    option(CInt(IPPROTO_TCP), TCP_KEEPCNT, of: connection),
                ]
                connection.start(
                    ConnectionHandlers(
                        onData: { _, _ in }, onEnd: { _ in },
                        onWritable: { connection in
                            state.value.byteCount = connection.sentByteCount
                            connection.close()
                        }, onClosed: { _, _ in }))
                _ = connection.write([UInt8](repeating: 0x61, count: size))
            }
            let peer = try SocketPeer(of: listener) { socket in
                var count = 0
                while count < size { count += try socket.receive().count }
                return String(count)
            }
            let result = peer.result(on: loop, holding: listener)
            return {
                let received = try result()
                #expect(received == String(size))
                return state.value
            }
        }
        #expect(seen.byteCount == UInt64(size))
        #expect(seen.options == [1, 60, 15, 5])
    }
}

private func option(_ level: CInt, _ name: CInt, of connection: Connection) -> CInt {
    var value: CInt = -1
    var length = socklen_t(MemoryLayout<CInt>.size)
    _ = unsafe getsockopt(connection.descriptor, level, name, &value, &length)
    return value
}
