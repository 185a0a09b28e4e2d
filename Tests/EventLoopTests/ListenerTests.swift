import Foundation
import Glibc
import TelltaleEventLoop
import TestSupport
import Testing

@Suite(.serialized)
struct ListenerTests {
    @Test func `a port in use is a clear error`() async throws {
        let error = try await onLoop { loop in
            let first = try Listener(at: .tcp(host: "127.0.0.1", port: 0), on: loop) { _ in }
            loop.stop()
            return {
                withExtendedLifetime(first) {
                    #expect(throws: UVError.self) {
                        try Listener(at: first.endpoint, on: loop) { _ in }
                    }
                }
            }
        }
        let text = try #require(error).description
        #expect(try #require(error).code == .addressInUse)
        #expect(text.hasPrefix("cannot listen on 127.0.0.1:"))
        #expect(text.hasSuffix(": address already in use (EADDRINUSE)"))
    }

    @Test(
        "A host that is no address of this machine is refused",
        arguments: [
            ("example.invalid", UVError.Code.invalidArgument), ("", .invalidArgument), ("1.2.3.4.5", .invalidArgument),
        ])
    func badHost(_ example: (host: String, code: UVError.Code)) async throws {
        let code = try await onLoop { loop in
            loop.stop()
            return {
                #expect(throws: UVError.self) {
                    try Listener(at: .tcp(host: example.host, port: 0), on: loop) { _ in }
                }?.code
            }
        }
        #expect(code == example.code)
    }

    @Test("Port 0 is told as the port that was found", arguments: ["127.0.0.1", "::1", "localhost"])
    func anyPort(host: String) async throws {
        let endpoint = try await onLoop { loop in
            let listener = try Listener(at: .tcp(host: host, port: 0), on: loop) { _ in }
            loop.stop()
            return { listener.endpoint }
        }
        guard case .tcp(let bound, let port) = endpoint else { return #expect(Bool(false)) }
        #expect(bound == (host == "localhost" ? "127.0.0.1" : host))
        #expect(port != 0)
    }

    @Test func `of a crowd few are accepted in a turn, and all in the end`() async throws {
        let most: Int = try await onLoop { loop in
            let (inTurn, inAll, most) = (Box(0), Box(0), Box(0))
            let connections = Box<[Connection]>([])
            let listener = try Listener(at: .tcp(host: "127.0.0.1", port: 0), on: loop) { connection in
                connection.start(.echo)
                connections.value.append(connection)
                inTurn.value += 1
            }
            let turn = try CheckHandle(on: loop) {
                most.value = max(most.value, inTurn.value)
                inAll.value += inTurn.value
                inTurn.value = 0
                if inAll.value == 200 { loop.stop() }
            }
            // The system connects them, before the loop begins.
            let crowd = try (0..<200).map { _ in try RawSocket(port: listener.port) }
            return { withExtendedLifetime((crowd, turn, listener, connections)) { most.value } }
        }
        #expect((1...Listener.acceptsPerTurn).contains(most))
    }

    @Test func `a thousand connections come and go without leaving a descriptor`() async throws {
        let open: [CInt] = try await onLoop { loop in
            let closed = Box(0)
            let attempts = Box<[ConnectAttempt]>([])
            let listener = try Listener(at: .tcp(host: "127.0.0.1", port: 0), on: loop) { connection in
                connection.start(
                    ConnectionHandlers(
                        onData: { _, _ in }, onEnd: { $0.close() }, onWritable: { _ in },
                        onClosed: { _, _ in
                            closed.value += 1
                            if closed.value == 2000 { loop.stop() }
                        }))
            }
            for _ in 0..<1000 {
                attempts.value.append(
                    try ConnectAttempt(to: listener.endpoint, on: loop) { result in
                        guard case .success(let connection) = result else { return }
                        connection.start(
                            ConnectionHandlers(
                                onData: { _, _ in }, onEnd: { _ in }, onWritable: { _ in },
                                onClosed: { _, _ in
                                    closed.value += 1
                                    if closed.value == 2000 { loop.stop() }
                                }))
                        connection.close()
                    })
            }
            return {
                #expect(closed.value == 2000)
                guard case .tcp(_, let port) = listener.endpoint else { return [] }
                return try withExtendedLifetime((listener, attempts)) { try openSockets(ofPort: UInt16(port)) }
            }
        }
        // The listener's own. No other test has a socket of this port.
        #expect(open.count == 1)
    }

    @Test func `connections beyond the descriptors are sent why, and there is room again when some go`() async throws {
        await #expect(processExitsWith: .success) {
            let lines = try await onLoop { loop in
                var options = Listener.Options()
                options.reservedDescriptorCount = 16
                options.farewell = { Array("ERR code=limit_conns retry=later\n".utf8) }
                try limitDescriptors(toFurther: 64)
                let greeting = ConnectionHandlers(
                    onData: { _, _ in }, onEnd: { $0.close() }, onWritable: { _ in }, onClosed: { _, _ in })
                let listener = try Listener(at: .tcp(host: "127.0.0.1", port: 0), on: loop, options: options) {
                    connection in
                    connection.start(greeting)
                    _ = connection.write(Array("TELLTALE 1\n".utf8))
                }
                let port = listener.port
                return try SocketPeer(of: listener) { first in
                    var lines = [try first.receiveLine()]
                    var sockets = [first]
                    while lines.last == "TELLTALE 1" {
                        let socket = try RawSocket(port: port)
                        sockets.append(socket)
                        lines.append(try socket.receiveLine())
                    }
                    sockets.last?.shutdownWrite()
                    sockets.removeSubrange(1...)
                    // Room comes when the loop has seen the ends.
                    var answer = ""
                    for _ in 0..<1000 where answer != "TELLTALE 1" { answer = try RawSocket(port: port).receiveLine() }
                    return "\(lines.count > 5) \(lines.last ?? "") \(answer)"
                }.result(on: loop, holding: listener)
            }
            guard lines == "true ERR code=limit_conns retry=later TELLTALE 1" else {
                print(lines)
                exit(1)
            }
        }
    }

    @Test func `connections beyond the descriptors of an encrypted listener are counted, and sent nothing in plain`()
        async throws
    {
        await #expect(processExitsWith: .success) {
            let folder = try certificates()
            let seen = try await onLoop { loop in
                let context = try TLSContext(certificate: folder.path("leaf.pem"), key: folder.path("leaf.key.pem"))
                let count = Box(0)
                var options = Listener.Options()
                options.reservedDescriptorCount = 32
                options.tls = { context }
                options.farewell = {
                    count.value += 1
                    return Array("ERR code=limit_conns retry=later\n".utf8)
                }
                try limitDescriptors(toFurther: 64)
                let listener = try Listener(at: .tcp(host: "127.0.0.1", port: 0), on: loop, options: options) { _ in }
                let port = listener.port
                let answer = try SocketPeer(of: listener) { _ in
                    // Together with their other ends these are more than there is room for.
                    let sockets = try (0..<30).map { _ in try RawSocket(port: port) }
                    return try sockets[29].receiveAll()
                }.result(on: loop, holding: listener)
                return {
                    let text = try answer()
                    return "\(count.value > 0 && count.value == listener.refusedCount)\(text)"
                }
            }
            guard seen == "true" else {
                print(seen)
                exit(1)
            }
        }
    }

    @Test func `no descriptor left at all is survived`() async throws {
        await #expect(processExitsWith: .success) {
            let answer = try await onLoop { loop in
                var options = Listener.Options()
                options.reservedDescriptorCount = 0
                try limitDescriptors(toFurther: 64)
                let listener = try Listener(at: .tcp(host: "127.0.0.1", port: 0), on: loop, options: options) {
                    connection in
                    connection.start(.echo)
                    _ = connection.write(Array("TELLTALE 1\n".utf8))
                }
                let port = listener.port
                return try SocketPeer(of: listener) { first in
                    var lines = [try first.receiveLine()]
                    let unlucky = try RawSocket()
                    var fillers: [CInt] = []
                    while true {
                        let filler = dup(0)
                        guard filler >= 0 else { break }
                        fillers.append(filler)
                    }
                    try unlucky.connect(port: port)
                    // Sent away by the spare descriptor: an end, or a reset.
                    lines.append((try? unlucky.receiveLine()) ?? "")
                    try first.send("still here\n")
                    lines.append(try first.receiveLine())
                    for filler in fillers { close(filler) }
                    lines.append(try RawSocket(port: port).receiveLine())
                    return lines.joined(separator: "|")
                }.result(on: loop, holding: listener)
            }
            guard answer == "TELLTALE 1||still here|TELLTALE 1" else {
                print(answer)
                exit(1)
            }
        }
    }

    // MARK: Unix sockets

    @Test func `a stale socket file is replaced, and removed at the end`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("telltale.sock")
        try leaveStaleSocket(at: path)
        #expect(FileManager.default.fileExists(atPath: path))
        let text = try await onLoop { loop in
            let listener = try Listener(at: .unix(path: path), on: loop) { $0.start(.echo) }
            let received = Box("")
            let attempt = try ConnectAttempt(to: .unix(path: path), on: loop) { result in
                guard case .success(let connection) = result else { return loop.stop() }
                connection.start(
                    ConnectionHandlers(
                        onData: { connection, bytes in
                            received.value = String(decoding: (0..<bytes.count).map { bytes[$0] }, as: UTF8.self)
                            connection.close()
                        }, onEnd: { _ in }, onWritable: { _ in }, onClosed: { _, _ in loop.stop() }))
                _ = connection.write(Array("through a file".utf8))
            }
            return {
                withExtendedLifetime((listener, attempt)) {}
                return received.value
            }
        }
        #expect(text == "through a file")
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func `a socket with a listener is left alone`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("telltale.sock")
        let code = try await onLoop { loop in
            let first = try Listener(at: .unix(path: path), on: loop) { _ in }
            loop.stop()
            return {
                let error = #expect(throws: UVError.self) { try Listener(at: .unix(path: path), on: loop) { _ in } }
                #expect(FileManager.default.fileExists(atPath: path))
                return withExtendedLifetime(first) { error?.code }
            }
        }
        #expect(code == .addressInUse)
    }

    @Test func `a file that is no socket is never removed`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("precious")
        try Data("text".utf8).write(to: URL(filePath: path))
        let code = try await onLoop { loop in
            loop.stop()
            return { #expect(throws: UVError.self) { try Listener(at: .unix(path: path), on: loop) { _ in } }?.code }
        }
        #expect(code == .addressInUse)
        #expect(try Data(contentsOf: URL(filePath: path)) == Data("text".utf8))
    }

    @Test func `a path too long for a socket is refused, not cut`() async throws {
        let path = "/tmp/" + String(repeating: "x", count: 120)
        let code = try await onLoop { loop in
            loop.stop()
            return { #expect(throws: UVError.self) { try Listener(at: .unix(path: path), on: loop) { _ in } }?.code }
        }
        #expect(code == .nameTooLong)
    }

    /// The remains of a killed process: a socket file without a listener.
    private func leaveStaleSocket(at path: String) throws {
        let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { field in
            for (index, byte) in path.utf8.enumerated() { unsafe field[index] = byte }
        }
        let status = unsafe withUnsafePointer(to: address) { address in
            unsafe bind(
                descriptor, UnsafeRawPointer(address).assumingMemoryBound(to: sockaddr.self),
                socklen_t(MemoryLayout<sockaddr_un>.size))
        }
        try #require(status == 0)
        close(descriptor)
    }
}

/// Sets how many descriptors this process may have beyond those that are open: it may have inherited any.
private func limitDescriptors(toFurther count: rlim_t) throws {
    let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { rlim_t($0) }
    // An inherited descriptor may have a high number, and each free number below it would be one more descriptor. The highest
    // may be that of the list of the folder, which is closed by now.
    let highest = open.max() ?? 0
    var filler = dup(0)
    while filler >= 0, filler < highest { filler = dup(0) }
    try #require(filler >= highest)
    close(filler)
    let limit = highest + 1 + count
    var limits = rlimit(rlim_cur: limit, rlim_max: limit)
    let status = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
    try #require(status == 0)
}
