import Foundation
import Glibc
import TelltaleWire
import TestSupport
import Testing

/// Any input over a socket is answered or closed cleanly, and disturbs no other client (promises.md of the guide).
@Suite(.serialized)
struct HostileInputTests {
    @Test func `a line that never ends is refused at its first byte too many`() async throws {
        try await withLastingDaemon { daemon in
            let peer = try daemon.greetedPeer()
            try peer.send("PING id=1")
            try peer.socket.send("PING " + String(repeating: "x", count: 65_531))
            #expect(peer.next() == .line("PONG id=1"))
            try peer.socket.send("x")
            try expectFatal(.lineTooLong, peer)

            let megabytes = try daemon.greetedPeer()
            let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 65_536)
            for _ in 0..<64 { try? megabytes.socket.send(piece) }
            #expect(daemon.residentByteCount < 200 << 20)
        }
    }

    @Test func `a line of exactly the limit is taken, with LF and with CRLF`() async throws {
        try await withLastingDaemon { daemon in
            let peer = try daemon.greetedPeer()
            for ending in ["\n", "\r\n"] {
                let comment = "#" + String(repeating: "x", count: 65_535)
                try peer.socket.send(comment + ending)
                let attributes = String(repeating: " a=1", count: 16_382)
                try peer.socket.send("PING" + attributes + " bc" + ending)
                #expect(try peer.receive().errorCode == .badAttribute)
                #expect(try peer.ask("PING id=1")["id"] == "1")
            }
        }
    }

    @Test func `requests that come byte by byte are understood`() async throws {
        try await withLastingDaemon { daemon in
            let peer = try daemon.greetedPeer()
            let lines = [
                "HELLO id=1 client=slow\r\n", "# comment\n", "\n",
                #"EVT errand/1 type=start id=2 {"attributes":{"é":"☕"}}"# + "\r\n", "GET errand/1 id=3\n",
                "PING id=4\n",
            ]
            for byte in lines.joined().utf8 { try peer.socket.send([byte]) }
            for id in ["1", "2", "3"] {
                let reply = try peer.receive()
                #expect(reply.verb == "OK" && reply["id"] == id)
            }
            #expect(try peer.receive().verb == "PONG")
        }
    }

    @Test(
        "A byte that may not be there is fatal wherever it stands", .nightly,
        arguments: [0x00, 0x09, 0x1B, 0x7F, 0xFF, 0x80, 0x0D])
    func strayByte(_ byte: UInt8) async throws {
        try await withLastingDaemon { daemon in
            let line = Array(#"EVT errand/1 type=start eid=1 {"attributes":{"a":"é"}}"#.utf8)
            for position in 0..<line.count {
                let peer = try daemon.greetedPeer()
                try peer.socket.send(Array(line[..<position]) + [byte] + Array(line[position...]) + Array("\n".utf8))
                let reply = try peer.receive()
                #expect(reply.errorCode == .badLine || reply.errorCode == .badUTF8, "at \(position): \(reply)")
                #expect(reply["fatal"] == "1")
                #expect(peer.next() == .end)
            }
            #expect(try daemon.greetedPeer().ask("GET errand/1").errorCode == .unknownKey)
        }
    }

    @Test(
        "JSON that nobody should send is refused, and the connection stays", .nightly,
        arguments: [
            #"{"a":"# + String(repeating: "[", count: 60_000),
            #"{"a":"# + String(repeating: "[", count: 20_000) + String(repeating: "]", count: 20_000) + "}",
            String(repeating: #"{"a":"#, count: 10_000), #"{"attributes":{"a":1,"b":2,"a":3}}"#,
            #"{"attributes":{"a":1e400}}"#, #"{"attributes":{"a":"# + String(repeating: "9", count: 5000) + "}}",
            #"{"attributes":{"a":-9007199254740992}}"#, #"{"stale-date":1e308}"#, #"{"stale-date":-1e19}"#,
            #"{"relevance-score":1e309}"#, #"{"attributes":{"a":"\ud800"}}"#, #"{"attributes":{"a":"\x"}}"#, "{}{}",
            #"{"a":nan}"#, "{\"a\":'b'}", "{,}", #"{"a" 1}"#, #"{"a":1,}"#,
        ])
    func badJSON(tail: String) async throws {
        try await withLastingDaemon { daemon in
            let peer = try daemon.greetedPeer()
            let reply = try peer.ask("EVT errand/1 type=start id=1 \(tail)")
            #expect(reply.errorCode == .badJSON)
            #expect(reply["id"] == "1")
            #expect(try peer.ask("PING").verb == "PONG")
        }
    }

    @Test func `ten thousand attributes are ignored, and as many as fit are named`() async throws {
        try await withLastingDaemon { daemon in
            let peer = try daemon.greetedPeer()
            // Three letters and digits each, so that ten thousand stand in one line.
            let letters = Array("abcdefghijklmnopqrstuvwxyz0123456789")
            let attributes = (0..<10_000).map { " \(letters[$0 / 1296])\(letters[$0 / 36 % 36])\(letters[$0 % 36])=1" }
            let reply = try peer.ask("PING id=1" + attributes.joined())
            #expect(reply.verb == "PONG")
            #expect(reply["ignored"]?.hasPrefix("aaa,aab,aac,") == true)
        }
    }

    @Test(.nightly) func `a flood of bad requests is answered in order`() async throws {
        try await withLastingDaemon { daemon in
            let peer = try daemon.greetedPeer()
            let count = 20_000
            let text = (0..<count).map { "LEVITATE id=\($0)\n" }.joined()
            let socket = peer.socket
            try inBackground {
                try socket.send(text)
            } during: {
                for number in 0..<count {
                    let reply = try peer.receive()
                    guard reply["id"] == "\(number)", reply.errorCode == .unknownVerb else {
                        Issue.record("\(number): \(reply)")
                        break
                    }
                }
            }
        }
    }

    @Test(.nightly) func `a client that does not read costs bounded memory, and gets every answer in the end`()
        async throws
    {
        try await withLastingDaemon { daemon in
            let peer = try daemon.greetedPeer()
            let count = 200_000
            let text = (0..<count).map { "PING id=\($0)\n" }.joined()
            let before = daemon.residentByteCount
            let socket = peer.socket
            try inBackground {
                try socket.send(text)
            } during: {
                let reply = try daemon.greetedPeer().ask("PING")
                #expect(reply.verb == "PONG")
                #expect(daemon.residentByteCount - before < 64 << 20)
                for number in 0..<count {
                    guard peer.next() == .line("PONG id=\(number)") else {
                        Issue.record("\(number) is missing")
                        break
                    }
                }
            }
        }
    }

    @Test(.nightly) func `connections by the thousand come and go, and leave nothing`() async throws {
        try await withLastingDaemon { daemon in
            let witness = try daemon.greetedPeer()
            let descriptors = daemon.openDescriptorCount
            for _ in 0..<10 {
                var peers: [Peer] = []
                for number in 0..<300 {
                    let peer = try Peer(port: daemon.port)
                    switch number % 4 {
                    case 0: try peer.socket.send("SUB *\nEVT errand/1 ty")
                    case 1: try peer.socket.send([0xFF])
                    case 2: peer.socket.shutdownWrite()
                    case _: break
                    }
                    peers.append(peer)
                }
                #expect(try witness.ask("PING").verb == "PONG")
            }
            // The daemon notices each of them in its own time; the witness's barrier says when.
            let deadline = Date.now.addingTimeInterval(patience)
            while daemon.openDescriptorCount > descriptors, Date.now < deadline {
                #expect(try witness.ask("PING").verb == "PONG")
                Thread.sleep(forTimeInterval: 0.05)
            }
            #expect(daemon.openDescriptorCount <= descriptors)
            #expect(try witness.ask("GET errand/1").errorCode == .unknownKey)
        }
    }

    @Test func `a connection has 256 subscriptions`() async throws {
        try await withLastingDaemon { daemon in
            let peer = try daemon.greetedPeer()
            for number in 1...256 {
                #expect(try peer.ask("SUB errand/\(number)")["sub"] == "\(number)")
            }
            #expect(try peer.ask("SUB errand/257 id=x").errorCode == .limitSubscriptions)
            #expect(try peer.ask("UNSUB sub=7").verb == "OK")
            #expect(try peer.ask("SUB errand/257")["sub"] == "257")
        }
    }

    @Test func `a line that was begun and never ended is no request`() async throws {
        try await withLastingDaemon { daemon in
            let peer = try daemon.greetedPeer()
            try peer.socket.send("PING id=1\nEVT errand/1 type=start")
            peer.socket.shutdownWrite()
            #expect(peer.receiveRest() == ["PONG id=1"])
            #expect(try daemon.greetedPeer().ask("GET errand/1").errorCode == .unknownKey)
        }
    }

    // MARK: -

    private func withLastingDaemon(_ body: @escaping @Sendable (DaemonProcess) throws -> Void) async throws {
        try await withDaemon { daemon in
            try body(daemon)
            // It still serves, and it ends in order.
            #expect(try daemon.greetedPeer().ask("PING").verb == "PONG")
            daemon.send(SIGTERM)
            #expect(daemon.waitForExit() == 0, "\(daemon.standardError.suffix(500))")
        }
    }

    /// Runs `work` on another thread meanwhile, so that neither side waits for the other's buffers.
    private func inBackground(_ work: @escaping @Sendable () throws -> Void, during body: () throws -> Void) throws {
        let done = DispatchSemaphore(value: 0)
        Thread {
            try? work()
            done.signal()
        }.start()
        try body()
        #expect(done.wait(timeout: .now() + patience) == .success)
    }
}

private func expectFatal(_ code: ErrorCode, _ peer: Peer) throws {
    let reply = try peer.receive()
    #expect(reply.errorCode == code)
    #expect(reply["fatal"] == "1")
    #expect(peer.next() == .end)
}
