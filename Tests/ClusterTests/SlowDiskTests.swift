import Hub
import Journal
import Replication
import TelltaleModel
import Testing

/// A node whose disk does not keep up with the log.
struct SlowDiskTests {
    private static func led() throws -> (town: Town, leader: TownDaemon, standbys: [TownDaemon]) {
        let town = try Town(3)
        town.pass(.seconds(10))
        let leader = try #require(town.leaders.first)
        return (town, leader, town.daemons.filter { $0 !== leader })
    }

    private static func position(_ daemon: TownDaemon) -> Int64? { daemon.standing?.position }

    @Test func `a standby reads no further, leads nothing, and catches up when the disk does`() throws {
        let (town, leader, standbys) = try Self.led()
        let client = leader.connect()
        standbys[0].fallBehind(true)
        let before = Self.position(standbys[0])
        for number in 1...3 { #expect(leader.post("tea/\(number)", from: client).hasPrefix("OK")) }
        town.pass(.seconds(5))
        #expect(Self.position(standbys[0]) == before)
        #expect(standbys[0].standing?.lag == 3 && standbys[1].standing?.lag == 0)
        #expect(Self.position(standbys[1]) == Self.position(leader))
        // The other one leads, although this one is named.
        _ = leader.send("HANDOVER node=\(standbys[0].name)", from: client)
        town.pass(.seconds(10))
        #expect(town.leaders.map(\.name) == [standbys[1].name])
        standbys[0].fallBehind(false)
        town.pass(.seconds(2))
        #expect(Self.position(standbys[0]) == Self.position(standbys[1]))
        #expect(standbys[0].stateHash == leader.stateHash)
    }

    @Test func `a leader hands over where another node keeps up, and goes on where none does`() throws {
        let (town, leader, standbys) = try Self.led()
        let client = leader.connect()
        _ = leader.post("tea/1", from: client)
        for standby in standbys { standby.isPaused = true }
        town.pass(.seconds(5))
        leader.fallBehind(true)
        town.pass(.seconds(2))
        #expect(town.leaders.map(\.name) == [leader.name])
        for standby in standbys { standby.isPaused = false }
        town.pass(.seconds(5))
        #expect(town.leaders.count == 1 && town.leaders.first !== leader)
    }

    @Test func `a leader whose own batch fills its queue answers for it before it hands over`() throws {
        let (town, leader, standbys) = try Self.led()
        let client = leader.connect()
        leader.fallsBehind = true
        #expect(leader.post("tea/1", from: client).hasPrefix("OK"))
        town.pass(.seconds(5))
        #expect(town.leaders.count == 1 && town.leaders.first !== leader)
        // And where all disks are slow, each in the same way, one leads on.
        leader.fallBehind(true)
        for standby in standbys { standby.fallBehind(true) }
        let last = try #require(town.leaders.first)
        town.pass(.seconds(10))
        #expect(town.leaders.map(\.name) == [last.name])
    }

    @Test func `a copy is behind from one bound on, and no more below another one`() {
        let backlog = CopyBacklog()
        #expect(!backlog.add(CopyBacklog.byteLimit))
        #expect(backlog.add(1))
        #expect(!backlog.add(1))
        #expect(!backlog.remove(CopyBacklog.byteLimit - CopyBacklog.resumeByteLimit + 1))
        #expect(backlog.remove(1))
        #expect(!backlog.remove(1))
        let record = JournalRecord(
            sequence: 1, time: Timestamp(milliseconds: 5), entity: "tea/1", previous: 0, body: [1, 2, 3])
        #expect(CopyBacklog.byteCount(of: [record, record]) == 96)
    }
}
