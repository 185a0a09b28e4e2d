import Hub
import Replication
import TelltaleModel
import Testing

/// A node that does not lead hears the leader, and trusts its own clock by what it hears.
struct LeaderDetectorTests {
    @Test func `a standby names a leader as long as it hears of it`() throws {
        let cluster = try TestCluster(3)
        cluster.pass(.seconds(10))
        let leader = try #require(cluster.leaders.first)
        let standby = try #require(cluster.daemons.first { $0 !== leader })
        func greeting() -> String { standby.connect().take().first ?? "" }
        // Without the log store no node hears another one.
        for daemon in cluster.daemons { daemon.node?.isCutOff = true }
        cluster.pass(.seconds(2))
        #expect(greeting().hasSuffix(" role=standby leader=\(leader.address) serves=1"))
        cluster.pass(.seconds(3))
        #expect(greeting().hasSuffix(" role=standby serves=1"))
        let client = standby.connect()
        #expect(standby.send("HANDOVER", from: client).last?.contains("knows no node that does") == true)
        for daemon in cluster.daemons { daemon.node?.isCutOff = false }
        cluster.pass(.seconds(3))
        #expect(greeting().hasSuffix(" role=standby leader=\(try #require(cluster.leaders.first).address) serves=1"))
    }

    @Test func `a node that reads of a leader has not heard it`() throws {
        let cluster = try TestCluster(2)
        cluster.pass(.seconds(10))
        let leader = try #require(cluster.leaders.first)
        for daemon in cluster.daemons { daemon.kill() }
        let standby = try cluster.join("n3")
        cluster.settle()
        #expect(standby.status?.term == 1 && standby.connect().take().first?.hasSuffix(" role=standby") == true)
        try leader.start()
        cluster.pass(.seconds(10))
        #expect(cluster.leaders.count == 1)
        #expect(standby.isLeading || standby.connect().take().first?.contains(" leader=") == true)
    }

    @Test(
        "A node that was cut off takes no record and no beat of the gap for a word of the leader",
        arguments: [(true, false), (false, false), (true, true)])
    func gap(hasRecords: Bool, meetsOldReplica: Bool) throws {
        let cluster = try TestCluster(2)
        cluster.pass(.seconds(10))
        let leader = try #require(cluster.leaders.first)
        let standby = try #require(cluster.daemons.first { $0 !== leader })
        standby.node?.isCutOff = true
        if hasRecords { #expect(leader.post("tea/1", from: leader.connect()).hasPrefix("OK")) }
        cluster.pass(.seconds(2))
        leader.kill()
        cluster.pass(.seconds(4))
        standby.node?.isCutOff = false
        // It has nothing of the gap, and says so before another one has.
        let position = standby.position
        if meetsOldReplica { standby.node?.onEvent?(.read([], from: position, end: position)) }
        for _ in 0..<12 {
            cluster.pass(Milliseconds(100))
            #expect(standby.isLeading || standby.connect().take().first?.contains(" leader=") == false)
        }
    }

    @Test func `a heartbeat that was kept says nothing of a leader that is gone`() throws {
        let cluster = try TestCluster(3)
        cluster.pass(.seconds(10))
        let leader = try #require(cluster.leaders.first)
        let standby = try #require(cluster.daemons.first { $0 !== leader })
        for daemon in cluster.daemons { daemon.kill() }
        try standby.start()
        cluster.pass(.seconds(1))
        #expect(standby.status?.term == 1 && standby.connect().take().first?.hasSuffix(" role=standby") == true)
    }

    @Test func `a node that was away does not distrust its clock`() throws {
        let cluster = try TestCluster(3)
        cluster.pass(.seconds(10))
        let leader = try #require(cluster.leaders.first)
        let standbys = cluster.daemons.filter { $0 !== leader }
        for standby in standbys { standby.node?.isCutOff = true }
        #expect(leader.post("tea/1", from: leader.connect()).hasPrefix("OK verdict=applied"))
        cluster.pass(.seconds(65))
        // They read the record of a minute ago.
        for standby in standbys { standby.node?.isCutOff = false }
        cluster.pass(.seconds(3))
        leader.kill()
        cluster.pass(.seconds(6))
        #expect(cluster.leaders.count == 1)
    }

    @Test func `the age of the last record says nothing of a clock`() throws {
        let cluster = try TestCluster(3)
        cluster.pass(.seconds(10))
        let first = try #require(cluster.leaders.first)
        #expect(first.post("tea/1", from: first.connect()).hasPrefix("OK verdict=applied"))
        cluster.pass(.seconds(65))
        first.kill()
        cluster.pass(.seconds(6))
        let second = try #require(cluster.leaders.first)
        // It reads the record of a minute ago; the other one read a term without records.
        try first.start()
        cluster.pass(.seconds(3))
        second.kill()
        cluster.pass(.seconds(6))
        #expect(cluster.leaders.count == 1)
    }
}
