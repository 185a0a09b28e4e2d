import Foundation
import TestSupport
import Testing

@testable import TelltaleEventLoop

struct TLSTests {
    @Test func `lines that come with the last flight of a handshake are delivered, and end no connection`() async throws
    {
        let text = (0..<512).map { "EVT coffee-order/\($0) type=start \(String(repeating: "x", count: 32))\n" }.joined()
        #expect(text.utf8.count > 32_000)
        let folder = try certificates()
        let received = try await onLoop { loop in
            var options = Listener.Options()
            let context = try TLSContext(certificate: folder.path("leaf.pem"), key: folder.path("leaf.key.pem"))
            options.tls = { context }
            let received = Box("")
            let listener = try Listener(at: .tcp(host: "127.0.0.1", port: 0), on: loop, options: options) {
                connection in
                connection.start(
                    ConnectionHandlers(
                        onData: { _, bytes in
                            received.value += String(decoding: (0..<bytes.count).map { bytes[$0] }, as: UTF8.self)
                            if received.value.utf8.count >= text.utf8.count { loop.stop() }
                        }, onEnd: { $0.close() }, onWritable: { _ in }, onClosed: { _, _ in loop.stop() }))
            }
            let authority = try TLSContext(authorities: folder.path("ca.pem"))
            // The client writes its lines in the turn in which it says Finished, before the listener reads that.
            let attempt = try ConnectAttempt(to: listener.endpoint, on: loop, tls: authority) { result in
                guard case .success(let connection) = result else { return loop.stop() }
                connection.start(
                    ConnectionHandlers(
                        onData: { _, _ in }, onEnd: { $0.close() }, onWritable: { _ in },
                        onClosed: { _, _ in loop.stop() }))
                _ = connection.write(Array(text.utf8))
            }
            return { withExtendedLifetime((listener, attempt, folder)) { received.value } }
        }
        #expect(received == text, "\(received.utf8.count) of \(text.utf8.count) bytes")
    }

    @Test
    func
        `a peer that asks for new keys again and again is cut, and one that sends as much as its keys are good for is not`()
        throws
    {
        let folder = try certificates()
        let context = try TLSContext(certificate: folder.path("leaf.pem"), key: folder.path("leaf.key.pem"))
        let authority = try TLSContext(authorities: folder.path("ca.pem"))
        let client = try #require(authority.session(expecting: "localhost"))
        let server = try #require(context.session(expecting: nil))
        for _ in 0..<4 {
            _ = client.handshake()
            if client.hasOutput { #expect(fed(client.takeOutput(), to: server)) }
            _ = server.handshake()
            if server.hasOutput { #expect(fed(server.takeOutput(), to: client)) }
        }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        func read() -> TLSSession.Plaintext {
            unsafe buffer.withUnsafeMutableBufferPointer { unsafe server.read(into: $0) }
        }
        func isCut(askingFor count: Int) -> Bool {
            for _ in 0..<count { #expect(client.updateKeys()) }
            #expect(fed(client.takeOutput(), to: server))
            while true {
                switch read() {
                case .bytes: continue
                case .none: return false
                case .ended, .failed: return true
                }
            }
        }
        #expect(!isCut(askingFor: 32))
        // Each 64 KiB of plaintext let it ask once more.
        let room = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 131_072)
        defer { unsafe room.deallocate() }
        for _ in 0..<3 {
            let plaintext = [UInt8](repeating: 7, count: 65_536)
            let count = unsafe client.encrypt(plaintext.span, into: room) ?? -1
            #expect(count >= 0)
            let ciphertext = unsafe count > 0 ? Array(room[..<count]) : client.takeOutput()
            #expect(fed(ciphertext, to: server))
            while case .bytes = read() {}
        }
        #expect(!isCut(askingFor: 3))
        #expect(isCut(askingFor: 2_000))
        // The rest was not looked at: an answer to each would wait.
        #expect(server.takeOutput().count < 64 * 40)
    }

    @Test func `a storm of handshakes holds no connection that has closed`() async throws {
        let folder = try certificates()
        let (openCount, closedCount) = (64, 512)
        let mostHeld: Int = try await onLoop { loop in
            let context = try TLSContext(certificate: folder.path("leaf.pem"), key: folder.path("leaf.key.pem"))
            let authority = try TLSContext(authorities: folder.path("ca.pem"))
            let client = try #require(authority.session(expecting: "localhost"))
            _ = client.handshake()
            let hello = client.takeOutput()
            let handshakes = try TLSHandshakes(on: loop, context: { context }, onFinished: { $0.close() })
            let accepted = Box<[Weak<Connection>]>([])
            let listener = try Listener(at: .tcp(host: "127.0.0.1", port: 0), on: loop) { connection in
                accepted.value.append(Weak(connection))
                handshakes.begin(connection)
            }
            let mostHeld = Box(0)
            let turn = try CheckHandle(on: loop) {
                let held = accepted.value.filter { $0.object?.isOpen == false }.count
                mostHeld.value = max(mostHeld.value, held)
            }
            // While one waits for its answer, all others wait for their steps: the queue never runs empty.
            let port = listener.port
            let peer = try SocketPeer(of: listener) { _ in
                func connect() throws -> RawSocket {
                    let socket = try RawSocket(port: port)
                    try socket.send(hello)
                    return socket
                }
                var sockets = try (0..<openCount).map { _ in try connect() }
                for number in 0..<closedCount {
                    let place = number % openCount
                    guard try !sockets[place].receive().isEmpty else { return "closed without an answer" }
                    sockets[place] = try connect()
                }
                return ""
            }
            let result = peer.result(on: loop, holding: (listener, turn, handshakes, folder))
            return {
                let fault = try result()
                #expect(fault == "")
                #expect(accepted.value.count > closedCount)
                return mostHeld.value
            }
        }
        // One that has closed may be in its last step while its peer has its next one open already.
        #expect(mostHeld <= 2 * openCount)
    }

    @Test func `a connection that is closed holds no session of TLS, in its handshake and behind it`() async throws {
        let folder = try certificates()
        let sessions: [Bool] = try await onLoop { loop in
            let context = try TLSContext(certificate: folder.path("leaf.pem"), key: folder.path("leaf.key.pem"))
            let closed = Box<[Connection]>([])
            var options = Listener.Options()
            options.tls = { context }
            let listener = try Listener(at: .tcp(host: "127.0.0.1", port: 0), on: loop, options: options) {
                connection in
                closed.value.append(connection)
                connection.close()
            }
            let attempts = Box<[ConnectAttempt]>([])
            let authority = try TLSContext(authorities: folder.path("ca.pem"))
            attempts.value = [
                // The server has closed it behind its handshake.
                try ConnectAttempt(to: listener.endpoint, on: loop, tls: authority) { result in
                    guard case .success(let connection) = result else { return loop.stop() }
                    connection.start(
                        ConnectionHandlers(
                            onData: { _, _ in }, onEnd: { $0.close() }, onWritable: { _ in },
                            onClosed: { connection, _ in
                                closed.value.append(connection)
                                loop.stop()
                            }))
                }
            ]
            return { withExtendedLifetime((listener, attempts, folder)) { closed.value.map { $0.tls != nil } } }
        }
        #expect(sessions == [false, false])
    }

    /// What has come of a first record, and whether it is enough for a step.
    @Test(arguments: [
        ([], false), ([22], false), ([22, 3, 1, 0], false), ([22, 3, 1, 0, 2], false), ([22, 3, 1, 0, 2, 1], false),
        ([22, 3, 1, 0, 2, 1, 0], true), ([22, 3, 1, 0, 2, 1, 0, 22], true), ([22, 3, 1, 0x40, 1], true),
        ([22, 3, 1, 0xFF, 0xFF], true), ([71], true), ([21, 3, 1], true),
    ])
    func `a first record is whole with its last byte, or where it can be none`(bytes: [UInt8], isWhole: Bool) {
        var opening = TLSOpening()
        for byte in bytes { opening.append([byte].span) }
        #expect(opening.isWhole == isWhole)
        #expect(opening.bytes == bytes)
    }

    @Test func `a large first record is moved a few times, and not with each of its parts`() {
        let record: [UInt8] = [22, 3, 1, 0x3F, 0xFB] + [UInt8](repeating: 1, count: 16_379)
        var opening = TLSOpening()
        var places: Set<Int> = []
        for byte in record {
            #expect(!opening.isWhole)
            opening.append([byte].span)
            places.insert(unsafe opening.bytes.withUnsafeBytes { Int(bitPattern: $0.baseAddress) })
        }
        #expect(opening.isWhole)
        #expect(places.count <= 16)
    }

    /// Nanoseconds between two turns, those of a handshake's step, and how many steps a turn takes.
    @Test(arguments: [(100_000, 120_000, 1), (800_000, 120_000, 1), (5_000_000, 120_000, 6), (40_000_000, 500_000, 10)])
    func `a turn takes one step of a handshake, and more when turns are long`(turn: Int64, step: Int64, count: Int) {
        var share = TurnShare()
        share.beginWork(at: 1_000)
        var now = 1_000 + turn
        share.beginTurn(at: now)
        var taken = 0
        repeat {
            taken += 1
            now += step
        } while share.hasTime(at: now)
        #expect(taken == count)
    }

    @Test(arguments: [[1, 70_000, 2, 65_536, 3], [300_000], [16_384, 16_385, 65_000]])
    func `writes of any length arrive whole and in order`(counts: [Int]) async throws {
        let text = zip(["a", "b", "c", "d", "e"], counts).map { String(repeating: $0, count: $1) }
        let folder = try certificates()
        let received = try await onLoop { loop in
            var options = Listener.Options()
            let context = try TLSContext(certificate: folder.path("leaf.pem"), key: folder.path("leaf.key.pem"))
            options.tls = { context }
            let next = Box(0)
            func writeOn(_ connection: Connection) {
                while connection.isWritable, next.value < text.count {
                    next.value += 1
                    _ = connection.write(Array(text[next.value - 1].utf8))
                }
            }
            let listener = try Listener(at: .tcp(host: "127.0.0.1", port: 0), on: loop, options: options) {
                connection in
                connection.start(
                    ConnectionHandlers(
                        onData: { _, _ in }, onEnd: { $0.close() }, onWritable: { writeOn($0) },
                        onClosed: { _, _ in loop.stop() }))
                writeOn(connection)
            }
            let received = Box("")
            let authority = try TLSContext(authorities: folder.path("ca.pem"))
            let attempt = try ConnectAttempt(to: listener.endpoint, on: loop, tls: authority) { result in
                guard case .success(let connection) = result else { return loop.stop() }
                connection.start(
                    ConnectionHandlers(
                        onData: { _, bytes in
                            received.value += String(decoding: (0..<bytes.count).map { bytes[$0] }, as: UTF8.self)
                            if received.value.utf8.count >= counts.reduce(0, +) { loop.stop() }
                        }, onEnd: { $0.close() }, onWritable: { _ in }, onClosed: { _, _ in loop.stop() }))
            }
            return { withExtendedLifetime((listener, attempt, folder)) { received.value } }
        }
        #expect(received == text.joined(), "\(received.utf8.count) of \(counts.reduce(0, +)) bytes")
    }

    @Test func `a key behind a passphrase is a fault that says what to do, and nothing is asked on a terminal`() throws
    {
        let folder = try certificates()
        let key = folder.path("encrypted.pem")
        try run(
            "openssl", "pkcs8", "-topk8", "-in", folder.path("leaf.key.pem"), "-passout", "pass:secret", "-out", key)
        let failure = #expect(throws: TLSContext.Failure.self) {
            try TLSContext(certificate: folder.path("leaf.pem"), key: key)
        }
        #expect(
            failure?.description
                == "the key is encrypted, and no passphrase is asked for; decrypt it: openssl pkey -in KEY -out FILE")
        #expect(throws: Never.self) {
            try TLSContext(certificate: folder.path("leaf.pem"), key: folder.path("leaf.key.pem"))
        }
    }
}

private struct Weak<Object: AnyObject> {
    weak var object: Object?

    init(_ object: Object) {
        self.object = object
    }
}

private func fed(_ bytes: [UInt8], to session: TLSSession) -> Bool { session.feed(bytes.span) }

/// A folder with the files of `Tools/package/dev-certificates`.
func certificates() throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try run(repositoryRoot.appending(path: "Tools/package/dev-certificates").path, folder.url.path)
    return folder
}

private func run(_ arguments: String...) throws {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = arguments
    process.standardInput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    try #require(process.terminationStatus == 0, "\(arguments)")
}
