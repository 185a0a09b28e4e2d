import Hub
import TelltaleModel
import Testing

/// `DRAIN`: who is sent where, and when.
final class DrainTests {
    private let harness: HubHarness
    private var status = ClusterStatus(node: "n1", role: .leader)

    init() throws {
        harness = try HubHarness(kinds: [HubHarness.coffee, HubHarness.porchLight()])
        status.leaderKey = 7
        status.peers = [peer("n2", connections: 5), peer("n3", connections: 5)]
        harness.hub.stands(status, at: harness.now)
    }

    private func peer(_ name: String, connections: Int?) -> ClusterStatus.Peer {
        var peer = ClusterStatus.Peer(
            node: name, role: "standby", term: 1, position: 1, address: "\(name):7878", release: "1")
        peer.connections = connections
        peer.serves = true
        return peer
    }

    /// The node to which a client was sent, if it was.
    private func next(of client: HubHarness.Client) -> String? {
        harness.lines(of: client).last.flatMap { line in
            line.hasPrefix("BYE code=shutting_down wait=0-0 to=") ? HubHarness.attribute("to", of: line) : nil
        }
    }

    private func drain(_ words: String, from operator: HubHarness.Client) -> String {
        harness.send("DRAIN \(words)", from: `operator`).last ?? ""
    }

    @Test func `readers leave first, then writers, then providers, each at its own moment`() {
        let (lamp, shop, asker) = (harness.connect(), harness.connect(), harness.connect())
        harness.serveLight(from: lamp)
        harness.send("EVT coffee-order/1 type=start", from: shop)
        let screens = [harness.connect(), harness.connect()]
        for screen in screens { harness.send("SUB *", from: screen) }
        for client in [lamp, shop] + screens { _ = harness.lines(of: client) }
        #expect(drain("over=8000", from: asker) == "OK connections=4")
        var order: [Int] = []
        let clients = screens + [shop, lamp]
        for second in 0..<8 {
            harness.turn()
            for (place, client) in clients.enumerated() where next(of: client) != nil { order += [second, place] }
            harness.advance(by: .seconds(1))
        }
        #expect(order == [0, 0, 2, 1, 4, 2, 6, 3])
        #expect(clients.allSatisfy(\.isFinished) && !asker.isFinished)
        #expect(harness.send("PING", from: asker) == ["PONG"])
    }

    @Test func `clients go to the node with the fewest connections, as its beats report them`() {
        status.peers = [peer("n2", connections: 7), peer("n3", connections: 4), peer("n4", connections: nil)]
        harness.hub.stands(status, at: harness.now)
        let (asker, clients) = (harness.connect(), (0..<8).map { _ in harness.connect() })
        _ = drain("over=0", from: asker)
        harness.turn()
        let counts = Dictionary(grouping: clients.compactMap(next), by: \.self).mapValues(\.count)
        #expect(counts == ["n2:7878": 2, "n3:7878": 5, "n4:7878": 1])
    }

    @Test(
        "A node that drains, is not heard, stops or has yet to read the log is sent nobody",
        arguments: ["draining", "silent", "stopped", "behind"])
    func noTarget(state: String) {
        switch state {
        case "draining": status.peers[0].isDraining = true
        case "silent": status.peers[0].isHeard = false
        case "stopped": status.peers[0].role = "stopped"
        case _: status.peers[0].serves = false
        }
        harness.hub.stands(status, at: harness.now)
        let (asker, clients) = (harness.connect(), (0..<4).map { _ in harness.connect() })
        _ = drain("over=0", from: asker)
        harness.turn()
        #expect(clients.compactMap(next) == Array(repeating: "n3:7878", count: 4))
    }

    @Test func `what was asked before is answered before the end, and what comes behind it is not decided`() {
        let (asker, shop) = (harness.connect(), harness.connect())
        harness.send("EVT coffee-order/1 type=start", from: shop)
        harness.post("DRAIN over=0", from: asker)
        harness.commit()
        let count = harness.records.count
        harness.post("EVT coffee-order/1 type=confirm id=1\nGET coffee-order/1 id=2", from: shop)
        harness.hub.sessionDeadlineReached(at: harness.now)
        harness.post("EVT coffee-order/1 type=brew id=3", from: shop)
        harness.turn()
        let lines = harness.lines(of: shop)
        #expect(lines.map { $0.prefix(7) } == ["OK id=1", "OK id=2", "BYE cod"], "\(lines)")
        #expect(shop.isFinished && harness.records.count == count + 1)
    }

    @Test func `a new client is told at once, in its greeting and instead of an answer`() {
        let asker = harness.connect()
        _ = drain("", from: asker)
        let client = harness.connect()
        #expect(client.greeting.hasSuffix(" role=leader term=0 to=n2:7878"))
        #expect(harness.send("HELLO client=board id=1", from: client).first?.hasPrefix("OK id=1 ") == true)
        #expect(
            harness.send("SUB * id=2\nPING", from: client) == ["BYE code=shutting_down wait=0-0 to=n2:7878"])
        #expect(client.isFinished)
        // One that says nothing.
        let silent = harness.connect()
        harness.advance(by: Milliseconds(900))
        #expect(!silent.isFinished)
        harness.advance(by: Milliseconds(100))
        #expect(next(of: silent) == "n3:7878" && silent.isFinished)
    }

    @Test func `an operator is answered by a node that drains, and ends the drain`() {
        let (asker, screen) = (harness.connect(), harness.connect())
        _ = drain("over=1000", from: asker)
        harness.turn()
        #expect(next(of: screen) != nil)
        harness.disconnect(screen)
        harness.disconnect(asker)
        let later = harness.connect()
        let stats = harness.send("STATS", from: later).last ?? ""
        #expect(stats.contains(#""connections":1,"draining":true,"leaving":0,"#), "\(stats)")
        harness.advance(by: .seconds(5))
        #expect(!later.isFinished)
        #expect(harness.send("DRAIN do=stop id=9", from: later) == ["OK id=9 connections=0"])
        let client = harness.connect()
        #expect(client.greeting.hasSuffix(" role=leader term=0"))
        harness.advance(by: .seconds(5))
        #expect(!client.isFinished)
        #expect(harness.send("STATS", from: later).last?.contains(#""draining":false,"nodes""#) == true)
    }

    @Test func `clients that are yet to be told stay where the drain is ended`() {
        let (asker, screens) = (harness.connect(), (0..<4).map { _ in harness.connect() })
        _ = drain("over=4000", from: asker)
        harness.turn()
        harness.advance(by: .seconds(1))
        _ = drain("do=stop", from: asker)
        harness.advance(by: .seconds(10))
        #expect(screens.count(where: \.isFinished) == 2)
    }

    @Test func `it is refused where no other node serves, and by a server that is in no cluster`() throws {
        status.peers = [peer("n2", connections: 1)]
        status.peers[0].isHeard = false
        harness.hub.stands(status, at: harness.now)
        let client = harness.connect()
        #expect(
            drain("id=1", from: client)
                == #"ERR id=1 code=unavailable retry=later {"msg":"no other node serves the clients of n1; see STATS"}"#
        )
        let isDraining = harness.hub.isDraining
        #expect(!isDraining)
        let lone = try HubHarness()
        let refusal = lone.send("DRAIN", from: lone.connect()).last
        #expect(
            refusal
                == #"ERR code=unknown_verb retry=no {"msg":"DRAIN: this server is by itself; it is for a node of a cluster"}"#
        )
    }

    @Test func `while no other node serves clients stay, and afterwards they leave one after the other`() {
        let (asker, screens) = (harness.connect(), (0..<10).map { _ in harness.connect() })
        _ = drain("over=10000", from: asker)
        harness.turn()
        let peers = status.peers
        status.peers = []
        harness.hub.stands(status, at: harness.now)
        harness.advance(by: .seconds(6))
        #expect(screens.count(where: \.isFinished) == 1)
        let newcomer = harness.connect()
        #expect(
            harness.send("GET coffee-order/1 id=1", from: newcomer).first?.hasPrefix("ERR id=1 code=unknown_key")
                == true)
        status.peers = peers
        harness.hub.stands(status, at: harness.now)
        harness.turn()
        #expect(screens.count(where: \.isFinished) == 2)
        harness.advance(by: .seconds(1))
        #expect(screens.count(where: \.isFinished) == 3)
        for _ in 0..<8 { harness.advance(by: .seconds(1)) }
        #expect(screens.allSatisfy(\.isFinished) && newcomer.isFinished)
    }

    @Test func `links of other nodes stay, and new ones are taken`() {
        let (asker, link) = (harness.connect(), harness.connect())
        #expect(harness.send("NODE node=n2 token=7", from: link).last == "OK term=0")
        #expect(drain("over=0", from: asker) == "OK connections=0")
        let next = harness.connect()
        #expect(harness.send("NODE node=n3 token=7", from: next).last == "OK term=0")
        harness.advance(by: .seconds(5))
        #expect(!link.isFinished && !next.isFinished)
        // One client of n2, which that node keeps.
        harness.post(#"GUEST 12884901889 {"locked":false}"#, from: link)
        harness.post("FWD 12884901889 EVT coffee-order/1 type=start", from: link)
        harness.turn()
        #expect(drain("over=0", from: asker) == "OK connections=0")
        harness.turn()
        #expect(harness.lines(of: link).last?.contains(" OK verdict=applied ") == true)
    }

    @Test func `a node that is behind names no leader that drains`() throws {
        let follower = try HubHarness()
        var status = ClusterStatus(node: "n1", role: .standby)
        (status.leader, status.serves) = (("n2", "n2:7878"), true)
        status.peers = [peer("n2", connections: 1), peer("n3", connections: 9)]
        follower.hub.follow(at: follower.now)
        func farewell() -> String? {
            follower.hub.stands(status, at: follower.now)
            let client = follower.connect()
            follower.send("HELLO after=6f3a91c2d0e4b577:99", from: client)
            follower.advance(by: .seconds(5))
            return follower.lines(of: client).last
        }
        #expect(farewell() == "BYE code=behind to=n2:7878")
        status.peers[0].isDraining = true
        #expect(farewell() == "BYE code=behind to=n3:7878")
        status.peers[1].isDraining = true
        #expect(farewell() == "BYE code=behind")
    }

    // S-7
    @Test func `ten thousand screens leave within the span, and no second has many more than another`() {
        let (asker, count, span) = (harness.connect(), 10_000, 20)
        var screens = (0..<count).map { _ in harness.connect() }
        #expect(drain("over=\(span * 1_000)", from: asker) == "OK connections=\(count)")
        var counts: [Int] = []
        for second in 0...span {
            let before = screens.count
            // A busy node now and then: its turn is late.
            for _ in 0..<(second % 3 == 1 ? 4 : 100) {
                harness.advance(by: second % 3 == 1 ? Milliseconds(250) : Milliseconds(10))
            }
            screens.removeAll(where: \.isFinished)
            counts.append(before - screens.count)
        }
        #expect(screens.isEmpty)
        #expect(counts.max() ?? 0 <= count / span * 3 / 2, "\(counts)")
        #expect(counts.prefix(span).min() ?? 0 >= count / span / 2, "\(counts)")
    }
}
