import Hub
import TelltaleWire
import Testing

/// The words of a server of a cluster about itself, and the refusals of a standby.
struct StandingTests {
    private func standby(leader: (String, String)? = ("n1", "10.0.0.1:7878")) throws -> HubHarness {
        let house = try HubHarness()
        var standing = ClusterStanding(node: "n2", role: .standby)
        standing.leader = leader
        standing.term = 7
        standing.epoch = 0xAA
        standing.sequence = 41_870
        standing.position = 12
        standing.lag = 1
        standing.peers = [
            .init(node: "n1", role: "leading", term: 7, position: 13, address: "10.0.0.1:7878", release: "1.2.0")
        ]
        house.hub.standing = standing
        return house
    }

    @Test func `a standby greets with the history that it replays, and names the leader`() throws {
        let house = try standby()
        let greeting = house.connect().greeting
        #expect(greeting.hasPrefix("TELLTALE 1 epoch=00000000000000aa seq=41870 "))
        #expect(greeting.hasSuffix(" node=n2 role=standby leader=10.0.0.1:7878"))
        let lonely = try standby(leader: nil)
        #expect(lonely.connect().greeting.hasSuffix(" node=n2 role=standby"))
    }

    @Test func `a leader greets with its term, and decides`() throws {
        let house = try HubHarness()
        var standing = ClusterStanding(node: "n1", role: .leader)
        standing.term = 7
        house.hub.standing = standing
        let client = house.connect()
        #expect(client.greeting.hasSuffix(" node=n1 role=leader term=7"))
        #expect(house.send("EVT coffee-order/1 type=start", from: client).last?.hasPrefix("OK verdict=applied") == true)
    }

    @Test(
        "A standby decides nothing, and tells where to go",
        arguments: [
            "EVT coffee-order/1 type=start", "SUB *", "UNSUB sub=1", "GET coffee-order/1", "LIST", "KINDS",
            "KIND coffee-order",
            "HISTORY coffee-order/1", "TRAIT locked=yes", "DISMISS coffee-order/1", "SEEN coffee-order/1 rev=1",
            "OPEN coffee-order/1", "SET porch-light/front value=on", "PRESS doorbell/front", "SERVE porch-light",
            "DONE op=o1",
            "FAIL op=o1", "REPORT porch-light/front value=on",
        ])
    func refused(request: String) throws {
        let house = try standby()
        let client = house.connect()
        let count = house.records.count
        #expect(
            house.send(request + " id=7", from: client) == [
                #"ERR id=7 code=not_leader retry=now {"msg":"n1 leads at 10.0.0.1:7878","leader":"10.0.0.1:7878"}"#
            ])
        #expect(house.records.count == count)
    }

    @Test func `where no leader is known, none is named`() throws {
        let house = try standby(leader: nil)
        let client = house.connect()
        #expect(
            house.send("GET coffee-order/1", from: client) == [
                #"ERR code=not_leader retry=now {"msg":"n2 does not lead, and knows no node that does"}"#
            ])
    }

    @Test func `a standby answers HELLO PING HELP STATS BYE`() throws {
        let house = try standby()
        let client = house.connect()
        #expect(house.send("HELLO client=x", from: client).last?.hasPrefix("OK conn=") == true)
        #expect(house.send("PING id=2", from: client) == ["PONG id=2"])
        #expect(house.send("HELP", from: client).last?.hasPrefix("OK") == true)
        let stats = try #require(house.send("STATS", from: client).last)
        #expect(
            stats.contains(
                #""cluster":{"node":"n2","role":"standby","term":7,"leader":{"node":"n1","address":"10.0.0.1:7878"},"position":12,"lag":1,"nodes":[{"node":"n1","role":"leading","term":7,"position":13,"address":"10.0.0.1:7878","release":"1.2.0"}]}"#
            ))
        #expect(stats.contains(#""seq":41870,"#))
        #expect(house.send("nonsense", from: client).last?.hasPrefix("ERR code=unknown_verb") == true)
        house.post("BYE", from: client)
        house.turn()
        #expect(client.isFinished)
    }

    @Test func `a server by itself tells nothing of a cluster`() throws {
        let house = try HubHarness()
        let client = house.connect()
        #expect(client.greeting.hasSuffix(" server=\(Release.version)"))
        #expect(house.send("STATS", from: client).last?.contains("cluster") == false)
    }
}
