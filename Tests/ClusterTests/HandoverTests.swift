import Hub
import Replication
import TelltaleModel
import Testing

/// `HANDOVER` on a leader, from the line to the next leader.
struct HandoverTests {
    private static func led(_ count: Int = 3) throws -> (town: TestCluster, leader: TestDaemon, standbys: [TestDaemon])
    {
        let cluster = try TestCluster(count)
        cluster.pass(.seconds(10))
        let leader = try #require(cluster.leaders.first)
        return (cluster, leader, cluster.daemons.filter { $0 !== leader })
    }

    /// Sends a line on a connection of its own, and gives the replies.
    private static func ask(_ line: String, _ daemon: TestDaemon) -> [String] {
        daemon.send(line, from: daemon.connect()).filter { !$0.hasPrefix("TELLTALE ") }
    }

    @Test func `the node that was named leads, whichever has read most`() throws {
        for index in 0..<2 {
            let (cluster, leader, standbys) = try Self.led()
            let client = leader.connect()
            leader.send("EVT tea/1 type=start", from: client)
            let lines = leader.send("HANDOVER node=\(standbys[index].name) id=9", from: client)
            #expect(lines.first == "OK id=9")
            #expect(!lines.contains { $0.hasPrefix("BYE") } && !client.isClosed)
            cluster.pass(Milliseconds(1_500))
            #expect(cluster.leaders.map(\.name) == [standbys[index].name])
            #expect(leader.status?.role == .standby)
            // It may lead again, and then decides again.
            #expect(Self.ask("HANDOVER node=\(leader.name)", standbys[index]).first == "OK")
            cluster.pass(.seconds(1))
            #expect(cluster.leaders.map(\.name) == [leader.name])
            let last = Self.ask("GET tea/1", leader)
            #expect(last.first?.contains("key=tea/1") == true, "\(last)")
        }
    }

    @Test func `any node leads where none is named`() throws {
        let (cluster, leader, _) = try Self.led()
        #expect(Self.ask("HANDOVER", leader).first == "OK")
        cluster.pass(Milliseconds(500))
        #expect(cluster.leaders.count == 1 && cluster.leaders.first !== leader)
    }

    @Test func `another node leads where the one that was named dies`() throws {
        let (cluster, leader, standbys) = try Self.led()
        standbys[1].isPaused = true
        #expect(Self.ask("HANDOVER node=\(standbys[1].name)", leader).first == "OK")
        cluster.pass(Milliseconds(900))
        #expect(cluster.leaders.isEmpty)
        cluster.pass(Milliseconds(600))
        #expect(cluster.leaders.map(\.name) == [standbys[0].name])
    }

    @Test func `it is refused where no other node would lead, and nothing has changed`() throws {
        let (cluster, leader, standbys) = try Self.led()
        let client = leader.connect()
        #expect(Self.ask("HANDOVER node=n9", leader).first?.contains("n9 is no standby that keeps up") == true)
        for standby in standbys { standby.isPaused = true }
        cluster.pass(.seconds(5))
        let refusal = Self.ask("HANDOVER", leader).first ?? ""
        #expect(refusal.hasPrefix("ERR code=unavailable retry=later"), "\(refusal)")
        #expect(refusal.contains("no standby keeps up"), "\(refusal)")
        #expect(leader.isLeading && !client.isClosed)
    }

    @Test func `a leader without room for its word goes on`() throws {
        let (cluster, leader, _) = try Self.led()
        cluster.log.isFull = true
        leader.send("HANDOVER", from: leader.connect())
        cluster.pass(Milliseconds(200))
        cluster.log.isFull = false
        #expect(leader.isLeading)
        let lines = Self.ask("EVT tea/1 type=start", leader)
        #expect(lines.first?.hasPrefix("OK verdict=applied") == true, "\(lines)")
    }

    @Test func `a standby refuses it`() throws {
        let (cluster, leader, standbys) = try Self.led()
        let refusal = Self.ask("HANDOVER", standbys[0]).first ?? ""
        #expect(cluster.leaders.count == 1)
        #expect(refusal.hasPrefix("ERR code=not_leader") && refusal.contains(leader.address), "\(refusal)")
    }
}
