import Foundation
import TelltaleModel
import TelltaleWire
import TestSupport
import Testing

/// P7: a connection that takes no byte is closed after `--stuck-reader` and not before, costs little memory until then, and
/// loses no state. By the clock of the machine, so at night; `HubTests/StuckReaderTests` has the rule by a clock of its own.
@Suite(.nightly, .endsOneDay)
struct StuckReaderTests {
    @Test func `a stuck reader is cut after its limit, a slow one is not, and both end on the newest state`()
        async throws
    {
        try await onOwnThread {
            let limit = 10.0
            let daemon = try DaemonProcess(["--sync", "off", "--stuck-reader", "\(Int(limit * 1_000))"])
            let stuck = try follower(of: daemon)
            let slow = try follower(of: daemon)
            let witness = try daemon.greetedPeer()
            let before = daemon.residentByteCount

            // More rows than all buffers on the way can hold, of few keys.
            let blockedBy = Date.now
            var round = 0
            func post() throws {
                round += 1
                let note = String(repeating: "x", count: 3_000)
                for key in 0..<10 {
                    let tail = #"{"content-state":{"round":\#(round),"note":"\#(note)"}}"#
                    #expect(try witness.ask("EVT errand/\(key) type=update \(tail)")["verdict"] == "applied")
                }
            }
            for key in 0..<10 { _ = try witness.ask("EVT errand/\(key) type=start") }
            // The slow reader takes half of its rows.
            func postAndRead() throws {
                try post()
                for _ in 0..<5 { _ = slow.peer.next(seconds: 1) }
            }
            for _ in 0..<300 { try postAndRead() }
            var cutAt: Date?
            while cutAt == nil, Date.now < blockedBy.addingTimeInterval(limit + patience) {
                try postAndRead()
                if try witness.ask("STATS").tail?["stuckReadersCut"] == 1 { cutAt = Date.now }
                Thread.sleep(forTimeInterval: 0.25)
            }
            let took = try #require(cutAt).timeIntervalSince(blockedBy)
            #expect(took >= limit, "cut after \(took) s")
            #expect(daemon.residentByteCount - before < 48 << 20)
            #expect(try witness.ask("STATS").tail?["stuckReadersCut"] == 1)

            // The stuck reader reconnects with its first cursor, and one resume brings it up to date.
            let back = try daemon.greetedPeer()
            try back.send("SUB errand/* from=\(stuck.cursor)")
            var newest: [String: Int64] = [:]
            while true {
                let line = try back.receive()
                if line.verb == "LIVE" { break }
                guard line.verb == "UPD", let key = line["key"] else { continue }
                newest[key] = line.tail?["content"]?["round"]?.integer
            }
            #expect(newest.count == 10)
            #expect(newest.values.allSatisfy { $0 == Int64(round) })

            // The slow reader, reading at full speed again, ends on the same rows.
            var rounds: [String: Int64] = [:]
            while rounds.count < 10 || rounds.values.contains(where: { $0 < Int64(round) }) {
                let line = try slow.peer.receive()
                guard line.verb == "UPD", let key = line["key"] else { continue }
                rounds[key] = line.tail?["content"]?["round"]?.integer
            }
            #expect(rounds.values.allSatisfy { $0 == Int64(round) })
        }
    }

    private struct Follower {
        let peer: Peer
        let cursor: String
    }

    /// Subscribes to every errand, with a small receive buffer in the system.
    private func follower(of daemon: DaemonProcess) throws -> Follower {
        let peer = try Peer(port: daemon.port, receiveBufferByteCount: 4_096)
        _ = try peer.receive()
        try peer.send("SUB errand/*")
        _ = try peer.receive()
        let live = try peer.receive()
        #expect(live.verb == "LIVE")
        return Follower(peer: peer, cursor: try #require(live["cur"]))
    }
}
