import Hub
import Journal
import TelltaleModel
import Testing

/// When the records of a standby reach its local journal.
struct LocalJournalTests {
    private static func led() throws -> (cluster: TestCluster, leader: TestDaemon, standby: TestDaemon) {
        let cluster = try TestCluster(2)
        cluster.pass(.seconds(10))
        let leader = try #require(cluster.leaders.first)
        return (cluster, leader, try #require(cluster.daemons.first { $0 !== leader }))
    }

    /// Posts one event after the other, each a batch of its own.
    private static func post(_ numbers: ClosedRange<Int>, _ leader: TestDaemon, note: String = "") {
        let client = leader.connect()
        for number in numbers {
            let tail = #"{"attributes":{"note":"\#(note)"}}"#
            #expect(leader.post("tea/\(number)", tail, from: client).hasPrefix("OK"))
        }
    }

    private static func length(_ daemon: TestDaemon) -> Int64 { daemon.journal?.lastSequence ?? 0 }

    @Test func `a standby's records gather for a quarter of a second, and a leader's do not`() throws {
        let (cluster, leader, standby) = try Self.led()
        let before = (Self.length(standby), standby.kept.count, leader.kept.count)
        Self.post(1...20, leader)
        #expect(Self.length(leader) >= before.0 + 20)
        #expect(leader.kept.count - before.2 == 20)
        #expect(Self.length(standby) == before.0 && standby.stateHash == leader.stateHash)
        cluster.pass(.init(200))
        #expect(Self.length(standby) == before.0)
        cluster.pass(.init(100))
        #expect(Self.length(standby) == Self.length(leader))
        #expect(standby.kept.dropFirst(before.1).filter { $0 > 0 }.count == 1, "one transaction")
    }

    @Test func `records that are many wait for nothing`() throws {
        let (cluster, leader, standby) = try Self.led()
        standby.kill()
        standby.localJournalByteCount = 4_000
        try standby.start()
        cluster.pass(.seconds(2))
        let before = Self.length(standby)
        Self.post(1...10, leader, note: String(repeating: "x", count: 1_000))
        let behind = Self.length(leader) - Self.length(standby)
        #expect(Self.length(standby) > before && behind < 4)
    }

    @Test func `a history that is read at a standby has the records that wait`() throws {
        let (cluster, leader, standby) = try Self.led()
        Self.post(1...3, leader)
        let before = Self.length(standby)
        #expect(before < Self.length(leader))
        let screen = standby.connect()
        _ = screen.take()
        var lines = standby.send("HISTORY tea/3\nPING", from: screen)
        for _ in 0..<5 where lines.last != "PONG" { lines += standby.send("", from: screen) }
        #expect(lines.count { $0.hasPrefix("HIST ") } == 1 && lines.last == "PONG", "\(lines)")
        #expect(Self.length(standby) == Self.length(leader))
        cluster.pass(.seconds(1))
        #expect(standby.stateHash == leader.stateHash)
    }

    @Test func `a standby that dies while records wait reads them again, and one that ends in order has them`() throws {
        let (cluster, leader, standby) = try Self.led()
        Self.post(1...5, leader)
        standby.kill()
        #expect(standby.contents.lastSequence < Self.length(leader))
        try standby.start()
        cluster.pass(.seconds(2))
        #expect(standby.stateHash == leader.stateHash && Self.length(standby) == Self.length(leader))
        Self.post(6...9, leader)
        #expect(Self.length(standby) < Self.length(leader))
        #expect(!standby.end())
        #expect(Self.length(standby) == Self.length(leader))
    }

    @Test func `a standby that begins to lead has all records in its local journal first`() throws {
        let (cluster, leader, standby) = try Self.led()
        Self.post(1...5, leader)
        let length = Self.length(leader)
        leader.handOver()
        cluster.settle()
        while !standby.isLeading { cluster.pass(.init(50)) }
        #expect(Self.length(standby) >= length)
    }
}
