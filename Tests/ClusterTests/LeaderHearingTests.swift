import Hub
import Replication
import TelltaleModel
import Testing

/// A node that does not lead hears the leader, and trusts its own clock by what it hears.
struct LeaderHearingTests {
    @Test func `a standby names a leader as long as it hears of it`() throws {
        let town = try Town(3)
        town.pass(.seconds(10))
        let leader = try #require(town.leaders.first)
        let standby = try #require(town.daemons.first { $0 !== leader })
        func greeting() -> String { standby.connect().take().first ?? "" }
        // Without the engine no node hears another one.
        for daemon in town.daemons { daemon.node?.isCutOff = true }
        town.pass(.seconds(2))
        #expect(greeting().hasSuffix(" role=standby leader=\(leader.address)"))
        town.pass(.seconds(3))
        #expect(greeting().hasSuffix(" role=standby"))
        let client = standby.connect()
        #expect(standby.send("SUB *", from: client).last?.contains("knows no node that does") == true)
        for daemon in town.daemons { daemon.node?.isCutOff = false }
        town.pass(.seconds(3))
        #expect(greeting().hasSuffix(" role=standby leader=\(try #require(town.leaders.first).address)"))
    }

    @Test func `a node that reads of a leader has not heard it`() throws {
        let town = try Town(2)
        town.pass(.seconds(10))
        let leader = try #require(town.leaders.first)
        for daemon in town.daemons { daemon.kill() }
        let standby = try town.join("n3")
        town.settle()
        #expect(standby.standing?.term == 1 && standby.connect().take().first?.hasSuffix(" role=standby") == true)
        try leader.start()
        town.pass(.seconds(10))
        #expect(town.leaders.count == 1)
        #expect(standby.isLeading || standby.connect().take().first?.contains(" leader=") == true)
    }

    @Test(
        "A node that was cut off takes no record and no beat of the gap for a word of the leader",
        arguments: [true, false])
    func gap(hasRecords: Bool) throws {
        let town = try Town(2)
        town.pass(.seconds(10))
        let leader = try #require(town.leaders.first)
        let standby = try #require(town.daemons.first { $0 !== leader })
        standby.node?.isCutOff = true
        if hasRecords { #expect(leader.post("tea/1", from: leader.connect()).hasPrefix("OK")) }
        town.pass(.seconds(2))
        leader.kill()
        town.pass(.seconds(4))
        standby.node?.isCutOff = false
        for _ in 0..<12 {
            town.pass(Milliseconds(100))
            #expect(standby.isLeading || standby.connect().take().first?.hasSuffix(" role=standby") == true)
        }
    }

    @Test func `a beat that was kept says nothing of a leader that is gone`() throws {
        let town = try Town(3)
        town.pass(.seconds(10))
        let leader = try #require(town.leaders.first)
        let standby = try #require(town.daemons.first { $0 !== leader })
        for daemon in town.daemons { daemon.kill() }
        try standby.start()
        town.pass(.seconds(1))
        #expect(standby.standing?.term == 1 && standby.connect().take().first?.hasSuffix(" role=standby") == true)
    }

    @Test func `a node that was away does not distrust its clock`() throws {
        let town = try Town(3)
        town.pass(.seconds(10))
        let leader = try #require(town.leaders.first)
        let standbys = town.daemons.filter { $0 !== leader }
        for standby in standbys { standby.node?.isCutOff = true }
        #expect(leader.post("tea/1", from: leader.connect()).hasPrefix("OK verdict=applied"))
        town.pass(.seconds(65))
        // They read the record of a minute ago.
        for standby in standbys { standby.node?.isCutOff = false }
        town.pass(.seconds(3))
        leader.kill()
        town.pass(.seconds(6))
        #expect(town.leaders.count == 1)
    }

    @Test func `the age of the last record says nothing of a clock`() throws {
        let town = try Town(3)
        town.pass(.seconds(10))
        let first = try #require(town.leaders.first)
        #expect(first.post("tea/1", from: first.connect()).hasPrefix("OK verdict=applied"))
        town.pass(.seconds(65))
        first.kill()
        town.pass(.seconds(6))
        let second = try #require(town.leaders.first)
        // It reads the record of a minute ago; the other one read a term without records.
        try first.start()
        town.pass(.seconds(3))
        second.kill()
        town.pass(.seconds(6))
        #expect(town.leaders.count == 1)
    }
}
