import Hub
import TelltaleModel
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
        harness.hub.stands(status, at: harness.now)
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

    @Test func `a standby that serves reads and forwards writes says that clients can stay`() throws {
        let harness = try standby(serves: true)
        var status = harness.hub.status ?? ClusterStatus(node: "", role: .standby)
        #expect(harness.connect().greeting.hasSuffix(" role=standby leader=10.0.0.1:7878"))
        // The link to the leader is there.
        status.leaderKey = 7
        harness.hub.stands(status, at: harness.now)
        harness.hub.linkConnected(at: harness.now)
        harness.hub.linkReceived(Array("OK term=7\n".utf8).span, at: harness.now)
        #expect(harness.connect().greeting.hasSuffix(" role=standby leader=10.0.0.1:7878 serves=1"))
        status.leader = nil
        harness.hub.stands(status, at: harness.now)
        #expect(harness.connect().greeting.hasSuffix(" node=n2 role=standby serves=1"))
        // It has yet to read the log.
        status.serves = false
        harness.hub.stands(status, at: harness.now)
        #expect(harness.connect().greeting.hasSuffix(" node=n2 role=standby"))
        (status.role, status.serves) = (.leader, true)
        harness.hub.stands(status, at: harness.now)
        #expect(harness.connect().greeting.hasSuffix(" node=n2 role=leader term=7"))
    }

    @Test func `a leader greets with its term, and decides`() throws {
        let harness = try HubHarness()
        var status = ClusterStatus(node: "n1", role: .leader)
        status.term = 7
        harness.hub.stands(status, at: harness.now)
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
            harness.send(request + " id=7", from: client).first?.hasPrefix("ERR id=7 code=not_leader retry=now ")
                == true)
        #expect(harness.records.count == count)
    }

    @Test func `a standby that has read the log answers reads`() throws {
        let harness = try standby(serves: true)
        let client = harness.connect()
        for request in ["LIST", "KINDS", "KIND coffee-order", "TRAIT locked=yes"] {
            #expect(harness.send(request, from: client).last?.hasPrefix("ERR") == false, "\(request)")
        }
        #expect(harness.send("GET coffee-order/1", from: client).first?.contains("code=unknown_key") == true)
        let cursor = try harness.cursor(of: "SUB *", from: client)
        #expect(harness.send("SUB * from=\(cursor)", from: client).first?.hasPrefix("OK sub=") == true)
    }

    // MARK: Clients that have seen more

    /// A leader, and a standby that has its first records.
    private func pair() throws -> (leader: HubHarness, standby: HubHarness) {
        let leader = try HubHarness()
        leader.send("EVT coffee-order/1 type=start", from: leader.connect())
        let standby = HubHarness(recovered: try leader.recovered(), records: leader.records, at: leader.time)
        var status = ClusterStatus(node: "n2", role: .standby)
        (status.leader, status.serves) = (("n1", "10.0.0.1:7878"), true)
        standby.hub.follow(at: standby.now)
        standby.hub.stands(status, at: standby.now)
        return (leader, standby)
    }

    @Test(
        "A client that has seen more is answered when this node has read it, in the order of its requests",
        arguments: [("HELLO after=%", "OK conn="), ("SUB * from=%:0000", "OK sub=1")])
    func ahead(request: String, answer: String) throws {
        let (leader, standby) = try pair()
        let count = leader.records.count
        leader.send("EVT coffee-order/1 type=confirm", from: leader.connect())
        let epoch = "6f3a91c2d0e4b577"
        let (client, other) = (standby.connect(), standby.connect())
        let line = request.replacing("%", with: "\(epoch):\(leader.records.count)")
        #expect(standby.send("PING id=1", from: client) == ["PONG id=1"])
        #expect(standby.send(line + "\nGET coffee-order/1 id=2", from: client).isEmpty)
        #expect(standby.send("GET coffee-order/1", from: other).first?.contains(" rev=\(count) ") == true)
        try standby.hub.replay(Array(leader.records[count...]), at: standby.now)
        standby.turn()
        standby.flush()
        let lines = standby.lines(of: client)
        #expect(lines.first?.hasPrefix(answer) == true, "\(lines)")
        #expect(lines.contains { $0.contains("id=2") && $0.contains(" rev=\(leader.records.count) ") }, "\(lines)")
    }

    @Test func `a client that waits for too long is sent to the leader`() throws {
        let (_, standby) = try pair()
        let client = standby.connect()
        #expect(standby.send("HELLO after=6f3a91c2d0e4b577:99\nLIST", from: client).isEmpty)
        standby.advance(by: Milliseconds(4_900))
        #expect(standby.lines(of: client).isEmpty && !client.isFinished)
        standby.advance(by: Milliseconds(200))
        #expect(standby.lines(of: client) == ["BYE code=behind to=10.0.0.1:7878"])
        // It is not looked at again and again until its socket is closed.
        let next = standby.hub.nextSessionDeadline
        #expect(next.map { $0 > standby.now.monotonic + Milliseconds(100) } ?? true)
        #expect(client.isFinished)
    }

    @Test func `what a client has seen of another history, or of this one, is not waited for`() throws {
        let (_, standby) = try pair()
        for position in ["00000000000000aa:99", "6f3a91c2d0e4b577:2"] {
            let client = standby.connect()
            #expect(standby.send("HELLO after=\(position)", from: client).first?.hasPrefix("OK conn=") == true)
        }
        let client = standby.connect()
        #expect(
            standby.send("HELLO after=7", from: client).first?.contains("EPOCH:SEQ") == true)
    }

    @Test func `a node that leads waits for nothing, and answers those that waited`() throws {
        let (_, standby) = try pair()
        let client = standby.connect()
        #expect(standby.send("HELLO after=6f3a91c2d0e4b577:99", from: client).isEmpty)
        try standby.hub.lead(beginningWith: [], DecisionSettings())
        var status = ClusterStatus(node: "n2", role: .leader)
        status.term = 8
        standby.hub.stands(status, at: standby.now)
        standby.turn()
        standby.flush()
        #expect(standby.lines(of: client).first?.hasPrefix("OK conn=") == true)
    }

    // MARK: Old rows

    @Test func `every connection is told when rows become old, how old they are, and that they are current again`()
        throws
    {
        let (_, standby) = try pair()
        let client = standby.connect()
        standby.send("SUB coffee-order/1", from: client)
        var status = standby.hub.status ?? ClusterStatus(node: "", role: .standby)
        status.staleSince = standby.now.monotonic
        status.leader = nil
        standby.time = standby.time + .seconds(4)
        func stand() -> [String] {
            standby.hub.stands(status, at: standby.now)
            standby.turn()
            standby.flush()
            return standby.lines(of: client)
        }
        #expect(stand().last?.hasSuffix(" stale=4000") == true)
        #expect(stand().isEmpty)
        var greeting: [UInt8] = []
        _ = standby.hub.output(for: standby.hub.connected(at: standby.now), at: standby.now, to: &greeting)
        #expect(String(decoding: greeting, as: UTF8.self).hasSuffix(" stale=4000\n"))
        // Where no leader is heard there is nowhere to go.
        standby.time = standby.time + .seconds(60)
        #expect(stand().allSatisfy { $0.hasPrefix("MARK ") && $0.hasSuffix(" stale=64000") })
        status.staleSince = nil
        let lines = stand()
        #expect(lines.count == 1 && lines[0].hasPrefix("MARK ") && !lines[0].contains("stale="), "\(lines)")
    }

    @Test func `connections to a node whose rows stay old go to the leader, a tenth of them each second`() throws {
        let (_, standby) = try pair()
        let clients = (0..<20).map { _ in standby.connect() }
        var status = standby.hub.status ?? ClusterStatus(node: "", role: .standby)
        status.staleSince = standby.now.monotonic
        var counts: [Int] = []
        for _ in 0..<41 {
            standby.hub.stands(status, at: standby.now)
            standby.turn()
            standby.flush()
            counts.append(clients.count(where: \.isFinished))
            standby.time = standby.time + .seconds(1)
        }
        #expect(counts[29] == 0 && counts[30] == 2 && counts[34] == 10 && counts[40] == 20, "\(counts)")
        #expect(standby.lines(of: clients[0]).last == "BYE code=behind to=10.0.0.1:7878")
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
                #""cluster":{"node":"n2","role":"standby","term":7,"leader":{"node":"n1","address":"10.0.0.1:7878"},"position":12,"lag":1,"connections":1,"draining":false,"nodes":[{"node":"n1","role":"leading","term":7,"position":13,"address":"10.0.0.1:7878","release":"1.2.0"}]}"#
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
