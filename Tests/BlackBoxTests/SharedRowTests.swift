import TelltaleModel
import TelltaleWire
import TestSupport
import Testing

/// A row for several followers is in memory once. Over real sockets each follower gets those bytes, and no session gets
/// another one's.
struct SharedRowTests {
    @Test func `followers get the shared row, with other sessions' bytes before them in the same flush`()
        async throws
    {
        try await withDaemon { daemon in
            let shop = try daemon.greetedPeer()
            #expect(try shop.ask("EVT errand/1 type=start")["verdict"] == "applied")
            // The rows of a person's device are never shared. One such device is sent its row before the first follower that
            // shares, and one after the last.
            let first = try follower(of: ["errand/0", "errand/1"], as: "HELLO account=ann", daemon)
            let sharing = try (0..<8).map { _ in try follower(of: ["errand/1"], daemon) }
            let last = try follower(of: ["errand/0", "errand/1"], as: "HELLO account=bob", daemon)

            for round in 1...30 {
                let tail = #"{"content-state":{"round":\#(round)}}"#
                // One piece, so that one batch decides both and one flush sends the replies and the rows.
                try shop.send("PING id=p\(round)\nEVT errand/1 type=update id=e\(round) \(tail)")
                let pong = try shop.receive()
                #expect(pong.verb == "PONG" && pong["id"] == "p\(round)")
                let reply = try shop.receive()
                #expect(reply["id"] == "e\(round)" && reply["verdict"] == "applied")
                for (peer, subscription) in [(first, "2"), (last, "2")] + sharing.map({ ($0, "1") }) {
                    let row = try peer.receive()
                    #expect(row.verb == "UPD" && row["key"] == "errand/1", "\(row)")
                    #expect(row["sub"] == subscription, "\(row)")
                    #expect(row["rev"] == reply["rev"], "\(row)")
                    #expect(row.tail?["content"]?["round"]?.integer == Int64(round), "\(row)")
                }
            }
        }
    }

    private func follower(of keys: [String], as hello: String = "HELLO", _ daemon: DaemonProcess) throws -> Peer {
        let peer = try daemon.greetedPeer()
        #expect(try peer.ask(hello).verb == "OK")
        for key in keys {
            try peer.send("SUB \(key)")
            while try peer.receive().verb != "LIVE" {}
        }
        return peer
    }
}
