import Hub
import Replication
import TelltaleModel
import Testing

/// A node that serves screens and never leads.
struct ObserverTests {
    @Test func `an observer shows what the others decide, and leads nothing when they are gone`() throws {
        let cluster = try TestCluster(3, observer: 1)
        cluster.pass(.seconds(10))
        let observer = cluster.daemons[0]
        let leader = try #require(cluster.leaders.first)
        let screen = observer.connect()
        _ = observer.send("SUB *", from: screen)
        #expect(leader.post("tea/1", from: leader.connect()).hasPrefix("OK verdict=applied"))
        #expect(observer.send("PING", from: screen).contains { $0.hasPrefix("UPD") && $0.contains("key=tea/1") })
        leader.kill()
        cluster.pass(.seconds(6))
        let second = try #require(cluster.leaders.first)
        #expect(second !== observer)
        second.kill()
        cluster.pass(.seconds(30))
        #expect(cluster.leaders.isEmpty && !screen.isClosed)
        #expect(screen.take().last { $0.hasPrefix("MARK ") }?.contains(" stale=") == true)
        #expect(observer.send("EVT tea/1 type=pour", from: screen).last?.contains("code=not_leader") == true)
        try second.start()
        cluster.pass(.seconds(6))
        #expect(cluster.leaders.first === second)
    }

    @Test func `nobody hands over to an observer, and everybody knows it as one`() throws {
        let cluster = try TestCluster(2, observer: 1)
        cluster.pass(.seconds(10))
        let (observer, leader) = (cluster.daemons[0], try #require(cluster.leaders.first))
        #expect(leader !== observer)
        let client = leader.connect()
        for request in ["HANDOVER", "HANDOVER node=n1"] {
            #expect(leader.send(request, from: client).last?.contains("code=unavailable") == true)
        }
        let stats = try #require(leader.send("STATS", from: client).last)
        #expect(stats.contains(#""node":"n1","role":"observer""#))
        #expect(observer.send("STATS", from: observer.connect()).last?.contains(#""role":"observer""#) == true)
        #expect(observer.connect().take().first?.hasSuffix(" role=standby leader=\(leader.address) serves=1") == true)
    }

    @Test func `a leader whose disk is slow leads on beside an observer, which would not take over`() throws {
        let cluster = try TestCluster(2, observer: 1)
        cluster.pass(.seconds(10))
        let leader = try #require(cluster.leaders.first)
        leader.fallBehind(true)
        cluster.pass(.seconds(10))
        #expect(cluster.leaders.map(\.name) == [leader.name])
    }

    @Test func `an observer makes the base that is due where it comes first`() throws {
        var checkpoints = CheckpointSettings()
        (checkpoints.every, checkpoints.checkInterval, checkpoints.turn) = (.seconds(5), .seconds(1), .seconds(2))
        let cluster = try TestCluster(2, checkpoints: checkpoints, observer: 1)
        cluster.pass(.seconds(10))
        let leader = try #require(cluster.leaders.first)
        _ = leader.post("tea/1", from: leader.connect())
        cluster.pass(.seconds(20))
        #expect(cluster.daemons[0].reported.contains { $0.hasPrefix("base ") }, "\(cluster.daemons.map(\.reported))")
    }

    @Test func `an earlier release takes an observer for a node that does not try to lead now`() throws {
        var heartbeat = Heartbeat(
            node: "n1", role: .standby, term: 1, position: 1, address: "a:1", release: "1", number: 1)
        heartbeat.isObserver = true
        let read = try Heartbeat(decoding: heartbeat.encoded())
        #expect(read.isObserver && read.isHeldBack)
    }
}
