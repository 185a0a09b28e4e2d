import Hub
import TelltaleWire
import Testing

/// The words of a server of a cluster about itself, and the refusals of a standby.
struct NodeStatusTests {
    private func standby(
        leader: (String, String)? = ("n1", "10.0.0.1:7878"), serves: Bool = false
    ) throws -> HubHarness {
        let harness = try HubHarness()
        var status = ClusterStatus(node: "n2", role: .standby)
        status.leader = leader
        status.term = 7
        status.position = 12
        status.lag = 1
        status.peers = [
            .init(node: "n1", role: "leading", term: 7, position: 13, address: "10.0.0.1:7878", release: "1.2.0")
        ]
        status.serves = serves
        harness.hub.follow(at: harness.now)
        harness.hub.status = status
        return harness
    }

    @Test func `a standby greets with the history that it replays, and names the leader`() throws {
        let harness = try standby()
        let greeting = harness.connect().greeting
        #expect(greeting.hasPrefix("TELLTALE 1 epoch=6f3a91c2d0e4b577 seq=2 "))
        #expect(greeting.hasSuffix(" node=n2 role=standby leader=10.0.0.1:7878"))
        let lonely = try standby(leader: nil)
        #expect(lonely.connect().greeting.hasSuffix(" node=n2 role=standby"))
    }

    @Test func `a leader greets with its term, and decides`() throws {
        let harness = try HubHarness()
        var status = ClusterStatus(node: "n1", role: .leader)
        status.term = 7
        harness.hub.status = status
        let client = harness.connect()
        #expect(client.greeting.hasSuffix(" node=n1 role=leader term=7"))
        #expect(
            harness.send("EVT coffee-order/1 type=start", from: client).last?.hasPrefix("OK verdict=applied") == true)
    }

    @Test(
        "A standby that has yet to read the log answers nothing, and tells where to go",
        arguments: [
            "EVT coffee-order/1 type=start", "SUB *", "UNSUB sub=1", "GET coffee-order/1", "LIST", "KINDS",
            "KIND coffee-order",
            "HISTORY coffee-order/1", "TRAIT locked=yes", "DISMISS coffee-order/1", "SEEN coffee-order/1 rev=1",
            "OPEN coffee-order/1", "SET porch-light/front value=on", "PRESS doorbell/front", "SERVE porch-light",
            "DONE op=o1",
            "FAIL op=o1", "REPORT porch-light/front value=on",
        ])
    func refused(request: String) throws {
        let harness = try standby()
        let client = harness.connect()
        let count = harness.records.count
        #expect(
            harness.send(request + " id=7", from: client) == [
                #"ERR id=7 code=not_leader retry=now {"msg":"n1 leads at 10.0.0.1:7878","leader":"10.0.0.1:7878"}"#
            ])
        #expect(harness.records.count == count)
    }

    @Test(
        "A standby that has read the log decides nothing, and tells where to go",
        arguments: [
            "EVT coffee-order/1 type=start", "DISMISS coffee-order/1", "SEEN coffee-order/1 rev=1",
            "SET porch-light/front value=on", "PRESS doorbell/front", "SERVE porch-light", "DONE op=o1", "FAIL op=o1",
            "REPORT porch-light/front value=on", "RELOAD kitchen/*", "TILE @hall/1 do=remove", "HANDOVER",
        ])
    func refusedWhereServing(request: String) throws {
        let harness = try standby(serves: true)
        let client = harness.connect()
        let count = harness.records.count
        #expect(
            harness.send(request + " id=7", from: client).first?.hasPrefix("ERR id=7 code=not_leader retry=now ") == true)
        #expect(harness.records.count == count)
    }

    @Test func `a standby that has read the log answers reads, and sends on whoever has seen more`() throws {
        let harness = try standby(serves: true)
        let client = harness.connect()
        for request in ["LIST", "KINDS", "KIND coffee-order", "TRAIT locked=yes"] {
            #expect(harness.send(request, from: client).last?.hasPrefix("ERR") == false, "\(request)")
        }
        #expect(harness.send("GET coffee-order/1", from: client).first?.contains("code=unknown_key") == true)
        let cursor = try harness.cursor(of: "SUB *", from: client)
        let ahead = cursor.replacing(":2:", with: ":3:")
        #expect(cursor != ahead)
        #expect(harness.send("SUB * from=\(ahead)", from: client).first?.contains("code=not_leader") == true)
        #expect(harness.send("SUB * from=\(cursor)", from: client).first?.hasPrefix("OK sub=") == true)
    }

    @Test func `where no leader is known, none is named`() throws {
        let harness = try standby(leader: nil)
        let client = harness.connect()
        #expect(
            harness.send("GET coffee-order/1", from: client) == [
                #"ERR code=not_leader retry=now {"msg":"n2 does not lead, and knows no node that does"}"#
            ])
    }

    @Test func `a standby answers HELLO PING HELP STATS BYE`() throws {
        let harness = try standby()
        let client = harness.connect()
        #expect(harness.send("HELLO client=x", from: client).last?.hasPrefix("OK conn=") == true)
        #expect(harness.send("PING id=2", from: client) == ["PONG id=2"])
        #expect(harness.send("HELP", from: client).last?.hasPrefix("OK") == true)
        let stats = try #require(harness.send("STATS", from: client).last)
        #expect(
            stats.contains(
                #""cluster":{"node":"n2","role":"standby","term":7,"leader":{"node":"n1","address":"10.0.0.1:7878"},"position":12,"lag":1,"nodes":[{"node":"n1","role":"leading","term":7,"position":13,"address":"10.0.0.1:7878","release":"1.2.0"}]}"#
            ))
        #expect(stats.contains(#""seq":2,"#))
        #expect(harness.send("nonsense", from: client).last?.hasPrefix("ERR code=unknown_verb") == true)
        harness.post("BYE", from: client)
        harness.turn()
        #expect(client.isFinished)
    }

    @Test func `a server by itself reports nothing of a cluster`() throws {
        let harness = try HubHarness()
        let client = harness.connect()
        #expect(client.greeting.hasSuffix(" server=\(Release.version)"))
        #expect(harness.send("STATS", from: client).last?.contains("cluster") == false)
    }
}
