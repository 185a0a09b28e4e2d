import Hub
import Replication
import TelltaleModel
import Testing

/// `DRAIN` of a node among three.
struct DrainTests {
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

    private func peer(_ name: String, of daemon: TestDaemon) -> ClusterStatus.Peer? {
        daemon.status?.peers.first { $0.node == name }
    }

    @Test func `beats say how many clients a node has, whether it serves, and that it drains`() throws {
        let clients = (0..<3).map { _ in node.connect() }
        cluster.pass(.seconds(3))
        let before = try #require(peer(node.name, of: other))
        #expect(before.connections == 3 && before.serves == true && !before.isDraining)
        // The link of another node is no client.
        #expect(peer(leader.name, of: other)?.connections == 0)
        #expect(node.send("DRAIN over=1000", from: clients[0]).last == "OK connections=2")
        cluster.pass(.seconds(4))
        let after = try #require(peer(node.name, of: other))
        #expect(after.connections == 1 && after.isDraining)
        #expect(clients.map(\.isClosed) == [false, true, true])
        #expect(node.link != nil)
    }

    @Test func `a write that waits for its commit is answered before its client is sent away`() {
        let (asker, writer) = (node.connect(), node.connect())
        node.send("EVT tea/1 type=start", from: writer)
        node.isLogHeld = true
        #expect(node.send("EVT tea/1 type=pour id=1", from: writer).isEmpty)
        node.send("DRAIN over=0", from: asker)
        cluster.pass(.seconds(1))
        #expect(writer.take().isEmpty && !writer.isClosed)
        node.isLogHeld = false
        cluster.settle()
        #expect(writer.take().map { $0.prefix(8) } == ["OK id=1 ", "BYE code"])
        #expect(writer.isClosed)
    }

    @Test func `a leader that drains leads on, and sends no link away`() {
        let client = node.connect()
        leader.send("DRAIN over=0", from: leader.connect())
        cluster.pass(.seconds(3))
        #expect(leader.isLeading)
        #expect(node.send("EVT tea/1 type=start id=1", from: client).last?.hasPrefix("OK id=1 verdict=applied") == true)
        #expect(!client.isClosed)
        // Nobody is sent there.
        node.send("DRAIN over=0", from: node.connect())
        cluster.settle()
        #expect(client.take().last == "BYE code=shutting_down wait=0-0 to=\(other.address)")
    }

    @Test func `the last node that serves keeps its clients`() {
        for daemon in [node, other] { daemon.send("DRAIN over=0", from: daemon.connect()) }
        cluster.pass(.seconds(3))
        let refusal = leader.send("DRAIN", from: leader.connect()).last ?? ""
        #expect(refusal.contains("no other node serves the clients of \(leader.name)"), "\(refusal)")
    }

    @Test func `a node drains on when it leads and when it follows again`() {
        let asker = node.connect()
        node.send("DRAIN over=0", from: asker)
        leader.send("HANDOVER node=\(node.name)", from: leader.connect())
        cluster.pass(.seconds(3))
        #expect(node.isLeading)
        let client = node.connect()
        #expect(client.take().first?.contains(" role=leader term=2 to=") == true)
        #expect(node.send("DRAIN do=stop", from: asker).last == "OK connections=0")
    }
}
