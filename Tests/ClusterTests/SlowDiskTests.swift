import Hub
import Journal
import Replication
import TelltaleModel
import Testing

/// A node whose disk does not keep up with the log.
struct SlowDiskTests {
    private static func led() throws -> (town: TestCluster, leader: TestDaemon, standbys: [TestDaemon]) {
        let cluster = try TestCluster(3)
        cluster.pass(.seconds(10))
        let leader = try #require(cluster.leaders.first)
        return (cluster, leader, cluster.daemons.filter { $0 !== leader })
    }

    private static func position(_ daemon: TestDaemon) -> Int64? { daemon.status?.position }

    @Test func `a standby reads no further, leads nothing, and catches up when the disk does`() throws {
        let (cluster, leader, standbys) = try Self.led()
        let client = leader.connect()
        standbys[0].fallBehind(true)
        let before = Self.position(standbys[0])
        for number in 1...3 { #expect(leader.post("tea/\(number)", from: client).hasPrefix("OK")) }
        cluster.pass(.seconds(5))
        #expect(Self.position(standbys[0]) == before)
        #expect(standbys[0].status?.lag == 3 && standbys[1].status?.lag == 0)
        #expect(Self.position(standbys[1]) == Self.position(leader))
        // The other one leads, although this one is named.
        _ = leader.send("HANDOVER node=\(standbys[0].name)", from: client)
        cluster.pass(.seconds(10))
        #expect(cluster.leaders.map(\.name) == [standbys[1].name])
        standbys[0].fallBehind(false)
        cluster.pass(.seconds(2))
        #expect(Self.position(standbys[0]) == Self.position(standbys[1]))
        #expect(standbys[0].stateHash == leader.stateHash)
    }

    @Test func `a standby that hears the leader and lags sends its screens there after half a minute`() throws {
        let (cluster, leader, standbys) = try Self.led()
        let screens = (0..<10).map { _ in standbys[0].connect() }
        standbys[0].fallBehind(true)
        for number in 1...3 { #expect(leader.post("tea/\(number)", from: leader.connect()).hasPrefix("OK")) }
        cluster.pass(.seconds(25))
        #expect(standbys[0].status?.staleSince != nil && screens.allSatisfy { !$0.isClosed })
        cluster.pass(.seconds(20))
        #expect(screens.allSatisfy { $0.isClosed && $0.take().last == "BYE code=behind to=\(leader.address)" })
    }

    @Test func `a leader hands over where another node keeps up, and goes on where none does`() throws {
        let (cluster, leader, standbys) = try Self.led()
        let client = leader.connect()
        _ = leader.post("tea/1", from: client)
        for standby in standbys { standby.isPaused = true }
        cluster.pass(.seconds(5))
        leader.fallBehind(true)
        cluster.pass(.seconds(2))
        #expect(cluster.leaders.map(\.name) == [leader.name])
        for standby in standbys { standby.isPaused = false }
        cluster.pass(.seconds(5))
        #expect(cluster.leaders.count == 1 && cluster.leaders.first !== leader)
    }

    @Test func `a leader whose own batch fills its queue answers for it before it hands over`() throws {
        let (cluster, leader, standbys) = try Self.led()
        let client = leader.connect()
        leader.fallsBehind = true
        #expect(leader.post("tea/1", from: client).hasPrefix("OK"))
        cluster.pass(.seconds(5))
        #expect(cluster.leaders.count == 1 && cluster.leaders.first !== leader)
        // And where all disks are slow, each in the same way, one leads on.
        leader.fallBehind(true)
        for standby in standbys { standby.fallBehind(true) }
        let last = try #require(cluster.leaders.first)
        cluster.pass(.seconds(10))
        #expect(cluster.leaders.map(\.name) == [last.name])
    }

    @Test func `a copy is behind from one bound on, and no more below another one`() {
        let backlog = LocalJournalBacklog()
        #expect(!backlog.add(LocalJournalBacklog.byteLimit))
        #expect(backlog.add(1))
        #expect(!backlog.add(1))
        #expect(!backlog.remove(LocalJournalBacklog.byteLimit - LocalJournalBacklog.resumeByteLimit + 1))
        #expect(backlog.remove(1))
        #expect(!backlog.remove(1))
        let record = JournalRecord(
            sequence: 1, time: Timestamp(milliseconds: 5), entity: "tea/1", previous: 0, body: [1, 2, 3])
        #expect(LocalJournalBacklog.byteCount(of: [record, record]) == 96)
    }
}
