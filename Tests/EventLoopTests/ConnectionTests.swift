import TelltaleEventLoop
import TestSupport
import Testing

struct ConnectionTests {
    @Test("Bytes come back whole, however they were cut", arguments: [1, 7, 4096])
    func echo(pieceLength: Int) async throws {
        let text = String(repeating: "naïve ☕️ ", count: 500)
        let answer = try await onLoop { loop in
            let listener = try Listener(at: .tcp(host: "127.0.0.1", port: 0), on: loop) { $0.start(.echo) }
            let peer = try SocketPeer(of: listener) { socket in
                for start in stride(from: 0, to: text.utf8.count, by: pieceLength) {
                    let piece = Array(text.utf8)[start..<min(start + pieceLength, text.utf8.count)]
                    try socket.send(Array(piece))
                }
                socket.shutdownWrite()
                return try socket.receiveAll()
            }
            return peer.result(on: loop, holding: listener)
        }
        #expect(answer == text)
    }

    @Test func `a half-close is an end and no disconnect`() async throws {
        let answer = try await onLoop { loop in
            let listener = try Listener(at: .tcp(host: "127.0.0.1", port: 0), on: loop) { connection in
                // Ten thousand may be idle. The allocator may give 16 bytes more than it was asked for and rounds up to.
                #expect(allocatedByteCount(of: connection) < 128 + 32)
                connection.start(
                    ConnectionHandlers(
                        onData: { _, _ in },
                        onEnd: { connection in
                            #expect(connection.hasEnded)
                            #expect(connection.isOpen)
                            #expect(connection.write(Array("after the end".utf8)) == .written)
                            connection.close()
                        }, onWritable: { _ in }, onClosed: { _, _ in }))
            }
            let peer = try SocketPeer(of: listener) { socket in
                try socket.send("question")
                socket.shutdownWrite()
                return try socket.receiveAll()
            }
            return peer.result(on: loop, holding: listener)
        }
        #expect(answer == "after the end")
    }

    @Test func `a peer that never reads costs one outstanding write, and its progress is seen`() async throws {
        struct Seen: Sendable {
            var outcome: Connection.WriteOutcome?
            var pendingAtFirst = 0
            var wasWritable = true
            var stalledBeforeReading: Int64 = -1
            var stalledWhileReading: Int64 = -1
            var finalCount: UInt64 = 0
        }
        let size = 32 << 20
        let seen = try await onLoop { loop in
            let state = Box(Seen())
            let accepted = Box<Connection?>(nil)
            let listener = try Listener(at: .tcp(host: "127.0.0.1", port: 0), on: loop) { connection in
                accepted.value = connection
                connection.start(
                    ConnectionHandlers(
                        onData: { _, _ in }, onEnd: { _ in },
                        onWritable: { connection in
                            state.value.finalCount = connection.sentByteCount
                            connection.close()
                        }, onClosed: { _, _ in }))
                state.value.outcome = connection.write([UInt8](repeating: 0x61, count: size))
                state.value.pendingAtFirst = connection.pendingByteCount
                state.value.wasWritable = connection.isWritable
            }
            let mayRead = Gate()
            let mayReadOn = Gate()
            let peer = try SocketPeer(of: listener) { socket in
                mayRead.wait()
                var count = 0
                while count < size / 8 { count += try socket.receive().count }
                mayReadOn.wait()
                while count < size { count += try socket.receive().count }
                return String(count)
            }
            let watch = try TimerHandle(on: loop) { timer in
                guard let connection = accepted.value else { return }
                let stalled = connection.stalledMilliseconds()
                if state.value.stalledBeforeReading < 0 {
                    // Long enough that no byte in flight can still be acknowledged.
                    guard stalled >= 150 else { return }
                    state.value.stalledBeforeReading = stalled
                    mayRead.open()
                } else if stalled == 0, state.value.stalledWhileReading < 0 {
                    // Progress counts from the check that finds it, however late that is.
                    state.value.stalledWhileReading = stalled
                    mayReadOn.open()
                }
            }
            watch.scheduleRepeating(everyMilliseconds: 5)
            let result = peer.result(on: loop, holding: (listener, watch))
            return {
                let received = try result()
                #expect(received == String(size))
                return state.value
            }
        }
        #expect(seen.outcome == .pending)
        #expect(!seen.wasWritable)
        #expect(seen.pendingAtFirst > 0 && seen.pendingAtFirst < size)
        #expect(seen.stalledBeforeReading >= 150)
        #expect(seen.stalledWhileReading == 0)
        #expect(seen.finalCount == UInt64(size))
    }

    @Test func `closing twice closes once, and reports once, later`() async throws {
        let reasons = try await onLoop { loop in
            let reasons = Box<[Connection.CloseReason]>([])
            let listener = try Listener(at: .tcp(host: "127.0.0.1", port: 0), on: loop) { connection in
                connection.start(
                    ConnectionHandlers(
                        onData: { _, _ in }, onEnd: { _ in }, onWritable: { _ in },
                        onClosed: { connection, reason in
                            reasons.value.append(reason)
                            connection.close()
                        }))
                connection.close()
                connection.close()
                connection.finish(lingerMilliseconds: 10)
                connection.resumeReading()
                #expect(connection.write([1]) == .closed)
                #expect(reasons.value.isEmpty)
            }
            let peer = try SocketPeer(of: listener) { try $0.receiveAll() }
            let result = peer.result(on: loop, holding: listener)
            return {
                _ = try result()
                return reasons.value
            }
        }
        #expect(reasons == [.closed])
    }

    @Test func `closing with a write outstanding frees it and reports the close alone`() async throws {
        let calls = try await onLoop { loop in
            let calls = Box<[String]>([])
            let listener = try Listener(at: .tcp(host: "127.0.0.1", port: 0), on: loop) { connection in
                connection.start(
                    ConnectionHandlers(
                        onData: { _, _ in }, onEnd: { _ in }, onWritable: { _ in calls.value.append("writable") },
                        onClosed: { _, reason in
                            calls.value.append("closed \(reason)")
                            loop.stop()
                        }))
                #expect(connection.write([UInt8](repeating: 0, count: 32 << 20)) == .pending)
                connection.close()
            }
            let socket = try RawSocket(port: listener.port)
            return {
                withExtendedLifetime((listener, socket)) {}
                return calls.value
            }
        }
        #expect(calls == ["closed closed"])
    }

    @Test func `a peer's reset is reported as a failure`() async throws {
        let reason = try await onLoop { loop in
            let reason = Box<Connection.CloseReason?>(nil)
            let listener = try Listener(at: .tcp(host: "127.0.0.1", port: 0), on: loop) { connection in
                connection.start(
                    ConnectionHandlers(
                        onData: { _, _ in }, onEnd: { $0.close() }, onWritable: { _ in },
                        onClosed: {
                            reason.value = $1
                            loop.stop()
                        }))
                // Unread bytes at its close make the peer's system send a reset.
                _ = connection.write(Array("unread".utf8))
            }
            let peer = try SocketPeer(of: listener) { socket in
                socket.waitUntilReadable()
                return ""
            }
            let result = peer.result(on: nil, holding: listener)
            return {
                _ = try result()
                return reason.value
            }
        }
        guard case .failed(let error) = reason else { return #expect(reason == nil, "should have failed") }
        #expect(error.code == .connectionReset)
        #expect(error.description == "cannot read from a connection: connection reset by peer (ECONNRESET)")
    }

    @Test func `finishing lets the last line arrive although the peer keeps sending`() async throws {
        let answer = try await onLoop { loop in
            let listener = try Listener(at: .tcp(host: "127.0.0.1", port: 0), on: loop) { connection in
                connection.start(
                    ConnectionHandlers(
                        onData: { connection, _ in
                            #expect(connection.write(Array("ERR code=bad_line fatal=1\n".utf8)) == .written)
                            connection.finish(lingerMilliseconds: 5000)
                        }, onEnd: { _ in }, onWritable: { _ in }, onClosed: { _, _ in }))
            }
            let peer = try SocketPeer(of: listener) { socket in
                for _ in 0..<100 { try socket.send("\u{1}") }
                let answer = try socket.receiveAll()
                socket.shutdownWrite()
                return answer
            }
            return peer.result(on: loop, holding: listener)
        }
        #expect(answer == "ERR code=bad_line fatal=1\n")
    }

    @Test func `reading stops while paused, and goes on where it was`() async throws {
        let received = try await onLoop { loop in
            let received = Box<[Int]>([])
            let listener = try Listener(at: .tcp(host: "127.0.0.1", port: 0), on: loop) { connection in
                let resume = Box<TimerHandle?>(nil)
                resume.value = try? TimerHandle(on: loop) { _ in
                    received.value.append(0)
                    connection.resumeReading()
                    resume.value = nil
                }
                connection.start(
                    ConnectionHandlers(
                        onData: { connection, bytes in
                            received.value.append(bytes.count)
                            guard received.value.count == 1 else { return }
                            connection.pauseReading()
                            _ = connection.write([0x0A])
                            resume.value?.schedule(afterMilliseconds: 50)
                        }, onEnd: { $0.close() }, onWritable: { _ in }, onClosed: { _, _ in loop.stop() }))
            }
            let peer = try SocketPeer(of: listener) { socket in
                try socket.send("first")
                _ = try socket.receiveLine()
                try socket.send("second")
                socket.shutdownWrite()
                return try socket.receiveAll()
            }
            let result = peer.result(on: nil, holding: listener)
            return {
                _ = try result()
                return received.value
            }
        }
        #expect(received == [5, 0, 6])
    }

    @Test func `a client connects by name, talks and closes`() async throws {
        let text = try await onLoop { loop in
            let listener = try Listener(at: .tcp(host: "localhost", port: 0), on: loop) { $0.start(.echo) }
            let received = Box<[UInt8]>([])
            let attempt = try ConnectAttempt(to: .tcp(host: "localhost", port: listener.port), on: loop) { result in
                guard case .success(let connection) = result else { return loop.stop() }
                connection.start(
                    ConnectionHandlers(
                        onData: { connection, bytes in
                            for index in bytes.indices { received.value.append(bytes[index]) }
                            connection.shutdownWrite()
                        }, onEnd: { $0.close() }, onWritable: { _ in }, onClosed: { _, _ in loop.stop() }))
                _ = connection.write(Array("by name".utf8))
            }
            return {
                withExtendedLifetime((listener, attempt)) {}
                return String(decoding: received.value, as: UTF8.self)
            }
        }
        #expect(text == "by name")
    }

    @Test func `connecting to a port without a listener is a clear error`() async throws {
        let error = try await onLoop { loop in
            let port = try Listener(at: .tcp(host: "127.0.0.1", port: 0), on: loop) { _ in }.port
            let error = Box<UVError?>(nil)
            let attempt = try ConnectAttempt(to: .tcp(host: "127.0.0.1", port: port), on: loop) { result in
                if case .failure(let failure) = result { error.value = failure }
                loop.stop()
            }
            return {
                withExtendedLifetime(attempt) {}
                return error.value
            }
        }
        #expect(error?.code == .connectionRefused)
        #expect(try #require(error).description.hasPrefix("cannot connect to 127.0.0.1:"))
    }

    @Test("An attempt that is given up never answers", arguments: ["127.0.0.1", "localhost"])
    func givenUp(host: String) async throws {
        let wasCalled = try await onLoop { loop in
            let listener = try Listener(at: .tcp(host: "127.0.0.1", port: 0), on: loop) { $0.close() }
            let wasCalled = Box(false)
            _ = try ConnectAttempt(to: .tcp(host: host, port: listener.port), on: loop) { _ in wasCalled.value = true }
            let end = try TimerHandle(on: loop) { _ in loop.stop() }
            end.schedule(afterMilliseconds: 50)
            return {
                withExtendedLifetime((listener, end)) {}
                return wasCalled.value
            }
        }
        #expect(!wasCalled)
    }
}
