import Foundation
import Glibc
import TelltaleWire
import TestSupport
import Testing

/// Mutated lines, in plain and over TLS.
@Suite(.serialized, .nightly)
struct LineFuzzTests {
    @Test func `random bytes end in an answer or an end, never in silence for others`() async throws {
        try await withDaemon { daemon in
            try fuzz(daemon, port: daemon.port, seed: 11)
        }
    }

    @Test func `random bytes over TLS end so too`() async throws {
        try await onOwnThread {
            let bridge = try TLSBridge()
            try fuzz(bridge.daemon, port: bridge.port, seed: 12)
        }
    }

    @Test func `requests over TLS that come byte by byte are understood, and long lines are bounded`() async throws {
        try await onOwnThread {
            let bridge = try TLSBridge()
            let peer = try bridge.daemon.greetedPeer(port: bridge.port)
            for byte in "HELLO id=1 client=slow\r\n# comment\n\nGET errand/1 id=2\n".utf8 {
                try peer.socket.send([byte])
            }
            #expect(try peer.receive()["id"] == "1")
            #expect(try peer.receive().errorCode == .unknownKey)
            try peer.socket.send("PING " + String(repeating: "x", count: 70_000))
            #expect(try peer.receive().errorCode == .lineTooLong)
            #expect(peer.receiveRest().isEmpty)
        }
    }

    private func fuzz(_ daemon: DaemonProcess, port: UInt16, seed: UInt64) throws {
        let witness = try daemon.greetedPeer()
        var random = SeededGenerator(seed: seed)
        let seeds = VerbDescription.all.map(\.example).filter { !$0.hasPrefix("BYE") }
        for _ in 0..<150 {
            let peer = try daemon.greetedPeer(port: port)
            for _ in 0..<20 {
                var line = Array((seeds.randomElement(using: &random) ?? "PING").utf8)
                for _ in 0..<Int.random(in: 0...3, using: &random) {
                    let position = Int.random(in: 0..<line.count, using: &random)
                    line[position] = UInt8.random(in: .min ... .max, using: &random)
                }
                guard (try? peer.socket.send(line + Array("\n".utf8))) != nil else { break }
            }
            try? peer.socket.send("PING id=last\n")
            while case .line(let line) = peer.next() {
                if line.hasPrefix("PONG id=last") || line.contains("fatal=1") { break }
            }
        }
        #expect(try witness.ask("PING id=w")["id"] == "w")
        daemon.send(SIGTERM)
        #expect(daemon.waitForExit() == 0, "\(daemon.standardError.suffix(500))")
    }
}
