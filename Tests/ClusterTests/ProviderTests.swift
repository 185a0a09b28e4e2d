import Hub
import Replication
import TelltaleModel
import Testing

/// Providers at any node: the leader decides who acts, and each node asks its own clients when it replays the request.
struct ProviderTests {
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

    /// A connection that serves lamps and bells, and has reported one of each.
    private func provider(at daemon: TestDaemon) throws -> TestClient {
        let client = connect(daemon)
        let lines = daemon.send("SERVE lamp\nSERVE bell\nREPORT lamp/hall value=off\nREPORT bell/door", from: client)
        try #require(lines.count == 4 && lines.allSatisfy { $0.hasPrefix("OK") }, "\(lines)")
        return client
    }

    private func operation(in lines: [String]) throws -> String {
        let asked = lines.filter { $0.hasPrefix("DO ") }
        try #require(asked.count == 1, "\(lines)")
        return try #require(asked[0].split(separator: " ").first { $0.hasPrefix("op=") }.map(String.init))
    }

    private func lamp(at daemon: TestDaemon) -> String {
        daemon.send("GET lamp/hall", from: connect(daemon)).first ?? ""
    }

    @Test func `a provider at a node is asked there, and what it answers counts everywhere`() throws {
        let provider = try provider(at: node)
        #expect(other.send("SET lamp/hall value=on", from: connect(other)).first?.contains("phase=pending") == true)
        let lines = provider.take()
        let operation = try operation(in: lines)
        #expect(lines[0].contains("value=on") && lines[0].contains("term=1"), "\(lines)")
        #expect(node.send("DONE \(operation)", from: provider).first?.hasPrefix("OK") == true)
        #expect(lamp(at: leader).contains(#""value":true"#) && lamp(at: other) == lamp(at: leader))
    }

    @Test func `what a provider takes over it is asked after its OK`() throws {
        let first = try provider(at: node)
        other.send("SET lamp/hall value=on", from: connect(other))
        _ = first.take()
        let second = connect(other)
        #expect(other.send("SERVE lamp", from: second) == ["OK"])
        node.close(try #require(first.id))
        cluster.settle()
        #expect(second.take().first?.hasPrefix("DO ") == true)
        other.close(try #require(second.id))
        cluster.settle()
        let lines = node.send("SERVE lamp id=7", from: connect(node))
        #expect(lines.map { $0.prefix(3) } == ["OK ", "DO "], "\(lines)")
    }

    @Test func `an operation outlives the leader, and its provider's connection does too`() throws {
        let provider = try provider(at: node)
        other.send("SET lamp/hall value=on\nPRESS bell/door", from: connect(other))
        let asked = provider.take().filter { $0.hasPrefix("DO ") }
        try #require(asked.count == 2)
        leader.kill()
        cluster.pass(.seconds(30))
        #expect(!provider.isClosed && !provider.take().contains { $0.hasPrefix("DO ") })
        for line in asked {
            let operation = try operation(in: [line])
            let reply = node.send("DONE \(operation)", from: provider)
            #expect(
                reply.first == "OK verdict=applied rev=" + (reply.first?.split(separator: "=").last ?? ""), "\(reply)")
        }
        #expect(lamp(at: other).contains(#""result":"confirmed""#))
    }

    @Test func `the leader's own provider acts on where its node leads no more`() throws {
        let provider = try provider(at: leader)
        leader.handOver()
        cluster.pass(.seconds(20))
        #expect(!leader.isLeading && !provider.isClosed)
        _ = provider.take()
        node.send("SET lamp/hall value=on", from: connect(node))
        let operation = try operation(in: provider.take())
        #expect(leader.send("DONE \(operation)", from: provider).first?.hasPrefix("OK") == true)
        #expect(lamp(at: other).contains(#""value":true"#))
    }

    @Test func `a node that leads next asks its own provider on`() throws {
        let provider = try provider(at: node)
        other.kill()
        leader.kill()
        cluster.pass(.seconds(10))
        try #require(node.isLeading)
        cluster.pass(.seconds(10))
        _ = provider.take()
        node.send("SET lamp/hall value=on", from: connect(node))
        #expect(try operation(in: provider.take()).hasPrefix("op="))
    }

    @Test func `a provider whose node is gone keeps its place for two leases`() throws {
        _ = try provider(at: node)
        let second = connect(other)
        other.send("SERVE lamp", from: second)
        node.kill()
        cluster.pass(.seconds(5))
        other.send("SET lamp/hall value=on", from: connect(other))
        #expect(second.take().filter { $0.hasPrefix("DO ") }.isEmpty)
        cluster.pass(.seconds(4))
        #expect(try operation(in: second.take()).hasPrefix("op="))
    }

    @Test func `a provider that left while its node had no link has left with the next one`() throws {
        let first = try provider(at: node)
        let second = connect(other)
        other.send("SERVE lamp", from: second)
        node.isLinkCut = true
        node.loseLink()
        node.close(try #require(first.id))
        node.isLinkCut = false
        cluster.pass(Milliseconds(100))
        other.send("SET lamp/hall value=on", from: connect(other))
        #expect(try operation(in: second.take()).hasPrefix("op="))
    }

    @Test func `a link that comes again finds its providers in their places`() throws {
        let first = try provider(at: node)
        let second = connect(other)
        other.send("SERVE lamp", from: second)
        node.isLinkCut = true
        node.loseLink()
        cluster.pass(.seconds(3))
        node.isLinkCut = false
        cluster.pass(.seconds(20))
        _ = (first.take(), second.take())
        other.send("SET lamp/hall value=on", from: connect(other))
        #expect(try operation(in: first.take()).hasPrefix("op=") && !second.take().contains { $0.hasPrefix("DO ") })
    }

    @Test func `a node that is cut off asks nobody, and later not for what is over`() throws {
        let first = try provider(at: node)
        let second = connect(other)
        other.send("SERVE lamp", from: second)
        node.isLogHeld = true
        other.send("SET lamp/hall value=on", from: connect(other))
        node.isLinkCut = true
        node.loseLink()
        cluster.pass(.seconds(12))
        let operation = try operation(in: second.take())
        #expect(other.send("DONE \(operation)", from: second).first?.hasPrefix("OK") == true)
        node.isLogHeld = false
        node.isLinkCut = false
        cluster.pass(.seconds(3))
        #expect(!first.take().contains { $0.hasPrefix("DO ") })
    }

    @Test func `only who serves a kind acts for it`() {
        let lines = node.send("REPORT lamp/hall value=on\nDONE op=o1\nSERVE tea\nSERVE none", from: connect(node))
        #expect(
            lines.map { $0.split(separator: " ")[1] } == [
                "code=forbidden", "code=forbidden", "code=bad_action", "code=unknown_kind",
            ], "\(lines)")
    }
}
