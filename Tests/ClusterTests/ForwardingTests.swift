import Hub
import Replication
import TelltaleModel
import Testing

/// What clients of a following node write: the leader decides it, and their node answers when it has applied the commit.
struct ForwardingTests {
    private let cluster: TestCluster
    private let leader: TestDaemon
    private let node: TestDaemon
    private let other: TestDaemon

    init() throws {
        cluster = try TestCluster(3)
        cluster.pass(.seconds(10))
        leader = try #require(cluster.leaders.first)
        let others = cluster.daemons.filter { [leader] in $0 !== leader }
        (node, other) = (others[0], others[1])
    }

    private func connect(_ daemon: TestDaemon) -> TestClient {
        let client = daemon.connect()
        _ = client.take()
        return client
    }

    @Test func `an event is applied, answered, and seen by its client's next read`() {
        let client = connect(node)
        let lines = node.send("EVT tea/1 type=start id=1\nGET tea/1 id=2\nPING id=3", from: client)
        #expect(lines.first?.hasPrefix("OK id=1 verdict=applied rev=") == true, "\(lines)")
        #expect(lines.dropFirst().first?.contains("key=tea/1") == true, "\(lines)")
        #expect(lines.last == "PONG id=3")
        #expect(other.send("GET tea/1", from: connect(other)).first?.contains("key=tea/1") == true)
    }

    @Test func `requests of one client are decided in their order, refusals among them`() {
        let client = connect(node)
        let lines = node.send(
            "EVT tea/1 type=start id=1\nEVT tea/1 type=pour id=2\nEVT none/1 type=start id=3\nEVT tea/1 type=drink id=4\nEVT tea/1 type=",
            from: client)
        #expect(
            lines.map { $0.prefix(9) } == ["OK id=1 v", "OK id=2 v", "ERR id=3 ", "OK id=4 v", "ERR code="], "\(lines)")
    }

    @Test func `a screen at another node sees what a client of this one writes`() {
        let screen = connect(other)
        other.send("SUB tea/* view=watch", from: screen)
        node.send("EVT tea/1 type=start", from: connect(node))
        #expect(other.send("PING", from: screen).contains { $0.hasPrefix("UPD ") && $0.contains("key=tea/1") })
    }

    @Test func `an account's dismissal is that account's`() {
        node.send("EVT tea/1 type=start for=alice,bob", from: connect(node))
        let alice = connect(node)
        node.send("HELLO account=alice", from: alice)
        #expect(node.send("DISMISS tea/1", from: alice).last?.hasPrefix("OK ") == true)
        #expect(node.send("LIST tea/*", from: alice).last == "OK count=0")
        let bob = connect(other)
        other.send("HELLO account=bob", from: bob)
        #expect(other.send("LIST tea/*", from: bob).last == "OK count=1")
    }

    @Test func `nothing is answered before this node has applied the commit`() throws {
        let client = connect(node)
        node.send("EVT tea/1 type=start", from: client)
        node.isLogHeld = true
        #expect(node.send("EVT tea/1 type=pour id=1\nGET tea/1", from: client).isEmpty)
        cluster.pass(.seconds(1))
        #expect(node.send("", from: client).isEmpty)
        node.isLogHeld = false
        let lines = node.send("", from: client)
        #expect(lines.first?.hasPrefix("OK id=1 ") == true && lines.last?.contains(#""ready""#) == true, "\(lines)")
    }

    @Test func `a write whose fate is not known ends its connection, and no other`() throws {
        let (writer, screen) = (connect(node), connect(node))
        node.send("SUB tea/*", from: screen)
        node.send("EVT tea/1 type=start", from: writer)
        try #require(node.link).isSlow = true
        #expect(node.send("EVT tea/1 type=pour", from: writer).isEmpty && !writer.isClosed)
        leader.kill()
        cluster.settle()
        #expect(writer.isClosed && !screen.isClosed)
        cluster.pass(.seconds(10))
        #expect(cluster.leaders.count == 1 && !screen.isClosed)
        // It was decided once.
        #expect(node.send("HISTORY tea/1", from: connect(node)).filter { $0.contains("type=pour") }.count == 1)
    }

    @Test func `a write waits for the next leader`() throws {
        let client = connect(node)
        node.send("EVT tea/1 type=start", from: client)
        leader.kill()
        cluster.settle()
        #expect(node.send("EVT tea/1 type=pour id=7", from: client).isEmpty)
        cluster.pass(.seconds(10))
        #expect(client.take().first?.hasPrefix("OK id=7 verdict=applied") == true)
    }

    @Test func `where no leader comes a write is refused, and had no effect`() throws {
        let client = connect(node)
        node.send("EVT tea/1 type=start", from: client)
        leader.kill()
        other.kill()
        node.isLinkCut = true
        node.isLogHeld = true
        cluster.settle()
        #expect(node.send("EVT tea/1 type=pour id=7", from: client).isEmpty)
        cluster.pass(.seconds(14))
        #expect(client.take().first { !$0.hasPrefix("MARK ") }?.hasPrefix("ERR id=7 code=not_leader retry=now") == true)
    }

    @Test func `a link that comes late answers later writes, and none that was refused`() {
        let client = connect(node)
        node.send("EVT tea/1 type=start", from: client)
        node.isLinkCut = true
        node.loseLink()
        #expect(node.send("EVT tea/1 type=pour id=7", from: client).isEmpty)
        cluster.pass(.seconds(14))
        #expect(client.take().contains { $0.hasPrefix("ERR id=7 code=not_leader") })
        node.isLinkCut = false
        cluster.pass(.seconds(2))
        let lines = node.send("EVT tea/1 type=drink id=8\nEVT tea/1 type=pour id=9", from: client)
        #expect(
            lines.filter { $0.hasPrefix("OK ") }.map { $0.prefix(19) } == [
                "OK id=8 verdict=ign", "OK id=9 verdict=app",
            ], "\(lines)")
    }

    @Test func `a client with a long name does not end the link`() throws {
        let (long, other) = (connect(node), connect(node))
        let link = try #require(node.link)
        node.send("HELLO client=" + String(repeating: #"\"#, count: 60_000), from: long)
        #expect(
            node.send("EVT tea/1 type=start src=a id=1", from: long).contains {
                $0.hasPrefix("OK id=1 ") || $0.hasPrefix("ERR id=1 ")
            })
        #expect(node.send("EVT tea/2 type=start id=2", from: other).first?.hasPrefix("OK id=2 ") == true)
        #expect(node.link === link && !other.isClosed)
    }

    @Test func `connections stay where their node leads no more, and what they write goes to the next leader`() throws {
        let client = connect(leader)
        leader.send("SUB tea/*", from: client)
        leader.handOver()
        cluster.pass(.seconds(2))
        #expect(!leader.isLeading && !client.isClosed)
        let lines = leader.send("EVT tea/1 type=start id=1", from: client)
        #expect(lines.contains { $0.hasPrefix("OK id=1 verdict=applied") }, "\(lines)")
        #expect(lines.contains { $0.hasPrefix("UPD ") }, "\(lines)")
    }

    @Test func `a client that says who it is behind a write is that person for later writes alone`() {
        node.send("EVT tea/1 type=start for=alice", from: connect(node))
        let client = connect(node)
        let lines = node.send("DISMISS tea/1 id=1\nHELLO account=alice id=2\nDISMISS tea/1 id=3", from: client)
        #expect(lines.map { $0.prefix(8) } == ["ERR id=1", "OK id=2 ", "OK id=3 "], "\(lines)")
    }

    @Test func `one that knows not what the nodes know is no node`() {
        let client = connect(leader)
        #expect(leader.send("NODE node=n9 token=1", from: client).first?.hasPrefix("ERR code=forbidden") == true)
        #expect(node.send("NODE node=n9 token=1", from: connect(node)).first?.hasPrefix("ERR code=not_leader") == true)
        #expect(
            leader.send("FWD 1 EVT tea/9 type=start", from: client).first?.hasPrefix("ERR code=unknown_verb") == true)
    }
}
