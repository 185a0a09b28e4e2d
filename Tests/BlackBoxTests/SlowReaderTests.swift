import Foundation
import TelltaleModel
import TelltaleWire
import TestSupport
import Testing

/// The number of superseded rows between a slow reader and the newest row.
@Suite(.serialized, .endsOneDay, .nightly)
struct SlowReaderTests {
    private static let keyCount = 20
    private static let eventCount = 20_000
    /// Half a second of 500 lines a second.
    private static let staleLineLimit = 250

    @Test func `a reader of 500 lines a second is at most half a second behind, however long it was slow`() async throws
    {
        try await onOwnThread {
            // On a busy machine the writer takes longer than a reader may be stuck.
            let daemon = try DaemonProcess(["--stuck-reader", "3600000", "--heartbeat", "3600000"])
            let writer = try greeted(Peer(port: daemon.port))
            for key in 0..<Self.keyCount { _ = try writer.ask("EVT errand/\(key) type=start") }
            // The receive buffer that the protocol's page advises for slow readers.
            let reader = try greeted(Peer(port: daemon.port, receiveBufferByteCount: 16_384))
            #expect(try reader.ask("SUB errand/*").verb == "OK")

            // All the while the reader takes nothing.
            let padding = String(repeating: "x", count: 100)
            for start in stride(from: 1, through: Self.eventCount, by: 500) {
                let numbers = start..<start + 500
                try writer.socket.send(
                    numbers.map {
                        #"EVT errand/\#($0 % Self.keyCount) type=update {"content-state":{"n":\#($0),"padding":"\#(padding)"}}"#
                            + "\n"
                    }.joined())
                for _ in numbers { #expect(try writer.receive().verb == "OK") }
            }

            let newest = Self.eventCount + 1 - Self.keyCount
            var missing = Self.keyCount
            var staleLines = 0
            while missing > 0 {
                let line = try reader.receive()
                guard line.verb == "UPD" || line.verb == "SNAP" else { continue }
                if line.tail?["content"]?["n"]?.integer ?? 0 >= newest { missing -= 1 } else { staleLines += 1 }
            }
            print("a reader that was slow: \(staleLines) superseded rows before the newest")
            #expect(staleLines <= Self.staleLineLimit)
        }
    }

    private func greeted(_ peer: Peer) throws -> Peer {
        #expect(try peer.receive().verb == "TELLTALE")
        return peer
    }
}
